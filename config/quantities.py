# SPDX-License-Identifier: Apache-2.0
"""Quantities of the deployment file: epsilon, shares, durations, the window, and how long a value is carried.

Contract: epsilon and shares become whole millionths exactly as they were written; a duration becomes milliseconds.
Not here: plain numbers and texts (kinds.py), w and the slots that follow from these (planning.py).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from murmurate.config.errors import Mistake, NotAllowedError
from murmurate.config.kinds import Kind, WholeNumber, between, exactly, seen
from murmurate.randomizers.errors import ParameterError
from murmurate.randomizers.thresholds import MAX_MICRO, MICRO, micro_nats
from murmurate.topics.domains import Grid
from murmurate.topics.errors import MappingError

UNITS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
"""Milliseconds of each unit of a duration."""
DURATION_PATTERN: Final = r"^[0-9]{1,12}(ms|s|m|h|d)$"
MAX_W: Final = 32_768
"""The longest window in periods: a method's unit is S / 2w slots, and S is at most 65 536."""


@dataclass(frozen=True)
class Epsilon(Kind):
    """A privacy loss in nats that mechanisms can spend: whole micro-nats, rounded down."""

    @property
    def allowed(self) -> str:
        """Its range."""
        return "a number from 0.000001 (one micro-nat) to 20"

    @property
    def schema(self) -> dict[str, Any]:
        """A number in its range."""
        return {"type": "number", "minimum": 1 / MICRO, "maximum": MAX_MICRO // MICRO}

    def read(self, found: Any) -> float:
        """The number as it was written; `micro_nats` of it is what counts."""
        exact = exactly(found)
        try:
            micro_nats(exact)
        except ParameterError:
            raise ValueError from None
        return float(exact)


@dataclass(frozen=True)
class Share(Kind):
    """A part of the whole in millionths, so that parts add up exactly."""

    @property
    def allowed(self) -> str:
        """Its range and its grain."""
        return "a number from 0.000001 to 1 with at most six places"

    @property
    def schema(self) -> dict[str, Any]:
        """A number in its range."""
        return {"type": "number", "minimum": 1 / MICRO, "maximum": 1}

    def read(self, found: Any) -> float:
        """The number as it was written; `millionths` of it is exact."""
        exact = exactly(found)
        if not 0 < exact <= 1 or exact * MICRO != int(exact * MICRO):
            raise ValueError
        return float(exact)


def millionths(share: float) -> int:
    """A share as a whole number.

    >>> millionths(0.29)
    290000
    """
    return int(Decimal(repr(share)) * MICRO)


@dataclass(frozen=True)
class Duration(Kind):
    """A stretch of time such as "90s", read as milliseconds."""

    low: str
    high: str

    @property
    def allowed(self) -> str:
        """Its range."""
        return f'"{self.low}" to "{self.high}"'

    @property
    def schema(self) -> dict[str, Any]:
        """A text that is a number and a unit."""
        return {"type": "string", "pattern": DURATION_PATTERN}

    def read(self, found: Any) -> int:
        """Milliseconds.

        >>> Duration("1s", "7d").read("90s")
        90000
        """
        return between(milliseconds(found), milliseconds(self.low), milliseconds(self.high))


def milliseconds(found: Any) -> int:
    """The milliseconds of a duration; NotAllowedError if it is none."""
    if not isinstance(found, str) or not re.fullmatch(DURATION_PATTERN.strip("^$"), found):
        allowed = 'a whole number and one of ms, s, m, h, d, such as "90s"'
        raise NotAllowedError(Mistake("", seen(found), allowed))
    digits = found.rstrip("dhms")
    return int(digits) * UNITS[found[len(digits) :]]


def shortest(ms: int) -> str:
    """A duration as one would write it.

    >>> shortest(90_000), shortest(3_600_000), shortest(0)
    ('90s', '1h', '0s')
    """
    unit = next((unit for unit, size in reversed(UNITS.items()) if ms and ms % size == 0), "s")
    return f"{ms // UNITS[unit]}{unit}"


def in_words(ms: int) -> str:
    """A duration as people say it, in its two largest units.

    >>> in_words(604_800_000), in_words(10_800_000), in_words(90_000_000), in_words(90_061_000)
    ('7 days', '3 hours', '1 day 1 hour', '1 day 1 hour')
    >>> in_words(1_500), in_words(90_000), in_words(0)
    ('1.5 seconds', '1 minute 30 seconds', '0 seconds')
    """
    if ms < 60_000:
        return f"{ms / 1000:g} second{'s' * (ms != 1000)}"
    said = list[str]()
    for name, size in (("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000), ("second", 1000)):
        count, ms = divmod(ms, size)
        if count or said:
            said.append(f"{count} {name}{'s' * (count != 1)}" if count else "")
    return " ".join(part for part in said[:2] if part)


def age(length_ms: int) -> str:
    """A length of time in its largest unit.

    >>> age(900), age(61_000), age(7_200_000), age(200_000_000)
    ('0 s', '61 s', '120 min', '55 h')
    """
    for unit, size in (("h", 3_600_000), ("min", 60_000)):
        if length_ms > 2 * size:
            return f"{length_ms // size} {unit}"
    return f"{length_ms // 1000} s"


LONG: Final = Duration("1s", "400d")
PERIODS: Final = WholeNumber(1, MAX_W)


@dataclass(frozen=True)
class Range(Kind):
    """Two numbers, the lower one first."""

    @property
    def allowed(self) -> str:
        """What they are."""
        return "two numbers, the lower one first, such as [0, 120]"

    @property
    def schema(self) -> dict[str, Any]:
        """An array of two."""
        return {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}

    def read(self, found: Any) -> tuple[float, float]:
        """The numbers; they must lie apart by what a double can tell."""
        if not isinstance(found, (list, tuple)) or len(found) != 2:
            raise ValueError
        try:
            low, high = (float(exactly(end)) for end in found)
            Grid(low, high, 2, "points")
        except (MappingError, ValueError):
            ends = ", ".join(map(seen, found))
            raise NotAllowedError(Mistake("", f"[{ends}]", self.allowed)) from None
        return low, high


@dataclass(frozen=True)
class PrivacyWindow:
    """The stretch in which one epsilon may be spent: a time, or the papers' number of periods."""

    ms: int | None = None
    periods: int | None = None


@dataclass(frozen=True)
class WindowKind(Kind):
    """A duration, or { periods = N }."""

    @property
    def allowed(self) -> str:
        """Both forms."""
        return f"{LONG.allowed}, or {{ periods = N }} with {PERIODS.allowed}"

    @property
    def schema(self) -> dict[str, Any]:
        """A text or an object."""
        return {"anyOf": [LONG.schema, _one_key("periods", PERIODS.schema)]}

    def read(self, found: Any) -> PrivacyWindow:
        """The window."""
        if not isinstance(found, Mapping):
            return PrivacyWindow(ms=LONG.read(found))
        if found.keys() != {"periods"}:
            raise ValueError
        return PrivacyWindow(periods=_inside("periods", PERIODS, found["periods"]))


@dataclass(frozen=True)
class Missing:
    """What a user without an event says: their last value for so long, then none."""

    carry_ms: int | None = 0
    """How long a value stands after its event, in milliseconds. 0: users say none at once; None: the last value stands
    for ever.
    """


@dataclass(frozen=True)
class MissingKind(Kind):
    """The word none, or { carry = DURATION or "always" }."""

    @property
    def allowed(self) -> str:
        """The three forms."""
        return '"none", { carry = "15m" } with any duration, or { carry = "always" }'

    @property
    def schema(self) -> dict[str, Any]:
        """A word or an object."""
        return {"anyOf": [{"const": "none"}, _one_key("carry", {"anyOf": [{"const": "always"}, LONG.schema]})]}

    def read(self, found: Any) -> Missing:
        """What is meant."""
        if found == "none":
            return Missing()
        if not isinstance(found, Mapping) or found.keys() != {"carry"}:
            raise ValueError
        return Missing(None) if found["carry"] == "always" else Missing(_inside("carry", LONG, found["carry"]))


def _inside(key: str, kind: Duration | WholeNumber, found: Any) -> int:
    """The value of a table's one key; a mistake in it is reported for that key."""
    try:
        return kind.read(found)
    except NotAllowedError as error:
        raise NotAllowedError(*(mistake.below(key) for mistake in error.mistakes)) from None
    except ValueError:
        raise NotAllowedError(Mistake(key, seen(found), kind.allowed)) from None


def _one_key(key: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {key: schema}, "required": [key], "additionalProperties": False}
