# SPDX-License-Identifier: Apache-2.0
import json
import traceback
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from murmurate.topics.block import COUNTS_PER_BLOCK, encode_reports
from murmurate.topics.block import decode as decode_block
from murmurate.topics.codec import MAX_MESSAGE, _once, decode, decode_record, encode, kind_of
from murmurate.topics.codec import MESSAGES as KINDS
from murmurate.topics.errors import MessageError, NewerError, TooLargeError, UnknownError, WireError
from murmurate.topics.message import Message
from murmurate.topics.messages import MAX_CELLS, MESSAGE_CELLS, Dead, Rejected, Settled, Tallied, Tally, TallyInBlocks
from tests.cases import drawn, every
from tests.topics.samples import DIGEST, MESSAGES, places, put, tables, without

IDS = [message.tag for message in MESSAGES]
EACH = every("message", MESSAGES)


def refused(table: Any, kind: type[WireError] = MessageError) -> str:
    record = table if isinstance(table, bytes) else json.dumps(table).encode()
    with pytest.raises(kind) as caught:
        decode(record)
    assert "allowed" in str(caught.value)
    return str(caught.value)


def printed(record: bytes) -> str:
    """What a log would show of a refusal; nothing if there is none."""
    try:
        decode(record)
    except WireError as error:
        return "".join(traceback.format_exception(error))
    return ""


# ---- laws ----


def test_there_is_a_sample_of_every_message() -> None:
    assert {type(message) for message in MESSAGES} == set(KINDS)


@EACH
def test_what_is_decoded_is_what_was_encoded(message: Message) -> None:
    assert decode(encode(message)) == message
    assert hash(decode(encode(message))) == hash(message)


@EACH
def test_canonical_bytes_are_sorted_json_without_white_space(message: Message) -> None:
    table = json.loads(encode(message))
    plain = json.dumps(table, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert encode(message).decode() == plain.replace("1e-08", "1e-8")  # the shortest digits, as in docs/WIRE.md


@EACH
def test_the_order_of_keys_and_white_space_do_not_change_a_message(message: Message) -> None:
    table = dict(reversed(list(tables(message).items())))
    assert encode(decode(json.dumps(table, indent=3).encode())) == encode(message)


@EACH
def test_a_message_cannot_be_changed(message: Message) -> None:
    for name in type(message).model_fields:
        with pytest.raises(ValueError, match="frozen"):
            setattr(message, name, None)


# ---- bad input ----


@EACH
def test_a_missing_key_is_refused_by_its_path(message: Message) -> None:
    table = tables(message)
    for name, field in type(message).model_fields.items():
        if field.is_required():
            assert refused(without(table, (name,))) == f"{message.tag}: {name}: found nothing; allowed: this key"


@EACH
def test_a_key_of_a_wrong_type_is_refused_by_its_path(message: Message) -> None:
    table = tables(message)
    for path in places(table):
        if path != ("schema",):
            said = refused(put(table, path, [[None]]))
            assert said.startswith(f"{message.tag}: {path[0]}")


@EACH
def test_a_key_of_no_schema_is_refused(message: Message) -> None:
    said = refused({**tables(message), "user": "u-1"})
    assert said == f"{message.tag}: (another key): found text; allowed: keys of the schema"


@EACH
def test_no_error_repeats_what_it_found(message: Message) -> None:
    user = "u829341"
    table = tables(message)
    for path in places(table):
        for record in (put(table, path, user), put(table, path, {user: user}), put(table, path, [user])):
            assert user not in printed(json.dumps(record).encode())
    assert user not in refused({**table, user: 1})
    assert user not in refused(json.dumps(table).encode()[:-1] + f',"{user}":1,"{user}":2}}'.encode())


def test_a_building_error_shows_no_input() -> None:
    with pytest.raises(ValueError, match="stream") as caught:
        Settled(stream="U 829341", t=1)
    assert "829341" not in str(caught.value)


def test_a_key_that_stands_twice_is_refused() -> None:
    assert refused(b'{"schema":"murmurate/settled/1","stream":"a","t":1,"t":1}') == (
        "message: t: found twice in one object; allowed: once"
    )


def test_a_key_that_stands_twice_is_found_by_looking_once() -> None:
    compared = 0

    class Name(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

    names = [Name(f"{number:x}") for number in (*range(3000), 2999)]
    with pytest.raises(MessageError, match="found twice"):
        _once([(name, 1) for name in names])
    assert compared < 2 * len(names)


def test_a_message_of_a_version_to_come_is_newer() -> None:
    for message in MESSAGES:
        _, name, version = message.tag.split("/")
        said = refused({"schema": f"murmurate/{name}/{int(version) + 1}", "what": "ever"}, NewerError)
        assert said == f"message: schema: found version {int(version) + 1} of {name}; allowed: up to {version}"


def test_a_message_of_a_version_that_is_no_longer_read_names_both() -> None:
    said = refused({"schema": "murmurate/release/1", "what": "ever"}, UnknownError)
    assert said == "message: schema: found version 1 of release; allowed: 2"


@every(
    "tag",
    [None, 1, [], "", "murmurate/round/0", "murmurate/round/01", "murmurate/u829341/1", "murmurate/round/1\n", "round"],
)
def test_a_schema_nobody_defined_is_unknown(tag: object) -> None:
    said = refused({"schema": tag}, UnknownError)
    assert "829341" not in said
    assert "murmurate/round/1" in said


@every(
    "record",
    [
        b"", b"{", b"[]", b"7", b"null", b'"text"', b"{}{}", b"\xff",
        b'{"schema":"murmurate/settled/1","stream":"\xff","t":1}',
        b"\xef\xbb\xbf{}", b"[" * 500_000, b'{"a":' * 150_000, b'{"t":NaN}', b'{"t":-Infinity}', b'{"t":1e999}',
        b'{"t":' + b"9" * 9000 + b"}",
    ],
)  # fmt: skip
def test_what_is_no_json_object_is_refused(record: bytes) -> None:
    assert refused(record).startswith("message: found")


@every(
    "value", ["1.0", "true", '"1"', "-1", "9007199254740992", "1" + "0" * 30, "1e3", "null", "[1]", '{"t":1}', "-0.0"]
)
def test_a_period_is_a_whole_number_up_to_2_53(value: str) -> None:
    said = refused(f'{{"schema":"murmurate/settled/1","stream":"a","t":{value}}}'.encode())
    assert said.startswith("murmurate/settled/1: t: found ")


@every("text", [r"\ud800", r"\udc00\ud800", "é", "", "a" * 33, r"a\u0000"])
def test_a_stream_of_another_name_is_refused(text: str) -> None:
    refused(f'{{"schema":"murmurate/settled/1","stream":"{text}","t":1}}'.encode())


def test_nesting_within_a_field_is_refused() -> None:
    for depth in (10, 150, 300, 900, 5000):
        refused(b'{"schema":"murmurate/settled/1","stream":"a","t":' + b"[" * depth + b"]" * depth + b"}")


def test_a_message_over_the_limit_is_too_large() -> None:
    said = refused(b'{"schema":' + b" " * MAX_MESSAGE + b"1}", TooLargeError)
    assert f"allowed: {MAX_MESSAGE}" in said


def test_the_largest_tally_fits() -> None:
    tally = Tally(
        round=DIGEST, q=0, received=2**53 - 1, counted=2**53 - 1, rejected=Rejected(malformed=0), missing=(),
        stream="s", t=2**53 - 1, targets=1, counts=(2**53 - 1,) * MESSAGE_CELLS,
    )  # fmt: skip
    assert decode(encode(tally)) == tally
    said = {name: getattr(tally, name) for name in Tallied.model_fields}
    blocks = tuple(f"{i:064x}" for i in range(-(-MAX_CELLS // COUNTS_PER_BLOCK)))
    announced = TallyInBlocks(**said, cells=MAX_CELLS, blocks=blocks)
    assert decode(encode(announced)) == announced


# ---- two kinds of records ----


def test_the_first_bytes_tell_a_block_from_a_message() -> None:
    block = next(encode_reports(bytes(32), 0, np.zeros((2, 2), np.uint8)))
    assert kind_of(block) == "block"
    assert type(decode_record(block)) is type(decode_block(block))
    assert kind_of(encode(MESSAGES[0])) == "message"
    assert decode_record(memoryview(encode(MESSAGES[0]))) == MESSAGES[0]
    for other in (b"", b"MUR", b" {}", b"[]", bytes(64)):
        with pytest.raises(UnknownError, match=r"magic 'MURM' or '\{'"):
            decode_record(other)


def test_a_dead_letter_holds_a_place_and_no_content() -> None:
    assert set(Dead.model_fields) == {"reason", "topic", "partition", "offset"}


@drawn(40, long=2000, stream=st.from_regex(r"[a-z][a-z0-9_-]{0,31}", fullmatch=True), t=st.integers(0, 2**53 - 1))
def test_every_settled_period_comes_back(stream: str, t: int) -> None:
    assert decode(encode(Settled(stream=stream, t=t))) == Settled(stream=stream, t=t)
