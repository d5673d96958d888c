# SPDX-License-Identifier: Apache-2.0
"""The adaptive filter on synthetic streams: its error relative to LPA's own, and the coverage of its error bars.

Contract: a function of its arguments.  LPA and LPU are the real methods with the real mechanisms and the filter behind
them (simulated_answers.py); both see the same truth, and the first SETTLED periods are not scored.  Source:
ARCHITECTURE sections 5.8 and 5.9.  Not here: what the figures should be (agents/cli/reproductions/filter.py).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.replay.error_measures import mean_squared_error
from murmurate.agents.simulate.series import Series, series
from murmurate.agents.simulate.synthetic_counts import PERIODS, USERS, SyntheticStream, stream
from murmurate.aggregators.measures.frequency import Frequency
from murmurate.aggregators.methods.method import Setting
from murmurate.aggregators.methods.options import ADAPTIVE, MethodOptions
from murmurate.aggregators.postprocess.norm import norm_sub
from murmurate.randomizers.thresholds import MICRO

WINDOW, SLOTS = 20, 4_000
SETTLED = 20
"""The first periods, which are not scored."""
RECENT = 10
"""Periods after a jump in which coverage is counted again."""


@dataclass(frozen=True)
class Trial:
    """A synthetic stream, and the parameters of the methods."""

    model: str
    epsilon: float
    mechanism: str
    d: int = 2
    users: int = USERS
    periods: int = PERIODS

    def truth(self, seed: int) -> SyntheticStream:
        """The true stream."""
        return stream(self.model, seed, d=self.d, users=self.users, periods=self.periods)

    def setting(self, seed: int) -> Setting:
        """The setting that methods get."""
        public = hashlib.sha256(b"murmurate filtered %d" % seed).digest()
        return Setting(
            Frequency.of_size(self.d, says_none=False),
            epsilon_micro=round(self.epsilon * MICRO), w=WINDOW, slots=SLOTS, first_t=1, seed=public,
            mechanism=self.mechanism,
        )  # fmt: skip

    def series(self, method: str, seed: int) -> Series:
        """The series of a method, with the filter following it."""
        holders = self.truth(seed).holders
        return series(holders, MethodOptions(method, filter=ADAPTIVE), self.setting(seed), seed=seed)


@dataclass(frozen=True)
class Sums:
    """Mean squared errors and counts of covered errors, of one seed or summed over several."""

    lpa: float
    """The mean squared error of LPA's own series."""
    lpu: float
    """The mean squared error of LPU's own series."""
    lpa_filter: float
    """The mean squared error of the filter behind LPA."""
    lpu_filter: float
    projected: float
    """The mean squared error of the filter behind LPU after norm_sub makes its estimates frequencies."""
    held: int
    """The number of errors of the filter behind LPU that lie within two standard errors."""
    told: int
    """The number of errors of the filter behind LPU."""
    held_late: int
    """The number of errors in the periods after a jump that lie within two standard errors."""
    told_late: int

    @property
    def coverage(self) -> float:
        """The share of errors within two standard errors."""
        return self.held / self.told

    @property
    def after_jumps(self) -> float | None:
        """The share of errors within two standard errors in the periods after a jump; None where nothing jumped."""
        return self.held_late / self.told_late if self.told_late else None

    def over_lpa(self, error: float) -> float:
        """An error relative to LPA's own."""
        return error / self.lpa


def added(sums: Iterable[Sums]) -> Sums:
    """The sums over all seeds."""
    return Sums(*map(sum, zip(*map(astuple, sums), strict=True)))


def tried(trial: Trial, seed: int) -> Sums:
    """The figures of one seed."""
    true = trial.truth(seed)
    c, late = true.shares[SETTLED:], recent(true.jumped)[SETTLED:]
    lpa, lpu = (trial.series(method, seed) for method in ("lpa", "lpu"))
    (before, _), (best, variance) = (_filtered(found) for found in (lpa, lpu))
    within = (best - c) ** 2 <= 4 * variance
    near = np.array([norm_sub(estimate) for estimate in best])
    compared = lpa.said[SETTLED:], lpu.said[SETTLED:], before, best, near
    error = [mean_squared_error(series, c) for series in compared]
    return Sums(
        error[0], error[1], error[2], error[3], error[4],
        int(within.sum()), within.size, int(within[late].sum()), within[late].size,
    )  # fmt: skip


def recent(jumped: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The periods within RECENT of a jump, its own included: bool[periods]."""
    return np.asarray(np.convolve(jumped, np.ones(RECENT))[: len(jumped)] > 0)


def _filtered(found: Series) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Estimates and variances of the filter, without the first periods."""
    if found.best is None or found.variance is None:
        raise TypeError("a series without a filter")
    return found.best[SETTLED:], found.variance[SETTLED:]
