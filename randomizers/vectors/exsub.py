# SPDX-License-Identifier: Apache-2.0
"""ExSub: m of all coordinates with a sign each, e^epsilon times as likely if they agree with the user somewhere.

Contract: that of subset_reports.py.  `ExSub` accepts reports with at least one symbol that the user holds, which is the
best for large epsilon; `MajorityExSub` those with at least tau more symbols that the user holds than opposite ones,
whose error is 18 to 38 % smaller for epsilon <= 1 and s >= 3.  Supports are realised and exact.  With m = 1, ExSub is
PCKV-AGRR; with s = 1 and m = d + 1, one sign for each coordinate.  Source: Wang et al. 2023 (SaO2), section 5;
ARCHITECTURE section 5.17, of which the majority is our own.  Not here: sets without signs (set_subset.py).
"""

from __future__ import annotations

from typing import Any

from murmurate.randomizers.layouts.layout import MAX_MOST
from murmurate.randomizers.mechanism import whole
from murmurate.randomizers.question import Counts, Reports
from murmurate.randomizers.thresholds import Epsilon
from murmurate.randomizers.vectors.sparse import SparseOracle, Supports
from murmurate.randomizers.vectors.subset_reports import SubsetReports


class ExSub(SubsetReports, SparseOracle):
    """Reports of m signed coordinates that weigh more if one of them is an entry; without `m` the best one for means.

    `published_length` (exsub_terms.py) is the m that its paper proposes.
    """

    name = "exsub"

    def __init__(self, layout: Any, epsilon: Epsilon, m: int | None = None) -> None:
        self._prepare(layout, epsilon, m, 0)

    def _prepare(self, layout: Any, epsilon: Epsilon, m: int | None, tau: int) -> None:
        SubsetReports.__init__(self, layout, epsilon, m, tau)
        agreeing, opposite, others = self.table.expected()
        self.supports = Supports(agreeing / self.s, opposite / self.s, others / (2 * self.d))

    @property
    def tells_shares(self) -> bool:  # type: ignore[override]
        """Whether holders have a coordinate in their reports more often than others do: not where all are in all."""
        return bool(self.share_gap)

    def support(self, reports: Reports) -> Counts:
        """The number of reports with +1 at each coordinate, and with -1; stubs are not counted."""
        counts = self._symbol_counts(reports).reshape(-1, 2)[: self.d]
        return counts.T.reshape(-1).copy()

    def supported(self, reports: Reports, item: int, sign: int) -> Any:
        """Which reports have this sign of this coordinate."""
        symbols = self.rows.symbols(self._reports(reports))
        if not sign:
            return ~(symbols >> 1 == item).any(axis=1)
        return (symbols == 2 * item + (sign < 0)).any(axis=1)


class MajorityExSub(ExSub):
    """Reports of m signed coordinates that weigh more if at least tau more of them are entries than opposite to one."""

    name = "exsub_majority"

    def __init__(self, layout: Any, epsilon: Epsilon, m: int | None = None, tau: int = 1) -> None:
        self._prepare(layout, epsilon, m, whole(self.name, "tau", tau, 1, MAX_MOST))

    def parameters(self) -> dict[str, Any]:
        """The number of coordinates of a report, and the majority it takes."""
        return {**super().parameters(), "tau": self.tau}
