# SPDX-License-Identifier: Apache-2.0
"""Subset selection over sets: m of all items without signs, e^epsilon times as likely if they meet the user's set.

Contract: that of subset_reports.py.  An item that a user holds is in the report with probability p, another one with q,
realised, exact and the same for all, so that (count / n - q) / (p - q) is unbiased, with the exact variance

    p (1-p) / (p-q)^2    of one holder's part,    q (1-q) / (p-q)^2    of anybody else's.

Its error is half that of ExSub for shares of holders.  With s = 1 it is subset selection over codes (Ye and Barg 2018).
Source: ARCHITECTURE section 5.17.  Not here: signs and numbers (exsub.py).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from murmurate.randomizers.errors import ParameterError, ReportError, shown
from murmurate.randomizers.mechanism import nearest_of_sum
from murmurate.randomizers.question import Counts, Floats, Reports
from murmurate.randomizers.thresholds import Epsilon
from murmurate.randomizers.vectors.subset_reports import SubsetReports


class SetSubset(SubsetReports):
    """Reports of m items that weigh more if the user holds one of them; without `m` the best one."""

    name = "set_subset"
    signs_are_drawn = False
    has_signs = False

    def __init__(self, layout: Any, epsilon: Epsilon, m: int | None = None) -> None:
        super().__init__(layout, epsilon, m, None)
        agreeing, _, others = self.table.expected()
        self.p, self.q = agreeing / self.s, others / self.d

    @property
    def outcomes(self) -> int:
        """The length of the support: a count for each item."""
        return self.d

    def support(self, reports: Reports) -> Counts:
        """The number of reports with each item; stubs are not counted."""
        return self._symbol_counts(reports)[: self.d]

    def estimate(self, support: Counts, n: int) -> Floats:
        """The shares of holders: unbiased, raw."""
        support = np.asarray(support)
        self.check(support, n)
        if n < 1:
            raise ReportError(f"{self.name}: found n = {shown(n)}; allowed: n >= 1")
        return np.asarray((support / n - float(self.q)) / float(self.p - self.q), np.float64)

    @cached_property
    def _moments(self) -> tuple[float, float]:
        """The variance of one user's part, of one who does not hold the item and of one who does."""
        squared = (self.p - self.q) ** 2
        return float(self.q * (1 - self.q) / squared), float(self.p * (1 - self.p) / squared)

    def variance(self, n: int, frequency: float | Floats) -> Floats:
        """The exact variance of a share, from n reports of which so many hold the item."""
        f = np.asarray(frequency, np.float64)
        if isinstance(n, bool) or not isinstance(n, int) or n < 1 or not np.all((f >= 0) & (f <= 1)):
            found = f"n = {shown(n)}"
            raise ParameterError(f"{self.name}: variance: found {found}; allowed: n >= 1 and frequencies from 0 to 1")
        return np.asarray(self.noise(f) / n, np.float64)

    def noise(self, profile: Floats) -> Floats:
        """The variance of one report at these shares."""
        absent, held = self._moments
        return np.asarray(absent + profile * (held - absent), np.float64)

    def likely(self, profile: Floats) -> Floats:
        """The possible shares of the same sum, since variances are linear in them."""
        return nearest_of_sum(profile)
