# SPDX-License-Identifier: Apache-2.0
"""Prefixes of sampled items, for whoever searches sets of items in a domain that nobody can list.

Contract: an item of a user's set, or a dummy, is sampled exactly as padding.py does it for all items, and the first
bits of the item's number are told, of the ceil(log2 d) bits that all numbers have.  A dummy, and so a user without a
value, tells the one code behind the prefixes.  That code, and a prefix that several items of a set share, have
probabilities above 1/L: **the sampling enlarges no mechanism's epsilon here**, that of GRR neither.  Whatever the
sampling, a report's law is then a mean of laws of single codes, whose ratio is e^epsilon at most.  Estimates are
divided by 1/L: how many items with a prefix users hold on average, which for all bits is an item's share.  Source: Wang
2021, sections 4.2 and 5.2; ARCHITECTURE rule 23.  Not here: which prefixes are worth extending (aggregators/hitters/).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.mechanism import Mechanism, whole
from murmurate.randomizers.padding import Padded
from murmurate.randomizers.question import Blanket
from murmurate.randomizers.views import Codes


class SampledPrefix(Padded):
    """A view that samples one of a set's items, or a dummy, and tells the first bits of its number."""

    name = "sampled_prefix"

    def __init__(self, layout: Any, length: int, bits: int) -> None:
        """length: L. bits: the length of the prefix."""
        super().__init__(layout, length)
        most = max(1, (self.held.number - 1).bit_length())
        self.bits = whole(self.name, "bits", bits, 1, most)
        self.cut = most - bits
        """The number of bits of an item that are not told."""
        self.prefixes = (self.held.number - 1 >> self.cut) + 1
        """The number of prefixes that items have, which are the first codes; dummies have the next one."""
        self.d = self.prefixes + 1

    def parameters(self) -> dict[str, Any]:
        """The length, and the number of bits."""
        return {"length": self.length, "bits": self.bits}

    def inside(self, mechanism: Mechanism) -> Mechanism:
        """The mechanism itself, whose ratio this sampling does not allow to be larger."""
        return mechanism

    def codes_of(self, items: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """The prefixes of items that a server names: int64[n]."""
        return np.asarray(items, np.int64) >> self.cut

    def _codes(self, rows: np.ndarray, u: np.ndarray) -> Codes:
        codes = super()._codes(rows, u)
        return np.where(codes < self.held.number, codes >> self.cut, self.prefixes)

    def _code(self, own: Sequence[int], u: int) -> int:
        return self._told(super()._code(own, u))

    def _law(self, own: Sequence[int]) -> Mapping[int, Fraction]:
        law: dict[int, Fraction] = {}
        for code, chance in super()._law(own).items():
            law[self._told(code)] = law.get(self._told(code), Fraction(0)) + chance
        return law

    def _told(self, code: int) -> int:
        """What is told of the code of an item or a dummy."""
        return code >> self.cut if code < self.held.number else self.prefixes

    @property
    def statistics(self) -> int | None:
        """The number of prefixes, since the code of dummies is no statistic."""
        return self.prefixes

    def blanket(self, inner: Mechanism) -> Blanket | None:
        """The blanket of the mechanism, for which any two codes may differ."""
        return inner.blanket()

    def realised(self, inner: Mechanism) -> Fraction:
        """The ratio of the mechanism, which a sample reaches only where a code has probability 1."""
        return inner.realised
