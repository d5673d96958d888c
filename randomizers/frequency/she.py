# SPDX-License-Identifier: Apache-2.0
"""Summed histogram encoding (SHE): a one-hot row with noise in every cell, on a grid of whole numbers.

Contract: a cell is one of top + 1 numbers whatever it held, its law for an empty cell is the mirror image of that for
the own one, and the two differ at no number by more than e^(eps/2); two values differ in two cells, so
P[y|x] / P[y|x'] <= e^epsilon, in exact arithmetic (`law`). The noise is the two-sided geometric one, the Laplace of
scale 2 / epsilon on a grid, and what would leave the grid stays at its ends; it is one table of whole numbers out of
2^64: the rarer number of a mirrored pair is rounded up, the other one is at most e^(eps/2) times that, the number in
the middle takes what remains.  Source: Wang 2021, section 3.3.2; Ghosh, Roughgarden and Sundararajan 2009.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import ParameterError, ReportError, shown
from murmurate.randomizers.mechanism import Counts, Floats, Mechanism, Reports, whole
from murmurate.randomizers.packing import count_bits, int_bytes, pack_ints, unpack_ints
from murmurate.randomizers.question import Atom, Blanket
from murmurate.randomizers.randomness import Draw, DrawOne, canonical, canonical_one
from murmurate.randomizers.thresholds import Epsilon, exp_floor

_BITS = 64
_SCALE = 256  # bits behind the point of a power
_BUCKETS = 16  # a word's first bits nearly always determine its place in the table
_TOP = (1 << 16) - 1
_KINDS = 16  # ratios of a cell that a blanket tells apart, about


class SHE(Mechanism):
    """Summed histogram encoding: `grid` numbers to a unit (even), and `reach` units of room on both sides.

    A report is d cells of one or two bytes, little-endian; an empty cell stands at reach * grid and the own one a
    unit higher, before noise. `support` counts the bits of each cell's number, so that no count exceeds the reports;
    an estimate divides by the exact distance of the two means, so that the ends of the grid bias nothing. Variance is
    close to 8 / eps^2 whatever the frequency, and less where the noise outgrows the grid: about OUE's at epsilon 0.001,
    twice that at 0.1 to 1, far more above 4.
    """

    name = "she"
    max_domain = 1 << 17  # of two bytes a cell, a block of reports has room for one of no more

    def __init__(self, *, d: int, epsilon: Epsilon, grid: int = 256, reach: int = 127) -> None:
        self.grid, self.reach = whole(self.name, "grid", grid, 2, _TOP), whole(self.name, "reach", reach, 0, _TOP)
        self.top = (2 * reach + 1) * grid
        if grid % 2 or self.top > _TOP:
            raise ParameterError(
                f"{self.name}: found grid = {grid} and reach = {reach}; allowed: an even grid, and at most {_TOP} "
                "for (2 reach + 1) grid"
            )
        super().__init__(d=d, epsilon=epsilon)
        self.mean, square = _moments(self.epsilon_micro, self.grid, self.reach)
        self.gap = self.top - 2 * self.mean
        self._spread = (square - self.mean**2) / self.gap**2

    def spec(self) -> dict[str, str | int]:
        """The description, with the grid and its reach."""
        return {**super().spec(), "grid": self.grid, "reach": self.reach}

    @property
    def _size(self) -> int:
        return int_bytes(self.top + 1)

    @property
    def wire_size(self) -> int:
        """The bytes of d cells."""
        return self.d * self._size

    @property
    def bits(self) -> int:
        """The number of bits of a cell's number."""
        return self.top.bit_length()

    @property
    def outcomes(self) -> int:
        """The number of bits of all cells' numbers."""
        return self.d * self.bits

    @cached_property
    def _ratio(self) -> Fraction:
        """The largest ratio of a cell."""
        return max(Fraction(a, b) for a, b in set(zip(self._levels, reversed(self._levels), strict=True)))

    @property
    def realised(self) -> Fraction:
        """The square of the largest ratio of a cell: two cells differ."""
        return self._ratio**2

    def perturb(self, values: NDArray[np.integer[Any]], draw: Draw) -> Reports:
        """Reports from one word u a cell: the number of steps of the table that are at most u; in the own cell, top
        less that.
        """
        values = self._values(values, draw)
        reports = np.empty((len(values), self.wire_size), np.uint8)
        for rows, words in draw.open(self.digest, canonical(values)).words(self.d, np.uint64):
            cells = self._looked_up(words)
            own = np.arange(len(words)), values[rows]
            cells[own] = self.top - cells[own]
            reports[rows] = pack_ints(cells.astype(np.uint64).reshape(-1), self._size).reshape(len(words), -1)
        return reports

    @property
    def _levels(self) -> tuple[int, ...]:
        return levels(self.epsilon_micro, self.grid, self.reach)

    @property
    def _table(self) -> _Table:
        return _table(self.epsilon_micro, self.grid, self.reach)

    def _looked_up(self, words: NDArray[Any]) -> NDArray[np.int64]:
        """Compute np.searchsorted(steps, words, side="right"), for nearly all words without a search."""
        table, bucket = self._table, words >> np.uint64(_BITS - _BUCKETS)
        cells = table.starts[bucket]
        cells += (words >= table.ends[cells]) & (cells < self.top)
        crowded = table.crowded[bucket]
        cells[crowded] = np.searchsorted(table.steps, words[crowded], side="right")
        return np.asarray(cells, np.int64)

    def perturb_one(self, value: int, draw: DrawOne) -> bytes:
        """What `perturb` gives, for one user in plain Python."""
        value = self.checked_one(value, draw)
        report, steps = b"", self._table.steps
        for cell, word in enumerate(draw.open(self.digest, canonical_one(value))(self.d, _BITS)):
            found = bisect_right(steps, word)
            report += (self.top - found if cell == value else found).to_bytes(self._size, "little")
        return report

    def malformed(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports have a cell above the top."""
        return np.asarray((self._cells(reports) > self.top).any(axis=1))

    def support(self, reports: Reports) -> Counts:
        """The number of reports that set each bit of a cell's number, cell by cell, lowest first: int64[outcomes]."""
        counts = count_bits(self._well_formed(reports), 8 * self.wire_size)
        return np.ascontiguousarray(counts.reshape(self.d, -1)[:, : self.bits]).reshape(-1)

    def estimate(self, support: Counts, n: int) -> Floats:
        """The unbiased frequencies (sum of a cell / n - mean of an empty cell) / distance of the means."""
        support = np.asarray(support)
        if support.shape != (self.outcomes,) or support.dtype.kind not in "iu":
            raise ReportError(
                f"{self.name}: support: found {support.dtype}{list(support.shape)}; allowed: int64[{self.outcomes}]"
            )
        if not isinstance(n, int) or n < 1 or support.min() < 0 or support.max() > n:
            raise ReportError(
                f"{self.name}: found n = {shown(n)} and counts that do not fit; allowed: n >= 1 and counts from 0 to n"
            )
        sums = (support.reshape(self.d, self.bits) << np.arange(self.bits)).sum(axis=1)
        return np.asarray((sums / n - float(self.mean)) / float(self.gap), np.float64)

    def variance(self, n: int, frequency: float | Floats) -> Floats:
        """The variance of a cell over n (distance of the means)^2, the same for all frequencies."""
        f = np.asarray(frequency)
        if not isinstance(n, int) or n < 1 or f.dtype.kind not in "iuf" or not np.all((f >= 0) & (f <= 1)):
            raise ParameterError(
                f"{self.name}: variance: found n = {shown(n)}; allowed: n >= 1 and frequencies from 0 to 1"
            )
        return self.noise(f) / n

    def noise(self, profile: Floats) -> Floats:
        """The variance of a cell over (distance of the means)^2."""
        return np.full(np.shape(profile), float(self._spread))

    def mean_sampling(self, profile: Floats) -> float:
        """The mean over d frequencies that sum to 1, as of every oracle: (1 - sum f^2) / d."""
        f = self.plausible(profile)
        return max(0.0, 1 - float(f @ f)) / self.d

    @property
    def reports_possible(self) -> int:
        """Every combination of numbers in the cells."""
        return int((self.top + 1) ** self.d)

    def law(self, value: int) -> Mapping[bytes, Fraction]:
        """The product of d independent cells."""
        value = self.checked(value)
        self._check_listable()
        law = {}
        for cells in product(range(self.top + 1), repeat=self.d):
            chance = Fraction(1)
            for cell, y in enumerate(cells):
                chance *= Fraction(self._levels[self.top - y if cell == value else y], 1 << _BITS)
            law[b"".join(y.to_bytes(self._size, "little") for y in cells)] = chance
        return law

    def evidence(self, reports: Reports, one: int, other: int) -> NDArray[np.bool_]:
        """Which reports have in the cell of `one` at least the mean of a held cell, and in that of `other` at most that
        of an empty one.
        """
        cells, empty = self._cells(reports), self.reach * self.grid
        return np.asarray((cells[:, self.checked(one)] >= empty + self.grid) & (cells[:, self.checked(other)] <= empty))

    def blanket(self) -> Blanket:
        """Numbers of the cells of both values, those with about the same ratio as one. Every value gives a row at least
        as often as an empty one divided by the largest ratio; with more than a few cells hardly less often.
        """
        low = 1 / self._ratio
        kinds = _kinds(self.epsilon_micro, self.grid, self.reach)
        return tuple(
            Atom(low * one * other, ratio / low, against / low) for ratio, one in kinds for against, other in kinds
        )

    @property
    def telling(self) -> tuple[Fraction, Fraction]:
        """The squares of an empty cell's probabilities to be at most its mean, and at least a held cell's mean."""
        empty = self.reach * self.grid
        low, high = sum(self._levels[: empty + 1]), sum(self._levels[empty + self.grid :])
        return Fraction(low, 1 << _BITS) ** 2, Fraction(high, 1 << _BITS) ** 2

    def _cells(self, reports: Reports) -> NDArray[np.unsignedinteger[Any]]:
        reports = self._reports(reports)
        return unpack_ints(reports.reshape(-1, self._size)).reshape(len(reports), self.d)


@lru_cache(maxsize=64)
def levels(epsilon_micro: int, grid: int, reach: int) -> tuple[int, ...]:
    """For each number of an empty cell, how many of the 2^64 words give it: int[(2 reach + 1) grid + 1].

    Pairs y and top - y from the end inwards. Beyond both places a pair's ratio is e^(eps/2), a hair less so that its
    square stays below `exp_floor`; between them it falls by two steps at a time to that of the middle, 1.
    """
    one = 1 << _SCALE
    bound = exp_floor(epsilon_micro, 2) * (1 - Fraction(1, 1 << 128))
    step = exp_floor(epsilon_micro, 2 * grid)
    down, up = int(one / step), int(one * step)
    powers = [one]
    for _ in range(grid // 2):
        powers.append(powers[-1] * up // one * up // one)  # step^(2 s), rounded down: e^(eps s / grid)
    most, empty, middle = int(bound * one), reach * grid, (2 * reach + 1) * grid // 2
    rare = int(one * (step - 1) / (step + 1))  # of no noise at all
    tails = [rare]
    for _ in range(empty + grid):
        tails.append(tails[-1] * down // one)
    tails[-1] = int(tails[-1] / (1 - 1 / step))  # and all that lies beyond the end
    low, high = [], []
    for y in range(middle):
        low.append((tails[empty + grid - y] >> (_SCALE - _BITS)) + 1)
        ratio = most if y <= empty else min(most, powers[middle - y])
        high.append(low[-1] * ratio // one)
    rest = (1 << _BITS) - sum(low) - sum(high)
    return (*high, rest, *reversed(low))


@lru_cache(maxsize=16)
def _kinds(epsilon_micro: int, grid: int, reach: int) -> tuple[tuple[Fraction, Fraction], ...]:
    """A few ratios of a cell's number under its value and without one, and how often an empty cell gives each.

    What lies between two of them is shared out so that its mean stays. That spreads an empty cell's ratio, both cells'
    by themselves, and a blanket whose likelihoods are spread is a weaker one (ARCHITECTURE section 5.16).
    """
    empty = levels(epsilon_micro, grid, reach)
    own = empty[::-1]
    ratios = [Fraction(a, b) for a, b in zip(own, empty, strict=True)]
    inner = range(reach * grid, (reach + 1) * grid + 1, max(1, grid // _KINDS))
    knots = sorted({min(ratios), *(ratios[y] for y in inner), max(ratios)})
    numbers, means = [0] * len(knots), [0] * len(knots)
    for y, ratio in enumerate(ratios):
        k = min(len(knots) - 2, bisect_right(knots, ratio) - 1)
        numbers[k] += empty[y]
        means[k] += own[y]
    found = [Fraction(0)] * len(knots)
    for k, (number, mean) in enumerate(zip(numbers[:-1], means[:-1], strict=True)):
        up = (mean - knots[k] * number) / (knots[k + 1] - knots[k])
        found[k] += number - up
        found[k + 1] += up
    return tuple((knot, chance / (1 << _BITS)) for knot, chance in zip(knots, found, strict=True))


class _Table(NamedTuple):
    """A lookup table from words to numbers. No mechanism keeps one, nor its levels, since a round can name a thousand
    of them.
    """

    steps: NDArray[np.uint64]
    """For each number but the last, the first word above its own words."""
    starts: NDArray[np.int64]
    """For each bucket of words, the number that the first word of the bucket gives."""
    crowded: NDArray[np.bool_]
    """Which buckets hold words of more than two numbers."""
    ends: NDArray[np.uint64]
    """The steps, followed by the last word."""


@lru_cache(maxsize=16)
def _table(epsilon_micro: int, grid: int, reach: int) -> _Table:
    numbers = levels(epsilon_micro, grid, reach)
    steps = np.cumsum(np.array(numbers[:-1], np.uint64), dtype=np.uint64)
    firsts = np.arange(1 << _BUCKETS, dtype=np.uint64) << np.uint64(_BITS - _BUCKETS)
    starts = np.searchsorted(steps, firsts, side="right")
    crowded = np.diff(starts, append=len(numbers) - 1) > 1
    return _Table(steps, starts, crowded, np.append(steps, np.uint64((1 << _BITS) - 1)))


@lru_cache(maxsize=1024)
def _moments(epsilon_micro: int, grid: int, reach: int) -> tuple[Fraction, Fraction]:
    """The means of an empty cell's number and of its square."""
    table = levels(epsilon_micro, grid, reach)
    mean, square = (sum(y**power * level for y, level in enumerate(table)) for power in (1, 2))
    return Fraction(mean, 1 << _BITS), Fraction(square, 1 << _BITS)
