# SPDX-License-Identifier: Apache-2.0
"""A sign for every coordinate, of which k of a user's s entries are told and all others are fair coins: EFMRTT, DDRM.

Contract: a set of entries is padded to s.  A first word, which does not depend on them, names a place, and the k
places from there on, in a circle, are told: an entry there gives its own sign with probability p = 1 - q, q / p >=
e^-(epsilon/k).  Every other coordinate, and the place of a dummy, is a fair coin.  So P[y|x] <= (p/q)^k P[y|x'] <=
e^epsilon P[y|x'] under every choice of places, in exact arithmetic (`law`).  Each place is told with k/s up to 2^-57.
A report has d bits, 1 for +1.  Shares of holders cannot be told; of sets all signs are +1 and the mean is the share.
Source: Erlingsson et al. 2019 (EFMRTT), Xue et al. 2022 (DDRM), both for a whole vector, ARCHITECTURE section 5.17.
DDRM's places are any k there, here k in a row from a random one on: estimates and variances are the same, and only
covariances differ where k < s.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import ReportError
from murmurate.randomizers.frequency.hashing import cells_of, cells_of_one
from murmurate.randomizers.lanes import Lanes
from murmurate.randomizers.mechanism import whole
from murmurate.randomizers.packing import bit_bytes, count_bits, pack_bits, padding_set
from murmurate.randomizers.question import Atom, Blanket, Counts, Reports, Value
from murmurate.randomizers.thresholds import Epsilon, exp_floor, low_level
from murmurate.randomizers.vectors.entries import Entries, Held
from murmurate.randomizers.vectors.sparse import SparseOracle, Supports

_BITS = 64
_TOP = 1 << _BITS
_HALF = Fraction(1, 2)


class SignBits(SparseOracle):
    """A mechanism whose report is one sign for every coordinate, as a row of d bits."""

    tells_shares = False

    def _tell(self, own: Fraction) -> None:
        """Set the probability of a user's own sign; for the end of a constructor."""
        self.supports = Supports(own, 1 - own, _HALF)
        self._short_enough()

    @property
    def wire_size(self) -> int:
        """The bytes of d bits."""
        return bit_bytes(self.d)

    @property
    def reports_possible(self) -> int:
        """The number of rows of d bits."""
        return 1 << self.d

    @property
    def _drawn_words(self) -> int:
        """The number of words that decide what is told; as many as hold d bits follow, the coins."""
        return 1 + self.s

    def _perturb(self, held: Entries, lanes: Lanes) -> Reports:
        """Coins for all coordinates, over which the signs are written that are told."""
        reports = np.empty((len(held.items), self.wire_size), np.uint8)
        first = self._drawn_words
        for rows, words in lanes.words(first + -(-self.d // _BITS), np.uint64):
            coins = np.ascontiguousarray(words[:, first:], "<u8").view(np.uint8)
            bits = np.unpackbits(coins, axis=1, count=self.d, bitorder="little").view(np.bool_)
            items, signs = held.items[rows], held.signs[rows]
            told, flipped = self._told(words)
            user, place = np.nonzero(told & (signs != 0))
            bits[user, items[user, place].astype(np.int64)] = (signs[user, place] > 0) != flipped[user, place]
            reports[rows] = pack_bits(bits)
        return reports

    @abstractmethod
    def _told(self, words: NDArray[np.uint64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which of the s places are told, and which of these with the opposite sign: both bool[n, s]."""

    def _perturb_one(self, held: Held, words: Any) -> bytes:
        """What `_perturb` gives, for one user in plain Python."""
        first = self._drawn_words
        drawn = words(first + -(-self.d // _BITS), _BITS)
        row: int = sum(word << _BITS * i for i, word in enumerate(drawn[first:])) % (1 << self.d)
        for (item, sign), flipped in zip(held, self._told_one(drawn), strict=False):
            if flipped is not None:
                row = row & ~(1 << item) | ((sign > 0) != flipped) << item
        return row.to_bytes(self.wire_size, "little")

    @abstractmethod
    def _told_one(self, words: Sequence[int]) -> list[bool | None]:
        """For each of the s places whether it is told with the opposite sign; None where it is not told."""

    def _law(self, held: Held) -> Mapping[bytes, Fraction]:
        """The law: the probability of each pattern of flips, times 2^-1 for every other coordinate."""
        others, law = Fraction(1, 1 << self.d - len(held)), dict[bytes, Fraction]()
        chances: dict[tuple[int, ...], Fraction] = {}
        for flips in product((0, 1), repeat=len(held)):
            chances[flips] = self._chance(dict(enumerate(flips)))
        for row in range(1 << self.d):
            flips = tuple(int((row >> item & 1) != (sign > 0)) for item, sign in held)
            law[row.to_bytes(self.wire_size, "little")] = others * chances[flips]
        return law

    @abstractmethod
    def _chance(self, flips: Mapping[int, int]) -> Fraction:
        """The probability that entries at these places have their own sign in the report (0) or the opposite (1)."""

    def malformed(self, reports: Reports) -> NDArray[np.bool_]:
        """Which rows have a bit set past coordinate d - 1."""
        return padding_set(self._reports(reports), self.d)

    def support(self, reports: Reports) -> Counts:
        """The number of reports with +1 at each coordinate, and with -1."""
        up = count_bits(self._well_formed(reports), self.d)
        return np.concatenate((up, len(reports) - up))

    def _check_most(self, counts: Counts, n: int) -> None:
        """Every report has a sign at every coordinate."""
        if counts.min() < 0 or (counts[: self.d] + counts[self.d :] != n).any():
            raise ReportError(f"{self.name}: counts: found signs that do not add up; allowed: {n} of each coordinate")

    def supported(self, reports: Reports, item: int, sign: int) -> NDArray[np.bool_]:
        """Which reports have this sign at this coordinate."""
        return np.asarray((self._reports(reports)[:, item // 8] >> item % 8 & 1) == (sign > 0))

    def evidence(self, reports: Reports, one: Value, other: Value) -> NDArray[np.bool_]:
        """Which reports have the signs of all entries of `one` that are not entries of `other`."""
        mine, theirs = (self.held_by(value) for value in (one, other))
        return np.asarray(np.all([self.supported(reports, *entry) for entry in set(mine) - set(theirs)], axis=0))

    @property
    def telling(self) -> tuple[Fraction, Fraction]:
        """The probabilities of all the signs that one extreme has and the other has not."""
        mine, theirs = (self.held_by(value) for value in self.extremes)
        apart = [place for place, entry in enumerate(mine) if entry not in theirs]
        other = self._chance(dict.fromkeys(apart, 1)) if self.signed else Fraction(1, 1 << len(apart))
        return self._chance(dict.fromkeys(apart, 0)), other


class DDRM(SignBits):
    """k of s entries, each with a k-th of epsilon; k = s unless it is named, which is the best."""

    name = "ddrm"

    def __init__(self, layout: Any, epsilon: Epsilon, k: int | None = None) -> None:
        self._asked = k
        super().__init__(layout, epsilon)
        self._flip = low_level(1 / (exp_floor(self.epsilon_micro, self.k) + 1), _BITS)
        self.flip = Fraction(self._flip, _TOP)
        """The probability that an entry that is told has the opposite sign."""
        part = Fraction(self.k, self.s)
        self._tell(part * (1 - self.flip) + (1 - part) * _HALF)

    @property
    def k(self) -> int:
        """The number of entries that are told."""
        return self.s if self._asked is None else whole(self.name, "k", self._asked, 1, self.s)

    def parameters(self) -> dict[str, Any]:
        """How many entries are told."""
        return {"k": self.k}

    @property
    def realised(self) -> Fraction:
        """(p/q)^k; of sets of few items what occurs: a row of a ones is the likeliest for a user who holds as many of
        these as may be, and the least likely for one who holds as many of the others.
        """
        if self.signed:
            return Fraction(((1 - self.flip) / self.flip) ** self.k)
        high, low = ([self._first(h, flipped) * (1 << h) for h in range(self.s + 1)] for flipped in (0, 1))
        rows = range(min(self.d, 2 * self.s) + 1)
        return max(high[min(ones, self.s)] / low[min(self.d - ones, self.s)] for ones in rows)

    def _first(self, h: int, flipped: int) -> Fraction:
        """The probability that the entries of a user who holds h all have their own sign, or all the opposite one."""
        return self._chance(dict.fromkeys(range(h), flipped))

    def _told(self, words: NDArray[np.uint64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        start = cells_of(words[:, 0], self.s)[:, np.newaxis]
        places = np.arange(self.s, dtype=np.uint64) + np.uint64(self.s)
        return (places - start) % np.uint64(self.s) < self.k, words[:, 1 : 1 + self.s] < np.uint64(self._flip)

    def _told_one(self, words: Sequence[int]) -> list[bool | None]:
        start = cells_of_one(words[0], self.s)
        return [words[1 + place] < self._flip if (place - start) % self.s < self.k else None for place in range(self.s)]

    def _chance(self, flips: Mapping[int, int]) -> Fraction:
        total = Fraction(0)
        for start in range(self.s):
            chance = Fraction(-(-(start + 1) * _TOP // self.s) + (-start * _TOP // self.s), _TOP)
            for place, flipped in flips.items():
                told = (place - start) % self.s < self.k
                chance *= (self.flip if flipped else 1 - self.flip) if told else _HALF
            total += chance
        return total

    def blanket(self) -> Blanket | None:
        """Where one entry is told, laws are linear in the vector, so that opposite vectors of s entries are the worst
        pair: a row with the sign of a of these entries has 2 (a p + (s - a) q) / s times 2^-d. None known for more.
        """
        return one_told(self.s, self.flip) if self.k == 1 else None


def one_told(s: int, flip: Fraction) -> Blanket:
    """The blanket of `ddrm` with k = 1, by how many of the s entries have their sign."""
    high, low = 1 - flip, flip
    chances = [(a * high + (s - a) * low) / (s * low) for a in range(s + 1)]
    return tuple(Atom(2 * low * Fraction(comb(s, a), 1 << s), chances[a], chances[s - a]) for a in range(s + 1))


class EFMRTT(DDRM):
    """One of s entries with all of epsilon: `ddrm` with k = 1."""

    name = "efmrtt"

    def __init__(self, layout: Any, epsilon: Epsilon) -> None:
        super().__init__(layout, epsilon, 1)

    def parameters(self) -> dict[str, Any]:
        """No parameters."""
        return {}
