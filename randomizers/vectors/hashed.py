# SPDX-License-Identifier: Apache-2.0
"""The common part of oracles that hash a user's entries into t cells and report one cell: Collision and CoCo.

Contract: a report is the number of a hash function, drawn without regard to the value, and one of t cells; under every
function, for all entries, P[cell | entries] <= e^epsilon P[cell | other entries], in exact arithmetic (`law_given`).
`supports` are averages over random functions.  Functions are those of hashing.py.  `pool` > 0 is the number of those
of a round, which follow from the round's digest; a server then hashes every symbol once for each.  Holders of the same
entries err together where they have the same function, which adds `added_variance`.  `pool` = 0 draws 64 fresh bits.
Not here: the probabilities of cells (collision.py, coco.py), how cells are ordered (cells.py).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import ParameterError, ValueRefusedError, shown
from murmurate.randomizers.frequency.hashing import Words, count_matches, first_seed, hash_rows, sum_table
from murmurate.randomizers.lanes import Lanes
from murmurate.randomizers.mechanism import MAX_LAW
from murmurate.randomizers.packing import int_bytes, pack_ints, unpack_ints
from murmurate.randomizers.pooled import PooledQuestion
from murmurate.randomizers.question import Counts, Reports, Value
from murmurate.randomizers.randomness import Draw, DrawOne
from murmurate.randomizers.thresholds import Epsilon
from murmurate.randomizers.vectors.cells import MAX_CELLS, Cells, least
from murmurate.randomizers.vectors.entries import Entries, Held
from murmurate.randomizers.vectors.sparse import SparseOracle

LEAST_POOL, MOST_POOL, MAX_POOL = 1 << 11, 1 << 14, 1 << 16
ALIKE = 120_000
"""The number of pairs of like users, n sum f^2, up to which the default pool adds at most 5 % to variances, unless
more than MOST_POOL functions would be needed (few entries, or a large epsilon).
"""
_BITS = 64
_TABLE = 1 << 22  # counts of (function, cell) at a time: 32 MB


class HashedOracle(PooledQuestion, SparseOracle):
    """A hash function, and one of the t cells into which it puts the symbols of a user's entries.

    t: the number of cells; the default has the smallest total variance. pool: the number of hash functions of a round,
    by default as many as `ALIKE` needs; 0 for a function of 64 fresh bits in every report.
    """

    _realised: Fraction
    step: int = 1
    """What the number of cells is a multiple of."""
    coins: int = 2
    """The number of random words of a report besides the one of its hash function."""

    def __init__(self, layout: Any, epsilon: Epsilon, t: int | None = None, pool: int | None = None) -> None:
        self._cells_given, self._pool_given = t, pool
        self._round = None
        super().__init__(layout, epsilon)
        self._seed_bytes = int_bytes(self.pool) if self.pool else 8

    @cached_property
    def t(self) -> int:
        """The number of cells of the hash functions."""
        lowest, highest = 2 * self.s, MAX_CELLS // self.step * self.step
        found = self._cells_given
        if found is None:
            return self.best_cells(lowest)
        if isinstance(found, bool) or not isinstance(found, int) or not lowest <= found <= highest or found % self.step:
            kind = "an even number" if self.step == 2 else "a whole number"
            raise ParameterError(
                f"{self.name}: t: found {shown(found)}; allowed: {kind} from {lowest}, twice the entries of a user, "
                f"to {highest}"
            )
        return found

    def best_cells(self, lowest: int) -> int:
        """The number of cells from `lowest` on with the smallest sum of variances over all coordinates, for users with
        s entries.
        """
        highest = min(MAX_CELLS, 4 * self.s * (int(self.bound) + 4)) // self.step * self.step
        return least(self._total_variance, self.bound - 1, np.arange(lowest, highest + 1, self.step))

    @abstractmethod
    def _total_variance(self, t: Any, excess: Any) -> Any:
        """The sum of the variances of all coordinates, for t cells and excess = e^epsilon - 1: floats or Fractions."""

    @cached_property
    def pool(self) -> int:  # type: ignore[override]
        """The number of hash functions of a round; 0 stands for a fresh one in every report."""
        found = self._pool_given
        if found is None:
            # 20 functions for 5 %, and a quarter more for what `added_variance` adds to be never too small
            wanted = int(25 * ALIKE * self._gap_of(Fraction(self.t), self.bound - 1) ** 2)
            return min(MOST_POOL, max(LEAST_POOL, 1 << wanted.bit_length()))
        if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found <= MAX_POOL:
            raise ParameterError(
                f"{self.name}: pool: found {shown(found)}; "
                f"allowed: a whole number from 1 to {MAX_POOL}, or 0 for fresh hash functions"
            )
        return found

    @abstractmethod
    def _gap_of(self, t: Any, excess: Any) -> Any:
        """The part of a report's probability by which a sign that is held is likelier: floats or Fractions."""

    def parameters(self) -> dict[str, Any]:
        """The number of cells and of hash functions."""
        return {"t": self.t, "pool": self.pool}

    @property
    def realised(self) -> Fraction:
        """The largest ratio of probabilities that occurs."""
        return self._realised

    @property
    def wire_size(self) -> int:
        """The bytes of the hash function's number and of the cell."""
        return self._seed_bytes + int_bytes(self.t)

    @property
    def reports_possible(self) -> int:
        """The number of pairs of a hash function and a cell."""
        return (self.pool or 1 << _BITS) * self.t

    # ---- the device's half ----

    def _perturb(self, held: Entries, lanes: Lanes) -> Reports:
        reports = np.empty((len(held.items), self.wire_size), np.uint8)
        for rows, words in lanes.words(1 + self.coins, np.uint64):
            numbers = words[:, 0].copy()
            if self.pool:
                numbers >>= np.uint64(32)
                numbers *= np.uint64(self.pool)
                numbers >>= np.uint64(32)
            seeds = numbers + np.uint64(self._first_seed)
            signs = np.ascontiguousarray(held.signs[rows].T)
            symbols = self._symbols(np.ascontiguousarray(held.items[rows].T), signs)
            hashed = hash_rows(seeds, symbols, self.t, np.uint16)
            cells = self._drawn_from(self._signed(hashed, signs), signs, words[:, 1:].T)
            reports[rows, : self._seed_bytes] = pack_ints(numbers, self._seed_bytes)
            reports[rows, self._seed_bytes :] = pack_ints(cells, int_bytes(self.t))
        return reports

    @abstractmethod
    def _drawn_from(self, cells: Cells, signs: NDArray[np.int8], coins: Words) -> Cells:
        """The reported cell of each user: uint16[n], from the cells of the entries (uint16[s, n], to be ignored where
        the sign is 0), the signs, and uint64[coins, n].
        """

    def _perturb_one(self, held: Held, words: Any) -> bytes:
        number, *coins = words(1 + self.coins, _BITS)
        if self.pool:
            number = (number >> 32) * self.pool >> 32
        return self._report(number, self._drawn_from_one(self.cells_of_held(number, held), coins))

    @abstractmethod
    def _drawn_from_one(self, cells: list[int], coins: list[int]) -> int:
        """What `_drawn_from` gives, from the cells of one user's entries, by item."""

    def _bound_to(self, draw: Draw | DrawOne) -> Self:
        """The oracle with the hash functions of a draw's round."""
        if self.pool and self._round not in (None, draw.round):
            raise ValueRefusedError(f"{self.name}: draw: found one of another round; allowed: of this question's round")
        return self.of_round(draw.round)

    @abstractmethod
    def _symbols(self, items: Any, signs: Any) -> NDArray[np.uint32]:
        """The numbers that are hashed for these entries: uint32 of the same shape."""

    def _signed(self, cells: Any, signs: Any) -> Any:
        """The cells of entries from those of their symbols, where the sign is not part of the symbol."""
        return cells

    # ---- the auditor's ----

    def cells_of_held(self, number: int, held: Held) -> list[int]:
        """The cells of these entries under one hash function of the round, by item."""
        if not held:
            return []
        items, signs = (np.array(part)[:, np.newaxis] for part in zip(*held, strict=True))
        seeds = np.array([number], np.uint64) + np.uint64(self._first_seed)
        return [int(cell) for cell in self._signed(hash_rows(seeds, self._symbols(items, signs), self.t), signs)[:, 0]]

    @abstractmethod
    def law_given(self, cells: Sequence[int]) -> list[Fraction]:
        """The probability of each cell, for a user whose entries are hashed into these, one of each entry."""

    def _law(self, held: Held) -> Mapping[bytes, Fraction]:
        """The law over hash functions, each with its share of 2^32 words, and cells."""
        law = {}
        for number in range(self.pool):
            words = -(-(number + 1 << 32) // self.pool) - -(-(number << 32) // self.pool)
            for cell, chance in enumerate(self.law_given(self.cells_of_held(number, held))):
                law[self._report(number, cell)] = chance * Fraction(words, 1 << 32)
        return law

    def law(self, value: Value) -> Mapping[bytes, Fraction]:
        """The law of a report under the hash functions of the round, of a small pool."""
        if self.reports_possible > MAX_LAW:
            found = f"a pool of {self.pool}" if self.pool else "fresh hash functions (pool = 0)"
            raise ParameterError(
                f"{self.name}: law: found {found} with t = {self.t} cells; allowed: at most {MAX_LAW} reports to list. "
                "`law_given` has the law of the cell under one hash function"
            )
        return super().law(value)

    @property
    def _first_seed(self) -> int:
        """The number added to a hash function's number, modulo 2^64, to get its seed."""
        if not self.pool:
            return 0
        if self._round is None:
            raise ParameterError(
                f"{self.name}: round: found none, and every round has hash functions of its own; "
                "allowed: of_round(the digest of the round)"
            )
        return first_seed(self._round)

    # ---- the server's half ----

    def malformed(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports name a function outside the pool or a cell past the last."""
        numbers, cells = self._read(self._reports(reports))
        bad = cells >= self.t
        return np.asarray(bad | (numbers >= self.pool) if self.pool else bad)

    def _sums(self, numbers: Words, cells: Words, symbols: Words, seen: Callable[[Counts], Counts]) -> Counts:
        """For each symbol, the sum over reports of what is seen at its cell, a pool's (function, cell) pairs counted
        first: int64[symbols]. seen: makes from counts of int64[functions * t] what is to be summed.
        """
        sums = np.zeros(len(symbols), np.int64)
        for part, table in self._tables(numbers, cells):
            sums += sum_table(seen(table), part + np.uint64(self._first_seed), symbols, self.t)
        return sums

    def _matches(self, numbers: Words, cells: Words, symbols: Words) -> Counts:
        """For each symbol, the number of reports with its cell, every pair of both hashed: int64[symbols]."""
        return count_matches(numbers + np.uint64(self._first_seed), cells, symbols, self.t)

    def _is_small(self, reports: int, symbols: int) -> bool:
        """Whether to hash all pairs of reports and symbols is less work than to hash all of the pool and symbols."""
        return not self.pool or reports * symbols <= self.pool * (symbols + self.t)

    def _tables(self, numbers: Words, cells: Words) -> Iterator[tuple[Words, Counts]]:
        """Yield (functions' numbers, counts of their cells: int64[numbers * t]), at most _TABLE counts at a time."""
        index = (numbers * np.uint64(self.t) + cells).view(np.int64)
        lane = min(self.pool, _TABLE // self.t)
        if lane < self.pool:
            index.sort()
        for first in range(0, self.pool, lane):
            part = np.arange(first, min(self.pool, first + lane), dtype=np.uint64)
            start, stop = first * self.t, (first + len(part)) * self.t
            mine = index[slice(*np.searchsorted(index, (start, stop)))] if lane < self.pool else index
            yield part, np.bincount(mine - start, minlength=stop - start)

    def _read(self, reports: Reports) -> tuple[Words, Words]:
        """The functions (in a pool their numbers) and the cells: two of uint64[n]."""
        split = self._seed_bytes
        return unpack_ints(reports[:, :split]).astype(np.uint64), unpack_ints(reports[:, split:]).astype(np.uint64)

    def _report(self, number: int, cell: int) -> bytes:
        return number.to_bytes(self._seed_bytes, "little") + cell.to_bytes(int_bytes(self.t), "little")

    def hashed_to(self, reports: Reports, item: int, sign: int) -> tuple[Words, Words]:
        """The cell of one entry under the function of each report, and the reported cell: two of uint64[n]."""
        numbers, cells = self._read(self._reports(reports))
        symbols = self._symbols(np.full((1, len(numbers)), item), np.full((1, len(numbers)), sign))
        hashed = hash_rows(numbers + np.uint64(self._first_seed), symbols, self.t)[0]
        return self._signed(hashed, np.int8(sign)), cells
