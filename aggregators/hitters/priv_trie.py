# SPDX-License-Identifier: Apache-2.0
"""A trie of prefixes that grows where enough is known (PrivTrie): batch by batch, each prefix for as long as it needs.

Contract: each batch of users is asked about all open prefixes at once, and is asked once with the whole epsilon (the
prefixes exclude each other, so one report covers them all).  A prefix whose mean over its batches passes a threshold
is replaced by its extensions, or is found where it is a whole string.  The state is what was told and nothing else.
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
    """The open prefixes by their length."""
    found: OpenPrefixes | None = None
    """Whole strings that have passed."""

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
        return {bits: prefixes.rows for bits, prefixes in self.open.items() if len(prefixes.rows)}

    def grown(self, told: Mapping[int, tuple[Floats, Floats]], reports: int) -> GrowingTrie:
        """The trie after a batch of so many reports. told: for each length asked, shares and their variances."""
        if reports < 1:
            return self
        # 1. What was told joins what is known of each prefix.
        known = {
            bits: OpenPrefixes(prefixes.rows, prefixes.told + told[bits][0] * reports, prefixes.reports + reports)
            for bits, prefixes in self.open.items()
            if len(prefixes.rows)
        }
        # 2. Those that pass are extended, or found.
        size = sum(len(prefixes.rows) for prefixes in known.values())
        result, left = self.found, dict[int, OpenPrefixes]()
        for bits, prefixes in sorted(known.items()):
            passes = self._passes(prefixes, told[bits][1], reports, size)
            if bits == self.layout.m:
                through = prefixes.those(passes)
                result = through if result is None else result.behind(through)
            else:
                longer = min(bits + self.step, self.layout.m)
                room = max(0, (MOST_OPEN - size) // ((1 << longer - bits) - 1))
                order = np.argsort(np.where(passes, -prefixes.told / prefixes.reports, np.inf), kind="stable")
                passes[order[room:]] = False
                size += int(passes.sum()) * ((1 << longer - bits) - 1)
                if passes.any():
                    fresh = _fresh(extended(self.layout, prefixes.rows[passes], bits, longer))
                    left[longer] = left[longer].behind(fresh) if longer in left else fresh
            rest = prefixes.those(~passes)
            left[bits] = left[bits].behind(rest) if bits in left else rest
        return replace(self, open=left, found=result)

    def best(self, k: int, deviation: float, *, least: float | None = None) -> Walked:
        """The k best of the strings that have passed. deviation: the standard error of a share times sqrt(reports)."""
        if not 1 <= k <= MOST_FOUND:
            raise ParameterError(f"priv_trie: k: found {shown(k)}; allowed: 1 to {MOST_FOUND}")
        found = self.found or _fresh(np.zeros((0, self.layout.words), np.uint32))
        shares = found.told / np.maximum(found.reports, 1)
        variances = deviation**2 / np.maximum(found.reports, 1)
        return named(found.rows, shares, variances, k=k, least=least, significance=None)

    def _passes(self, prefixes: OpenPrefixes, variances: Floats, reports: int, size: int) -> NDArray[np.bool_]:
        """Which prefixes have a mean above the threshold of their number of reports."""
        deviation = float(np.median(variances) * reports) ** 0.5
        least = max(FACTOR / self.epsilon, sensitivity(deviation, size * self.batches, 1, SIGNIFICANT))
        return np.asarray(prefixes.told >= least * np.sqrt(prefixes.reports))


def _fresh(rows: Rows) -> OpenPrefixes:
    """Prefixes of which nothing has been told."""
    return OpenPrefixes(rows, np.zeros(len(rows)), np.zeros(len(rows), np.int64))
