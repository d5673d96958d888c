# SPDX-License-Identifier: Apache-2.0
"""A filter of very many coordinates: a running average of each, and the adaptive filter of those that matter.

Contract: the interface is the adaptive filter's, over all statistics; those of a coordinate that is not followed
closely are NaN, in estimates and in variances.  Followed closely are the coordinates that are named, always, and as
many others as there is room for: whoever is among the largest by its running average, or by the newest answer alone and
beyond chance, takes the place of the smallest one.  Its filter begins with what made it enter.  So state and time are a
few numbers for each coordinate, and the adaptive filter's for those with a place (following 65 536 of them closely
would be some 170 MB of state and a quarter of a second a period).  Post-processing: it costs no privacy.  What enters
for being large is too large on average (measures/largest.py says by how much at most).
Not here: seasons and revisions, which a coordinate without a past cannot have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.filters.joining import JoiningFilter
from murmurate.aggregators.filters.models import Floats
from murmurate.aggregators.filters.observed import Observed, ReportModel, Tail
from murmurate.aggregators.filters.two_groups import shrunk
from murmurate.aggregators.methods.method import Answer
from murmurate.randomizers import ParameterError
from murmurate.randomizers.state import Arrays

MEMORY: Final = 63 / 64
"""The part of its weight that an answer keeps in running averages after another period."""
ROOM: Final = 256
"""The least number of coordinates, besides those named, that are followed closely."""
TIMES: Final = 4
"""As many times the number of listed ones are followed closely, if that is more."""


@dataclass(frozen=True)
class ManyCoordinates:
    """What is followed of many coordinates. Statistics stand in parts, each with one for every coordinate."""

    d: int
    """The number of coordinates."""
    ranges: tuple[tuple[float, float], ...] | None
    """The lowest and highest value of the statistics of each part; None: shares, in one part."""
    named: tuple[int, ...]
    """The coordinates that are always followed closely."""
    top: int
    """The number of largest others that a release lists."""
    by: int = 0
    """The part by which they are ranked."""
    absolute: bool = True
    """Whether they are ranked by absolute values."""
    beyond: float = 5.0
    """The number of standard errors from zero that chance reaches hardly ever in all of them."""

    @property
    def parts(self) -> int:
        """The number of parts."""
        return 1 if self.ranges is None else len(self.ranges)

    @property
    def places(self) -> int:
        """The number of coordinates that are followed closely."""
        return min(self.d, len(self.named) + max(ROOM, TIMES * self.top))

    def size(self, statistics: Floats) -> Floats:
        """The sizes by which coordinates are ranked."""
        ranked = statistics[self.by * self.d : (self.by + 1) * self.d]
        return np.asarray(np.abs(ranked) if self.absolute else ranked)


class ManyFilter:
    """The filter of one stream with many coordinates."""

    def __init__(self, statistics: int, of: ManyCoordinates) -> None:
        if statistics != of.parts * of.d:
            raise ParameterError(f"filter: found {statistics} statistics; allowed: {of.parts} times {of.d}")
        self._of, self.statistics = of, statistics
        followed = of.parts * of.places
        ranges = None if of.ranges is None else [one for one in of.ranges for _ in range(of.places)]
        self._filter = JoiningFilter(followed, ranges=ranges, wholes=(1,) * followed if ranges is None else None)
        self._named = np.array(of.named, np.int64)
        others = np.setdiff1d(np.arange(of.d), self._named)
        self._followed = np.append(self._named, others[: of.places - len(self._named)])
        """The coordinates with a place: those named first, and then the others in no order."""
        self._average = np.zeros(statistics)
        self._mass = self._squares = 0.0  # of weights and of their squares, over the average variance
        self._tail = Tail()

    @property
    def informed(self) -> bool:
        """Whether there has been an answer."""
        return self._filter.informed

    @property
    def followed(self) -> NDArray[np.int64]:
        """The coordinates that are followed closely, those named first."""
        return self._followed.copy()

    def learn(self, mechanism: ReportModel, answer: Answer, users: float | None) -> None:
        """Take an answered round of the current period; there may be several. A round of 0 reports changes nothing.

        1. All coordinates are measured, and averaged. 2. Those with a place are filtered. 3. Others that seem large
        take the places of small ones; before the first answer all places are alike.
        """
        if not answer.counted:
            return
        believed, first = self._average.copy(), not self.informed
        if not first:
            believed[self._columns] = self._filter.release()[0]
        seen = Observed.of(mechanism, answer, users, believed, self._tail, wholes=())
        self._learn_average(seen)
        columns = self._columns
        self._filter.observe(Observed(seen.statistics[columns], seen.noise[columns], seen.noise_of_jump[columns]))
        if self._of.places == self._of.d:
            return  # nobody is chosen
        if first:
            others = np.arange(len(self._named), self._of.places)
            self._enter(others, *self._beliefs(seen.statistics, seen.noise, self._of.top))
        else:
            self._exchange(seen)

    def release(self) -> tuple[Floats, Floats]:
        """Estimate and variance of each statistic, NaN where it is not followed closely: two float64[statistics]."""
        estimate, variance = self._filter.release()
        return self._spread(estimate), self._spread(variance)

    def of_noise(self) -> Floats:
        """The part of each estimate's variance that the noise of answers makes up, NaN where it is not followed:
        float64[statistics].
        """
        return self._spread(self._filter.of_noise())

    def past(self) -> tuple[Floats, Floats]:
        """Mean and variance of the estimates so far, NaN where one is not followed: two float64[statistics]."""
        mean, variance = self._filter.past()
        return self._spread(mean), self._spread(variance)

    def smoothed(self, lag: int) -> tuple[Floats, Floats]:
        """No period is revised: two float64[0, statistics]."""
        return np.zeros((0, self.statistics)), np.zeros((0, self.statistics))

    def advance(self, periods: int = 1) -> None:
        """Go on to a later period."""
        self._filter.advance(periods)
        self._mass *= MEMORY**periods
        self._squares *= MEMORY ** (2 * periods)

    def facts(self) -> dict[str, Any]:
        """What of the state is no array."""
        average = {"mass": self._mass, "squares": self._squares, "reports": self._tail.reports}
        return {"closely": self._filter.facts(), **average}

    def arrays(self) -> Arrays:
        """The rest of the state. The filter changes these arrays in place: dump them before it goes on."""
        own = {"average": self._average, "followed": self._followed, "rest": self._tail.sums}
        return own | {f"closely {name}": array for name, array in self._filter.arrays().items()}

    def load(self, facts: dict[str, Any], arrays: Arrays) -> None:
        """Go on from `facts` and `arrays` of a filter with the same parameters."""
        closely = {
            name.removeprefix("closely "): array for name, array in arrays.items() if name.startswith("closely ")
        }
        self._filter.load(facts["closely"], closely)
        self._mass, self._squares = facts["mass"], facts["squares"]
        self._tail = Tail(arrays["rest"].copy(), facts["reports"])
        self._average, self._followed = arrays["average"].copy(), arrays["followed"].copy()

    @property
    def _columns(self) -> NDArray[np.int64]:
        """The indices of the followed statistics among all, part by part."""
        return self._across(self._followed, self._of.d)

    def _spread(self, of_followed: Floats) -> Floats:
        """Numbers of what is followed among all statistics, NaN in the place of the others."""
        found = np.full(self.statistics, np.nan)
        found[self._columns] = of_followed
        return found

    def _learn_average(self, seen: Observed) -> None:
        """Average the measurement with those before it, each by the inverse of its average variance."""
        weight = 1 / float(seen.noise.mean())
        self._average *= self._mass
        self._average += weight * seen.statistics
        self._mass += weight
        self._average /= self._mass
        self._squares += weight

    def _exchange(self, seen: Observed) -> None:
        """Follow what became large instead of what is small.

        1. The smallest of those that would be listed is the bar. 2. By running averages, and by the newest answer, the
        largest above the bar enter. 3. As many of the smallest that are not named leave.
        """
        of, named = self._of, len(self._named)
        own = of.size(self.release()[0])[self._followed[named:]]
        bar = float(np.partition(own, len(own) - of.top)[len(own) - of.top])
        averaged = self._squares / self._mass**2 / float(seen.noise.mean())  # the part of the noise that is left
        for measured, noise, expected in (
            (self._average, seen.noise * averaged, float(of.top)),
            (seen.statistics, seen.noise, of.top * (1 - MEMORY)),  # of what the average does not know yet
        ):
            mean, variance = self._beliefs(measured, noise, expected)
            size = of.size(mean)
            size[self._followed] = -np.inf
            entering = min(of.top, int((size > bar).sum()))
            leaving = np.argsort(own, kind="stable")[:entering]
            own[leaving] = np.inf  # whoever has just entered stays
            self._enter(named + leaving, mean, variance)

    def _beliefs(self, measured: Floats, noise: Floats, expected: float) -> tuple[Floats, Floats]:
        """Mean and variance of each statistic, where those by which coordinates are ranked are the largest of many.
        expected: how many of these are no zeros.
        """
        of, ranked = self._of, slice(self._of.by * self._of.d, (self._of.by + 1) * self._of.d)
        mean, variance = measured.copy(), noise.copy()
        mean[ranked], variance[ranked] = shrunk(measured[ranked], noise[ranked], expected=expected, beyond=of.beyond)
        return mean, variance

    def _enter(self, places: NDArray[np.int64], mean: Floats, variance: Floats) -> None:
        """Give these places to the largest that have none."""
        if not len(places):
            return
        size = self._of.size(mean)
        stay = np.ones(len(self._followed), np.bool_)
        stay[places] = False
        size[self._followed[stay]] = -np.inf
        self._followed[places] = largest(size, len(places))
        columns = self._across(self._followed[places], self._of.d)
        self._filter.begin_anew(self._across(places, self._of.places), mean[columns], variance[columns])

    def _across(self, at: NDArray[np.int64], length: int) -> NDArray[np.int64]:
        """The indices of these in every part, where a part has this length."""
        return np.asarray((np.arange(self._of.parts)[:, np.newaxis] * length + at).reshape(-1))


def largest(size: Floats, count: int) -> NDArray[np.int64]:
    """The indices of the largest, the first of equal ones first."""
    if not count:
        return np.zeros(0, np.int64)
    if count < len(size):
        least = np.partition(size, len(size) - count)[len(size) - count]
        above = np.flatnonzero(size > least)
        chosen = np.append(above, np.flatnonzero(size == least)[: count - len(above)])
    else:
        chosen = np.arange(len(size))
    return np.asarray(chosen[np.lexsort((chosen, -size[chosen]))])
