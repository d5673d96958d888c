# SPDX-License-Identifier: Apache-2.0
"""Errors of sums over releases of horizons, in which each estimate stands on those before it.

Contract: exact within a horizon (trees/residue_sums.py) from the releases' standard errors and the shares that they
say, wherever a stretch begins and ends; horizons are independent, since other users answer, or the same ones with other
noise.  Of releases of a horizon that are not there, and of those that do not say their horizon, the bound is taken that
is never too small.  A period that repeats an earlier one's estimate has its error, in the horizon that it was measured
in.  Not here: the drawing of users, bounded in local.py.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.queries.columns import UNKNOWN_HORIZON, ReleaseColumns
from murmurate.aggregators.queries.exact_sums import ExactSums
from murmurate.aggregators.queries.index import RecordedHorizon
from murmurate.aggregators.queries.stretch import Ints, between
from murmurate.aggregators.trees.residue_sums import OnlineSums, SumWeights
from murmurate.randomizers.residue_tree import ResidueTree

NOWHERE: Final = -1
"""The horizon of rows that do not say theirs."""


class SumError(NamedTuple):
    """The error of a sum over some rows."""

    variance: int
    """In squared millionths."""
    horizons: int
    """How many horizons the rows are of."""
    bounded: int
    """For how many of them the variance is a bound."""


class HorizonRows:
    """Where the rows of horizons are, whatever their figures: the same for all statistics that they have."""

    def __init__(
        self, horizons: list[RecordedHorizon], columns: ReleaseColumns, rows: Ints, told: NDArray[np.bool_]
    ) -> None:
        """rows: places in the columns.  told: whether a standard error is told in each of these rows.

        1. The horizon in which each row was measured. 2. Rows of one horizon, and where they are. 3. What releases say
        of their nodes, by horizon.
        """
        # 1.
        of, measured, self._has = columns.tree[rows], columns.measured[rows], told
        starts, lengths = (
            np.array([getattr(one, what) for one in horizons] + [1, 1]) for what in ("first_t", "periods")
        )
        began = starts[of] + (measured - starts[of]) // lengths[of] * lengths[of]
        self.horizons, numbers = list(horizons), {one: number for number, one in enumerate(horizons)}
        self.horizon = np.where(of == UNKNOWN_HORIZON, NOWHERE, of).astype(np.int64)
        for row in np.flatnonzero((began != starts[of]) & (of != UNKNOWN_HORIZON)).tolist():
            earlier = horizons[of[row]]._replace(first_t=int(began[row]))
            self.horizon[row] = number = numbers.setdefault(earlier, len(self.horizons))
            if number == len(self.horizons):
                self.horizons.append(earlier)
        # 2.
        self._order = np.argsort(self.horizon, kind="stable")
        self._steps = measured - np.array([one.first_t for one in self.horizons] + [0])[self.horizon] + 1
        self._bounds = np.searchsorted(self.horizon[self._order], np.arange(len(self.horizons) + 1))
        used = np.flatnonzero(np.diff(self._bounds))
        firsts = self._order[self._bounds[used]]
        self.used: Ints = used[np.argsort(firsts)]
        """The horizons that rows are of, by the first of these."""
        self.first, self.last = (
            self._order[places] for places in (self._bounds[self.used], self._bounds[self.used + 1] - 1)
        )
        self.apart = bool((self.first[1:] > self.last[:-1]).all())
        """Whether the rows of a horizon stand together."""
        # 3.
        place, self._level, self._share = columns.shares()
        owner = columns.tree[place]
        order = np.argsort(owner, kind="stable")
        self._ends, self._level, self._share = columns.t[place][order], self._level[order], self._share[order]
        self._ends_bounds = np.searchsorted(owner[order], np.arange(len(self.horizons) + 1))
        self._sums: dict[int, OnlineSums] = {}
        self._whole: dict[int, SumWeights] = {}
        self._parts: dict[tuple[int, int, int], SumWeights] = {}
        """The newest of those that were asked for: one after the other for each statistic."""

    def of(self, horizon: int) -> Ints:
        """The rows of a horizon, rising."""
        return np.asarray(self._order[self._bounds[horizon] : self._bounds[horizon + 1]])

    def _with_error(self, horizon: int) -> Ints:
        rows = self.of(horizon)
        return np.asarray(rows[self._has[rows]])

    def sums(self, horizon: int) -> OnlineSums:
        """Sums over a horizon."""
        if horizon not in self._sums:
            first_t, periods, fanout, levels = self.horizons[horizon]
            whole = ResidueTree(periods, fanout)
            tree = ResidueTree(periods, fanout, every=True, cut=whole.levels - levels)
            shares = [np.full(periods // tree.span(level), np.nan) for level in range(1, tree.levels)]
            mine = slice(*self._ends_bounds[horizon : horizon + 2])
            ends, at, said = self._ends[mine] - first_t + 1, self._level[mine], self._share[mine]
            for level, into in enumerate(shares, 1):
                these = (at == level) & (ends >= 1) & (ends <= periods)
                into[ends[these] // tree.span(level) - 1] = said[these]
            self._sums[horizon] = OnlineSums(tree, np.unique(self._steps[self._with_error(horizon)]), shares)
        return self._sums[horizon]

    def weights(self, horizon: int, rows: Ints) -> SumWeights:
        """The weights in the sum over rows of a horizon that follow each other in it."""
        key = horizon, int(rows[0]), int(rows[-1])
        if key not in self._parts:
            if len(self._parts) > 3:
                self._parts.clear()
            self._parts[key] = self.sums(horizon).weights(*np.unique(self._steps[rows], return_counts=True))
        return self._parts[key]

    def whole(self, horizon: int) -> SumWeights:
        """The weights in the sum over all rows of a horizon."""
        if horizon not in self._whole:
            self._whole[horizon] = self.weights(horizon, self.of(horizon))
        return self._whole[horizon]

    def variances(self, horizon: int, squared: NDArray[np.float64]) -> NDArray[np.float64]:
        """The variances of a horizon's estimates by their steps, from those of all rows."""
        rows = self._with_error(horizon)
        found = np.zeros(self.horizons[horizon].periods + 1)
        found[self._steps[rows]] = squared[rows]
        return found

    @cached_property
    def bounded(self) -> ExactSums:
        """For how many of the used horizons, in their order, the error of the whole is a bound."""
        return ExactSums(np.array([self.whole(one).bounded for one in self.used.tolist()], np.int64))


class HorizonSums:
    """The errors of one statistic in rows of horizons: an answer takes the nodes of two horizons at most."""

    def __init__(self, rows: HorizonRows, errors: NDArray[Any]) -> None:
        """errors: the standard error of each row in millionths, whole numbers."""
        self._rows, self._squared = rows, errors.astype(np.float64) ** 2
        self._nowhere: Ints = np.flatnonzero(rows.horizon == NOWHERE)
        self._nowhere_errors = ExactSums(errors[self._nowhere])
        self._variances: dict[int, NDArray[np.float64]] = {}

    @cached_property
    def _wholes(self) -> ExactSums:
        """The variances of the sums over all rows of a horizon, of the used ones in their order."""
        found = [self._variance(one, self._rows.whole(one)) for one in self._rows.used.tolist()]
        return ExactSums(np.array([*found, None], object)[:-1])  # None: no array of floats

    def _variance(self, horizon: int, weights: SumWeights) -> int:
        if horizon not in self._variances:
            if len(self._variances) > 2:
                self._variances.clear()
            self._variances[horizon] = self._rows.variances(horizon, self._squared)
        return round(self._rows.sums(horizon).variance(weights, self._variances[horizon]))

    def over(self, first: int, end: int) -> SumError:
        """The error of the sum over the rows first..end-1.

        1. Horizons within. 2. Those that reach beyond, by their nodes. 3. Rows of no known horizon, all alike.
        """
        rows, variance, bounded = self._rows, 0, 0
        low, high = 0, len(rows.used)
        if rows.apart:
            low, high = int(np.searchsorted(rows.last, first)), int(np.searchsorted(rows.first, end))
        high = max(low, high)
        count, within = 0, (rows.first[low:high] >= first) & (rows.last[low:high] < end)
        if rows.apart and within.any():
            inner = low + np.flatnonzero(within)
            at, stop = int(inner[0]), int(inner[-1]) + 1
            variance, bounded, count = self._wholes.between(at, stop), rows.bounded.between(at, stop), stop - at
            within = ~within
        else:
            within = np.ones(high - low, bool)
        for horizon in rows.used[low:high][within].tolist():
            mine = rows.of(horizon)
            mine = mine[slice(*between(mine, first, end))]
            if len(mine):
                weights = rows.weights(horizon, mine)
                variance += self._variance(horizon, weights)
                bounded, count = bounded + weights.bounded, count + 1
        if (alike := slice(*between(self._nowhere, first, end))).start < alike.stop:
            variance += self._nowhere_errors.between(alike.start, alike.stop) ** 2
            bounded, count = bounded + (alike.stop - alike.start > 1), count + 1
        return SumError(variance, count, bounded)
