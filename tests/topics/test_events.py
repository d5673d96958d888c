# SPDX-License-Identifier: Apache-2.0
import itertools
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from murmurate.topics import Categories, Columns, EventReader, Fields, Reason
from murmurate.topics.block import REFUSED
from murmurate.topics.errors import MappingError
from murmurate.topics.times import InstantReader
from tests.cases import drawn, every
from tests.topics.samples import ANY_JSON
from tests.topics.test_frames import MALFORMED, frame

SCREEN = Categories(("home", "search", "help"))
OTHER = Categories(("home", "search", "help"), other=True)
STREAMS = {"screen": SCREEN, "page": OTHER}
READER = EventReader(STREAMS, Fields(stream="/stream"))
GOOD = {"stream": "screen", "user": "u-1", "time": 1_794_992_412_480, "value": "help"}
FIELDS = tuple(GOOD)

FIELD = {
    "stream": st.sampled_from(["screen", "page"]) | ANY_JSON,
    "user": st.text(max_size=9)
    | st.integers(-(2**63), 2**64 - 1)
    | st.sampled_from(["", "é" * 128, "é" * 129])
    | ANY_JSON,
    "time": st.integers(-5, 260_000_000_000_000)
    | st.sampled_from(["2026-11-18T09:00:12Z", "2026-11-18T09:00:12"])
    | ANY_JSON,
    "value": st.sampled_from(["home", "search", "help", "elsewhere"]) | ANY_JSON,
}
EVENTS = st.builds(
    lambda start, changes, left_out: {key: value for key, value in {**start, **changes}.items() if key not in left_out},
    st.sampled_from([GOOD, {**GOOD, "stream": "page"}]),
    st.fixed_dictionaries({}, optional={name: FIELD[name] for name in FIELDS}),
    st.sets(st.sampled_from(FIELDS), max_size=1),
)


def read(*events: Any, reader: EventReader = READER) -> Columns:
    return reader.read([event if isinstance(event, bytes) else json.dumps(event).encode() for event in events])


def reason(event: Any) -> Reason:
    ((_, found),) = read(event).refusals
    return found


def in_words(event: dict[str, Any]) -> tuple[str | None, tuple[int, int, bytes, int] | None]:
    """(reason, (stream, time, user, code)) of one event, as docs/WIRE.md says it: the slow and plain way."""
    time = 0
    for name, types in (("stream", (str,)), ("user", (str, int)), ("time", (str, int))):
        if name not in event:
            return "field", None
        found = event[name]
        if (
            not isinstance(found, types)
            or isinstance(found, bool)
            or (isinstance(found, int) and not -(2**63) <= found < 2**64)
        ):
            return "type", None
        if name == "stream" and found not in STREAMS:
            return "stream", None
        if name == "user" and not 1 <= len(str(found).encode()) <= 256:
            return "user", None
        if name == "time":
            try:
                time = InstantReader().milliseconds(found) if isinstance(found, str) else found
            except ValueError:
                return "time", None
            if not 0 <= time <= 253_402_300_799_999:
                return "time", None
    stream = list(STREAMS).index(event["stream"])
    head = (stream, time, str(event["user"]).encode())
    if not isinstance(event.get("value"), str):
        return "field" if "value" not in event else "type", (*head, REFUSED)
    categories = STREAMS[event["stream"]]
    if event["value"] in categories.values:
        return None, (*head, categories.values.index(event["value"]))
    return (None, (*head, 3)) if categories.other else ("value", (*head, REFUSED))


def rows(columns: Columns) -> list[tuple[int, int, bytes, int]]:
    return list(zip(columns.stream.tolist(), columns.time.tolist(), columns.users, columns.code.tolist(), strict=True))


def json_keeps(event: Any) -> bool:
    """JSON as we mean it: no NaN, no half surrogates, no numbers that the reader turns into doubles."""
    try:
        json.dumps(event, allow_nan=False, ensure_ascii=False).encode()
    except ValueError:
        return False
    return True


# ---- laws ----


@drawn(300, long=15000, events=st.lists(EVENTS.filter(json_keeps), max_size=4))
def test_events_are_read_as_the_page_says(events: list[dict[str, Any]]) -> None:
    columns = read(*events)
    expected = [in_words(event) for event in events]
    assert rows(columns) == [row for _, row in expected if row]
    assert columns.index.tolist() == [at for at, (_, row) in enumerate(expected) if row]
    assert columns.refusals == tuple((at, why) for at, (why, _) in enumerate(expected) if why)


@drawn(
    60,
    long=3000,
    records=st.lists(
        st.binary(max_size=30) | st.just(json.dumps(GOOD).encode()) | EVENTS.map(lambda e: json.dumps(e).encode()),
        max_size=6,
    ),
)
def test_a_record_is_read_the_same_whatever_stands_beside_it(records: list[bytes]) -> None:
    together = READER.read(records)
    alone = [READER.read([record]) for record in records]
    assert rows(together) == [row for columns in alone for row in rows(columns)]
    assert together.refusals == tuple((at, why) for at, columns in enumerate(alone) for _, why in columns.refusals)


def test_a_record_cannot_swallow_its_neighbour() -> None:
    columns = READER.read([b'{"stream":"screen","user":"a","x":"', json.dumps(GOOD).encode(), b'"}'])
    assert columns.users == [b"u-1"]
    assert columns.counts == {Reason.JSON: 2}


# ---- what a row holds ----


def test_columns_have_the_types_of_a_raw_block() -> None:
    columns = read(GOOD, {**GOOD, "stream": "page", "value": "?"})
    assert [str(a.dtype) for a in (columns.stream, columns.time, columns.code)] == ["uint16", "int64", "uint32"]
    assert columns.stream.tolist() == [0, 1]
    assert columns.code.tolist() == [2, 3]
    assert read().time.dtype == np.int64


def test_codes_are_the_declared_order_then_other_then_none() -> None:
    assert (SCREEN.none, SCREEN.size, OTHER.none, OTHER.size) == (3, 4, 4, 5)
    assert read({**GOOD, "stream": "page", "value": "elsewhere"}).code.tolist() == [3]


def test_a_user_may_be_a_text_or_a_whole_number() -> None:
    columns = read(*({**GOOD, "user": user} for user in ("é", 7, "7", -3, 2**64 - 1)))
    assert columns.users == ["é".encode(), b"7", b"7", b"-3", b"18446744073709551615"]


def test_the_example_of_the_design_is_read() -> None:
    line = b'{"stream": "screen", "user": "u-829341", "time": "2026-11-18T09:00:12.480Z", "value": "help"}'
    assert rows(read(line)) == [(0, 1_794_992_412_480, b"u-829341", 2)]


def test_without_a_field_for_it_the_records_own_time_counts() -> None:
    reader = EventReader({"screen": SCREEN}, Fields(time=None))
    for times in ([5, -1], np.array([5, -1])):
        columns = reader.read([json.dumps(GOOD).encode()] * 2, times)
        assert columns.time.tolist() == [5]
        assert columns.refusals == ((1, Reason.TIME),)
    with pytest.raises(MappingError, match="one each"):
        reader.read([b"{}"])


def test_fields_may_lie_anywhere() -> None:
    for stream in (None, "/a~1b/1"):
        reader = EventReader({"screen": SCREEN}, Fields("/session/user_id", "/screen/0", "/at", stream))
        event = {"session": {"user_id": "u"}, "screen": ["help"], "at": 5, "a/b": [0, "screen"]}
        assert rows(read(event, reader=reader)) == [(0, 5, b"u", 2)]
        assert reader.read([b"[]", b"7", b'"x"', b"null"]).counts == {Reason.FIELD: 4}


# ---- refusals ----


@every("value", ["elsewhere", "", "HOME", None, 3, 14.2, True, [], ["help"], {}])
def test_an_event_that_is_wrong_in_its_value_alone_still_enrols_its_user(value: object) -> None:
    columns = read({**GOOD, "value": value})
    assert columns.users == [b"u-1"]
    assert columns.code.tolist() == [REFUSED]
    assert columns.counts == {Reason.VALUE if isinstance(value, str) else Reason.TYPE: 1}


@every("value", [None, 3, 14.2, True, [], ["help"], {}])
def test_what_is_no_text_is_not_other(value: object) -> None:
    columns = read({**GOOD, "stream": "page", "value": value})
    assert columns.code.tolist() == [REFUSED]
    assert columns.counts == {Reason.TYPE: 1}


def test_an_event_without_a_value_still_enrols_its_user() -> None:
    columns = read({key: GOOD[key] for key in FIELDS if key != "value"})
    assert columns.code.tolist() == [REFUSED]
    assert columns.counts == {Reason.FIELD: 1}


@every("name", ["stream", "user", "time"])
def test_an_event_without_another_field_is_dropped(name: str) -> None:
    columns = read({key: GOOD[key] for key in FIELDS if key != name})
    assert columns.users == []
    assert columns.counts == {Reason.FIELD: 1}


@every(
    "record",
    [
        b"",
        b"{",
        b"{}{}",
        b"\xff",
        b'{"user":"\xff"}',
        b'{"user":"\\ud800"}',
        b'{"value":NaN}',
        b'{"value":1e999}',
        b"\xef\xbb\xbf{}",
        b"[" * 60_000,
        b'{"a":' * 5000 + b"1" + b"}" * 5000,
    ],
)
def test_what_is_no_json_is_counted_as_such(record: bytes) -> None:
    assert reason(record) is Reason.JSON


def test_a_record_without_content_is_no_json() -> None:
    assert READER.read([None]).refusals == ((0, Reason.JSON),)


def test_a_record_over_64_kib_has_no_value_and_shows_its_user() -> None:
    padded = json.dumps(GOOD).encode()
    padded += b" " * (65_536 - len(padded))
    assert read(padded).code.tolist() == [2]
    columns = read(padded + b" ")
    assert rows(columns) == [(0, GOOD["time"], b"u-1", REFUSED)]
    assert columns.counts == {Reason.SIZE: 1}


@every("value", list(MALFORMED.values()))
@every("order", list(itertools.permutations(FIELDS)))
def test_a_record_that_is_no_json_shows_its_user_all_the_same(order: tuple[str, ...], value: bytes) -> None:
    written = {key: json.dumps(found).encode() for key, found in GOOD.items()} | {"value": value}
    columns = read(frame(*((key, written[key]) for key in order)))
    assert rows(columns) == [(0, GOOD["time"], b"u-1", REFUSED)]
    assert columns.counts == {Reason.SIZE if len(value) > 65_000 else Reason.JSON: 1}


@every(
    "changes",
    [
        {"user": b'""'},
        {"user": b'"\xff"'},
        {"user": b'"' + b"u" * 257 + b'"'},
        {"user": b"18446744073709551616"},
        {"user": b"null"},
        {"time": b'"yesterday"'},
        {"time": b"-1"},
        {"time": b"5.0"},
        {"stream": b'"nobody"'},
        {"stream": b"7"},
    ],
)
def test_of_a_record_that_is_no_json_whoever_would_be_refused_is_refused_too(changes: dict[str, bytes]) -> None:
    written = {key: json.dumps(found).encode() for key, found in GOOD.items()} | {"value": b"NaN"} | changes
    columns = read(frame(*written.items()))
    assert columns.users == []
    assert columns.counts == {Reason.JSON: 1}


def test_a_record_that_is_no_json_has_the_time_from_elsewhere_where_no_field_holds_it() -> None:
    reader = EventReader({"screen": SCREEN}, Fields(time=None))
    columns = reader.read([b'{"user": "u", "value": NaN}'], [77])
    assert rows(columns) == [(0, 77, b"u", REFUSED)]


@every(
    ("name", "value", "why"),
    [
        ("user", "", "user"),
        ("user", "a" * 257, "user"),
        ("user", "é" * 129, "user"),
        ("user", True, "type"),
        ("user", 1.0, "type"),
        ("user", 2**64, "type"),
        ("user", None, "type"),
        ("user", ["u"], "type"),
        ("time", "yesterday", "time"),
        ("time", -1, "time"),
        ("time", 253_402_300_800_000, "time"),
        ("time", 1e12, "type"),
        ("time", True, "type"),
        ("time", None, "type"),
        ("time", "2026-11-18T09:00:12", "time"),
        ("stream", "nobody", "stream"),
        ("stream", 0, "type"),
        ("stream", [], "type"),
        ("stream", None, "type"),
    ],
)
def test_an_event_that_is_wrong_elsewhere_is_dropped(name: str, value: object, why: str) -> None:
    columns = read({**GOOD, name: value})
    assert columns.users == []
    assert columns.counts == {Reason(why): 1}


def test_the_longest_user_is_taken() -> None:
    assert len(read({**GOOD, "user": "é" * 128}).users[0]) == 256


def test_printed_columns_show_no_user_and_no_value() -> None:
    shown = repr(read({**GOOD, "user": "u829341", "time": 77_777}))
    assert "u829341" not in shown
    assert "77777" not in shown


# ---- what cannot be built ----


def test_categories_are_different_texts() -> None:
    for bad in ((), ("a", "a"), ("a", 1), ["a"]):
        with pytest.raises(MappingError, match="categories: found"):
            Categories(bad)  # type: ignore[arg-type]


def test_several_streams_need_a_field_that_tells_them_apart() -> None:
    for streams in (STREAMS, {}):
        with pytest.raises(MappingError, match="streams; allowed: 1, or up to 65536"):
            EventReader(streams)
