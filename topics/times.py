# SPDX-License-Identifier: Apache-2.0
"""The instant of an event: RFC 3339 text or epoch milliseconds to milliseconds since 1970, and back to text.

Contract: strict. A date without a zone, a week date, a second 60 or a day that does not exist is refused; so is an
instant before 1970 or after year 9999. Digits past the millisecond are cut. Two small tables remember what was read,
one for the second and one for fraction and zone, since neighbours share both: they change the speed and nothing else.
"""

import re
from datetime import UTC, datetime, timedelta

from murmurate.topics.message import MAX_TIME_MS

_SECOND = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})", re.ASCII)
_TAIL = re.compile(r"(?:\.([0-9]+))?(?:[Zz]|([+-])([01][0-9]|2[0-3]):([0-5][0-9]))", re.ASCII)
_SECOND_CHARS = 19
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1))
_REMEMBERED = 1 << 16
_LONG = len(".480Z")


class _Seconds(dict[str, int]):
    """`2026-11-18T09:00:12` to milliseconds, as if in UTC."""

    def __missing__(self, text: str) -> int:
        match = _SECOND.fullmatch(text)
        if match is None:
            raise ValueError("no RFC 3339 date and time")
        year, month, day, hour, minute, second = map(int, match.groups())
        since = datetime(year, month, day, hour, minute, second, tzinfo=UTC) - _EPOCH
        if len(self) >= _REMEMBERED:
            self.clear()
        self[text] = milliseconds = (since.days * 86_400 + since.seconds) * 1000
        return milliseconds


class _Tails(dict[str, int]):
    """`.480Z` or `+02:00` to the milliseconds to add."""

    def __missing__(self, text: str) -> int:
        if (
            len(text) > _LONG
            and text[0] == "."
            and text[-1] == "Z"
            and (digits := text[1:-1]).isdigit()
            and digits.isascii()
        ):
            return int(digits[:3])  # micro- and nanoseconds: too many to be worth remembering
        match = _TAIL.fullmatch(text)
        if match is None:
            raise ValueError("no RFC 3339 fraction and zone")
        fraction, sign, hours, minutes = match.groups()
        offset = (int(hours) * 60 + int(minutes)) * 60_000 if sign else 0
        if len(self) >= _REMEMBERED:
            self.clear()
        self[text] = milliseconds = int((fraction or "0")[:3].ljust(3, "0")) + (offset if sign == "-" else -offset)
        return milliseconds


class InstantReader:
    """Reads instants. It holds no time of its own."""

    __slots__ = ("_seconds", "_tails")

    def __init__(self) -> None:
        self._seconds, self._tails = _Seconds(), _Tails()

    def milliseconds(self, text: str) -> int:
        """RFC 3339 to milliseconds since 1970; ValueError if it is no such text or out of range."""
        instant = self._seconds[text[:_SECOND_CHARS]] + self._tails[text[_SECOND_CHARS:]]
        if not 0 <= instant <= MAX_TIME_MS:
            raise ValueError("out of range")
        return instant


def instant(time_ms: int) -> str:
    """RFC 3339, with milliseconds only where there are some."""
    moment = _EPOCH + timedelta(milliseconds=time_ms)
    return moment.isoformat(timespec="milliseconds" if time_ms % 1000 else "seconds").replace("+00:00", "Z")


def duration(length_ms: int) -> str:
    """A duration as the config writes it: "1h", "90s"."""
    unit, size = next((unit, size) for unit, size in _UNITS if length_ms % size == 0)
    return f"{length_ms // size}{unit}"
