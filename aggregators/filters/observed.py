"""What an answered round says of the statistics, and how exactly: mechanism and sampling variance at a believed value.

Contract: variances are the mechanism's own at the nearest plausible profile, and where the reports are a sample what
is left of the sampling of so many users.  They are taken at what is believed so far, never at what was just seen: low
values would seem exact, and pull the estimate down.  Only a jump moves the belief itself: halfway.  The rest of a
profile (a mean square) is an average of the last few answers.  Frequencies of a whole domain sum to 1: where those
that were seen need not, their errors are independent, and each takes its part of what is wrong with the sum, exactly.
Source: ARCHITECTURE section 5.1; aggregators/methods.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.filters.models import Floats
from murmurate.aggregators.methods.dissimilarity import not_asked
from murmurate.aggregators.methods.method import Answer

_MEMORY = 7 / 8


class ReportModel(Protocol):
    """What a filter must know of the reports behind an answer: of a Question, what a method follows."""

    @property
    def statistics(self) -> int:
        """How many numbers are followed: the first ones of a profile."""
        ...

    def summing(self) -> NDArray[np.bool_]:
        """Which of them are frequencies of a whole that sums to 1 whatever was reported: bool[statistics]."""
        ...

    def profile(self, support: NDArray[np.int64], n: int) -> Floats:
        """All that reports say, unbiased and raw."""
        ...

    def plausible(self, profile: Floats) -> Floats:
        """The nearest profile that there can be."""
        ...

    def noise(self, profile: Floats) -> Floats:
        """The variance of each statistic of one report."""
        ...

    def drawn(self, profile: Floats) -> Floats:
        """The part of that which moves no sum of a whole."""
        ...

    def sampling(self, profile: Floats) -> Floats:
        """What it adds to draw one user of very many."""
        ...

    def added_variance(self, n: int, profile: Floats) -> Floats:
        """What a public choice of the round adds to the variance of each."""
        ...


class ReportShares:
    """Shares of the reports themselves: of a distribution, whose unbiased cells are a poor thing to filter one by one,
    since their errors swing from cell to cell and cancel in every sum.
    """

    def __init__(self, outcomes: int) -> None:
        self.statistics = outcomes

    def summing(self) -> NDArray[np.bool_]:
        """All of them."""
        return np.ones(self.statistics, np.bool_)

    def profile(self, support: NDArray[np.int64], n: int) -> Floats:
        """How many of them gave each report."""
        return np.asarray(support / n)

    def plausible(self, profile: Floats) -> Floats:
        """From 0 to 1."""
        return np.clip(profile, 0, 1)

    def noise(self, profile: Floats) -> Floats:
        """Of one report, whoever gives it: the sampling of users is in it."""
        return profile * (1 - profile)

    def drawn(self, profile: Floats) -> Floats:
        """All of it, and nobody asks: sums of reports are exact."""
        return self.noise(profile)

    def sampling(self, profile: Floats) -> Floats:
        """Nothing on top."""
        return np.zeros_like(profile)

    def added_variance(self, n: int, profile: Floats) -> Floats:
        """Nothing."""
        return np.zeros_like(profile)


@dataclass(eq=False)
class Tail:
    """What profiles hold beyond the statistics, raw: an average over reports in which every answer that follows leaves
    7/8 of what was there.
    """

    sums: Floats = field(default_factory=lambda: np.zeros(0))
    reports: float = 0.0

    def learn(self, values: Floats, n: int) -> Floats:
        """Take those of another answer in; their average."""
        if len(values) != len(self.sums):
            self.sums, self.reports = np.zeros(len(values)), 0.0
        self.sums = self.sums * _MEMORY + values * n
        self.reports = self.reports * _MEMORY + n
        return self.sums / self.reports


@dataclass(frozen=True, eq=False)
class Observed:
    """A measurement: each float64[statistics]."""

    statistics: Floats
    """The statistics as the answer says them: unbiased and raw, but for their sum."""
    noise: Floats
    """The variance of the statistics if things are as believed."""
    noise_of_jump: Floats
    """The variance of the statistics if they have just jumped."""

    @classmethod
    def of(
        cls, mechanism: ReportModel, answer: Answer, users: float | None, believed: Floats, tail: Tail, *,
        wholes: Sequence[slice],
    ) -> Observed:  # fmt: skip
        """From a round of at least one report. wholes: of the statistics those that together sum to 1.

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
            own, jump = noise[whole] - drawn, noise_of_jump[whole] - drawn_of_jump  # who is drawn moves no sum
            part = own / float(own.sum())
            statistics[whole] += part * (1 - float(statistics[whole].sum()))
            noise[whole] = own - part * own + drawn
            noise_of_jump[whole] = jump - jump * (jump / float(jump.sum())) + drawn_of_jump
        if users is not None:
            left = not_asked(n, users) / n
            noise += mechanism.sampling(usual) * left
            noise_of_jump += mechanism.sampling(jumped) * left
        return cls(statistics, noise, noise_of_jump)
