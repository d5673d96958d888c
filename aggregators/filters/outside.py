# SPDX-License-Identifier: Apache-2.0
"""An estimate that did not come from the reports of a method's own rounds, in the form in which a filter takes answers.

Contract: statistics and their variances are given, on the scale of the mechanism that the filter follows; `support` is
not looked at.  Not here: where the estimate comes from (methods/holdout.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.filters.models import Floats


@dataclass(frozen=True, eq=False)
class OutsideEstimate:
    """A profile that is known, with the variances of its statistics."""

    known: Floats
    """The profile: the statistics first."""
    variance: Floats
    """The variance of each statistic, over all users together: float64[statistics]."""
    users: int

    def parts(self, count: int) -> Iterator[OutsideEstimate]:
        """The estimate as `count` answers of a part of the users each, whose average it is. They differ as such answers
        do: half of them are one standard error larger and half one smaller, in the order of Thue and Morse, which is no
        trend; of an odd number the last is the estimate itself.
        """
        variance, users = self.variance * count, max(1, self.users // count)
        for number in range(count):
            known, middle = self.known.copy(), count % 2 and number == count - 1
            known[: len(variance)] += 0 if middle else (-1) ** number.bit_count() * np.sqrt(variance)
            yield replace(self, known=known, variance=variance, users=users)

    @property
    def statistics(self) -> int:
        """The number of statistics."""
        return len(self.variance)

    def summing(self) -> NDArray[np.bool_]:
        """None of the statistics: an outside estimate need not sum to 1."""
        return np.zeros(self.statistics, np.bool_)

    def profile(self, support: NDArray[np.int64], n: int) -> Floats:
        """The known profile; the reports are not used."""
        return self.known.copy()

    def plausible(self, profile: Floats) -> Floats:
        """The profile itself: the variance does not depend on it."""
        return profile

    def noise(self, profile: Floats) -> Floats:
        """The variance of each statistic for one user, so that all users together have `variance`."""
        return self.variance * self.users

    def drawn(self, profile: Floats) -> Floats:
        """Zeros: no part of `noise` cancels in sums."""
        return np.zeros(len(self.variance))

    def sampling(self, profile: Floats) -> Floats:
        """Zeros: the variance includes it."""
        return np.zeros(len(self.variance))

    def added_variance(self, n: int, profile: Floats) -> Floats:
        """Zeros: there is none."""
        return np.zeros(len(profile))
