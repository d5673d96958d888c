# SPDX-License-Identifier: Apache-2.0
"""The adaptive filter: the best current estimate of a stream's statistics from all reports so far, with honest errors.

Contract: `learn` the answers to the rounds of a period, `release` its estimates and variances, `advance` to the next.
A release is the mean of a mixture of models that leans towards rest (Models.leaning), its variance that of the mixture
about it: mechanism, sampling, drift since, and not knowing which model holds (likely ones are trusted a little more:
Models.doubt).  Estimates of frequencies sum to 1; they may be negative.  A pure function of the answers, with its whole
state in `facts()` and `arrays()`; post-processing, so that it costs no privacy, and nothing that is asked of users
depends on it.  Of the kind of statistic it uses only the range.  Source: ARCHITECTURE section 5.8.  Not here:
projecting, the record (agents/stages).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import orjson

from murmurate.aggregators.filters.calibration import EstimateHistory, Misses
from murmurate.aggregators.filters.jumps import Jumps
from murmurate.aggregators.filters.models import Floats, Models
from murmurate.aggregators.filters.observed import Observed, ReportModel, Tail
from murmurate.aggregators.filters.seasons import Seasons
from murmurate.aggregators.filters.smoothing import Belief, Past
from murmurate.aggregators.filters.tracks import Tracks
from murmurate.aggregators.filters.wholes import Wholes
from murmurate.aggregators.methods.method import Answer
from murmurate.randomizers import ParameterError, SnapshotError
from murmurate.randomizers.errors import shown
from murmurate.randomizers.state import Arrays

Ranges = Sequence[tuple[float, float]]

MEMORY = 7 / 8
"""The weight that the average precision keeps after another period."""
LEAST = 1e-30
"""The least weight of a model: no model is ever given up."""
LONGEST = 1_000
"""The most periods that are stepped through one by one; a longer gap changes hardly anything more."""
_OWN = ("occupied", "odds", "precision", "chance", "likelihood", "gained")
_TRACKS = ("level", "variance", "velocity", "cross", "velocity_variance")


class AdaptiveFilter:
    """One stream's filter.

    >>> from murmurate.randomizers import GRR
    >>> (filter_ := AdaptiveFilter(2)).learn(GRR(d=2, epsilon=2.5), Answer(np.array([9000, 1000]), 10_000), users=None)
    >>> estimate, variance = filter_.release()
    >>> estimate.round(3), np.sqrt(variance).round(3)
    (array([0.972, 0.028]), array([0.003, 0.003]))
    """

    def __init__(
        self,
        statistics: int,
        *,
        ranges: Ranges | None = None,
        wholes: Sequence[int] | None = None,
        ordered: bool = False,
        revisable: int = 0,
        season: int | None = None,
        models: Models | None = None,
    ) -> None:
        """1. Arguments are checked. 2. What shapes the state is digested. 3. Every part begins where nothing is known.

        ranges: the lowest and highest value of each statistic, of numbers; None: frequencies.
        wholes: of frequencies, how many follow each other that sum to 1, whole after whole, one where a share stands by
        itself; None: all of them.
        ordered: whether statistics are cells in a row, which move and err with their neighbours, not by their size.
        revisable: how many past periods `smoothed` can revise; each takes as much memory as the filter.
        season: the periods of a declared season, whose profile is then learned.
        """
        if isinstance(statistics, bool) or not isinstance(statistics, int) or statistics < 1:
            raise ParameterError(f"filter: statistics: found {shown(statistics)}; allowed: a whole number from 1")
        if ranges is not None and (len(ranges) != statistics or any(not low < high for low, high in ranges)):
            raise ParameterError(f"filter: ranges: found {shown(ranges)}; allowed: {statistics} times low < high")
        if isinstance(revisable, bool) or not isinstance(revisable, int) or revisable < 0:
            raise ParameterError(f"filter: revisable: found {shown(revisable)}; allowed: a whole number from 0")
        if season is not None and (isinstance(season, bool) or not isinstance(season, int) or season < 2):
            raise ParameterError(f"filter: season: found {shown(season)}; allowed: a whole number of periods from 2")
        if wholes is not None and (ranges is not None or sum(wholes) != statistics or min(wholes) < 1):
            raise ParameterError(f"filter: wholes: found {shown(list(wholes))}; allowed: {statistics} frequencies")
        m = models or Models()
        self.models = m = m.with_season() if season else m
        self.statistics = statistics
        setting = {"statistics": statistics, "ranges": [list(r) for r in ranges or ()], "ordered": ordered} | asdict(m)
        setting["season"] = season
        if wholes is not None:
            setting["wholes"] = list(wholes)
        self._setting = hashlib.sha256(orjson.dumps(setting, option=orjson.OPT_SORT_KEYS)).hexdigest()
        self._past = Past(m, revisable)
        self._wholes = Wholes((wholes or (statistics,)) if ranges is None else (), ordered=ordered)
        if ranges is None:
            center, low, high = self._wholes.even, np.zeros(statistics), np.ones(statistics)
            spread = center * (1 - center)
        else:
            low, high = np.array(ranges, np.float64).T
            center, spread = (low + high) / 2, ((high - low) / 2) ** 2
        self._shares = ranges is None and statistics > 1
        self._spread = spread  # the largest variance that a statistic with this mean can have
        self._bounds = low, high
        self._tracks = Tracks.at(m, center, spread, most=((high - low) / 2) ** 2)
        self._seasons = Seasons(m, season or 1, center)
        independent = self._wholes.independent(statistics)
        self._jumps = Jumps(m, independent)
        self._others = independent * statistics - 1  # independent statistics beside each one
        self._misses, self._course = Misses(statistics, independent, m.sure), EstimateHistory(statistics)
        self._occupied = np.zeros((m.moving, statistics))  # periods that each model is expected to have held
        self._odds = m.shares  # of the models, as all statistics together show them
        self._precision = np.zeros(statistics)  # of an average period; 0 before the first answer
        self._chance = np.repeat(np.vstack((m.shares, [[LEAST]])), statistics, axis=1)
        self._likelihood, self._weights = np.zeros((m.rows, statistics)), np.empty((m.rows, statistics))
        self._gained = np.zeros(statistics)  # precision that this period's answers brought
        self._tail, self._periods = Tail(), 0  # periods that had an answer
        self._epoch = self._alone = 0.0  # this period's expected epochs and single jumps
        self._weigh()

    def learn(self, mechanism: ReportModel, answer: Answer, users: float | None) -> None:
        """Take an answered round of the current period; there may be several. A round of 0 reports changes nothing.

        users: of how many the reports are a sample; None: everybody answered.
        """
        if not answer.counted:
            return
        if mechanism.statistics != self.statistics:
            raise ParameterError(f"filter: found {mechanism.statistics} statistics; allowed: {self.statistics}")
        self.observe(Observed.of(mechanism, answer, users, self._mean, self._tail, wholes=self._wholes.apart))

    def observe(self, seen: Observed) -> None:
        """Take what an answered round of the current period measured."""
        noise = np.maximum(seen.noise, self._spread * 1e-18)
        gained = 1 / noise
        if not self.informed:
            self._precision = gained
            self._begin()
        self._gained += gained
        of_jump = np.maximum(seen.noise_of_jump, self._spread * 1e-18)
        foretold = self._tracks.without_jumps(self._weights)
        if self.models.seasonal:
            self._seasons.observe(seen.statistics, float(np.mean(noise / self._plain_unit)))
        self._likelihood += self._tracks.observe(seen.statistics, noise, of_jump)
        self._weigh()
        if self._periods:  # where the first reports lie is no miss
            self._misses.learn(seen.statistics - foretold[0], foretold[1], noise, self._weights[-1])

    def release(self) -> tuple[Floats, Floats]:
        """Estimate and variance of each statistic in the current period: two float64[statistics]."""
        believed, mean = self._weights * (self._weights + self.models.doubted(self._others)), self._leaning()
        believed /= believed.sum(axis=0)
        variance = self._tracks.spread(believed, mean) + self._misses.unsaid
        return self._wholes.summed(mean, variance), variance

    def of_noise(self) -> Floats:
        """The part of each estimate's variance that is noise of answers, and no lag: float64[statistics]."""
        return self._tracks.noisy(self._weights, self._plain_unit)

    def past(self) -> tuple[Floats, Floats]:
        """Mean and variance of the estimates so far, the current one among them: two float64[statistics]."""
        return self._course.seen(self._mean)

    def advance(self, periods: int = 1) -> None:
        """Go on to a later period."""
        if periods < 1:
            raise ParameterError(f"filter: advance: found {shown(periods)} periods; allowed: from 1")
        if self.informed:
            for _ in range(min(periods, LONGEST)):
                self._step()

    def smoothed(self, lag: int) -> tuple[Floats, Floats]:
        """Estimates and variances of the last `lag` periods before the current one, as far as they are kept, from all
        reports so far, oldest first: two float64[periods, statistics].
        """
        if lag < 0:
            raise ParameterError(f"filter: lag: found {shown(lag)}; allowed: from 0")
        now = Belief.of(self._tracks, self._weights, np.zeros_like(self._occupied), self._units)
        estimates, variances = self._past.revised(now, lag)
        return self._wholes.summed(estimates, variances), variances

    def facts(self) -> dict[str, Any]:
        """What of the state is no array."""
        return {
            "setting": self._setting,
            "periods": self._periods,
            "epoch": self._epoch,
            "alone": self._alone,
            "jumps": [self._jumps.periods, self._jumps.epochs, self._jumps.alone],
            "reports": self._tail.reports,
            "answers": self._misses.answers,
            "course": self._course.periods,
            "season": self._seasons.at,
        }

    def arrays(self) -> Arrays:
        """The rest of the state. The filter changes these arrays in place: dump them before it goes on."""
        own = {name: getattr(self, f"_{name}") for name in _OWN}
        tracks = {name: getattr(self._tracks, name) for name in _TRACKS}
        learned = {"tail": self._tail.sums, "squares": self._misses.squares, "unsaid": self._misses.unsaid}
        rest = {"states": self._seasons.states, "covariance": self._seasons.covariance, "newest": self._course.newest}
        return {**own, **tracks, **learned, **rest, "course": self._course.sums, **self._past.arrays()}

    def load(self, facts: dict[str, Any], arrays: Arrays) -> None:
        """Go on from `facts` and `arrays` of a filter with the same parameters."""
        if facts["setting"] != self._setting:
            raise SnapshotError("filter: found the state of another setting; allowed: of this one")
        self._periods, self._epoch, self._alone = facts["periods"], facts["epoch"], facts["alone"]
        self._jumps.periods, self._jumps.epochs, self._jumps.alone = facts["jumps"]
        self._tail = Tail(arrays["tail"].copy(), facts["reports"])
        for name in _OWN:
            setattr(self, f"_{name}", arrays[name].copy())
        for name in _TRACKS:
            setattr(self._tracks, name, arrays[name].copy())
        self._misses.answers, self._course.periods = facts["answers"], facts["course"]
        self._seasons.at = facts["season"]
        self._misses.squares, self._misses.unsaid = arrays["squares"].copy(), arrays["unsaid"].copy()
        self._seasons.states, self._seasons.covariance = arrays["states"].copy(), arrays["covariance"].copy()
        self._course.sums, self._course.newest = arrays["course"].copy(), arrays["newest"].copy()
        self._past.load(arrays)
        if self.informed:
            self._jumps.room = self._room
        self._weigh()

    def _begin(self) -> None:
        """Set the units from the first answer."""
        self._jumps.room = self._room
        self._chance[:-1] = self._odds = self.models.first_odds(self._room)
        self._tracks.begin(self._units)
        self._seasons.begin(self._room)
        self._foretell()

    def _step(self) -> None:
        m, jumps, tracks = self.models, self._jumps, self._tracks
        if not (silent := not self._gained.any()):
            self._precision *= MEMORY
            self._precision += (1 - MEMORY) * self._gained
            self._share_odds()
            if self._periods:  # where the first reports lie is no jump
                jumps.learn(self._epoch, self._alone)
            self._periods += 1
            jumps.room = self._room
        shares = (self._occupied + m.habit * self._odds) / (m.habit + self._periods)
        if self._past.beliefs.maxlen:
            self._past.beliefs.append(Belief.of(tracks, self._weights, shares, self._units))
        whole = self._mean, tracks.spread(self._weights, self._mean)
        if not silent:
            self._course.learn(*whole)
        self._chance = tracks.predict(self._weights, shares, self._units, self._spread, whole)
        self._seasons.advance()
        self._foretell()
        if silent:
            tracks.confine(*self._bounds)
        self._likelihood[:] = self._gained[:] = 0
        self._weigh()

    def _foretell(self) -> None:
        """Set the rows of a season to their own predictions: mixing must not change them."""
        if self.models.seasonal:
            rows = slice(self.models.paired.stop, self.models.moving)
            level, variance = self._seasons.ahead(self._plain_unit)
            self._tracks.level[rows], self._tracks.variance[rows] = level, np.minimum(variance, self._tracks.most)

    def _share_odds(self) -> None:
        """Learn the odds of the models, over time and from the other statistics, and weigh the models by them: one step
        of expectation maximisation in each period.
        """
        m, held = self.models, self._weights[: self.models.moving]
        before = held.sum(axis=0)
        likely = held / before
        self._occupied += likely
        others, first = self._others, m.first_odds(self._room)
        guess = m.company if self._shares else m.strangers
        odds = (guess * first + others * likely.mean(axis=1, keepdims=True)) / (guess + others)
        held *= odds / self._odds
        held *= before / held.sum(axis=0)
        self._odds = odds

    def _weigh(self) -> None:
        """Work out how likely each model is by now, and the mean of all."""
        if self._gained.any():
            most = self._likelihood[:-1].max(axis=0)
            held = self._likelihood[:-1] - most
            np.exp(held, out=held)
            held *= self._chance
            total = held.sum(axis=0)
            jumped, self._epoch, self._alone = self._jumps.seen(self._likelihood[-1] - most - np.log(total))
            held *= (1 - jumped) / total
        else:
            jumped = np.full(self.statistics, self._jumps.chance)
            held = self._chance * (1 - jumped)
        self._weights[:-1], self._weights[-1] = held, jumped
        np.maximum(self._weights, LEAST, out=self._weights)
        self._mean = self._tracks.mean(self._weights)

    def _leaning(self) -> Floats:
        """The mean of the mixture, with a larger weight of the model at rest."""
        more = (self.models.leaning - 1) * self._weights[0]
        return np.asarray((self._mean + more * self._tracks.level[0]) / (1 + more))

    @property
    def informed(self) -> bool:
        """Whether there has been an answer."""
        return bool(self._precision[0])

    @property
    def _plain_unit(self) -> Floats:
        """The observation variance of an average period, at most the largest variance of the statistic."""
        return np.asarray(np.minimum(1 / self._precision, self._spread))

    @property
    def _room(self) -> float:
        """The largest variance that a statistic can have, in units."""
        return float(np.mean(self._spread / self._plain_unit))

    @property
    def _units(self) -> Floats:
        """The units of drifts and of fluctuations, times each value's own pace: float64[2, d]."""
        return self._wholes.paced(self._plain_unit, self.models, self._mean)
