# SPDX-License-Identifier: Apache-2.0
"""Values that were found among too many to list: each is followed by the filter, until it is no longer there.

Contract: a value that is found joins with what its first measurement is worth (first_sight.py); from then on each
period's measurement of it counts, found again or not, so that nothing selects these and its curve is smooth.  It goes
when its estimate, after a measurement, is below its own standard error or below `least`, or where there is no room: at
most `most` values are followed, the largest.  It moved where its estimate differs from that when it was last said to
move (or first found) by more than MOVED standard errors of both.  The same history gives the same state.
Not here: what is found (finding.py), the filter (filters/joining.py), names (a measure's `result`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.filters.joining import JoiningFilter
from murmurate.aggregators.filters.observed import Observed
from murmurate.aggregators.methods.first_sight import first_sight
from murmurate.aggregators.methods.method import Finding, Floats, FoundValues
from murmurate.randomizers.state import Arrays

MOVED: Final = 3.0
"""A change of an estimate beyond so many standard errors is no chance."""
SILENT: Final = 1e6
"""The variance that stands for no measurement of a share."""
Words = NDArray[np.uint32]
"""Values: codes uint32[k], or rows of words uint32[k, words]."""
Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Search:
    """What a period's answers found, and what they say of any value."""

    values: Words
    """The values that were found, each once."""
    bars: Floats
    """The measured share that each had to exceed to be found."""
    threshold: float
    """The share up to which what is found may be chance."""
    measured: Callable[[Words], tuple[Floats, Floats]]
    """The shares of values as these answers alone tell them, raw, and their variances, sampling included; NaN where
    they tell nothing.
    """
    exceeded: tuple[Floats, Floats] | None = None
    """The shares that exceeded the bars, and their variances, where these are not this period's own alone."""


class Followed:
    """The values of one stream that were found and are still there."""

    def __init__(self, *, most: int, least: float, nothing: Words) -> None:
        """nothing: no values, of the right shape: uint32[0] or uint32[0, words]."""
        self.most, self.least = most, least
        self.values = nothing
        self.gone = nothing
        """The values that left with the newest period."""
        self._since = self._seen = np.zeros(0, np.int64)
        self._said: Floats = np.zeros((2, 0))
        """Estimate and variance of each when it was last said to move, or first found: float64[2, values]."""
        self._filter: JoiningFilter | None = None
        self._threshold: float | None = None
        self._raw: Floats = np.zeros((2, 0))
        """The newest answers' own shares and variances, NaN where they tell nothing: float64[2, values]."""
        self._moved = np.zeros(0, np.int8)

    def begin(self, periods: int) -> None:
        """Go on to a later period, in which nothing has been asked yet."""
        if self._filter is not None:
            self._filter.advance(periods)
        self.gone, self._threshold = self.values[:0], None
        self._raw, self._moved = np.full((2, len(self.values)), np.nan), np.zeros(len(self.values), np.int8)

    def take(self, t: int, found: Search) -> None:
        """Take what the answers of period t found.

        1. What is followed is measured, and goes if it is no longer there. 2. What is found again is seen; what is new
        joins, while there is room. 3. Who moved is said to, and by what it will be compared from now on.
        """
        self._threshold = found.threshold
        before = self.values
        heard = self._measure(found)
        estimate, error = self._estimates()
        stays = ~heard | ((estimate >= error) & (estimate >= self.least))
        known = _places(self.values, found.values)
        self._seen[known[known >= 0]] = t
        new = np.flatnonzero(known < 0)
        raw = np.stack(found.measured(found.values[new]))
        shares, variances = raw if found.exceeded is None else np.stack(found.exceeded)[:, new]
        mean, own_error = first_sight(shares, np.sqrt(variances), found.bars[new])
        stays, joins = self._room(stays, estimate, mean)
        belief = np.stack((mean, own_error**2))
        self._exchange(np.flatnonzero(stays), t, found.values[new[joins]], raw[:, joins], belief[:, joins])
        self.gone = before[_places(self.values, before) < 0]
        self._say_moved()

    def release(self) -> FoundValues:
        """What is followed, the largest first; of equal ones the one whose words are smaller."""
        estimate, error = self._estimates()
        order = np.lexsort((*_rows(self.values).T[::-1], -estimate))
        raw, variance = self._raw[:, order]
        finding = Finding(self._threshold, self._since[order], self._seen[order], self._moved[order], self.gone)
        return FoundValues(self.values[order], estimate[order], error[order], raw, np.sqrt(variance), finding)

    # ---- state ----

    def facts(self) -> dict[str, Any]:
        """What of the state is no array."""
        return {"threshold": self._threshold, "filter": None if self._filter is None else self._filter.facts()}

    def arrays(self) -> Arrays:
        """The rest of the state. The filter changes its arrays in place: dump them before it goes on."""
        own: Arrays = {"values": self.values, "gone": self.gone, "since": self._since, "seen": self._seen}
        own |= {"said": self._said, "raw": self._raw, "moved": self._moved}
        inside = {} if self._filter is None else self._filter.arrays()
        return {f"followed {name}": array for name, array in (own | _inside(inside)).items()}

    def load(self, facts: dict[str, Any], arrays: Arrays) -> None:
        """Take over `facts` and `arrays`."""
        named = {name.removeprefix("followed "): a.copy() for name, a in arrays.items() if name.startswith("followed ")}
        self.values, self.gone, self._since, self._seen = (named[k] for k in ("values", "gone", "since", "seen"))
        self._said, self._raw, self._moved = named["said"], named["raw"], named["moved"]
        self._threshold, self._filter = facts["threshold"], None
        if facts["filter"] is not None:
            inside = {k.removeprefix("filter "): array for k, array in named.items() if k.startswith("filter ")}
            self._filter = _filter_of(len(self.values))
            self._filter.load(facts["filter"], inside)

    # ---- steps ----

    def _estimates(self) -> tuple[Floats, Floats]:
        """The estimate of each value's share, from 0 to 1, and its standard error."""
        if self._filter is None:
            return np.zeros(0), np.zeros(0)
        estimate, variance = self._filter.release()
        return np.clip(estimate, 0, 1), np.sqrt(variance)

    def _measure(self, found: Search) -> NDArray[np.bool_]:
        """Let the filter see what the answers say of what is followed. Gives of which they say anything."""
        if self._filter is None:
            return np.zeros(0, np.bool_)
        self._raw = np.stack(found.measured(self.values))
        heard = np.isfinite(self._raw).all(axis=0)
        if heard.any():
            share, noise = np.where(heard, self._raw, np.array([[0.0], [SILENT]]))
            self._filter.observe(Observed(share, noise, noise))
        return np.asarray(heard)

    def _room(self, stays: NDArray[np.bool_], old: Floats, new: Floats) -> tuple[NDArray[np.bool_], Places]:
        """Choose the largest for which there is room among those that may stay and those that are new: which stay, and
        the places of those that join.
        """
        size = np.concatenate((np.where(stays, old, -np.inf), new))
        best = np.lexsort((np.arange(len(size)), -size))[: self.most]
        best = np.sort(best[size[best] > -np.inf])
        kept = np.zeros(len(old), np.bool_)
        kept[best[best < len(old)]] = True
        return kept, best[best >= len(old)] - len(old)

    def _exchange(self, kept: Places, t: int, joining: Words, raw: Floats, belief: Floats) -> None:
        """Follow what stays, and what joins. raw: what was measured of these, with variances; belief: what that is
        worth.
        """
        same = len(kept) == len(self.values) and not len(joining)
        self.values = np.concatenate((self.values[kept], joining))
        self._since, self._seen = (
            np.append(some[kept], np.full(len(joining), t)) for some in (self._since, self._seen)
        )
        self._said, self._raw = (
            np.concatenate((some[:, kept], more), axis=1) for some, more in ((self._said, belief), (self._raw, raw))
        )
        if not len(self.values):
            self._filter = None
            return
        places = np.arange(len(kept), len(self.values))
        if self._filter is None or not len(kept):
            self._filter = _filter_of(len(places))
            self._filter.observe(Observed(belief[0], raw[1], raw[1]))
        elif not same:
            self._filter = self._filter.resized(kept, raw[1])
        if len(places):
            self._filter.begin_anew(places, *belief)

    def _say_moved(self) -> None:
        """Find which moved by more than chance since they were last said to."""
        estimate, error = self._estimates()
        change = estimate - self._said[0]
        moved = np.abs(change) > MOVED * np.sqrt(error**2 + self._said[1])
        self._moved = np.where(moved, np.sign(change), 0).astype(np.int8)
        self._said = np.where(moved, np.stack((estimate, error**2)), self._said)


def _filter_of(values: int) -> JoiningFilter:
    """A filter of so many shares, each by itself."""
    return JoiningFilter(values, wholes=(1,) * values)


def _inside(arrays: Arrays) -> Arrays:
    """The arrays of the filter, by names of their own."""
    return {f"filter {name}": array for name, array in arrays.items()}


def _rows(values: Words) -> Words:
    """Values as rows of words, also where each is one code."""
    return values.reshape(len(values), -1) if len(values) else values.reshape(0, 1)


def _places(among: Words, values: Words) -> Places:
    """The place of each of `values` among the others, -1 where it is not there."""
    place = {row.tobytes(): at for at, row in enumerate(among)}
    return np.array([place.get(row.tobytes(), -1) for row in values], np.int64)
