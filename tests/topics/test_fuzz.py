# SPDX-License-Identifier: Apache-2.0
"""Whatever bytes arrive, decoders give a value or one of the errors of topics/errors.py: never another exception.

700 inputs each in `make test`, the same ones every time; in `make audit` 15 000 fresh ones each, 135 000 in all.
"""

import json
import zlib
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from murmurate.topics import (
    Bits,
    Categories,
    EventReader,
    Fields,
    Grid,
    Items,
    Measured,
    Row,
    Signed,
    decode,
    decode_record,
    encode,
)
from murmurate.topics.block import (
    BatchBlock,
    RawBlock,
    SumsBlock,
    TallyBlock,
    encode_batch,
    encode_raw,
    encode_reports,
    encode_sums,
    encode_tally,
)
from murmurate.topics.block import decode as decode_block
from murmurate.topics.errors import MappingError, WireError
from murmurate.topics.pointers import tokens
from murmurate.topics.times import InstantReader
from tests.topics import second_wire
from tests.topics.samples import ANY_JSON, MESSAGES, places, put, tables, without

NAMED = st.sampled_from(["home", "help", "value", "measure", "7"])
ANY_VALUE = (
    ANY_JSON | st.just("screen") | st.lists(NAMED | ANY_JSON, max_size=4) | st.dictionaries(NAMED, NAMED | ANY_JSON)
)
SIZES = pytest.mark.parametrize("examples", [250, pytest.param(15_000, marks=pytest.mark.audit)])
BLOCKS = [bytes.fromhex(text) for name, text in second_wire.golden().items() if "block" in name]
TEXTS = [encode(message) for message in MESSAGES]
TABLES = [tables(message) for message in MESSAGES]
EVENTS = [
    b'{"stream":"screen","user":"u-1","time":"2026-11-18T09:00:12.480Z","value":"help"}',
    b'{"stream":"screen","user":7,"time":1794992412480,"value":"?","more":[{"x":[1.5e3,null,true]}]}',
]
READER = EventReader({"screen": Categories(("home", "help"))}, Fields(stream="/stream"))
WIDE = [
    EventReader({"screen": domain}, Fields(stream="/stream"), texts=texts)
    for domain in (
        Items(("home", "help"), 1), Items(100, 3), Signed(("home", "help"), 2), Bits(16), Bits(8, "hex"),
        Row((("home", Categories(("help",), other=True)), ("help", Grid(0, 1, 4, "points")))),
        Measured(Items(("home", "help"), 2), Grid(0, 1, 4, "points")),
    )
    for texts in (False, True)
]  # fmt: skip


def holds(law: Callable[[Any], None], inputs: st.SearchStrategy[Any], examples: int) -> None:
    """The law for so many inputs; always the same ones in the short size."""
    quiet = [HealthCheck.too_slow, HealthCheck.data_too_large]
    settings(
        max_examples=examples, deadline=None, derandomize=examples < 10_000, database=None, suppress_health_check=quiet
    )(given(inputs)(law))()


def damaged(records: list[bytes]) -> st.SearchStrategy[bytes]:
    """Valid records with bits flipped, cut short, or with bytes put in."""

    @st.composite
    def strategy(draw: st.DrawFn) -> bytes:
        record = bytearray(draw(st.sampled_from(records)))
        for _ in range(draw(st.integers(0, 3))):
            bit = draw(st.integers(0, len(record) * 8 - 1))
            record[bit // 8] ^= 1 << bit % 8
        start = draw(st.integers(0, len(record)))
        record[start : start + draw(st.integers(0, 4))] = draw(st.binary(max_size=6))
        return bytes(record[: draw(st.integers(0, len(record)))] if draw(st.booleans()) else record)

    return strategy()


@st.composite
def resealed(draw: st.DrawFn) -> bytes:
    """Blocks whose header says anything, with the checksum that fits: what the checks behind it must catch."""
    record = bytearray(draw(st.sampled_from(BLOCKS)))
    for at in draw(st.lists(st.sampled_from([5, 6, 8, 12, 16, 20]), max_size=3)):
        size = 4 if at >= 8 else 1
        record[at : at + size] = draw(st.binary(min_size=size, max_size=size) | st.just(bytes(size)))
    record += draw(st.binary(max_size=8))
    record[24:28] = (len(record) - 64).to_bytes(4, "little")
    return second_wire.sealed(record)


@st.composite
def changed(draw: st.DrawFn) -> bytes:
    """Messages with any JSON in some place, a key less, or a key more."""
    table = draw(st.sampled_from(TABLES))
    for _ in range(draw(st.integers(1, 2))):
        path = draw(st.sampled_from(places(table)))
        how = draw(st.sampled_from(["put", "drop", "add"]))
        if how == "put":
            table = put(table, path, draw(ANY_JSON))
        elif how == "drop" and len(table) > 1:
            table = without(table, path)
        else:
            table = {**table, draw(st.text(max_size=5)): draw(ANY_JSON)}
    return json.dumps(table).encode("utf-8", "surrogatepass")


def only_wire_errors(decoder: Callable[[bytes], object]) -> Callable[[bytes], None]:
    def law(record: bytes) -> None:
        said = "found and allowed"
        try:
            decoder(record)
        except WireError as error:
            said = str(error)
        assert "found" in said
        assert "allowed" in said

    return law


@SIZES
def test_arbitrary_bytes_make_a_block_or_a_wire_error(examples: int) -> None:
    holds(
        only_wire_errors(decode_block),
        st.binary(max_size=200) | st.binary(max_size=150).map(b"MURM\1".__add__),
        examples,
    )


@SIZES
def test_a_damaged_block_makes_a_wire_error_or_the_block_it_was(examples: int) -> None:
    def law(record: bytes) -> None:
        only_wire_errors(decode_block)(record)
        if record not in BLOCKS:
            with pytest.raises(WireError):
                decode_block(record)

    holds(law, damaged(BLOCKS), examples)


@SIZES
def test_a_header_that_lies_under_a_good_checksum_makes_a_wire_error_or_is_true(examples: int) -> None:
    def law(record: bytes) -> None:
        try:
            block = decode_block(record)
        except WireError:
            return
        if isinstance(block, RawBlock):
            again = next(encode_raw(block.stream, block.users, block.times, block.values))
        elif isinstance(block, BatchBlock):
            again = next(encode_batch(block.round, block.q, block.reports))
        elif isinstance(block, TallyBlock):
            again = next(encode_tally(block.round, block.q, block.counts))
        elif isinstance(block, SumsBlock):
            again = encode_sums(block.stream, block.contributor, block.t, block.sums)
        else:
            again = next(encode_reports(block.round, block.contributor, block.reports))
        body = bytearray(again)
        body[20:24] = record[20:24]
        assert second_wire.sealed(body) == record

    holds(law, resealed(), examples)


@SIZES
def test_arbitrary_bytes_make_a_message_or_a_wire_error(examples: int) -> None:
    json_text = ANY_JSON.map(lambda value: json.dumps(value).encode())
    holds(
        only_wire_errors(decode),
        st.binary(max_size=100) | json_text | st.text('{}[]":,0e-.NaInfty\\u d8', max_size=40).map(str.encode),
        examples,
    )


@SIZES
def test_a_damaged_message_makes_a_message_or_a_wire_error(examples: int) -> None:
    holds(only_wire_errors(decode), damaged(TEXTS), examples)


@SIZES
def test_a_changed_message_makes_a_message_that_comes_back_or_a_wire_error(examples: int) -> None:
    def law(record: bytes) -> None:
        only_wire_errors(decode)(record)
        try:
            message = decode(record)
        except WireError:
            return
        assert decode(encode(message)) == message
        assert encode(decode(encode(message))) == encode(message)

    holds(law, changed(), examples)


@SIZES
def test_any_record_is_a_block_or_a_message_or_a_wire_error(examples: int) -> None:
    holds(only_wire_errors(decode_record), damaged(BLOCKS + TEXTS) | st.binary(max_size=80), examples)


@SIZES
def test_any_event_makes_a_row_or_a_refusal_and_no_error(examples: int) -> None:
    def law(record: bytes) -> None:
        reader = [READER, *WIDE][zlib.crc32(record) % (len(WIDE) + 1)]
        columns = reader.read([record])
        assert len(columns.users) + len(columns.refusals) >= 1
        assert len(columns.users) == len(columns.time) == len(columns.code) == len(columns.index) == len(columns.stream)

    events = st.fixed_dictionaries(
        {}, optional={key: st.just("screen") | ANY_JSON for key in ("stream", "user", "time")} | {"value": ANY_VALUE}
    )
    holds(
        law, damaged(EVENTS) | st.binary(max_size=60) | events.map(lambda event: json.dumps(event).encode()), examples
    )


@SIZES
def test_any_text_is_an_instant_or_a_value_error_and_a_pointer_or_a_mapping_error(examples: int) -> None:
    def law(text: str) -> None:
        for read, refusal in ((InstantReader().milliseconds, ValueError), (tokens, MappingError)):
            with suppress(refusal):
                read(text)

    holds(law, st.text(max_size=40) | st.text("0123456789-T:.Z+/~", max_size=30), examples)
