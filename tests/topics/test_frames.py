# SPDX-License-Identifier: Apache-2.0
"""Who and when of frames that are no JSON: the same whatever stands in the value, and as in JSON where it is JSON."""

from __future__ import annotations

import itertools
import json
import random
import tracemalloc
from typing import Any, Final

import orjson
import pytest
from hypothesis import strategies as st

from murmurate.topics.frames import LIMIT, UNREADABLE, FrameReader, abridged
from murmurate.topics.pointers import getter
from tests.cases import drawn, every

FLAT = FrameReader(("/user", "/time"), "/value")
MALFORMED: Final = {
    "NaN": b"NaN",
    "-Infinity": b"-Infinity",
    "beyond doubles": b"1e999",
    "half a surrogate pair": b'"\\ud800"',
    "no UTF-8": b'"\xff\xfe"',
    "a bare control character": b'"a\nb"',
    "nothing": b"",
    "a word": b"undefined",
    "quotes of another kind": b"'help'",
    "a quote too many": b'"5" tall"',
    "quotes within": b'"he said "hi" twice"',
    "an open quote": b'"help',
    "an open bracket": b'{"a": [1, 2',
    "brackets too many": b"]}}",
    "thousands of levels": b"[" * 5000 + b"]" * 5000,
    "thousands of brackets": b"[" * 5000,
    "long": b'"' + b"x" * 70_000 + b'"',
    "long numbers": b"[" + b"0.25," * 20_000 + b"1]",
    "longer than a record": b'"' + b"x" * (2 * LIMIT) + b'"',
}
"""Values as they stand in a frame that is no JSON, or too long."""
BREAKING: Final = frozenset(
    {"a quote too many", "an open quote", "an open bracket", "brackets too many", "thousands of brackets",
     "longer than a record"}
)  # fmt: skip
"""Those after which quotes or brackets do not fit, or that are longer than what is read from one end."""


def frame(*members: tuple[str, bytes]) -> bytes:
    return b"{" + b", ".join(b'"%b": %b' % (key.encode(), value) for key, value in members) + b"}"


@every("order", list(itertools.permutations(("user", "time", "value"))))
def test_a_malformed_value_changes_nothing_about_the_fields_beside_it(order: tuple[str, ...]) -> None:
    for name, value in MALFORMED.items():
        fields = {"user": b'"u-\\u0031"', "time": b"5", "value": value}
        assert FLAT.read(frame(*((key, fields[key]) for key in order))) == ("u-1", 5), name


@every("order", list(itertools.permutations(("user", "value"))))
def test_fields_further_down_are_found_beside_a_malformed_value(order: tuple[str, ...]) -> None:
    nested = FrameReader(("/session/0/user", "/time"), "/session/0/value")
    for name, value in MALFORMED.items():
        inner = frame(*((key, {"user": b'"u"', "value": value}[key]) for key in order))
        found = nested.read(frame(("session", b"[" + inner + b"]"), ("time", b"5")))
        assert found[1] == 5, name
        # what breaks the frame hides what stands behind it further down, but nothing else
        assert found[0] == ("u" if order[0] == "user" or name not in BREAKING else UNREADABLE), name


@every("order", list(itertools.permutations(("session", "value", "more"))))
def test_fields_further_down_are_found_on_both_sides_of_a_malformed_value(order: tuple[str, ...]) -> None:
    nested = FrameReader(("/session/0/user", "/session/0/at"), "/value")
    for name, value in MALFORMED.items():
        fields = {"session": b'[{"at":5 , "user":"a\\"b"}]', "value": value, "more": b'{"session":"no"}'}
        assert nested.read(frame(*((key, fields[key]) for key in order))) == ('a"b', 5), name


@drawn(
    80,
    long=4000,
    value=st.binary(max_size=12)
    | st.lists(st.sampled_from([b'"', b"\\", b"{", b"}", b"[", b"]", b",", b" ", b"a", b"\xff"])).map(b"".join),
    order=st.permutations(("user", "time", "value", "more")),
    space=st.sampled_from([b"", b" ", b"\n\t"]),
)
def test_no_bytes_in_a_value_but_a_key_of_its_own_change_who_and_when(
    value: bytes, order: list[str], space: bytes
) -> None:
    value = value.replace(b":", b"")  # with which it could write a field
    fields = {"user": b'"u"', "time": b"17", "value": value, "more": b'"a\\"b"'}
    members = [b'"%b"%b:%b%b' % (key.encode(), space, space, fields[key]) for key in order]
    assert FLAT.read(space + b"{" + (space + b",").join(members) + b"}" + space) == ("u", 17)


SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**64) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4) | st.sampled_from(['"', "\\", '\\"', "{", "]", ",", 'x":1'])
)  # fmt: skip
KEYS = st.sampled_from(["user", "time", "value", "session", "0", "é", 'a"b', "a/b", ""])
DOCUMENTS = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.lists(st.tuples(KEYS, inner), max_size=4).map(tuple),
    max_leaves=10,
)
"""JSON, an object as its members in their order, so that a key may stand there twice."""
POINTERS = ("/user", "/session/user", "/session/0", "/0", "/é", '/a"b', "/a~1b/", "/0/user", "/session/1/0/user")


def written(document: Any, chance: random.Random) -> str:
    """One of its forms: with white space and escapes where they may be."""
    space = chance.choice(["", "", " ", "\n", "\t \r"])
    if isinstance(document, tuple):
        inner = (f"{space}{written(key, chance)}{space}:{space}{written(value, chance)}" for key, value in document)
        return "{" + f"{space},".join(inner) + space + "}"
    if isinstance(document, list):
        return "[" + f"{space},{space}".join(written(value, chance) for value in document) + space + "]"
    if isinstance(document, str) and chance.random() < 0.3:
        return '"' + "".join(f"\\u{ord(c):04x}" if ord(c) < 0xD800 else c for c in document) + '"'
    return json.dumps(document, ensure_ascii=chance.random() < 0.5)


@drawn(50, long=2500, document=DOCUMENTS, seed=st.integers(0, 9))
def test_where_a_parser_can_read_a_frame_the_same_is_found(document: Any, seed: int) -> None:
    text = written(document, random.Random(seed)).encode("utf-8", "surrogatepass")
    try:
        parsed = orjson.loads(text)
    except ValueError:
        return
    for pointer, found in zip(POINTERS, FrameReader(POINTERS, "/value").read(text), strict=True):
        try:
            strict = getter(pointer)(parsed)
        except (LookupError, TypeError):
            strict = UNREADABLE
        assert found is (UNREADABLE if isinstance(strict, (dict, list)) else strict) or (
            found == strict and type(found) is type(strict)
        ), pointer


@drawn(30, long=1000, noise=st.binary(max_size=80) | st.text('{}[]":,\\ua1 e.', max_size=60).map(str.encode))
def test_whatever_bytes_there_are_the_answer_is_a_text_a_number_or_nothing(noise: bytes) -> None:
    for text in (noise, b"{" + noise, b"{" + noise + b"}", b'{"value":' + noise + b',"user":"u"}'):
        for found in FLAT.read(text):
            assert found is UNREADABLE or found is None or isinstance(found, (str, int, float, bool))


@every(
    ("text", "found"),
    [
        (b'{"user":"u","user":7,"time":5,"value":NaN}', (7, 5)),  # of a key that stands there twice the last counts
        (b'{"user":"u","time":5,"value":"x","user":"y', ("u", 5)),  # but before the value, where the frame breaks
        (b'{"time":5,"value":NaN,"user":"u"', ("u", 5)),  # a text that ends has not been cut
        (b'{"time":5,"value":NaN,"user":"u', (UNREADABLE, 5)),
        (b'{"user":"u","value":NaN,"time":12', ("u", UNREADABLE)),  # a number at the end may have been cut
        (b'{"user":"\xff","time":5,"value":NaN}', (UNREADABLE, 5)),
        (b'{"user":"\\ud800","time":5,"value":1}', (UNREADABLE, 5)),
        (b'{"user":"a"b","time":5,"value":1}', (UNREADABLE, UNREADABLE)),
        (b'{"user":["u"],"time":{},"value":NaN}', (UNREADABLE, UNREADABLE)),
        (b'{"value":{"user":"x","time":1},"x":NaN}', (UNREADABLE, UNREADABLE)),
        (b'{"value":{"user":"x"', (UNREADABLE, UNREADABLE)),
        (b'{"user":"a","time":5}{"user":"b","time":6}', ("a", 5)),
        # quotes that close by accident: one too many in the value, and one that is escaped in a field behind it
        (b'{"value":"","","user":"u","more":"a\\"b","time":5}', ("u", 5)),
        (b'{"value":"]"","time":5,"user":"u","more":"a\\"b"}', ("u", 5)),
        (b'{"time":5,"value":NaN", "user":"u\\"","more":1}', ('u"', 5)),
        (b'\xef\xbb\xbf{"user":"u","time":5}', (UNREADABLE, UNREADABLE)),
        (b'x{"user":"u","time":5}', (UNREADABLE, UNREADABLE)),
        (b"", (UNREADABLE, UNREADABLE)),
    ],
)
def test_what_is_read_of_a_frame_is_whole(text: bytes, found: tuple[Any, ...]) -> None:
    assert FLAT.read(text) == found


def test_of_a_frame_longer_than_anybody_reads_its_ends_are_enough() -> None:
    for size in (LIMIT, 2 * LIMIT, 2 * LIMIT + 2, 5 * LIMIT):
        text = b'{"user":"u","value":"' + b"x" * size + b'","time":5}'
        assert FLAT.read(text) == FLAT.read(abridged(text)) == ("u", 5)
        assert len(abridged(text)) <= 2 * LIMIT + 1
        assert abridged(abridged(text)) == abridged(text)
    short = b"x" * (2 * LIMIT + 1)
    assert abridged(short) is short


@pytest.mark.parametrize("sign", [b"[", b"{", b'"', b"\\", b",", b'\\"', b"[]", b'{"', b'"user":1,', b"[{"])
def test_a_hostile_frame_is_read_without_recursion_and_in_little_memory(sign: bytes) -> None:
    text = b'{"value":' + sign * (LIMIT // 16 // len(sign)) + b',"user":"u","time":5}'
    tracemalloc.start()
    FLAT.read(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * len(text)
