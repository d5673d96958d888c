# SPDX-License-Identifier: Apache-2.0
"""One entry of each user, sampled, among all coordinates with either sign: PCKV-GRR and PCKV-AGRR.

Contract: a set of entries is padded to s with dummies, coordinates d to d + s - 1: a user with h entries has +1 at the
dummies from d + h on.  A report is one of 2 (d + s) symbols, a coordinate and a sign.  Of the 2^64 words every symbol
has `low`, and each of the s entries `width` more; the fewer than s words that are left go to the dummies with -1, which
nobody holds.  So every report has (low + width) / low as its largest ratio, exactly, and no entry is likelier than
another.  Sampling one of s entries and telling it by randomized response (RR) over all symbols has this law.  Source:
Gu et al. 2020 (PCKV), ARCHITECTURE section 5.17.

    PCKV-GRR    RR has the ratio e^epsilon and sampling is not made use of: the largest is (e^epsilon + s - 1) / s
    PCKV-AGRR   RR has the ratio s (e^epsilon - 1) + 1, and the largest ratio is e^epsilon: ExSub with m = 1
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.lanes import Lanes
from murmurate.randomizers.packing import int_bytes, pack_ints, unpack_ints
from murmurate.randomizers.question import Blanket, Counts, Reports, Value
from murmurate.randomizers.thresholds import Epsilon, low_level
from murmurate.randomizers.vectors.entries import Entries, Held
from murmurate.randomizers.vectors.sparse import SparseOracle, Supports

_BITS = 64
_TOP = 1 << _BITS


class SampledSymbol(SparseOracle):
    """A sampled entry by randomized response over all symbols. A report is 2 j, or 2 j + 1 for the sign -1."""

    def __init__(self, layout: Any, epsilon: Epsilon) -> None:
        super().__init__(layout, epsilon)
        self.symbols = 2 * (self.d + self.s)
        """The number of symbols, those of dummies included."""
        self._low = low_level(1 / (self._ratio + self.symbols - 1), _BITS)
        self._width, self._left = divmod(_TOP - self.symbols * self._low, self.s)
        low, width = Fraction(self._low, _TOP), Fraction(self._width, _TOP)
        self.supports = Supports(low + width, low, low)

    @property
    @abstractmethod
    def _ratio(self) -> Fraction:
        """The ratio of the randomized response of the sampled entry."""

    def parameters(self) -> dict[str, Any]:
        """No parameters."""
        return {}

    @property
    def wire_size(self) -> int:
        """The bytes of a symbol."""
        return int_bytes(self.symbols)

    @property
    def reports_possible(self) -> int:
        """The number of symbols."""
        return self.symbols

    @property
    def realised(self) -> Fraction:
        """The ratio of an entry that is held to one that is not."""
        return Fraction(self._low + self._width, self._low)

    def _perturb(self, held: Entries, lanes: Lanes) -> Reports:
        """One word: below `symbols` low any symbol, then one of the s padded entries, and at last a dummy with -1"""
        reports = np.empty((len(held.items), self.wire_size), np.uint8)
        every, width = np.uint64(self.symbols * self._low), np.uint64(max(1, self._width))
        dummies = np.uint64(self.d) + np.arange(self.s, dtype=np.uint64)
        for rows, words in lanes.words(1, np.uint64):
            word = words[:, 0]
            signs = held.signs[rows]
            padded = np.where(signs == 0, dummies, held.items[rows].astype(np.uint64))
            symbols = 2 * padded + (signs < 0)
            past = np.maximum(word, every) - every
            place = past // width
            sampled = symbols[np.arange(len(word)), np.minimum(place, np.uint64(self.s - 1)).view(np.int64)]
            left = np.maximum(past, np.uint64(self.s * self._width)) - np.uint64(self.s * self._width)
            named = np.where(
                past < np.uint64(self.s * self._width), sampled, 2 * (left + np.uint64(self.d)) + np.uint64(1)
            )
            reports[rows] = pack_ints(np.where(word < every, word // np.uint64(self._low), named), self.wire_size)
        return reports

    def _perturb_one(self, held: Held, words: Any) -> bytes:
        """What `_perturb` gives, for one user in plain Python."""
        (word,) = words(1, _BITS)
        past = word - self.symbols * self._low
        if past < 0:
            symbol = word // self._low
        elif past < self.s * self._width:
            symbol = self._padded(held)[past // self._width]
        else:
            symbol = 2 * (self.d + past - self.s * self._width) + 1
        return int(symbol).to_bytes(self.wire_size, "little")

    def _padded(self, held: Held) -> list[int]:
        """The symbols of the entries and of the dummies."""
        own = [2 * item + (sign < 0) for item, sign in held]
        return own + [2 * (self.d + place) for place in range(len(held), self.s)]

    def _law(self, held: Held) -> Mapping[bytes, Fraction]:
        """The law, by counting words."""
        words = [self._low] * self.symbols
        for place in range(self._left):
            words[2 * (self.d + place) + 1] += 1
        for symbol in self._padded(held):
            words[symbol] += self._width
        return {symbol.to_bytes(self.wire_size, "little"): Fraction(n, _TOP) for symbol, n in enumerate(words)}

    def malformed(self, reports: Reports) -> NDArray[np.bool_]:
        """Which numbers are no symbols."""
        return np.asarray(unpack_ints(self._reports(reports)) >= self.symbols)

    def support(self, reports: Reports) -> Counts:
        """The number of reports with +1 at each coordinate, and with -1; those of dummies support nothing."""
        counts = np.bincount(unpack_ints(self._well_formed(reports)).astype(np.int64), minlength=self.symbols)
        return np.concatenate((counts[0 : 2 * self.d : 2], counts[1 : 2 * self.d : 2])).astype(np.int64)

    def supported(self, reports: Reports, item: int, sign: int) -> NDArray[np.bool_]:
        """Which reports are this symbol."""
        return np.asarray(unpack_ints(self._reports(reports)) == 2 * item + (sign < 0))

    def evidence(self, reports: Reports, one: Value, other: Value) -> NDArray[np.bool_]:
        """Which reports are an entry of `one` that is not one of `other`."""
        mine, theirs = (self._padded(self.held_by(value)) for value in (one, other))
        return np.isin(unpack_ints(self._reports(reports)), sorted(set(mine) - set(theirs)))

    @property
    def telling(self) -> tuple[Fraction, Fraction]:
        """The probabilities of the entries that one extreme has and the other has not."""
        mine, theirs = (set(self._padded(self.held_by(value))) for value in self.extremes)
        apart, low, width = len(mine - theirs), Fraction(self._low, _TOP), Fraction(self._width, _TOP)
        return apart * (low + width), apart * low

    def blanket(self) -> Blanket:
        """Each of the worst pair of values has s symbols that the other has not; a full and an empty set are one. The
        words that are left tell nothing.
        """
        common = self.symbols * self._low + self._left
        apart = Fraction(self.s * self._low, common)
        return self.four_atoms(Fraction(common, _TOP), apart, Fraction(0), 1 - 2 * apart)


class PCKVGRR(SampledSymbol):
    """A sampled entry by randomized response with all of epsilon, of which padding and sampling lose a part."""

    name = "pckv_grr"

    @property
    def _ratio(self) -> Fraction:
        return self.bound


class PCKVAGRR(SampledSymbol):
    """A sampled entry by randomized response with the larger ratio that sampling one of s allows."""

    name = "pckv_agrr"

    @property
    def _ratio(self) -> Fraction:
        return self.s * (self.bound - 1) + 1
