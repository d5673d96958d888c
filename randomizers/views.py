# SPDX-License-Identifier: Apache-2.0
"""Views: public functions from a value to one code, which is what a mechanism reports.

Contract: a code is a function of the value alone, whoever holds it (except where padding.py samples it), so a view has
no privacy cost: a report has the mechanism's law at its code.  Every code belongs to some value, except sizes that
listed sets of items rule out.  Where users may have no value, the last code stands for that.  Values are whole numbers:
a stream's domain turns JSON into words (layouts/).

    Whole      the code itself                              Size       how many of a set's candidates a user holds
    Prefix     the first bits of a string                   Level, Marginal    attributes of a row (row_views.py)

Source: ARCHITECTURE rule 23.  Not here: a mechanism behind it (viewed.py), numbers up to a threshold
(numeric/clipped.py).
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar, Final, TypeVar

import numpy as np
import orjson
from numpy.typing import NDArray

from murmurate.randomizers.candidates import Candidates, candidate_index
from murmurate.randomizers.errors import ParameterError, ValueRefusedError, shown
from murmurate.randomizers.layouts import NONE, BitsLayout, CodeLayout, ItemsLayout, Layout, Row, layout
from murmurate.randomizers.mechanism import Mechanism, whole
from murmurate.randomizers.question import Blanket, Value, Values
from murmurate.randomizers.randomness import Draw, DrawOne

Kind = TypeVar("Kind", bound=Layout)
Codes = NDArray[np.integer[Any]]

LONGEST: Final = 23
"""The longest prefix, in bits, whose code is the prefix itself. A longer one is hashed ("folded") to so many bits,
whose 2^23 values and none fit the domain of local hashes. Two prefixes collide for one pair in 2^23: part of the error.
"""
FOLD: Final = 1
"""The version of the hash of long prefixes; another hash would get another number."""


class View(ABC):
    """A public function of a value, whose result a mechanism reports."""

    name: ClassVar[str]
    of: Layout
    """The layout of the values that the view reads."""
    d: int
    """The number of codes."""

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """The fields of the spec besides name and layout."""

    def spec(self) -> dict[str, Any]:
        """The canonical description."""
        return {"name": self.name, "layout": self.of.spec(), **self.parameters()}

    @property
    def digest(self) -> bytes:
        """SHA-256 of b"murmurate/view/1", a line feed, and the spec as JSON with sorted keys and no spaces."""
        return hashlib.sha256(b"murmurate/view/1\n" + canonical_json(self.spec())).digest()

    def spec_with(self, mechanism: Mechanism) -> dict[str, Any]:
        """The canonical description of the mechanism behind this view."""
        return {"name": "viewed", "view": self.spec(), "mechanism": mechanism.spec()}

    def inside(self, mechanism: Mechanism) -> Mechanism:
        """The mechanism as it is applied to this view's codes."""
        return mechanism

    @abstractmethod
    def codes(self, values: Values, draw: Draw) -> Codes:
        """The code of each value: int[n]."""

    @abstractmethod
    def code(self, value: Value) -> int:
        """The code of one value, in plain Python."""

    def code_one(self, value: Value, draw: DrawOne) -> int:
        """The code of a single user, which may be sampled with the user's draw."""
        return self.code(value)

    def law(self, value: Value) -> Mapping[int, Fraction]:
        """Every code that this value can have, with its probability."""
        return {self.code(value): Fraction(1)}

    @property
    @abstractmethod
    def extremes(self) -> tuple[Value, Value]:
        """Two values of different codes."""

    # ---- what a sampling view adds (padding.py) ----

    chance: ClassVar[Fraction | None] = None
    """For a view that samples, the probability of the code of each item that a user holds; else None."""

    @property
    def statistics(self) -> int | None:
        """The number of codes that a method follows, the first ones; None for all statistics of the mechanism."""
        return None

    def blanket(self, inner: Mechanism) -> Blanket | None:
        """The blanket of the mechanism over the codes."""
        return inner.blanket()

    def alike(self, inner: Mechanism) -> tuple[View, Mechanism] | None:
        """The view and mechanism that stand for all of their kind whose reports tell as much; None: only these."""
        return None

    def realised(self, inner: Mechanism) -> Fraction:
        """The largest ratio of the probabilities of a report over values; an upper bound where a view samples."""
        return inner.realised


def canonical_json(spec: Mapping[str, Any]) -> bytes:
    """A spec as JSON with sorted keys and no spaces."""
    return orjson.dumps(spec, option=orjson.OPT_SORT_KEYS)


class Whole(View):
    """The view whose code is the value: the mechanism's own bytes, spec and digest."""

    name = "whole"

    def __init__(self, layout: Any) -> None:
        self.of = of = of_kind(self.name, layout, CodeLayout)
        self.d = of.d

    def parameters(self) -> dict[str, Any]:
        """No parameters."""
        return {}

    def spec_with(self, mechanism: Mechanism) -> dict[str, Any]:
        """The spec of the mechanism itself."""
        return mechanism.spec()

    def codes(self, values: Values, draw: Draw) -> Codes:
        """The values, which are the codes."""
        return values

    def code(self, value: Value) -> int:
        """The value, which is the code."""
        return int(value)

    @property
    def extremes(self) -> tuple[Value, Value]:
        """The lowest and the highest code."""
        return 0, self.d - 1


class Prefix(View):
    """The view of a string's first bits."""

    name = "prefix"
    longest: ClassVar = LONGEST
    """The longest prefix, in bits, whose code is the prefix itself."""

    def __init__(self, layout: Any, bits: int) -> None:
        self.of = self._strings = of_kind(self.name, layout, BitsLayout)
        self.bits = whole(self.name, "bits", bits, 1, self._strings.m)
        self.d = (1 << min(bits, self.longest)) + self.of.none

    def parameters(self) -> dict[str, Any]:
        """The number of bits, and the version of the hash for long prefixes."""
        return {"bits": self.bits, **({"fold": FOLD} if self.bits > self.longest else {})}

    def codes(self, values: Values, draw: Draw) -> Codes:
        """The prefix of each string, or its hash, as `code` defines them: int64[n]."""
        return self.codes_of(self.of.rows(values))

    def codes_of(self, rows: Row) -> Codes:
        """The code of each of uint32[n, words], also for a server that names strings: int64[n]."""
        if self.bits > self.longest:
            codes = self._folded(rows)
        elif self.bits <= 31:
            codes = (rows[:, 0] >> np.uint32(31 - self.bits)).astype(np.int64)
        else:
            codes = rows[:, 0].astype(np.int64) << (self.bits - 31)
            codes |= rows[:, 1] >> np.uint32(63 - self.bits)
        if self.of.none:
            codes[self.of.silent(rows)] = self.d - 1
        return codes

    def _folded(self, rows: Row) -> NDArray[np.int64]:
        mixed = np.full(len(rows), self.bits, np.uint64)
        for word, mask in enumerate(self._masks):
            mixed += np.uint64(_STEP)
            mixed ^= rows[:, word] & np.uint32(mask)
            mixed ^= mixed >> np.uint64(30)
            mixed *= np.uint64(_A)
            mixed ^= mixed >> np.uint64(27)
            mixed *= np.uint64(_B)
            mixed ^= mixed >> np.uint64(31)
        return (mixed >> np.uint64(64 - self.longest)).view(np.int64)

    @property
    def _masks(self) -> list[int]:
        """For each word that holds some of the prefix, a mask of its bits."""
        line = ((1 << self.bits) - 1) << (32 * (self.bits // 32 + 1) - 1 - self.bits)
        words = self.bits // 32 + 1
        return [line >> 32 * (words - 1 - i) & 0xFFFFFFFF for i in range(words)]

    def code(self, value: Value) -> int:
        """The first bits as a number; for more than `longest` bits so many first bits of a hash, which begins at
        `bits`, takes each word in (step, exclusive or) and finishes like SplitMix64.
        """
        words = words_of(value)
        if words[0] == NONE:
            return self.d - 1
        if self.bits <= self.longest:
            return (
                words[0] >> (31 - self.bits)
                if self.bits <= 31
                else words[0] << self.bits - 31 | words[1] >> 63 - self.bits
            )
        mixed = self.bits
        for word, mask in zip(words, self._masks, strict=False):
            mixed = (mixed + _STEP & _MASK) ^ (word & mask)
            mixed = (mixed ^ mixed >> 30) * _A & _MASK
            mixed = (mixed ^ mixed >> 27) * _B & _MASK
            mixed ^= mixed >> 31
        return mixed >> (64 - self.longest)

    @property
    def extremes(self) -> tuple[Value, Value]:
        """The strings whose prefix is all zeros and all ones."""
        words, zeros = self._masks, [0] * self._strings.words
        ones = words + zeros[len(words) :]
        return one_or_more(zeros), one_or_more(ones)


class Size(View):
    """The view of how many candidates a set holds: items, or sets of items of which all are held."""

    name = "size"

    def __init__(self, layout: Any, candidates: Candidates | None = None) -> None:
        """candidates: whole numbers or lists of them; None: every item."""
        self.of = of_kind(self.name, layout, ItemsLayout)
        self.held = candidate_index(self.name, self.of, candidates)
        self.most = self.held.most
        self.d = self.most + 1 + self.of.none

    def parameters(self) -> dict[str, Any]:
        """The candidates, where not every item is one."""
        return self.held.parameters()

    def codes(self, values: Values, draw: Draw) -> Codes:
        """The number of candidates that each set holds: int64[n]."""
        rows = self.of.rows(values)
        codes = self.held.sizes(rows)
        if self.of.none:
            codes[self.of.silent(rows)] = self.d - 1
        return codes

    def code(self, value: Value) -> int:
        """The number of candidates that one set holds, in plain Python."""
        words = words_of(value)
        return self.d - 1 if words[0] == NONE else len(self.held.of(words))

    @property
    def extremes(self) -> tuple[Value, Value]:
        """The empty set, and a set of one candidate."""
        return one_or_more(self.held.empty), one_or_more(self.held.example(0))


_STEP, _A, _B = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_MASK = (1 << 64) - 1


def words_of(value: Value) -> tuple[int, ...]:
    """A value as a tuple of words, also where it is a single one."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def one_or_more(words: Sequence[int]) -> Value:
    """Words as a value, a single word as a whole number."""
    return words[0] if len(words) == 1 else tuple(words)


def checked_value(name: str, of: Layout, value: Value) -> Value:
    """The value, if it is one of this layout: a whole number, or as many as it has words."""
    words = words_of(value)
    numbers = all(isinstance(word, (int, np.integer)) and not isinstance(word, bool) for word in words)
    if len(words) != of.words or not numbers or not all(0 <= word < 1 << 32 for word in words):
        allowed = "a whole number" if of.words == 1 else f"{of.words} words"
        raise ValueRefusedError(f"{name}: found a value outside the domain; allowed: {allowed} of {shown(of.spec())}")
    plain = one_or_more([int(word) for word in words])
    if of.wrong(of.array([plain]))[0]:
        raise ValueRefusedError(f"{name}: found a value outside the domain; allowed: one of {shown(of.spec())}")
    return plain


def of_kind(name: str, spec: Any, kind: type[Kind]) -> Kind:
    """The layout, if it is one of this kind."""
    found = layout(spec)
    if not isinstance(found, kind):
        raise ParameterError(f"{name}: layout: found {shown(spec)}; allowed: {kind.word}")
    return found
