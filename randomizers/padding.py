# SPDX-License-Identifier: Apache-2.0
"""Padded sampling: one candidate of a set is sampled, after dummies pad the set to L, so that each has probability 1/L.

Contract: **no code is drawn with a probability above 1/L**, whatever the set.  There are codes for d candidates and L
dummies, and no own one for *none*: a user without a value reports like one with the empty set, that is a dummy.  (One
more code, or one dummy shared by all, would be drawn with a larger probability, and epsilon would not hold:
ARCHITECTURE rule 23.)  A user who holds c candidates draws one 64-bit word, whose 2^64 values are divided thus:

    c <= L    each candidate has floor(2^64 / L), the L dummies share the rest equally
    c = 0     each dummy has floor(2^64 / L); the rest, fewer than L words, falls on candidates
    c > L     each candidate has floor(2^64 / c), the last one the rest: frequencies are estimated too small

A GRR of these codes may have the ratio L (e^epsilon - 1) + 1 (`GRR.sampled`): a report has probability
q (1 + (p/q - 1) s), s that of its code.  Estimates are those of the codes, divided by 1/L.  Source: Wang 2021, section
5.2 (ARCHITECTURE section 5.13), where a dummy too is drawn with (1 - c/L) / L.  Not here: finding candidates and L (a
method's).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np

from murmurate.randomizers.candidates import Candidates, candidate_index
from murmurate.randomizers.errors import ParameterError, shown
from murmurate.randomizers.frequency.grr import GRR
from murmurate.randomizers.layouts import NONE, ItemsLayout
from murmurate.randomizers.mechanism import Mechanism, whole
from murmurate.randomizers.question import Atom, Blanket, Value, Values
from murmurate.randomizers.randomness import Draw, DrawOne, canonical_words, canonical_words_one
from murmurate.randomizers.views import Codes, View, of_kind, one_or_more, words_of

MAX_LENGTH: Final = 1 << 10
_TOP: Final = 1 << 64


class Padded(View):
    """A view that samples one of a set's candidates, or a dummy."""

    name = "padded"

    def __init__(self, layout: Any, length: int, candidates: Candidates | None = None) -> None:
        """length: L. candidates: whole numbers, or lists of them (sets of items, all of which a user must hold); None:
        every item.
        """
        self.of = of_kind(self.name, layout, ItemsLayout)
        self.length = whole(self.name, "length", length, 1, MAX_LENGTH)
        self.held = candidate_index(self.name, self.of, candidates)
        self.d = self.held.number + self.length
        self.share = _TOP // self.length
        """The number of words out of 2^64 that name one candidate of a user who holds at most L."""
        vars(self)["chance"] = Fraction(self.share, _TOP)
        rules = [self._rule(c) for c in range(self.held.most + 1)]
        self._widths, self._last, self._dummies = (
            np.array([min(number, _TOP - 1) for number in column], np.uint64) for column in zip(*rules, strict=True)
        )
        self._spill = self.length * self.share  # words from here on name a candidate of a user who holds none

    def _rule(self, c: int) -> tuple[int, int, int]:
        """The rule for c candidates: the number of words for each, the last word that names one, and the number of
        words for each dummy.
        """
        if c > self.length:
            return _TOP // c, _TOP - 1, 1
        rest = _TOP - c * self.share
        return self.share, max(0, c * self.share - 1), self.share if not c else max(1, rest // self.length)

    def parameters(self) -> dict[str, Any]:
        """The length, and the candidates where there are some."""
        return {"length": self.length, **self.held.parameters()}

    def inside(self, mechanism: Mechanism) -> Mechanism:
        """The mechanism with the larger ratio that sampling allows."""
        return mechanism.sampled(self.length)

    def codes(self, values: Values, draw: Draw) -> Codes:
        """The sampled code of each user, from one word each: int64[n]."""
        rows = self.of.rows(values)
        codes = np.empty(len(rows), np.int64)
        for lane, words in draw.open(self.digest, canonical_words(rows), "view").words(1, np.uint64):
            codes[lane] = self._codes(rows[lane], words[:, 0])
        return codes

    def _codes(self, rows: np.ndarray, u: np.ndarray) -> Codes:
        """The codes that these words name for these rows, by the rule of `_code`."""
        number, length = self.held.number, self.length
        sizes = self.held.sizes(rows)
        if self.of.none:
            sizes[self.of.silent(rows)] = 0
        last = self._last[sizes]
        named = (u <= last) & (sizes > 0)
        index = np.minimum((u // self._widths[sizes]).astype(np.int64), sizes - 1)
        past = u - np.where(sizes > 0, last + np.uint64(1), np.uint64(0))
        dummy = np.minimum((past // self._dummies[sizes]).astype(np.int64), length - 1)
        codes = np.where(named, self.held.pick(rows, index), number + dummy)
        if self._spill < _TOP:
            spilled = (sizes == 0) & (u >= np.uint64(self._spill))
            if spilled.any():
                codes[spilled] = ((u[spilled] - np.uint64(self._spill)) % np.uint64(number)).astype(np.int64)
        return codes

    def code(self, value: Value) -> int:
        """Always an error, since the code of a value is sampled."""
        raise ParameterError(f"{self.name}: found asked for the code of a value; allowed: one is drawn")

    def code_one(self, value: Value, draw: DrawOne) -> int:
        """What `codes` gives, for one user in plain Python."""
        words = words_of(value)
        (u,) = draw.open(self.digest, canonical_words_one(words), "view")(1, 64)
        return self._code(self._held(words), u)

    def _held(self, words: Sequence[int]) -> list[int]:
        return [] if words[0] == NONE else self.held.of(words)

    def _code(self, own: Sequence[int], u: int) -> int:
        """The code that word u names for a user with these candidates."""
        c = len(own)
        width, last, dummy = self._rule(c)
        if c and u <= last:
            return own[min(u // width, c - 1)]
        if not c and u >= self._spill:
            return (u - self._spill) % self.held.number
        return self.held.number + min((u - (last + 1 if c else 0)) // dummy, self.length - 1)

    def law(self, value: Value) -> Mapping[int, Fraction]:
        """The probability of each code, from the number of words of 2^64 that name it."""
        return self._law(self._held(words_of(value)))

    def _law(self, own: Sequence[int]) -> Mapping[int, Fraction]:
        number, length, c = self.held.number, self.length, len(own)
        width, last, dummy = self._rule(c)
        words = dict.fromkeys(own, width)
        if c > length:
            words[own[-1]] = _TOP - (c - 1) * width
        rest = _TOP - (last + 1 if c else 0)
        if not c:
            rest = self._spill
            for spilled in range(_TOP - self._spill):
                words[spilled % number] = words.get(spilled % number, 0) + 1
        for place in range(length):
            end = rest if place == length - 1 else min(rest, (place + 1) * dummy)
            words[number + place] = max(0, end - place * dummy)
        return {code: Fraction(n, _TOP) for code, n in sorted(words.items()) if n}

    @property
    def extremes(self) -> tuple[Value, Value]:
        """A set of one candidate, and a set of another one (the empty one, where there is no other)."""
        other = self.held.example(self.held.number - 1) if self.held.number > 1 else self.held.empty
        return one_or_more(self.held.example(0)), one_or_more(other)

    @property
    def statistics(self) -> int | None:
        """The number of candidates, since the codes of dummies are no statistics."""
        return self.held.number

    def blanket(self, inner: Mechanism) -> Blanket | None:
        """The blanket of GRR, from a set of L candidates against the empty one: each gives L codes that the other does
        not. Every report has probability q at least; what sets that hold neither add is below 2^-64 and left out, which
        makes the blanket no better.
        """
        if not isinstance(inner, GRR) or self.held.most < self.length or isinstance(self, Itemsets):
            return None
        full = self._law(list(range(self.length)))
        empty, atoms = self._law([]), Counter[tuple[Fraction, Fraction]]()
        for code in range(self.d):
            atoms[full.get(code, Fraction(0)), empty.get(code, Fraction(0))] += 1
        apart = inner.p / inner.q - 1
        return tuple(Atom(n * inner.q, 1 + apart * one, 1 + apart * other) for (one, other), n in atoms.items())

    def realised(self, inner: Mechanism) -> Fraction:
        """For GRR the ratio of q (1 + (p/q - 1) s), with s the largest probability of a code, to q."""
        if not isinstance(inner, GRR):
            return inner.realised
        return 1 + (inner.realised - 1) * Fraction(self.share, _TOP)


class Itemsets(Padded):
    """A view that samples one of the listed sets of items that a user holds, or a dummy."""

    name = "itemsets"

    def __init__(self, layout: Any, length: int, candidates: Sequence[Sequence[int]]) -> None:
        if not isinstance(candidates, (list, tuple)) or any(isinstance(one, int) for one in candidates):
            raise ParameterError(f"{self.name}: candidates: found {shown(candidates)}; allowed: lists of items")
        super().__init__(layout, length, candidates)
