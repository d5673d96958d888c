# SPDX-License-Identifier: Apache-2.0
"""Sums of a local stream's figures over a stretch of periods, from `unbiased` and its standard error.

Contract: the sum of `unbiased` over the periods is unbiased for the sum of what it estimates.  A period that repeats
what an earlier one measured has that one's error: a report that speaks in k periods of the stretch counts k times, its
variance k^2 times.  Reports of different periods have independent noise, so their variances add up, exactly for the
mechanism; those of a horizon do not (horizon_sums.py).  Where users are drawn their sampling is taken as independent,
too; `sampling_factor` bounds what it can be.
Source: the bound is that of aggregators/measures for totals.  Not here: central streams (central.py).
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.methods.horizon_levels import cohorts_needed
from murmurate.aggregators.methods.registry import METHODS
from murmurate.aggregators.queries.columns import NO_TREE
from murmurate.aggregators.queries.exact_sums import MILLION, ExactSums, millionths, squares
from murmurate.aggregators.queries.horizon_sums import HorizonRows, HorizonSums, SumError
from murmurate.aggregators.queries.index import RecordedStream
from murmurate.aggregators.queries.stretch import Coverage, Ints, StretchSum, between, count, missing


class ReportSums:
    """One statistic of a local stream, ready to answer: an answer takes O(log periods)."""

    def __init__(self, recorded: RecordedStream, name: str) -> None:
        periods, _ = recorded.columns()
        values, errors = periods.figures(name), periods.figures(name, second=True)
        known = ~np.isnan(values)
        self._found, self._recorded = recorded.found, periods.t
        self._t: Ints = periods.t[known]
        measured, errors = periods.measured[known], errors[known]
        self._totals = ExactSums(millionths(values[known]))
        self._without = np.flatnonzero(np.isnan(errors))
        self._carried = self._t[measured != self._t]
        alone, told = periods.tree[known] == NO_TREE, ~np.isnan(errors)
        errors = np.nan_to_num(errors)
        self._alone = _IndependentErrors(measured[alone], errors[alone])
        self._together: HorizonSums | None = None
        if not alone.all():
            self._together = HorizonSums(_horizon_rows(recorded, known, told), millionths(errors[~alone]))
            self._in_horizons: Ints = np.append(0, np.cumsum(~alone))

    def over(self, low: int, high: int) -> StretchSum:
        """The sum over the periods low..high-1."""
        first, end = between(self._t, low, high)
        errors_known = not count(self._without, first, end)
        total, coverage = self._totals.between(first, end), self._coverage(low, high)
        carried, of, places = count(self._carried, low, high), SumError(0, 0, 0), (0, 0)
        if self._together is not None:
            places = int(self._in_horizons[first]), int(self._in_horizons[end])
            of = self._together.over(*places)
        variance = (self._alone.variance(first - places[0], end - places[1]) + of.variance) * MILLION
        return StretchSum(
            total, variance if errors_known else None, coverage, carried=carried, in_horizons=places[1] - places[0],
            horizons=of.horizons, bounded=of.bounded,
        )  # fmt: skip

    def _coverage(self, low: int, high: int) -> Coverage:
        first, end = between(self._t, low, high)
        covered, there = end - first, count(self._recorded, low, high)
        begin, stop = (int(self._recorded[0]), int(self._recorded[-1]) + 1) if len(self._recorded) else (high, high)
        reasons = {
            "before": min(high, max(begin, low)) - low, "after": high - max(low, min(stop, high)),
            "not_found" if self._found else "unmeasured": there - covered,
        }  # fmt: skip
        ends = (int(self._t[first]), int(self._t[end - 1]) + 1) if covered else (low, low)
        return Coverage(high - low, covered, *ends, missing(high - low, covered, **reasons))


class _IndependentErrors:
    """Errors of which each is one period's, and all those that repeat it."""

    def __init__(self, measured: Ints, errors: NDArray[np.float64]) -> None:
        self._starts = np.flatnonzero(np.append(True, measured[1:] != measured[:-1])) if len(measured) else measured
        """Where the periods in which the same reports speak begin."""
        self._errors = millionths(errors[self._starts])
        sizes = np.diff(np.append(self._starts, len(measured)))
        self._variances = ExactSums(squares(self._errors * sizes))

    def variance(self, first: int, end: int) -> int:
        """The variance of the sum at places first..end-1, in squared millionths."""
        if first == end:
            return 0
        at, last = (np.searchsorted(self._starts, (first, end - 1), side="right") - 1).tolist()
        if at == last:
            return int(self._errors[at]) ** 2 * (end - first) ** 2
        cut = int(self._errors[at]) ** 2 * (int(self._starts[at + 1]) - first) ** 2
        cut += int(self._errors[last]) ** 2 * (end - int(self._starts[last])) ** 2
        return cut + self._variances.between(at + 1, last)


def _horizon_rows(recorded: RecordedStream, known: NDArray[np.bool_], told: NDArray[np.bool_]) -> HorizonRows:
    """Where rows of horizons are, for a statistic that is known in these rows, of which some tell a standard error;
    statistics mostly share it.
    """
    periods, _ = recorded.columns()
    key = "rows of horizons", known.tobytes(), told.tobytes()
    if key not in recorded.answers:
        apart = periods.tree != NO_TREE
        rows = np.flatnonzero(known & apart)
        recorded.answers[key] = HorizonRows(recorded.horizons, periods, rows, told[apart[known]])
    found: HorizonRows = recorded.answers[key]
    return found


def sampling_factor(recorded: RecordedStream, of: StretchSum) -> float:
    """At most so many times the standard error of a sum is what it would be with independent sampling: 1 where
    everybody answers.

    In a stretch a user answers up to k = periods / w times, rounded up; groups of one window are disjoint.  Of a method
    of horizons a user answers in every K-th of them, with K cohorts; and its errors have all of the sampling's variance
    already, whatever part of the users answers.
    """
    w, kind, periods = recorded.w or 1, METHODS.get(recorded.method), of.coverage.periods - of.in_horizons
    factor = 1.0
    if recorded.horizons:
        cohorts = min(cohorts_needed(w, one.periods) for one in recorded.horizons)
        factor = sqrt(max(1, -(-of.horizons // cohorts)))
    if w == 1 or periods <= 1 or (kind is not None and kind.division == "budget"):
        return factor
    return max(factor, sqrt(-(-periods // w) * w / (w - 1)))
