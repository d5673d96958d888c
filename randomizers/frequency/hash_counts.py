# SPDX-License-Identifier: Apache-2.0
"""OLH whose server keeps counts of (seed, cell), so that any value can be asked about later: `olh_counts`.

Contract: reports, law and epsilon are OLH's with a pool.  The support is the table N[seed, cell] itself, pool * g
counts that add up over batches and machines, and no value is listed: `statistics` is 0 and `estimate` gives nothing.
Whoever has a round's counts asks for the share of any values below 2^52 + 1 (`shares_of`), which takes pool hashes
each.  Such a share is off by two errors, whose variances `variances_of` adds: that of the reports, and the pool's,

    (q (1 - q) / (p - q)^2 + f (1 - p - q) / (p - q)) / n  +  sum over other values u of f_u (f_u - 1/n) / (pool (g-1))

The last sum is taken from the counts, too: two reports of one seed agree on the cell with probability p^2 + (1 - p)^2 /
(g - 1) if they are about the same value, else with 1/g.  Source: Wang 2021, sections 3.3.5 and 4.2.  Not here: which
values are worth asking about (aggregators/hitters/), streams of listed values (olh.py).
"""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import ParameterError, ReportError, ValueRefusedError, shown
from murmurate.randomizers.frequency.hashing import sum_table
from murmurate.randomizers.frequency.local_hash import DEFAULT_POOL, LocalHash
from murmurate.randomizers.frequency.olh import MAX_CELLS, usual_cells
from murmurate.randomizers.mechanism import Counts, Floats, Reports, whole
from murmurate.randomizers.thresholds import Epsilon, exp_floor, micro_nats

MAX_COUNTS: Final = 1 << 22
"""The most counts of one round, which are as many as a tally holds."""


class OLHCounts(LocalHash):
    """Optimized local hashing whose counts of (seed, cell) are kept, for values that nobody has listed.

    g is the number of cells, as OLH's: the whole number nearest to e^eps + 1, or one that is named.
    """

    name = "olh_counts"
    measure = "search"
    max_domain = (1 << 52) + 1

    def __init__(self, *, d: int, epsilon: Epsilon, pool: int = DEFAULT_POOL, g: int = 0) -> None:
        usual = usual_cells(exp_floor(micro_nats(epsilon)))
        if isinstance(g, bool) or g != 0:
            whole(self.name, "g", g, 2, MAX_CELLS)
        self._named = g if g != usual else 0
        super().__init__(d=d, epsilon=epsilon, pool=pool)
        if not 1 <= self.outcomes <= MAX_COUNTS:
            found = "fresh seeds (pool = 0)" if not pool else f"a pool of {pool} with {self.g} cells each"
            raise ParameterError(f"{self.name}: found {found}; allowed: 1 to {MAX_COUNTS} counts")

    def spec(self) -> dict[str, str | int]:
        """The description, with the number of cells where it is not the usual one."""
        return {**super().spec(), "g": self._named} if self._named else super().spec()

    def _cells(self, ratio: Fraction) -> int:
        return self._named or usual_cells(ratio)

    def __repr__(self) -> str:
        return f"OLHCounts(d={self.d}, epsilon={self.epsilon}{f', g={self.g}' if self._named else ''})"

    # ---- what is counted ----

    @property
    def outcomes(self) -> int:
        """The number of pairs of a seed and a cell."""
        return self.pool * self.g

    def support(self, reports: Reports) -> Counts:
        """The number of reports with each seed and cell, at seed * g + cell: int64[pool * g]."""
        numbers, cells = self._read(self._well_formed(reports))
        return np.bincount((numbers * np.uint64(self.g) + cells).view(np.int64), minlength=self.outcomes)

    def _check_most(self, counts: Counts, n: int) -> None:
        super()._check_most(counts, n)
        if int(counts.sum()) != n:
            raise ReportError(f"{self.name}: counts: found {int(counts.sum())} reports in all cells; allowed: {n}")

    # ---- what is asked of the counts ----

    def support_of_counts(self, counts: Counts, codes: NDArray[np.integer[Any]]) -> Counts:
        """The number of reports that support each of these values: int64[codes], from pool * codes hashes. The
        mechanism must be that of the counts' round (`of_round`).
        """
        first, counts = self._first_seed, np.asarray(counts)
        if counts.shape != (self.outcomes,) or counts.dtype.kind not in "iu":
            found = f"{counts.dtype}{list(counts.shape)}"
            raise ReportError(f"{self.name}: counts: found {found}; allowed: int64[{self.outcomes}]")
        if not isinstance(codes, np.ndarray) or codes.ndim != 1 or codes.dtype.kind not in "iu":
            raise ValueRefusedError(f"{self.name}: codes: found {shown(codes)}; allowed: an array of whole numbers")
        if len(codes) and not (codes.min() >= 0 and codes.max() < self.d):
            raise ValueRefusedError(f"{self.name}: codes: found one outside the domain; allowed: 0 to {self.d - 1}")
        seeds = np.arange(self.pool, dtype=np.uint64) + first
        return sum_table(counts.astype(np.int64, copy=False), seeds, codes, self.g)

    def shares_of(self, counts: Counts, n: int, codes: NDArray[np.integer[Any]]) -> Floats:
        """The unbiased frequencies of these values among n reports with these counts, raw: float64[codes]."""
        self._check_some(counts, n)
        p, q = float(self.p), float(self.q)
        return np.asarray((self.support_of_counts(counts, codes) / n - q) / (p - q), np.float64)

    def variances_of(self, counts: Counts, n: int, shares: Floats) -> Floats:
        """The variances of `shares_of` at these shares, what the pool adds included: float64[shares]. Shares below 0
        count as 0 and those above 1 as 1.
        """
        f = np.clip(np.asarray(shares, np.float64), 0, 1)
        squares = self.sum_of_squares(counts, n)
        pool = np.maximum(squares - np.maximum(f * (f - 1 / n), 0), 0) / (self.pool * (self.g - 1))
        return np.asarray(self.noise(f) / n + pool, np.float64)

    def skewness_of(self, counts: Counts, n: int) -> float:
        """The skewness of the share of a value that nobody has: a binomial count of n reports, and of the pool's hash
        functions another one, at most as skew as where all users hold one value.
        """
        q, nobody = float(self.q), np.zeros(1)
        whole = float(self.variances_of(counts, n, nobody)[0])
        part = min(1.0, float(self.noise(nobody)[0]) / n / whole)
        own, pool = (size**1.5 / sqrt(of) for size, of in ((part, n), (1 - part, self.pool)))
        return float((1 - 2 * q) / sqrt(q * (1 - q)) * (own + pool))

    def sum_of_squares(self, counts: Counts, n: int) -> float:
        """The estimated sum over all values of f (f - 1/n), f being a value's frequency among n reports, and 0 where
        the estimate is below. Unbiased before that, over hash functions and coins.
        """
        self._check_some(counts, n)
        table = np.asarray(counts).reshape(self.pool, self.g)
        of_seed = table.sum(axis=1)
        agreeing, pairs = (float((x * (x - 1.0)).sum()) for x in (table, of_seed))
        if not pairs:
            return 0.0
        agree = self.p**2 + (1 - self.p) ** 2 / (self.g - 1)
        found = (agreeing / pairs - float(self.q)) / float(agree - self.q)
        return min(1.0, max(0.0, found)) * (1 - 1 / n)

    def _check_some(self, counts: Counts, n: int) -> None:
        self.check(counts, n)
        if n < 1:
            raise ReportError(f"{self.name}: counts: found them of no reports; allowed: 1 or more")

    # ---- no value is listed ----

    @property
    def statistics(self) -> int:
        """None: no value is listed."""
        return 0

    def estimate(self, support: Counts, n: int) -> Floats:
        """Nothing, since no value is listed; `shares_of` has the estimates of values that are named."""
        self._check_some(support, n)
        return np.zeros(0)

    def pool_variance(self, n: int, frequencies: Floats) -> Floats:
        """Nothing, since no value is listed; `variances_of` has it for values that are named."""
        return np.zeros(0)

    def mean_sampling(self, profile: Floats) -> float:
        """The mean sampling variance over statistics, of which there are none."""
        return 0.0
