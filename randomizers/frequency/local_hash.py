# SPDX-License-Identifier: Apache-2.0
"""Local hashing: a public hash function a report, and GRR on the cell that the value falls into.

Contract: the seed is drawn without regard to the value, and P[y|x, seed] <= e^epsilon P[y|x', seed] for every seed, in
exact arithmetic (`law`, `law_given`).  The chance of another cell is rounded up to a whole number out of 2^64 and the
own cell takes what remains.  A report is as short as a seed and a cell whatever d is, reading it costs a hash a value.
Source: Wang 2021, sections 3.3.4 and 3.3.5, g and p as in 3.5.1.  Not here: the hash functions (hashing.py), how
many cells they have (olh.py).

Seeds.  `pool` = 0 draws 64 fresh bits a report, and a server hashes all n d pairs.  A pool of S seeds (0 to S - 1, each
with its share of 2^32, so equally likely up to 2^-32) lets a server count (seed, cell) pairs and hash S d pairs.  The
price: holders of u with the same seed fall into the cell of v together, which adds the sum over u of about f_u^2 /
(S (g-1)) to the variance of frequencies.  Below 5 % of it while S > 20 n sum f_u^2 / (V (g-1)), V = n `variance`: the
default pool of 2^14 keeps that at epsilon 1 up to n sum f_u^2 = 9000, say 100 000 reports with sum f_u^2 = 0.09.

A report has the number of its seed in the pool.  Which hash functions these numbers stand for is public and follows
from the round's digest (`hashing.first_seed`): every round has functions of its own, so that what the pool adds is an
error of the round, and averaging over rounds removes it.  A device knows the round from its draw; a server reads
reports by `of_round(digest)`.  Version 1 had the same functions in every round; without a pool it still stands.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import ParameterError, ValueRefusedError, shown
from murmurate.randomizers.frequency.hashing import Words, count_matches, first_seed, hash_one, hash_pairs, sum_table
from murmurate.randomizers.mechanism import MAX_LAW, Counts, Floats, PureOracle, Reports
from murmurate.randomizers.packing import int_bytes
from murmurate.randomizers.pooled import PooledQuestion
from murmurate.randomizers.question import Blanket, one_apart
from murmurate.randomizers.randomness import Draw, DrawOne, canonical, canonical_one
from murmurate.randomizers.thresholds import Epsilon, exp_floor, low_level

DEFAULT_POOL = 1 << 14
MAX_POOL = 1 << 16

_BITS = 64
_TABLE = 1 << 22  # counts of (seed, cell) at a time: 32 MB


class LocalHash(PooledQuestion, PureOracle):
    """A seed and one of g cells: that of the value with probability p = e^eps / (e^eps + g - 1).

    A report is the seed (8 bytes, with a pool as many as it needs), then the cell, both little-endian. It supports
    every value that its seed puts into its cell. With a pool whoever reads reports needs the round: `of_round`.
    """

    version = 2
    max_domain = 1 << 24
    g: int
    """The number of cells of the hash functions."""
    pool: int
    """The number of different seeds, 0 to pool - 1; 0 stands for a fresh seed of 64 bits in every report."""

    def __init__(self, *, d: int, epsilon: Epsilon, pool: int = DEFAULT_POOL) -> None:
        if isinstance(pool, bool) or not isinstance(pool, int) or not 0 <= pool <= MAX_POOL:
            raise ParameterError(
                f"{self.name}: pool: found {shown(pool)}; "
                f"allowed: a whole number from 1 to {MAX_POOL}, or 0 for fresh seeds"
            )
        self.pool = pool
        self._round = None
        if not pool:
            vars(self)["version"] = 1
        super().__init__(d=d, epsilon=epsilon)
        ratio = exp_floor(self.epsilon_micro)
        self.g = self._cells(ratio)
        self._low = low_level(1 / (ratio + self.g - 1), _BITS)
        self._seed_bytes = int_bytes(pool) if pool else 8
        self.p = 1 - (self.g - 1) * Fraction(self._low, 1 << _BITS)
        self.q = Fraction(1, self.g)

    @abstractmethod
    def _cells(self, ratio: Fraction) -> int:
        """The number of cells for this e^epsilon."""

    def spec(self) -> dict[str, str | int]:
        """The description, the pool included: another pool is another mechanism."""
        return {**super().spec(), "pool": self.pool}

    @property
    def wire_size(self) -> int:
        """The bytes of the seed and of the cell."""
        return self._seed_bytes + int_bytes(self.g)

    @property
    def realised(self) -> Fraction:
        """The ratio of the own cell to another one, for a seed whose hash separates two values."""
        return self.p / Fraction(self._low, 1 << _BITS)

    def perturb(self, values: NDArray[np.integer[Any]], draw: Draw) -> Reports:
        """Reports from two words a user, one for the seed: another cell, number u div low, or the own one."""
        values = self._values(values, draw)
        first = self._first_seed_of(draw)
        reports = np.empty((len(values), self.wire_size), np.uint8)
        low, others = np.uint64(self._low), np.uint64(self.g - 1)
        for rows, words in draw.open(self.digest, canonical(values)).words(2, np.uint64):
            numbers = words[:, 0].copy()
            if self.pool:
                numbers >>= 32
                numbers *= self.pool
                numbers >>= 32
            own = hash_pairs(numbers + first, values[rows], self.g)
            index = words[:, 1].copy()
            index //= low
            other = index + (index >= own)
            self._write(reports[rows], numbers, np.where(index < others, other, own))
        return reports

    def perturb_one(self, value: int, draw: DrawOne) -> bytes:
        """What `perturb` gives, for one user in plain Python."""
        value = self.checked_one(value, draw)
        first = int(self._first_seed_of(draw))
        number, index = draw.open(self.digest, canonical_one(value))(2, _BITS)
        if self.pool:
            number = (number >> 32) * self.pool >> 32
        cell, index = hash_one(number + first, value, self.g), index // self._low
        if index < self.g - 1:
            cell = index + (index >= cell)
        return self._report(number, cell)

    def malformed(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports have a seed outside the pool or a cell past the last."""
        numbers, cells = self._read(self._reports(reports))
        bad = cells >= self.g
        return np.asarray(bad | (numbers >= self.pool) if self.pool else bad)

    def support(self, reports: Reports) -> Counts:
        """The number of reports with each value in their cell. With a pool this takes at most pool * d hashes."""
        return self.support_of(reports, np.arange(self.d, dtype=np.uint64))

    def support_of(self, reports: Reports, values: NDArray[np.integer[Any]]) -> Counts:
        """The support of these values only: int64[values]. It takes time for these alone, however large the domain."""
        numbers, cells = self._read(self._well_formed(reports))
        first = self._first_seed
        if not isinstance(values, np.ndarray) or values.ndim != 1 or values.dtype.kind not in "iu":
            raise ValueRefusedError(f"{self.name}: values: found {shown(values)}; allowed: an array of whole numbers")
        if len(values) and not (values.min() >= 0 and values.max() < self.d):
            raise ValueRefusedError(f"{self.name}: values: found one outside the domain; allowed: 0 to {self.d - 1}")
        # As a table all pairs of pool and values are hashed and pool * g counts looked through, else n * values pairs.
        if self.g > _TABLE or len(numbers) * len(values) <= self.pool * (len(values) + self.g) or not self.pool:
            return count_matches(numbers + first, cells, values, self.g)
        sums = np.zeros(len(values), np.int64)
        for part, table in self._tables(numbers, cells):
            sums += sum_table(table, part + first, values, self.g)
        return sums

    def pool_variance(self, n: int, frequencies: Floats) -> Floats:
        """The variance that the pool adds to `variance` for each value, from all frequencies (float64[d]), over the
        choice of its hash functions: sum over other values u of f_u (f_u - 1/n) / (pool (g-1)), exact for random
        functions. Errors of two rounds are independent.
        """
        f = np.asarray(frequencies)
        if not isinstance(n, int) or n < 1 or f.shape != (self.d,) or not np.all((f >= 0) & (f <= 1)):
            raise ParameterError(
                f"{self.name}: pool_variance: found n = {shown(n)} and frequencies of shape {list(f.shape)}; "
                f"allowed: n >= 1 and {self.d} frequencies from 0 to 1"
            )
        if not self.pool:
            return np.zeros(self.d)
        pairs = np.maximum(f * (f - 1 / n), 0)
        return np.asarray((pairs.sum() - pairs) / (self.pool * (self.g - 1)), np.float64)

    def added_variance(self, n: int, profile: Floats) -> Floats:
        """The variance that the pool adds."""
        return self.pool_variance(n, profile)

    def variance(self, n: int, frequency: float | Floats) -> Floats:
        """The formula of a pure protocol, q = 1/g: exact over the users' coins and independent random hash functions.

        That is pool = 0. A pool adds `pool_variance` over the choice of a round's functions. Given these, the estimate
        varies no more than this, and is off by an error whose mean square is about that addition.
        """
        return super().variance(n, frequency)

    @property
    def reports_possible(self) -> int:
        """The number of pairs of a seed and a cell."""
        return (self.pool or 1 << 64) * self.g

    def law(self, value: int) -> Mapping[bytes, Fraction]:
        """The law over seeds, each with its share of 2^32 words, and cells, with p for that of the value."""
        value = self.checked(value)
        if self.reports_possible > MAX_LAW:
            seeds = f"a pool of {self.pool} seeds" if self.pool else "fresh seeds (pool = 0)"
            raise ParameterError(
                f"{self.name}: law: found {seeds} with g = {self.g} cells; allowed: at most {MAX_LAW} reports to list. "
                "`law_given` has the law under one seed"
            )
        law = {}
        for number in range(self.pool):
            first, last = (-(-(k << 32) // self.pool) for k in (number, number + 1))
            for cell, chance in enumerate(self.law_given(number, value)):
                law[self._report(number, cell)] = chance * Fraction(last - first, 1 << 32)
        return law

    def law_given(self, seed: int, value: int) -> list[Fraction]:
        """The probability of each cell under one seed (in a pool its number). The seed itself is independent of the
        value.
        """
        if self.g > MAX_LAW:
            raise ParameterError(f"{self.name}: law_given: found g = {self.g} cells; allowed: at most {MAX_LAW}")
        chances = [Fraction(self._low, 1 << _BITS)] * self.g
        chances[hash_one(seed + int(self._first_seed), self.checked(value), self.g)] = self.p
        return chances

    def evidence(self, reports: Reports, one: int, other: int) -> NDArray[np.bool_]:
        """Which reports have the cell of `one` and not that of `other`."""
        numbers, cells = self._read(self._reports(reports))
        seeds = numbers + self._first_seed
        for_one, for_other = (hash_pairs(seeds, np.array([self.checked(v)]), self.g) == cells for v in (one, other))
        return np.asarray(for_one & ~for_other)

    def blanket(self) -> Blanket:
        """GRR's of g cells, for any hash functions: a seed that puts two values into one cell tells less than one that
        separates them (ARCHITECTURE section 5.16).
        """
        return one_apart(Fraction(self._low, 1 << _BITS), self.realised, self.g)

    @property
    def telling(self) -> tuple[Fraction, Fraction]:
        """The probabilities of the own cell and of one other one, for the seeds that separate two values: 1 - 1/g of
        all.
        """
        return self.p * (1 - self.q), Fraction(self._low, 1 << _BITS) * (1 - self.q)

    @property
    def _first_seed(self) -> np.uint64:
        """The number added to a report's seed number, modulo 2^64, to get its seed."""
        if not self.pool:
            return np.uint64(0)
        if self._round is None:
            raise ParameterError(
                f"{self.name}: round: found none, and every round's pool has hash functions of its own; "
                "allowed: of_round(the digest of the round)"
            )
        return np.uint64(first_seed(self._round))

    def _first_seed_of(self, draw: Draw | DrawOne) -> np.uint64:
        """The first seed of the pool for a device, whose draw knows the round."""
        if not self.pool:
            return np.uint64(0)
        if self._round not in (None, draw.round):
            raise ValueRefusedError(
                f"{self.name}: draw: found one of another round; allowed: of this mechanism's round"
            )
        return np.uint64(first_seed(draw.round))

    def _tables(self, numbers: Words, cells: Words) -> Iterator[tuple[Words, NDArray[np.int64]]]:
        """Yield (seeds' numbers, counts of their cells: int64[numbers * g]), at most _TABLE counts at a time."""
        index = (numbers * np.uint64(self.g) + cells).view(np.int64)
        lane = min(self.pool, _TABLE // self.g)
        if lane < self.pool:
            index.sort()
        for first in range(0, self.pool, lane):
            part = np.arange(first, min(self.pool, first + lane), dtype=np.uint64)
            start, stop = first * self.g, (first + len(part)) * self.g
            mine = index[slice(*np.searchsorted(index, (start, stop)))] if lane < self.pool else index
            yield part, np.bincount(mine - start, minlength=stop - start)

    def _write(self, rows: Reports, numbers: Words, cells: Words) -> None:
        """Write seeds and cells byte by byte into uint8[n, wire_size]: columns are faster than rows of three bytes."""
        for start, words, width in ((0, numbers, self._seed_bytes), (self._seed_bytes, cells, int_bytes(self.g))):
            digits = np.ascontiguousarray(words, "<u8").view(np.uint8).reshape(-1, 8)
            for k in range(width):
                rows[:, start + k] = digits[:, k]

    def _read(self, rows: Reports) -> tuple[Words, Words]:
        """The seeds (in a pool their numbers) and the cells: two of uint64[n]."""
        digits = np.zeros((2, len(rows), 8), np.uint8)
        for k in range(self.wire_size):
            of_cell = k >= self._seed_bytes
            digits[int(of_cell), :, k - self._seed_bytes * of_cell] = rows[:, k]
        numbers, cells = digits.view("<u8").reshape(2, -1)
        return numbers, cells

    def _report(self, number: int, cell: int) -> bytes:
        return number.to_bytes(self._seed_bytes, "little") + cell.to_bytes(int_bytes(self.g), "little")
