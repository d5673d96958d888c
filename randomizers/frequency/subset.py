# SPDX-License-Identifier: Apache-2.0
"""Subset selection: report k values of the domain, the true one among them with probability p.

Contract: a subset has one probability if it holds the value and another if not, the same for all such subsets, so
P[y|x] / P[y|x'] = p a / ((1-p) b) <= e^epsilon, in exact arithmetic (`law`), where a and b are the chances of one of
the subsets with the value and of one of those without it; 1 - p is rounded up to a whole number out of 2^64.  Where
words cannot be shared out (subsets.py) the report is the first k values, whatever the truth, which reveals nothing.
Source: Ye and Barg 2018; Wang et al. 2016.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import ParameterError
from murmurate.randomizers.frequency.subsets import BITS, NUMBERED, Lowest, Numbered, Way, held
from murmurate.randomizers.frequency.unary import one_without_other
from murmurate.randomizers.mechanism import Counts, PureOracle, Reports, whole
from murmurate.randomizers.packing import bit_bytes, count_bits, padding_set
from murmurate.randomizers.question import Atom, Blanket
from murmurate.randomizers.randomness import Draw, DrawOne, canonical, canonical_one
from murmurate.randomizers.thresholds import Epsilon, exp_floor, low_level, micro_nats

_LISTED = 256  # the largest domain of which `law` works out the chance of a tie


class SubsetSelection(PureOracle):
    """k of d values; without `k`, the whole number nearest to d / (e^eps + 1), at least 1.

    p = k e^eps / (k e^eps + d - k). A report is d bits, k of them set, cell v in bit v mod 8 of byte v // 8. GRR is
    the case k = 1; with the best k the variance is below OUE's, most of all where d is a few e^eps. `p` and `q` leave
    ties out.
    """

    name = "subset"
    version = 2
    sums: ClassVar[bool] = True
    max_domain = 1 << 16
    numbered: ClassVar[int] = NUMBERED
    """The largest domain whose subsets are numbered."""

    def __init__(self, *, d: int, epsilon: Epsilon, k: int | None = None) -> None:
        micro = micro_nats(epsilon)
        fits = isinstance(d, int) and 2 <= d <= self.max_domain  # if not, the base class refuses it below
        best = max(1, int(d / (exp_floor(micro) + 1) + Fraction(1, 2))) if fits and k is None else k
        self.k = whole(self.name, "k", best, 1, d - 1) if fits else 1
        super().__init__(d=d, epsilon=epsilon)
        self._way: Way = (Numbered if d <= self.numbered else Lowest)(d, self.k)
        self._low = low_level(self._way.odds / (self._way.odds + exp_floor(micro)), BITS)
        self.p = 1 - Fraction(self._low, 1 << BITS)
        self.q = (self.k - self.p) / (d - 1)

    def spec(self) -> dict[str, str | int]:
        """The description, with k."""
        return {**super().spec(), "k": self.k}

    @property
    def wire_size(self) -> int:
        """The bytes that hold d bits."""
        return bit_bytes(self.d)

    @property
    def realised(self) -> Fraction:
        """The ratio of p a and (1-p) b."""
        return self.p * self._way.odds / (1 - self.p)

    def perturb(self, values: NDArray[np.integer[Any]], draw: Draw) -> Reports:
        """Reports from a word u, and those that choose the subset: the own value is left out while u < low."""
        values = self._values(values, draw)
        reports = np.empty((len(values), self.wire_size), np.uint8)
        low = np.uint64(self._low)
        for rows, words in draw.open(self.digest, canonical(values)).words(1 + self._way.words, np.uint64):
            reports[rows] = self._way.draw(values[rows], words[:, 0] >= low, words[:, 1:])
        return reports

    def perturb_one(self, value: int, draw: DrawOne) -> bytes:
        """What `perturb` gives, for one user in plain Python."""
        value = self.checked_one(value, draw)
        return self._one(value, draw.open(self.digest, canonical_one(value))(1 + self._way.words, BITS))

    def _one(self, value: int, words: list[int]) -> bytes:
        chosen = self._way.draw_one(value, words[0] >= self._low, words[1:])
        return _bits(range(self.k) if chosen is None else chosen, self.wire_size)

    def malformed(self, reports: Reports) -> NDArray[np.bool_]:
        """Which reports do not hold k values, or hold one past the domain."""
        reports = self._reports(reports)
        return np.asarray(padding_set(reports, self.d) | (held(reports) != self.k))

    def support(self, reports: Reports) -> Counts:
        """The number of reports that hold each value."""
        return count_bits(self._well_formed(reports), self.d)

    @property
    def reports_possible(self) -> int:
        """The number of subsets of k values."""
        return comb(self.d, self.k)

    def law(self, value: int) -> Mapping[bytes, Fraction]:
        """The law: equal probabilities among the subsets with the value, among those without, and the one of ties
        added.
        """
        value = self.checked(value)
        self._check_listable()
        if self.d > _LISTED:
            raise ParameterError(f"{self.name}: law: found d = {self.d}; allowed: domains up to {_LISTED}")
        inside, outside = self._way.each
        law = {
            _bits(chosen, self.wire_size): self.p * inside if value in chosen else (1 - self.p) * outside
            for chosen in combinations(range(self.d), self.k)
        }
        law[_bits(range(self.k), self.wire_size)] += 1 - sum(law.values())
        return law

    def evidence(self, reports: Reports, one: int, other: int) -> NDArray[np.bool_]:
        """Which reports hold `one` and not `other`."""
        return one_without_other(self._reports(reports), self.checked(one), self.checked(other))

    def blanket(self) -> Blanket:
        """Subsets by which of two values they hold: each has from everybody what it has from those whom it does not
        hold. A tie says nothing; where its chance is too long to work out it is left out, which tells more.
        """
        d, k, p, apart, one = self.d, self.k, self.p, self.realised, Fraction(1)
        clear = 1 - p
        tie = Fraction(0)
        if d <= self.numbered:
            clear *= self._way.each[1] * comb(d - 1, k)
            tie = 1 - p * self._way.each[0] * comb(d - 1, k - 1) - clear
        pairs = d * (d - 1)
        low = clear * d / (d - k)
        split, both, none = (Fraction(ways, pairs) for ways in (k * (d - k), k * (k - 1), (d - k) * (d - k - 1)))
        atoms = [Atom(low * split, apart, one), Atom(low * split, one, apart), Atom(low * none + tie, one, one)]
        return (*atoms, Atom(low * both, apart, apart)) if both else tuple(atoms)

    @property
    def telling(self) -> tuple[Fraction, Fraction]:
        """The probabilities p (d-k) / (d-1) and (1-p) k / (d-1)."""
        return self.p * (self.d - self.k) / (self.d - 1), (1 - self.p) * self.k / (self.d - 1)


def _bits(chosen: Iterable[int], size: int) -> bytes:
    row = 0
    for cell in chosen:
        row |= 1 << cell
    return row.to_bytes(size, "little")
