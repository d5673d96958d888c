"""Subset selection: report k values of the domain, the true one among them with probability p.

Contract: a subset has one probability if it holds the value and another if not, the same for all such subsets, so
P[y|x] / P[y|x'] <= p (d-k) / ((1-p) k) <= e^epsilon, in exact arithmetic (`law`); 1 - p is rounded up to a whole
number out of 2^64.  The rest of the subset is the lowest of one 64-bit word a value. No finite number of words can be
shared out evenly among subsets, so where words tie at the edge (below d^2 / 2^65: once in 10^13 reports at d = 1024)
the report is the first k values, whatever the truth: that says nothing, and leaves all other reports exactly uniform.
Source: Ye and Barg 2018; Wang et al. 2016.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import combinations
from math import comb, factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import ParameterError
from murmurate.randomizers.frequency.unary import one_without_other
from murmurate.randomizers.mechanism import Counts, PureOracle, Reports, whole
from murmurate.randomizers.packing import bit_bytes, count_bits, pack_bits, padding_set
from murmurate.randomizers.randomness import Draw, DrawOne, canonical, canonical_one
from murmurate.randomizers.thresholds import Epsilon, exp_floor, low_level, micro_nats

_BITS = 64
_FEW = 32  # columns
_LISTED = 256  # the largest domain of which `law` works out the chance of a tie


class SubsetSelection(PureOracle):
    """k of d values; without `k`, the whole number nearest to d / (e^eps + 1), at least 1.

    p = k e^eps / (k e^eps + d - k). A report is d bits, k of them set, cell v in bit v mod 8 of byte v // 8. GRR is
    the case k = 1; with the best k the variance is below OUE's, most of all where d is a few e^eps. `p` and `q` leave
    ties out.
    """

    name = "subset"
    max_domain = 1 << 16

    def __init__(self, *, d: int, epsilon: Epsilon, k: int | None = None) -> None:
        micro = micro_nats(epsilon)
        fits = isinstance(d, int) and 2 <= d <= self.max_domain  # if it does not, what is above us says so
        best = max(1, int(d / (exp_floor(micro) + 1) + Fraction(1, 2))) if fits and k is None else k
        self.k = whole(self.name, "k", best, 1, d - 1) if fits else 1
        super().__init__(d=d, epsilon=epsilon)
        out, inside = d - self.k, self.k * exp_floor(micro)
        self._low = low_level(out / (inside + out), _BITS)
        self.p = 1 - Fraction(self._low, 1 << _BITS)
        self.q = (self.k - self.p) / (d - 1)

    def spec(self) -> dict[str, str | int]:
        """With k."""
        return {**super().spec(), "k": self.k}

    @property
    def wire_size(self) -> int:
        """Bytes that hold d bits."""
        return bit_bytes(self.d)

    @property
    def realised(self) -> Fraction:
        """The ratio of p / C(d-1, k-1) and (1-p) / C(d-1, k)."""
        return self.p * (self.d - self.k) / ((1 - self.p) * self.k)

    def perturb(self, values: NDArray[np.integer[Any]], draw: Draw) -> Reports:
        """Words u, then one a cell. Own cell out while u < low; of the others the lowest, so many as are missing."""
        values = self._values(values, draw)
        reports = np.empty((len(values), self.wire_size), np.uint8)
        k, low, last = self.k, np.uint64(self._low), np.uint64((1 << _BITS) - 1)
        tie = np.packbits(np.arange(self.d) < k, bitorder="little")
        for rows, words in draw.open(self.digest, canonical(values)).words(self.d + 1, np.uint64):
            told, cells = words[:, 0] >= low, words[:, 1:]
            all_rows, own = np.arange(len(words)), values[rows]
            cells[all_rows, own] = last  # behind all others
            edge = np.partition(cells, k - 1, axis=1)[
                :, k - 1, None
            ]  # the k-th of the others: in if the own cell is out
            below = pack_bits(cells < edge)
            upto = pack_bits(cells <= edge)
            tied = _held(below) != k - 1
            if k < self.d - 1:
                tied |= _held(upto) != k
            chosen, byte, bit = np.where(told[:, None], below, upto), own >> 3, np.left_shift(1, own & 7)
            chosen[all_rows, byte] = np.where(told, chosen[all_rows, byte] | bit, chosen[all_rows, byte] & ~bit)
            chosen[tied] = tie
            reports[rows] = chosen
        return reports

    def perturb_one(self, value: int, draw: DrawOne) -> bytes:
        """The same in plain Python."""
        value = self.checked_one(value, draw)
        return self._one(value, draw.open(self.digest, canonical_one(value))(self.d + 1, _BITS))

    def _one(self, value: int, words: list[int]) -> bytes:
        told, cells = words[0] >= self._low, words[1:]
        others = sorted((word, cell) for cell, word in enumerate(cells) if cell != value)
        chosen = [cell for _, cell in others[: self.k - told]] + [value] * told
        around = [word for word, _ in others[max(0, self.k - 2) : self.k + 1]]
        if len(set(around)) < len(around):
            chosen = list(range(self.k))
        return _bits(chosen, self.wire_size)

    def malformed(self, reports: Reports) -> NDArray[np.bool_]:
        """Reports that do not hold k values, or one past the domain."""
        reports = self._reports(reports)
        return np.asarray(padding_set(reports, self.d) | (_held(reports) != self.k))

    def support(self, reports: Reports) -> Counts:
        """How many reports hold each value."""
        return count_bits(self._well_formed(reports), self.d)

    @property
    def reports_possible(self) -> int:
        """Every subset of k values."""
        return comb(self.d, self.k)

    def law(self, value: int) -> Mapping[bytes, Fraction]:
        """Even among the subsets with the value and among those without, and the ties."""
        value = self.checked(value)
        self._check_listable()
        if self.d > _LISTED:
            raise ParameterError(f"{self.name}: law: found d = {self.d}; allowed: domains up to {_LISTED}")
        clear = apart(self.d - 1, self.k, 1 << _BITS)
        with_it = clear * self.p / comb(self.d - 1, self.k - 1)
        without = clear * (1 - self.p) / comb(self.d - 1, self.k)
        law = {
            _bits(chosen, self.wire_size): with_it if value in chosen else without
            for chosen in combinations(range(self.d), self.k)
        }
        law[_bits(range(self.k), self.wire_size)] += 1 - clear
        return law

    def evidence(self, reports: Reports, one: int, other: int) -> NDArray[np.bool_]:
        """Reports that hold `one` and not `other`."""
        return one_without_other(self._reports(reports), self.checked(one), self.checked(other))

    @property
    def telling(self) -> tuple[Fraction, Fraction]:
        """The chances p (d-k) / (d-1) and (1-p) k / (d-1)."""
        return self.p * (self.d - self.k) / (self.d - 1), (1 - self.p) * self.k / (self.d - 1)


def apart(others: int, k: int, words: int) -> Fraction:
    """The chance that, of so many words out of so many, the k-th lowest ties with none.

    The k-th is one of them, k - 1 lie below and the rest above: where those take i and j different words, there are
    C(words, i + j + 1) ways to choose the words, times the ways to spread each side over all of its own.
    """
    below, above = spreads(k - 1), spreads(others - k)
    ways = sum(comb(words, i + j + 1) * left * right for i, left in enumerate(below) for j, right in enumerate(above))
    arrangements = factorial(others) // (factorial(k - 1) * factorial(others - k))
    return Fraction(ways * arrangements, words**others)


def spreads(n: int) -> list[int]:
    """In how many ways n things fill exactly i places, for i = 0 to n: none of the places empty."""
    row = [1]
    for _ in range(n):
        row = [i * (one + other) for i, (one, other) in enumerate(zip([*row, 0], [0, *row], strict=True))]
    return row


def _held(packed: Reports) -> NDArray[np.intp]:
    """How many bits are set in each row: a sum over few columns takes long, one by one it does not."""
    bits = np.bitwise_count(packed)
    if bits.shape[1] > _FEW:
        return np.asarray(bits.sum(axis=1, dtype=np.intp))
    total = bits[:, 0].astype(np.intp)
    for column in bits.T[1:]:
        total += column
    return total


def _bits(chosen: Iterable[int], size: int) -> bytes:
    row = 0
    for cell in chosen:
        row |= 1 << cell
    return row.to_bytes(size, "little")
