# SPDX-License-Identifier: Apache-2.0
"""The statistics that an answered round measures, with their variances: those of the mechanism and of sampling.

Contract: variances are the mechanism's own at the nearest plausible profile, and where the reports are a sample the
variance of sampling so many of the users.  They are taken at the filter's present estimate, never at the measured
values: low values would seem exact, and pull the estimate down.  For a jump they are taken halfway between both.  The
rest of a profile (a mean square) is an average of the last few answers.  Frequencies of a whole domain sum to 1: if the
measured ones need not, their errors are independent, and each takes its exact part of the error of the sum.
Source: ARCHITECTURE section 5.1; aggregators/methods.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.filters.models import Floats
from murmurate.aggregators.methods.dissimilarity import finite_population_factor
from murmurate.aggregators.methods.method import Answer

_MEMORY = 7 / 8


class ReportModel(Protocol):
    """The part of a Question that a filter needs: how reports become statistics, and with what variances."""

    @property
    def statistics(self) -> int:
        """How many numbers are followed: the first ones of a profile."""
        ...

    def summing(self) -> NDArray[np.bool_]:
        """Which statistics are frequencies that sum to 1 whatever was reported: bool[statistics]."""
        ...

    def profile(self, support: NDArray[np.int64], n: int) -> Floats:
        """The profile that reports estimate, unbiased and raw: the statistics first."""
        ...

    def plausible(self, profile: Floats) -> Floats:
        """The nearest profile that a population can have."""
        ...

    def noise(self, profile: Floats) -> Floats:
        """The variance of each statistic of one report."""
        ...

    def drawn(self, profile: Floats) -> Floats:
        """The part of `noise` whose errors cancel in the sum of a whole."""
        ...

    def sampling(self, profile: Floats) -> Floats:
        """The variance of each statistic from drawing one user of very many."""
        ...

    def added_variance(self, n: int, profile: Floats) -> Floats:
        """The variance of each statistic from a public choice that is new in every round."""
        ...


class ReportShares:
    """Shares of the reports themselves, which the filter follows for a distribution: unbiased estimates of its cells
    are poor input, since their errors alternate from cell to cell and cancel in every sum.
    """

    def __init__(self, outcomes: int) -> None:
        self.statistics = outcomes

    def summing(self) -> NDArray[np.bool_]:
        """Every share is one of a whole."""
        return np.ones(self.statistics, np.bool_)

    def profile(self, support: NDArray[np.int64], n: int) -> Floats:
        """The share of each report."""
        return np.asarray(support / n)

    def plausible(self, profile: Floats) -> Floats:
        """Each share, clipped to 0 to 1."""
        return np.clip(profile, 0, 1)

    def noise(self, profile: Floats) -> Floats:
        """The variance of one report, which includes the sampling of users."""
        return profile * (1 - profile)

    def drawn(self, profile: Floats) -> Floats:
        """All of `noise`: shares of reports always sum to 1."""
        return self.noise(profile)

    def sampling(self, profile: Floats) -> Floats:
        """Zeros: `noise` includes it."""
        return np.zeros_like(profile)

    def added_variance(self, n: int, profile: Floats) -> Floats:
        """Zeros: there is none."""
        return np.zeros_like(profile)


@dataclass(eq=False)
class Tail:
    """The entries of profiles beyond the statistics, raw: an average over reports in which the weight of past answers
    falls to 7/8 with each new one.
    """

    sums: Floats = field(default_factory=lambda: np.zeros(0))
    reports: float = 0.0

    def learn(self, values: Floats, n: int) -> Floats:
        """Take the entries of another answer, and give their average."""
        if len(values) != len(self.sums):
            self.sums, self.reports = np.zeros(len(values)), 0.0
        self.sums = self.sums * _MEMORY + values * n
        self.reports = self.reports * _MEMORY + n
        return self.sums / self.reports


@dataclass(frozen=True, eq=False)
class Observed:
    """A measurement: each float64[statistics]."""

    statistics: Floats
    """The statistics as measured: unbiased and raw, but made to sum to 1 where they should."""
    noise: Floats
    """The variance of the statistics if the filter's present estimate is right."""
    noise_of_jump: Floats
    """The variance of the statistics if they have just jumped."""

    @classmethod
    def of(
        cls, mechanism: ReportModel, answer: Answer, users: float | None, believed: Floats, tail: Tail, *,
        wholes: Sequence[slice],
    ) -> Observed:  # fmt: skip
        """The measurement of a round of at least one report. believed: the filter's present estimate; wholes: groups of
        statistics that each sum to 1.

        By Bayes: y + R1 (1 - 1'y) / 1'R1, and the variances of R - R11'R / 1'R1; R1 are the mechanism's own variances,
        since the errors of sampling sum to 0.
        """
        n = answer.counted
        raw = mechanism.profile(answer.support, n)
        statistics, rest = raw[: mechanism.statistics].copy(), raw[mechanism.statistics :]
        rest = tail.learn(rest, n)
        apart = mechanism.plausible(raw)[: mechanism.statistics]

        def near(at: Floats) -> Floats:
            return mechanism.plausible(np.concatenate((at, rest)) if len(rest) else at)

        def noise_at(profile: Floats) -> Floats:
            return np.asarray(mechanism.noise(profile) / n + mechanism.added_variance(n, profile)[: len(statistics)])

        usual, jumped = near(believed), near((believed + apart) / 2)
        noise, noise_of_jump = noise_at(usual), noise_at(jumped)
        exact = mechanism.summing()
        for whole in (whole for whole in wholes if not exact[whole.start]):
            drawn, drawn_of_jump = (mechanism.drawn(profile)[whole] / n for profile in (usual, jumped))
            own, jump = noise[whole] - drawn, noise_of_jump[whole] - drawn_of_jump  # drawing moves no sum
            part = own / float(own.sum())
            statistics[whole] += part * (1 - float(statistics[whole].sum()))
            noise[whole] = own - part * own + drawn
            noise_of_jump[whole] = jump - jump * (jump / float(jump.sum())) + drawn_of_jump
        if users is not None:
            left = finite_population_factor(n, users) / n
            noise += mechanism.sampling(usual) * left
            noise_of_jump += mechanism.sampling(jumped) * left
        return cls(statistics, noise, noise_of_jump)
