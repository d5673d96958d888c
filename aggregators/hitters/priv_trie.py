# SPDX-License-Identifier: Apache-2.0
"""A trie of prefixes that grows where enough is known (PrivTrie): batch by batch, each prefix for as long as it needs.

Contract: each batch of users is asked about all open prefixes at once, and is asked once with the whole epsilon (the
prefixes exclude each other, so one report covers them all).  A prefix whose mean over its batches passes a threshold
is replaced by its extensions; a whole string that passes is found.  The state is what was told and nothing else.
Source: Wang et al. 2018, as Wang 2021 has it in section 4.2.4, without the final step for consistency.  Deviation:
there a prefix passes from 4 / (epsilon sqrt(n)) on, which with one report for all of them lets 2 % of those pass that
nobody holds at epsilon 1, so that the trie grows without end; here it must be significant, too.  Not here: reports.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.hitters.candidates import Rows, every_prefix, extended
from murmurate.aggregators.hitters.levels import MOST_FOUND, sensitivity
from murmurate.aggregators.hitters.search import SIGNIFICANT, Floats, Walked, named
from murmurate.randomizers.errors import ParameterError, shown
from murmurate.randomizers.layouts import BitsLayout

CHARACTER: Final = 8
"""By how many bits a prefix grows."""
FACTOR: Final = 4.0
"""A prefix passes from this over epsilon and the square root of its reports on."""
MOST_OPEN: Final = 1 << 16
"""How many prefixes are open at most. A prefix that passes waits while its extensions would be too many."""


def batch_size(n: int, epsilon: float) -> int:
    """The users of a batch: a thousandth of all, and 800 / epsilon^2 at least.

    >>> batch_size(1_000_000, 1.0), batch_size(100_000, 1.0)
    (1000, 800)
    """
    return max(-(-n // 1000), int(np.ceil(800 / epsilon**2)))


@dataclass(frozen=True, eq=False)
class OpenPrefixes:
    """The open prefixes of one length."""

    rows: Rows
    """uint32[n, words]."""
    told: Floats
    """The sum over batches of the estimated share times the reports: float64[n]."""
    reports: NDArray[np.int64]
    """The reports of these batches: int64[n]."""

    def behind(self, further: OpenPrefixes) -> OpenPrefixes:
        """These and further ones."""
        parts = zip((self.rows, self.told, self.reports), (further.rows, further.told, further.reports), strict=True)
        return OpenPrefixes(*(np.concatenate(both) for both in parts))  # type: ignore[arg-type]

    def those(self, chosen: NDArray[np.bool_]) -> OpenPrefixes:
        """Some of these."""
        return OpenPrefixes(self.rows[chosen], self.told[chosen], self.reports[chosen])


@dataclass(frozen=True, eq=False)
class GrowingTrie:
    """What is known between two batches."""

    layout: BitsLayout
    epsilon: float
    batches: int
    """How many batches there are, over which the chance of passing without holders is spread."""
    step: int = CHARACTER
    open: Mapping[int, OpenPrefixes] = field(default_factory=dict)
    """The open prefixes by their length. Whole strings stay open, so that more and more is known of them."""

    @classmethod
    def planted(cls, layout: BitsLayout, epsilon: float, batches: int, step: int = CHARACTER) -> GrowingTrie:
        """The trie before the first batch: all first characters are open."""
        if not epsilon > 0 or batches < 1 or not 1 <= step <= 16:
            found = f"epsilon {shown(epsilon)}, {shown(batches)} batches, steps of {shown(step)} bits"
            raise ParameterError(f"priv_trie: found {found}; allowed: above 0, 1 or more, 1 to 16")
        first = min(step, layout.m)
        return cls(layout, epsilon, batches, step, {first: _fresh(every_prefix(layout, first))})

    @property
    def asked(self) -> Mapping[int, Rows]:
        """The prefixes that the next batch is asked about, by their length. None of them begins another one."""
        return {bits: prefixes.rows for bits, prefixes in self.open.items()}

    def grown(self, told: Mapping[int, tuple[Floats, Floats]], reports: int) -> GrowingTrie:
        """The trie after a batch of so many reports. told: for each length asked, shares and their variances."""
        if reports < 1:
            return self
        # 1. What was told joins what is known of each prefix.
        known = {
            bits: OpenPrefixes(prefixes.rows, prefixes.told + told[bits][0] * reports, prefixes.reports + reports)
            for bits, prefixes in self.open.items()
        }
        # 2. Those that pass are extended, as long as there is room.
        size, result = self._size, dict[int, OpenPrefixes]()
        for bits, prefixes in sorted(known.items()):
            left, m = prefixes, self.layout.m
            if bits < m:
                longer = min(bits + self.step, m)
                passes = prefixes.told >= self.bound(float(np.median(told[bits][1]) * reports)) * prefixes.reports**0.5
                more = (1 << longer - bits) - 1
                order = np.argsort(np.where(passes, -prefixes.told / prefixes.reports, np.inf), kind="stable")
                passes[order[max(0, (MOST_OPEN - size) // more) :]] = False
                size += int(passes.sum()) * more
                left = prefixes.those(~passes)
                if passes.any():
                    fresh = _fresh(extended(self.layout, prefixes.rows[passes], bits, longer))
                    result[longer] = fresh
            result[bits] = left.behind(result[bits]) if bits in result else left
        return replace(self, open={bits: prefixes for bits, prefixes in result.items() if len(prefixes.rows)})

    def best(self, k: int, deviation: float, *, least: float | None = None) -> Walked:
        """The k best of the strings that pass. deviation: the standard error of a share times the root of its reports.

        A string passes by what is known of it now; the threshold that is told is that of the string known best.
        """
        if not 1 <= k <= MOST_FOUND:
            raise ParameterError(f"priv_trie: k: found {shown(k)}; allowed: 1 to {MOST_FOUND}")
        whole = self.open.get(self.layout.m, _fresh(np.zeros((0, self.layout.words), np.uint32)))
        bound = self.bound(deviation**2)
        whole = whole.those((whole.reports > 0) & (whole.told >= bound * whole.reports**0.5))
        passed = whole.told / whole.reports, deviation**2 / whole.reports
        found = named(whole.rows, *passed, k=k, least=least, significance=None)
        known_best = float(bound / whole.reports.max() ** 0.5) if len(whole.rows) else np.inf
        return replace(found, threshold=max(found.threshold, known_best))

    @property
    def _size(self) -> int:
        return sum(len(prefixes.rows) for prefixes in self.open.values())

    def bound(self, variance: float) -> float:
        """What a mean must reach, times the square root of its reports. variance: of one report's estimate."""
        return max(FACTOR / self.epsilon, sensitivity(variance**0.5, self._size * self.batches, 1, SIGNIFICANT))


def _fresh(rows: Rows) -> OpenPrefixes:
    """Prefixes of which nothing has been told."""
    return OpenPrefixes(rows, np.zeros(len(rows)), np.zeros(len(rows), np.int64))
