# SPDX-License-Identifier: Apache-2.0
"""A figure over a stretch of periods: its sum, the variance of that, and which periods it is of.

Contract: whole numbers throughout, so that an answer does not depend on where records begin.  Not here: how they come
about (central.py, local.py), how they are shown (answers.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import sqrt
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.queries.exact_sums import MILLION

HOLD_OUT: Final = "hold-out"
BEFORE: Final = "before the first release"
AFTER: Final = "not yet released"
UNMEASURED: Final = "not measured"
NOT_FOUND: Final = "not found"
ABSENT: Final = "not in these records"
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Coverage:
    """Which periods of a stretch are in an answer."""

    asked: int
    """How many periods begin in the stretch."""
    periods: int
    """How many of them the answer is of."""
    first_t: int
    """The first of those."""
    end_t: int
    """The period after the last of those."""
    missing: Mapping[str, int] = field(default_factory=dict)
    """Why the others are not, and how many of them."""


@dataclass(frozen=True)
class StretchSum:
    """The sum of a statistic over the periods of a stretch."""

    total: int
    """In millionths."""
    variance: int | None
    """In units of 10^-18; None where releases do not say it."""
    coverage: Coverage
    interpolated: int = 0
    """How many of its periods are parts of a leaf, or of none yet: their estimates were taken."""
    added: int = 0
    """The sum of the standard errors of those, in millionths: their errors go together."""
    carried: int = 0
    """How many of its periods repeat what an earlier one measured."""
    in_horizons: int = 0
    """How many of its periods are of methods of horizons."""
    horizons: int = 0
    """How many horizons these were measured in."""
    bounded: int = 0
    """For how many of them the standard error is a bound, since some of their releases are not there."""

    @property
    def value(self) -> float:
        """The sum."""
        return self.total / MILLION

    @property
    def stderr(self) -> float | None:
        """The standard error: of leaves and reports exactly, of interpolated periods added to that."""
        return None if self.variance is None else sqrt(self.variance) / MILLION**1.5 + self.added / MILLION


def combined(sums: list[StretchSum]) -> StretchSum:
    """The sum of statistics whose noises are independent, over the same periods."""
    first = sums[0]
    variances = [each.variance for each in sums if each.variance is not None]
    return StretchSum(
        sum(each.total for each in sums), sum(variances) if len(variances) == len(sums) else None, first.coverage,
        first.interpolated, sum(each.added for each in sums), first.carried, first.in_horizons, first.horizons,
        first.bounded,
    )  # fmt: skip


def between(places: NDArray[Any], low: int, high: int) -> tuple[int, int]:
    """Where the numbers from low to below high stand among rising ones: from, to."""
    first, end = np.searchsorted(places, (low, high)).tolist()
    return first, max(first, end)


def count(places: NDArray[Any], low: int, high: int) -> int:
    """How many of some rising numbers are from low to below high."""
    first, end = between(places, low, high)
    return end - first


def missing(asked: int, covered: int, **reasons: int) -> dict[str, int]:
    """The reasons for which periods are missing, and what is left; in a fixed order, none of which is 0."""
    known = {reason: reasons.get(key, 0) for key, reason in _KEYS.items()}
    known[ABSENT] = asked - covered - sum(known.values())
    return {reason: number for reason, number in known.items() if number > 0}


_KEYS: Final = {
    "before": BEFORE, "hold_out": HOLD_OUT, "unmeasured": UNMEASURED, "not_found": NOT_FOUND, "after": AFTER,
}  # fmt: skip
