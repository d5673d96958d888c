"""Public rules from a value to what a mechanism is told of it: one code.

Contract: a code is a function of the value alone, whoever holds it (but for padded samples, padding.py), so a view
costs nothing: every report has the inner law of its code.  Every code is some value's, but for sizes that listed sets
of items rule out.  Where users may have no value, that is the last code.  A view knows whole numbers only: a stream's
domain turns JSON into words (layouts/).

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
"""The longest prefix, in bits, that is told as it is. A longer one is told by so many bits of its fold, whose 2^23
values and none fit what local hashes take. Two prefixes share a fold for one pair in 2^23: part of the error.
"""
FOLD: Final = 1
"""The number of the way in which prefixes are folded: another way would get another number."""


class View(ABC):
    """What is told of a value."""

    name: ClassVar[str]
    of: Layout
    """The layout that the view looks at."""
    d: int
    """How many codes the view tells."""

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """What a spec says besides name and layout."""

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
        """The mechanism as it is used behind this view."""
        return mechanism

    @abstractmethod
    def codes(self, values: Values, draw: Draw) -> Codes:
        """The code of each value: int[n]."""

    @abstractmethod
    def code(self, value: Value) -> int:
        """The same for one value in plain Python."""

    def code_one(self, value: Value, draw: DrawOne) -> int:
        """The code of a single user."""
        return self.code(value)

    def law(self, value: Value) -> Mapping[int, Fraction]:
        """Every code this value can give, with its chance."""
        return {self.code(value): Fraction(1)}

    @property
    @abstractmethod
    def extremes(self) -> tuple[Value, Value]:
        """Two values of different codes."""

    # ---- what a sampling view adds (padding.py) ----

    chance: ClassVar[Fraction | None] = None
    """For a view that draws: the chance of the code of each item that a user holds."""

    @property
    def statistics(self) -> int | None:
        """How many of the codes a method follows, the first ones; None: whatever the mechanism says."""
        return None

    def blanket(self, inner: Mechanism) -> Blanket | None:
        """The mechanism's, whose values are codes."""
        return inner.blanket()

    def realised(self, inner: Mechanism) -> Fraction:
        """The largest ratio of the chances of a report of two values; an upper bound where a view draws."""
        return inner.realised


def canonical_json(spec: Mapping[str, Any]) -> bytes:
    """Sorted keys, no spaces."""
    return orjson.dumps(spec, option=orjson.OPT_SORT_KEYS)


class Whole(View):
    """The code itself: the mechanism's own bytes, spec and digest."""

    name = "whole"

    def __init__(self, layout: Any) -> None:
        self.of = of = of_kind(self.name, layout, CodeLayout)
        self.d = of.d

    def parameters(self) -> dict[str, Any]:
        """None."""
        return {}

    def spec_with(self, mechanism: Mechanism) -> dict[str, Any]:
        """The mechanism's own."""
        return mechanism.spec()

    def codes(self, values: Values, draw: Draw) -> Codes:
        """The values."""
        return values

    def code(self, value: Value) -> int:
        """The value."""
        return int(value)

    @property
    def extremes(self) -> tuple[Value, Value]:
        """The lowest and the highest."""
        return 0, self.d - 1


class Prefix(View):
    """The first bits of a string."""

    name = "prefix"

    def __init__(self, layout: Any, bits: int) -> None:
        self.of = self._strings = of_kind(self.name, layout, BitsLayout)
        self.bits = whole(self.name, "bits", bits, 1, self._strings.m)
        self.d = (1 << min(bits, LONGEST)) + self.of.none

    def parameters(self) -> dict[str, Any]:
        """How many bits, and how they are folded where they are many."""
        return {"bits": self.bits, **({"fold": FOLD} if self.bits > LONGEST else {})}

    def codes(self, values: Values, draw: Draw) -> Codes:
        """As `code` says."""
        rows = self.of.rows(values)
        short = self.bits <= LONGEST
        codes = (rows[:, 0] >> np.uint32(31 - self.bits)).astype(np.int64) if short else self._folded(rows)
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
        return (mixed >> np.uint64(64 - LONGEST)).astype(np.int64)

    @property
    def _masks(self) -> list[int]:
        """Of each word that holds some of the prefix, which bits."""
        line = ((1 << self.bits) - 1) << (32 * (self.bits // 32 + 1) - 1 - self.bits)
        words = self.bits // 32 + 1
        return [line >> 32 * (words - 1 - i) & 0xFFFFFFFF for i in range(words)]

    def code(self, value: Value) -> int:
        """The first bits as a number; of more than 23 the first 23 bits of their fold, which begins at `bits`, takes
        each word in (step, exclusive or) and finishes like SplitMix64.
        """
        words = words_of(value)
        if words[0] == NONE:
            return self.d - 1
        if self.bits <= LONGEST:
            return words[0] >> (31 - self.bits)
        mixed = self.bits
        for word, mask in zip(words, self._masks, strict=False):
            mixed = (mixed + _STEP & _MASK) ^ (word & mask)
            mixed = (mixed ^ mixed >> 30) * _A & _MASK
            mixed = (mixed ^ mixed >> 27) * _B & _MASK
            mixed ^= mixed >> 31
        return mixed >> (64 - LONGEST)

    @property
    def extremes(self) -> tuple[Value, Value]:
        """All zeros, all ones in the prefix."""
        words, zeros = self._masks, [0] * self._strings.words
        ones = words + zeros[len(words) :]
        return one_or_more(zeros), one_or_more(ones)


class Size(View):
    """How many of the candidates a set holds: items, or sets of items of which all are held."""

    name = "size"

    def __init__(self, layout: Any, candidates: Candidates | None = None) -> None:
        """candidates: whole numbers or lists of them; None: every item."""
        self.of = of_kind(self.name, layout, ItemsLayout)
        self.held = candidate_index(self.name, self.of, candidates)
        self.most = self.held.most
        self.d = self.most + 1 + self.of.none

    def parameters(self) -> dict[str, Any]:
        """The candidates, where there are some."""
        return self.held.parameters()

    def codes(self, values: Values, draw: Draw) -> Codes:
        """The numbers of candidates."""
        rows = self.of.rows(values)
        codes = self.held.sizes(rows)
        if self.of.none:
            codes[self.of.silent(rows)] = self.d - 1
        return codes

    def code(self, value: Value) -> int:
        """The same for one set."""
        words = words_of(value)
        return self.d - 1 if words[0] == NONE else len(self.held.of(words))

    @property
    def extremes(self) -> tuple[Value, Value]:
        """The empty set, and one candidate."""
        return one_or_more(self.held.empty), one_or_more(self.held.example(0))


_STEP, _A, _B = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_MASK = (1 << 64) - 1


def words_of(value: Value) -> tuple[int, ...]:
    """A value as its words, also where it is one."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def one_or_more(words: Sequence[int]) -> Value:
    """Words as a value."""
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
