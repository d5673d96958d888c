# SPDX-License-Identifier: Apache-2.0
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import strategies as st

from murmurate.topics.errors import MappingError
from murmurate.topics.pointers import getter, tokens
from murmurate.topics.times import InstantReader
from tests.cases import drawn, every

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LAST = datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
ZONES = st.integers(-23 * 60 - 59, 23 * 60 + 59).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@drawn(
    100,
    long=5000,
    when=st.datetimes(timezones=ZONES),
    places=st.sampled_from(["seconds", "milliseconds", "microseconds"]),
)
def test_an_instant_is_read_as_python_reads_it(when: datetime, places: str) -> None:
    text = when.isoformat(timespec=places)
    exact = datetime.fromisoformat(text) - EPOCH
    if timedelta(0) <= exact <= LAST - EPOCH:
        assert InstantReader().milliseconds(text) == exact // timedelta(milliseconds=1)
    else:
        with pytest.raises(ValueError, match="range"):
            InstantReader().milliseconds(text)


@drawn(
    100,
    long=5000,
    text=st.from_regex(
        r"[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-6][0-9]:[0-6][0-9](\.[0-9]{1,7})?(Z|[+-][0-2][0-9]:[0-6][0-9])"
    ),
)
def test_what_was_read_before_changes_nothing(text: str) -> None:
    def read(clock: InstantReader) -> int | None:
        try:
            return clock.milliseconds(text)
        except ValueError:
            return None

    used = InstantReader()
    assert read(used) == read(used) == read(InstantReader())


def test_the_memory_of_a_clock_is_bounded() -> None:
    clock = InstantReader()
    for n in range(70_000):
        clock.milliseconds((EPOCH + timedelta(seconds=n)).isoformat())
        clock.milliseconds(f"2026-11-18T09:00:12.{n:05}z")
    assert max(len(clock._seconds), len(clock._tails)) <= 65_536


@every(
    ("text", "milliseconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
        ("2026-11-18T09:00:12.480Z", 1_794_992_412_480),
        ("2026-11-18t10:00:12.48+01:00", 1_794_992_412_480),
        ("2026-11-18T09:00:12.4809999999999Z", 1_794_992_412_480),
        ("2024-02-29T00:00:00z", 1_709_164_800_000),
        ("1969-12-31T23:00:00-01:00", 0),
        ("2026-11-18T09:00:12.5-00:00", 1_794_992_412_500),
    ],
)
def test_an_instant_is_milliseconds_since_1970(text: str, milliseconds: int) -> None:
    assert InstantReader().milliseconds(text) == milliseconds


@every(
    "text",
    [
        "",
        "2026-11-18",
        "2026-11-18T09:00:12",
        "2026-11-18 09:00:12Z",
        "20261118T090012Z",
        "2026-W47-3T09:00:12Z",
        "2026-11-18T09:00Z",
        "2026-11-18T09:00:60Z",
        "2026-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-11-18T24:00:00Z",
        "0000-01-01T00:00:00Z",
        "2026-11-18T09:00:12.Z",
        "2026-11-18T09:00:12,5Z",
        "2026-11-18T09:00:12+0100",
        "2026-11-18T09:00:12+24:00",
        "2026-11-18T09:00:12+01:60",
        "2026-11-18T09:00:12Z\n",
        " 2026-11-18T09:00:12Z",
        "1969-12-31T23:59:59.999Z",
        "9999-12-31T23:59:59-00:01",
        "1970-01-01T00:00:00+00:01",
        "\uff12026-11-18T09:00:12Z",
        "2026-11-18T09:00:12.\uff1480Z",
        "2026-11-18T09:00:12.48012\uff14Z",
        "2026-11-18T09:00:12ZZ",
        "+026-11-18T09:00:12Z",
    ],
)
def test_another_text_is_no_instant(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - any of them
        InstantReader().milliseconds(text)


# ---- pointers ----


def test_a_pointer_leads_as_rfc_6901_says() -> None:
    document = {"foo": ["bar", "baz"], "": 0, "a/b": 1, "m~n": 8, "~1": 9, "0": {"x": 5}, "01": 6}
    for pointer, value in {
        "/foo": ["bar", "baz"],
        "/foo/0": "bar",
        "/": 0,
        "/a~1b": 1,
        "/m~0n": 8,
        "/~01": 9,
        "/0/x": 5,
        "/01": 6,
    }.items():
        assert getter(pointer)(document) == value
    assert getter("/1")(["a", "b"]) == "b"
    assert tokens("/session/user~1id") == ("session", "user/id")


@every("pointer", ["/foo/2", "/foo/-", "/foo/-1", "/foo/01", "/foo/x", "/foo/0/0", "/no", "/no/no", "/foo/9999999999"])
def test_a_pointer_may_lead_nowhere(pointer: str) -> None:
    with pytest.raises(LookupError):
        getter(pointer)({"foo": ["bar", "baz"]})


@every("pointer", ["", "user", "user/", "/a~", "/a~2", "#/a", None, 3])
def test_what_is_no_pointer_is_refused(pointer: object) -> None:
    with pytest.raises(MappingError, match="allowed: a JSON pointer"):
        tokens(pointer)  # type: ignore[arg-type]
