"""One coordinate of each user, drawn at random and named in the report: KVUE.

Contract: the coordinate does not depend on the value, so it is sent in the clear, and of its content in {-1, 0, +1} a
report tells the truth with probability p, each of the other two with q: P[y|x] <= (p/q) P[y|x'] <= e^epsilon, in exact
arithmetic (`law`).  Coordinates have the probability 1/d up to 2^-64.  Source: Sun et al. 2019 (KVUE), ARCHITECTURE
section 5.17.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.frequency.hashing import cells_of, cells_of_one
from murmurate.randomizers.lanes import Lanes
from murmurate.randomizers.packing import int_bytes, pack_ints, unpack_ints
from murmurate.randomizers.question import Blanket, Counts, Reports, Value
from murmurate.randomizers.thresholds import Epsilon, low_level
from murmurate.randomizers.vectors.entries import Entries, Held
from murmurate.randomizers.vectors.sparse import SparseOracle, Supports

_BITS = 64
_TOP = 1 << _BITS


class KVUE(SparseOracle):
    """A random coordinate, and its content by randomized response over three values.

    A report is 3 j + 0, 1 or 2: nothing held at coordinate j, +1, or -1.
    """

    name = "kvue"

    def __init__(self, layout: Any, epsilon: Epsilon) -> None:
        super().__init__(layout, epsilon)
        self._low = low_level(1 / (self.bound + 2), _BITS)
        low = Fraction(self._low, _TOP)
        self.keep = 1 - 2 * low
        """The probability of the true content; each of the other two has half of the rest."""
        self.supports = Supports(self.keep / self.d, low / self.d, low / self.d)

    def parameters(self) -> dict[str, Any]:
        """No parameters."""
        return {}

    @property
    def wire_size(self) -> int:
        """The bytes of a number below 3 d."""
        return int_bytes(3 * self.d)

    @property
    def reports_possible(self) -> int:
        """Three contents for each coordinate."""
        return 3 * self.d

    @property
    def realised(self) -> Fraction:
        """The ratio p/q."""
        return self.keep / Fraction(self._low, _TOP)

    def _perturb(self, held: Entries, lanes: Lanes) -> Reports:
        """Two words: one names the coordinate, the other moves its content by one or two if it is below 2 q."""
        reports = np.empty((len(held.items), self.wire_size), np.uint8)
        once, twice = np.uint64(self._low), np.uint64(2 * self._low)
        for rows, words in lanes.words(2, np.uint64):
            j = cells_of(words[:, 0], self.d)
            at = held.items[rows] == j[:, np.newaxis].astype(np.uint32)
            sign = (held.signs[rows] * at).sum(axis=1, dtype=np.int8)
            content = np.where(sign < 0, 2, sign).astype(np.uint64)
            content += (words[:, 1] < once).astype(np.uint64) + (words[:, 1] < twice)
            reports[rows] = pack_ints(3 * j + content % np.uint64(3), self.wire_size)
        return reports

    def _perturb_one(self, held: Held, words: Any) -> bytes:
        """What `_perturb` gives, for one user in plain Python."""
        where, moved = words(2, _BITS)
        j = cells_of_one(where, self.d)
        content = _CONTENT[dict(held).get(j, 0)] + (moved < self._low) + (moved < 2 * self._low)
        return int(3 * j + content % 3).to_bytes(self.wire_size, "little")

    def _law(self, held: Held) -> Mapping[bytes, Fraction]:
        """The law: coordinates by the words that name them, contents by p and q."""
        low, law = Fraction(self._low, _TOP), dict[bytes, Fraction]()
        for j in range(self.d):
            words = -(-(j + 1) * _TOP // self.d) + (-j * _TOP // self.d)
            true = _CONTENT[dict(held).get(j, 0)]
            for content in range(3):
                chance = self.keep if content == true else low
                law[(3 * j + content).to_bytes(self.wire_size, "little")] = Fraction(words, _TOP) * chance
        return law

    def malformed(self, reports: Reports) -> NDArray[np.bool_]:
        """Which numbers are not below 3 d."""
        return np.asarray(unpack_ints(self._reports(reports)) >= 3 * self.d)

    def support(self, reports: Reports) -> Counts:
        """The number of reports with +1 at each coordinate, and with -1."""
        counts = np.bincount(unpack_ints(self._well_formed(reports)).astype(np.int64), minlength=3 * self.d)
        return np.concatenate((counts[1::3], counts[2::3])).astype(np.int64)

    def supported(self, reports: Reports, item: int, sign: int) -> NDArray[np.bool_]:
        """Which reports are of this coordinate and content."""
        return np.asarray(unpack_ints(self._reports(reports)) == 3 * item + _CONTENT[sign])

    def evidence(self, reports: Reports, one: Value, other: Value) -> NDArray[np.bool_]:
        """Which reports tell an entry of `one` that is not one of `other`."""
        mine, theirs = (self.held_by(value) for value in (one, other))
        return np.asarray(np.any([self.supported(reports, *entry) for entry in set(mine) - set(theirs)], axis=0))

    @property
    def telling(self) -> tuple[Fraction, Fraction]:
        """The probabilities of the right and of a wrong content, at a coordinate that is held."""
        return self.keep * self.s / self.d, Fraction(self._low, _TOP) * self.s / self.d

    def blanket(self) -> Blanket:
        """Between opposite vectors, and between sets without a common item (of sets, those are the worst), s of d
        coordinates or twice as many tell them apart, each by two of three contents.
        """
        low = Fraction(self._low, _TOP)
        told = self.s if self.signed else min(self.d, 2 * self.s)
        return self.four_atoms(3 * low, Fraction(told, 3 * self.d), Fraction(0), 1 - Fraction(2 * told, 3 * self.d))


_CONTENT = {0: 0, 1: 1, -1: 2}
