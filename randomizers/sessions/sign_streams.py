# SPDX-License-Identifier: Apache-2.0
"""A sign for every coordinate of every node, of which those of changes lean to the change: DDRM, EFMRTT, FutureRand.

Contract: that of `Protocol`.  A user's changes are counted, and what is done with the i-th of them was drawn at the
beginning, before any was known: whether it is told or replaced by a coin (`DDRMOnline`), whether its sign is turned
(`FutureRandOnline`).  All other coordinates, and changes after the s-th, are fair coins.  So all reports of a user
together have the law of the mechanism of a whole vector of d nodes entries (vectors/sign_bits.py, future_rand.py), as
each place of a change has the same part in it wherever it lies.  A report has a bit for each coordinate, 1 for +1.
ToPL with -1, 0 and +1 for values is DDRM with k = s.  Source: Erlingsson et al. 2019 (EFMRTT), Xue et al. 2022 (DDRM),
Ohrimenko, Wirth and Wu 2022 (FutureRand); ARCHITECTURE section 5.18.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.lanes import Words
from murmurate.randomizers.layouts.layout import MAX_MOST
from murmurate.randomizers.mechanism import whole
from murmurate.randomizers.packing import bit_bytes, count_bits, pack_bits, padding_set
from murmurate.randomizers.question import Blanket, Counts, Reports
from murmurate.randomizers.sessions.level import BITS, TOP, LevelProtocol, State
from murmurate.randomizers.sessions.ones import Changes
from murmurate.randomizers.sessions.protocol import Counters, NodeSupports
from murmurate.randomizers.thresholds import Epsilon, exp_floor, low_level, micro_nats
from murmurate.randomizers.vectors.cells import scaled, words_of_part
from murmurate.randomizers.vectors.future_rand import printed_inner, tuned
from murmurate.randomizers.vectors.sign_bits import one_told

_HALF = Fraction(1, 2)
_PER_COUNTER = 16
Flags = NDArray[np.bool_]


class SignStream(LevelProtocol):
    """A protocol whose reports have a sign for every coordinate. The last counter is of the changes so far."""

    words_a_change: int
    """The number of words of each change of a node, 0 or 1."""

    def _tell(self, own: Fraction) -> None:
        """Set what follows from the probability of a change's own sign; for the end of a constructor."""
        self.supports = NodeSupports(own, 1 - own, _HALF)
        self.wire_size = bit_bytes(self.d)
        self.tell_words = self._first + self.coins

    @property
    def _first(self) -> int:
        """The number of words before the coins."""
        return self.words_a_change * min(self.d, self.s)

    @abstractmethod
    def turned(self, counters: Counters, place: NDArray[np.int64], words: Words) -> tuple[Flags, Flags]:
        """Which changes with these numbers, from 0, are told, and which of them with the opposite sign."""

    @abstractmethod
    def turned_law(self, state: State, place: int) -> Fraction:
        """The probability that the change with this number has the opposite sign in the report."""

    def tell(self, counters: Counters, changes: Changes, words: Words) -> Reports:
        """Coins for all coordinates, over which the signs of changes are written that are told."""
        self._to_tell(counters, changes, words)
        coins = np.ascontiguousarray(words[:, self._first :], "<u8").view(np.uint8)
        bits = np.unpackbits(coins, axis=1, count=self.d, bitorder="little").view(np.bool_)
        user, column = np.nonzero(changes)
        rank = np.arange(len(user)) - np.searchsorted(user, user)
        place = rank + counters[user, -1]
        there = place < self.s
        user, column, rank, place = user[there], column[there], rank[there], place[there]
        drawn = words[user, rank] if self.words_a_change else words[:0, 0]
        told, opposite = self.turned(counters[user], place, drawn)
        own = changes[user, column] > 0
        bits[user[told], column[told]] = (own ^ opposite)[told]
        counters[:, -1] += np.bincount(user, minlength=len(counters)).astype(np.uint16)
        return pack_bits(bits)

    def tell_one(self, counters: list[int], changes: list[int], words: list[int]) -> bytes:
        """What `tell` gives, for one user in plain Python; the counters are moved in place."""
        row, before = 0, counters[-1]
        for j, change in enumerate(changes):
            plus = words[self._first + j // BITS] >> j % BITS & 1
            if change and counters[-1] < self.s:
                word = words[counters[-1] - before] if self.words_a_change else 0
                opposite = self.turned_one(counters, word)
                counters[-1] += 1
                plus = plus if opposite is None else (change > 0) != opposite
            row |= plus << j
        return row.to_bytes(self.wire_size, "little")

    @abstractmethod
    def turned_one(self, counters: Sequence[int], word: int) -> bool | None:
        """Whether the next change is told with the opposite sign, in plain Python; None where it is not told."""

    def malformed(self, reports: Reports) -> Flags:
        """Which rows have a bit set past the last coordinate."""
        return padding_set(self._reports(reports), self.d)

    def support(self, reports: Reports) -> Counts:
        """The number of reports with +1 at each coordinate, and with -1."""
        up = count_bits(self._well_formed(reports), self.d)
        return np.concatenate((up, len(reports) - up))

    def entry_law(self, state: State, change: int) -> Iterator[tuple[int, State, Fraction]]:
        """The signs that may be told of a coordinate, with the state after it and the probability."""
        if not change or state[-1] >= self.s:
            return ((sign, state, _HALF) for sign in (1, -1))
        opposite, then = self.turned_law(state, state[-1]), (*state[:-1], state[-1] + 1)
        parts = ((change, then, 1 - opposite), (-change, then, opposite))
        return (part for part in parts if part[2])

    def packed(self, symbols: Sequence[int]) -> bytes:
        """A bit for each coordinate."""
        return sum(1 << (symbol >> 1) for symbol in symbols if not symbol & 1).to_bytes(self.wire_size, "little")

    def blanket(self) -> Blanket | None:
        """None is known."""
        return None


class DDRMOnline(SignStream):
    """The signs of k of s changes, each with a k-th of epsilon; k = s unless it is named, which is the best.

    The k places, in a circle of s, begin at one that is drawn.
    """

    name = "ddrm_online"
    counters = 2
    begin_words = 1
    words_a_change = 1

    def __init__(self, d: int, nodes: int, s: int, epsilon: Epsilon, k: int | None = None) -> None:
        super().__init__(d, nodes, s, epsilon)
        self.k = self.s if k is None else whole(self.name, "k", k, 1, self.s)
        self._flip = low_level(1 / (exp_floor(self.epsilon_micro, self.k) + 1), BITS)
        self.flip = Fraction(self._flip, TOP)
        """The probability that a change that is told has the opposite sign."""
        self.realised = ((1 - self.flip) / self.flip) ** self.k
        part = Fraction(self.k, self.s)
        self._tell(part * (1 - self.flip) + (1 - part) * _HALF)

    def parameters(self) -> dict[str, Any]:
        """The number of changes, and of those that are told."""
        return {**super().parameters(), "k": self.k}

    def begin(self, words: Words) -> Counters:
        """The first place that is told, and no changes so far: uint16[n, 2]."""
        counters = np.zeros((len(words), self.counters), np.uint16)
        counters[:, 0] = scaled(self._drawn_from(words, self.begin_words)[:, 0], np.uint64(self.s))
        return counters

    def begin_one(self, words: list[int]) -> list[int]:
        """What `begin` gives, for one user in plain Python."""
        return [words[0] * self.s >> BITS, 0]

    def turned(self, counters: Counters, place: NDArray[np.int64], words: Words) -> tuple[Flags, Flags]:
        """Those told whose place is one of k from the first on, each with the opposite sign by a word."""
        return (place - counters[:, 0]) % self.s < self.k, words < np.uint64(self._flip)

    def turned_one(self, counters: Sequence[int], word: int) -> bool | None:
        """What `turned` gives for the next change."""
        return word < self._flip if (counters[1] - counters[0]) % self.s < self.k else None

    def turned_law(self, state: State, place: int) -> Fraction:
        """The probability of the opposite sign: one half where it is not told."""
        return self.flip if (place - state[0]) % self.s < self.k else _HALF

    def law_begin(self) -> Mapping[State, Fraction]:
        """The probability of each place to be the first."""
        return {(place, 0): Fraction(words_of_part(place, self.s), TOP) for place in range(self.s)}

    def blanket(self) -> Blanket | None:
        """Where one change is told, by how many changes have their sign in a transcript; None known for more."""
        return one_told(self.s, self.flip) if self.k == 1 else None


class EFMRTTOnline(DDRMOnline):
    """The sign of one of s changes with all of epsilon: `ddrm_online` with k = 1."""

    name = "efmrtt_online"

    def __init__(self, d: int, nodes: int, s: int, epsilon: Epsilon) -> None:
        super().__init__(d, nodes, s, epsilon, 1)

    def parameters(self) -> dict[str, Any]:
        """The number of changes."""
        return {"s": self.s}


class FutureRandOnline(SignStream):
    """The signs of all changes, turned by a pattern of flips that was drawn for all of them at the beginning.

    inner_nano: the inner epsilon in billionths of a nat; the largest that keeps epsilon unless it is named.
    """

    name = "future_rand_online"
    words_a_change = 0

    def __init__(self, d: int, nodes: int, s: int, epsilon: Epsilon, inner_nano: int | None = None) -> None:
        super().__init__(d, nodes, whole(self.name, "s", s, 1, MAX_MOST), epsilon)
        self.inner_nano, self.pattern = tuned(self.name, self.s, self.epsilon_micro, inner_nano)
        self.realised = self.pattern.ratio
        self.begin_words = self.s
        self.counters = 1 + -(-self.s // _PER_COUNTER)
        self._tell((1 + self.pattern.gap) / 2)

    @classmethod
    def printed(cls, d: int, nodes: int, s: int, epsilon: Epsilon) -> Self:
        """The protocol with the inner epsilon of its paper."""
        return cls(d, nodes, s, epsilon, printed_inner(whole(cls.name, "s", s, 1, MAX_MOST), micro_nats(epsilon)))

    def parameters(self) -> dict[str, Any]:
        """The number of changes, and the inner epsilon."""
        return {**super().parameters(), "inner_nano": self.inner_nano}

    def begin(self, words: Words) -> Counters:
        """The flips, a bit for each, and no changes so far."""
        flips = self.pattern.flips(self._drawn_from(words, self.begin_words))
        room = np.zeros((len(words), (self.counters - 1) * _PER_COUNTER), np.bool_)
        room[:, : self.s] = flips
        counters = np.zeros((len(words), self.counters), np.uint16)
        counters[:, :-1] = pack_bits(room).view(f"<u{_PER_COUNTER // 8}")
        return counters

    def begin_one(self, words: list[int]) -> list[int]:
        """What `begin` gives, for one user in plain Python."""
        return self._state(self.pattern.flips_one(words))

    def _state(self, flips: Sequence[bool | int]) -> list[int]:
        row = sum(int(flip) << place for place, flip in enumerate(flips))
        return [
            row >> at & (1 << _PER_COUNTER) - 1 for at in range(0, (self.counters - 1) * _PER_COUNTER, _PER_COUNTER)
        ] + [0]

    def turned(self, counters: Counters, place: NDArray[np.int64], words: Words) -> tuple[Flags, Flags]:
        """All are told, with the opposite sign where the pattern has a flip."""
        part = counters[np.arange(len(place)), place // _PER_COUNTER]
        return np.ones(len(place), np.bool_), (part >> (place % _PER_COUNTER).astype(np.uint16) & 1).astype(np.bool_)

    def turned_one(self, counters: Sequence[int], word: int) -> bool | None:
        """What `turned` gives for the next change."""
        return self._flipped(counters, counters[-1])

    @staticmethod
    def _flipped(counters: Sequence[int], place: int) -> bool:
        return bool(counters[place // _PER_COUNTER] >> place % _PER_COUNTER & 1)

    def turned_law(self, state: State, place: int) -> Fraction:
        """Certain, given the pattern."""
        return Fraction(self._flipped(state, place))

    def law_begin(self) -> Mapping[State, Fraction]:
        """The probability of each pattern, of few changes alone."""
        whole(self.name, "s", self.s, 1, 12)
        law = {}
        for flips in product((0, 1), repeat=self.s):
            chance = Fraction(1)
            for place, flip in enumerate(flips):
                turned = Fraction(self.pattern.levels[place][sum(flips[:place])], TOP)
                chance *= turned if flip else 1 - turned
            law[tuple(self._state(flips))] = chance
        return law
