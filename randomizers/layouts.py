"""What the words of a stream's values mean: integers only, so that devices and auditors need no names of a domain.

Contract: a layout is a tuple of words and whole numbers (`spec`), the same list in JSON, and `layout` reads it.

    ("code", d)                       one word below d; none, if any, is the last one
    ("bits", m, none)                 a 0, then m bits from the left, then zeros
    ("items", d, most, none)          rising items below d, then fillers
    ("signed", d, most, none)         pairs (item, number + 65536) by item, numbers from -65536 to 65536 but 0, then
                                      pairs (filler, 0)
    ("row", (k1, k2, ...), none)      attributes in mixed radix, the first most significant within its word; a word
                                      takes the next attribute while its product is at most 2^31
    ("measured", layout, levels)      the inner words, then a public number below `levels`

`none` is 1 where a user may have no value: a row that begins with NONE, the other words 0.  Every other value begins
with a word below 2^31.  Values of one word are int[n], of more uint32[n, words].  Source: DESIGN rule 23.  Not here:
how JSON becomes words (topics/domains), what a question makes of them (views.py).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from math import comb, prod
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import ParameterError, shown
from murmurate.randomizers.question import LayoutSpec, Value, Values

Row = NDArray[np.uint32]
Mask = NDArray[np.bool_]

FILLER: Final = 0x7FFFFFFF
NONE: Final = 0xFFFFFFFE
"""The first word of no value, given when a period's values are frozen."""
REFUSED: Final = 0xFFFFFFFF
"""Every word of a value that was wrong: in raw blocks alone."""
UNIT: Final = 1 << 16
"""Of a signed number: 1 on its grid, and what is added to it."""
MAX_BITS, MAX_MOST, MAX_ATTRIBUTES, MAX_WORD = 256, 64, 64, 1 << 31
_MAX_LISTED = 1 << 12  # values that `enumerate` gives


class Layout(ABC):
    """The words of a value, and which rows of them are one."""

    words: int
    none: bool

    @abstractmethod
    def spec(self) -> LayoutSpec:
        """The tuple that says it."""

    @abstractmethod
    def _wrong(self, rows: Row) -> Mask:
        """Which rows are no value, none left aside."""

    @abstractmethod
    def _listed(self) -> Iterator[tuple[int, ...]]:
        """Every value but none."""

    @property
    @abstractmethod
    def _size(self) -> int:
        """How many those are."""

    @property
    def nothing(self) -> Value:
        """The value of a user who has none, or None where everybody has one."""
        if not self.none:
            return None
        return NONE if self.words == 1 else (NONE, *(0,) * (self.words - 1))

    def rows(self, values: Values) -> Row:
        """The same values as uint32[n, words], also where a value is one word."""
        rows = values.astype(np.uint32, copy=False)
        return rows[:, np.newaxis] if rows.ndim == 1 else rows

    def silent(self, rows: Row) -> Mask:
        """Who has no value."""
        return np.asarray(rows[:, 0] == NONE)

    def wrong(self, values: Values) -> Mask:
        """Which of int[n] or uint32[n, words] are no value of it: bool[n]."""
        rows = self.rows(values)
        bad = self._wrong(rows)
        if self.none:
            silent = self.silent(rows)
            if silent.any():
                bad[silent] = rows[silent, 1:].any(axis=1)
        return bad

    def enumerate(self) -> Iterator[Value]:
        """Every value, none included: of small layouts only."""
        if self._size > _MAX_LISTED:
            raise ParameterError(f"layout: found {self._size} values to list; allowed: {_MAX_LISTED}")
        for value in self._listed():
            yield value[0] if self.words == 1 else value
        if self.none:
            yield self.nothing

    def array(self, values: Sequence[Value]) -> Values:
        """Single values as an array of them."""
        if self.words == 1:
            return np.array(values, np.int64)
        return np.array(values, np.uint32).reshape(len(values), self.words)


@dataclass(frozen=True)
class Code(Layout):
    """One word below d. None, if any, is the last one."""

    d: int

    words = 1
    none = False

    def __post_init__(self) -> None:
        _whole("code: d", self.d, 2, MAX_WORD)

    def spec(self) -> LayoutSpec:
        """Name and size."""
        return "code", self.d

    def wrong(self, values: Values) -> Mask:
        """Those below 0 or not below d."""
        flat = values.reshape(len(values))
        return np.asarray((flat < 0) | (flat >= self.d))

    def _wrong(self, rows: Row) -> Mask:
        return np.asarray(rows[:, 0] >= self.d)

    def _listed(self) -> Iterator[tuple[int, ...]]:
        return ((code,) for code in range(self.d))

    @property
    def _size(self) -> int:
        return self.d


@dataclass(frozen=True)
class Bits(Layout):
    """A string of m bits."""

    m: int
    none: bool

    def __post_init__(self) -> None:
        _whole("bits: m", self.m, 1, MAX_BITS)

    @property
    def words(self) -> int:  # type: ignore[override]
        """A leading 0 and m bits."""
        return self.m // 32 + 1

    def spec(self) -> LayoutSpec:
        """Name, length, whether there is none."""
        return "bits", self.m, int(self.none)

    def _wrong(self, rows: Row) -> Mask:
        past = np.uint32((1 << (31 - self.m % 32)) - 1)
        return np.asarray((rows[:, 0] >= MAX_WORD) | (rows[:, -1] & past != 0))

    def _listed(self) -> Iterator[tuple[int, ...]]:
        for number in range(1 << self.m):
            line = number << (32 * self.words - 1 - self.m)
            yield tuple(line >> 32 * (self.words - 1 - i) & 0xFFFFFFFF for i in range(self.words))

    @property
    def _size(self) -> int:
        return 1 << self.m


@dataclass(frozen=True)
class Items(Layout):
    """A set of at most `most` items below d."""

    d: int
    most: int
    none: bool

    def __post_init__(self) -> None:
        _whole("items: d", self.d, 1, FILLER)
        _whole("items: most", self.most, 1, MAX_MOST)

    @property
    def words(self) -> int:  # type: ignore[override]
        """One an item."""
        return self.most

    def spec(self) -> LayoutSpec:
        """Name, items, the most of them, whether there is none."""
        return "items", self.d, self.most, int(self.none)

    def _wrong(self, rows: Row) -> Mask:
        bad = np.zeros(len(rows), np.bool_)
        for column in range(self.most):
            here = rows[:, column]
            known = here < self.d
            if column:
                known &= rows[:, column - 1] < here
            bad |= ~known & (here != FILLER)
        return bad

    def _listed(self) -> Iterator[tuple[int, ...]]:
        for size in range(min(self.most, self.d) + 1):
            for items in combinations(range(self.d), size):
                yield items + (FILLER,) * (self.most - size)

    @property
    def _size(self) -> int:
        return sum(comb(self.d, size) for size in range(self.most + 1))


@dataclass(frozen=True)
class Signed(Layout):
    """At most `most` items below d, each with a number from -1 to 1 on a grid, and not 0."""

    d: int
    most: int
    none: bool

    def __post_init__(self) -> None:
        _whole("signed: d", self.d, 1, FILLER)
        _whole("signed: most", self.most, 1, MAX_MOST)

    @property
    def words(self) -> int:  # type: ignore[override]
        """Two an item."""
        return 2 * self.most

    def spec(self) -> LayoutSpec:
        """Name, items, the most of them, whether there is none."""
        return "signed", self.d, self.most, int(self.none)

    def _wrong(self, rows: Row) -> Mask:
        bad = Items(self.d, self.most, none=False)._wrong(rows[:, ::2])
        numbers, empty = rows[:, 1::2], rows[:, ::2] == FILLER
        fits = np.where(empty, numbers == 0, (numbers <= 2 * UNIT) & (numbers != UNIT))
        return np.asarray(bad | ~fits.all(axis=1))

    def _listed(self) -> Iterator[tuple[int, ...]]:
        numbers = (*range(UNIT), *range(UNIT + 1, 2 * UNIT + 1))
        for size in range(min(self.most, self.d) + 1):
            for items in combinations(range(self.d), size):
                for of in product(numbers, repeat=size):
                    pairs = zip(items, of, strict=True)
                    yield tuple(word for pair in pairs for word in pair) + (FILLER, 0) * (self.most - size)

    @property
    def _size(self) -> int:
        return sum(comb(self.d, size) * (2 * UNIT) ** size for size in range(self.most + 1))


@dataclass(frozen=True)
class Attributes(Layout):
    """A row of attributes, each a code below its size."""

    sizes: tuple[int, ...]
    none: bool

    def __post_init__(self) -> None:
        if not 1 <= len(self.sizes) <= MAX_ATTRIBUTES:
            raise ParameterError(f"row: found {len(self.sizes)} attributes; allowed: 1 to {MAX_ATTRIBUTES}")
        for size in self.sizes:
            _whole("row: size of an attribute", size, 1, MAX_WORD)

    @cached_property
    def places(self) -> tuple[tuple[int, int], ...]:
        """Of each attribute its word, and what its code is multiplied with there."""
        packed: list[list[int]] = []
        for size in self.sizes:
            if not packed or prod(packed[-1]) * size > MAX_WORD:
                packed.append([])
            packed[-1].append(size)
        return tuple((word, prod(of[i + 1 :])) for word, of in enumerate(packed) for i in range(len(of)))

    @property
    def words(self) -> int:  # type: ignore[override]
        """As few as the rule gives."""
        return self.places[-1][0] + 1

    def spec(self) -> LayoutSpec:
        """Name, sizes, whether there is none."""
        return "row", self.sizes, int(self.none)

    def digit(self, rows: Row, attribute: int) -> NDArray[np.uint32]:
        """The code of one attribute: uint32[n]."""
        (word, times), size = self.places[attribute], self.sizes[attribute]
        of_word = rows[:, word]
        if times > 1:
            of_word = of_word // np.uint32(times)
        first = attribute == 0 or self.places[attribute - 1][0] < word
        return of_word if first else of_word % np.uint32(size)

    def packed(self, codes: Sequence[int]) -> tuple[int, ...]:
        """The words of a row with these codes."""
        words = [0] * self.words
        for code, (word, times) in zip(codes, self.places, strict=True):
            words[word] += code * times
        return tuple(words)

    def _wrong(self, rows: Row) -> Mask:
        tops = [1] * self.words
        for size, (word, _) in zip(self.sizes, self.places, strict=True):
            tops[word] *= size
        return np.asarray((rows >= np.array(tops, np.uint32)).any(axis=1))

    def _listed(self) -> Iterator[tuple[int, ...]]:
        return (self.packed(codes) for codes in product(*map(range, self.sizes)))

    @property
    def _size(self) -> int:
        return prod(self.sizes)


@dataclass(frozen=True)
class Measured(Layout):
    """A value, and a public number beside it. Of a user without a value the number is 0."""

    inner: Layout
    levels: int

    def __post_init__(self) -> None:
        if isinstance(self.inner, Measured):
            raise ParameterError("measured: found a measured value in another; allowed: one number beside a value")
        _whole("measured: levels", self.levels, 2, 1 << 24)

    @property
    def words(self) -> int:  # type: ignore[override]
        """One more than the value."""
        return self.inner.words + 1

    @property
    def none(self) -> bool:  # type: ignore[override]
        """As of the value. Where that is a code, none is its last one."""
        return self.inner.none

    def spec(self) -> LayoutSpec:
        """Name, the value's, how many numbers there are."""
        return "measured", self.inner.spec(), self.levels

    def values(self, rows: Row) -> Values:
        """What is told privately."""
        return rows[:, 0] if self.inner.words == 1 else rows[:, :-1]

    def _wrong(self, rows: Row) -> Mask:
        return np.asarray(self.inner.wrong(self.values(rows)) | (rows[:, -1] >= self.levels))

    def _listed(self) -> Iterator[tuple[int, ...]]:
        return ((*value, number) for value in self.inner._listed() for number in range(self.levels))

    @property
    def _size(self) -> int:
        return self.inner._size * self.levels


def layout(spec: Any) -> Layout:
    """The layout that a tuple (or a list, from JSON) says.

    >>> layout(["items", 100, 8, 0]).words
    8
    """
    name, *parts = spec if isinstance(spec, (list, tuple)) and spec else ("",)
    match name, parts:
        case "code", [d]:
            return Code(d)
        case "bits", [m, none]:
            return Bits(m, none=_flag(none))
        case "items", [d, most, none]:
            return Items(d, most, none=_flag(none))
        case "signed", [d, most, none]:
            return Signed(d, most, none=_flag(none))
        case "row", [list() | tuple() as sizes, none]:
            return Attributes(tuple(sizes), none=_flag(none))
        case "measured", [inner, levels]:
            if isinstance(inner, (list, tuple)) and inner[:1] in (["measured"], ("measured",)):
                raise ParameterError("layout: found a measured value in another; allowed: one number beside a value")
            return Measured(layout(inner), levels)
    raise ParameterError(
        f"layout: found {shown(spec)}; allowed: code, bits, items, signed, row or measured with their numbers"
    )


def _flag(found: Any) -> bool:
    if found not in (0, 1) or isinstance(found, float):
        raise ParameterError(f"layout: none: found {shown(found)}; allowed: 0 or 1")
    return bool(found)


def _whole(what: str, found: object, low: int, high: int) -> None:
    if isinstance(found, bool) or not isinstance(found, int) or not low <= found <= high:
        raise ParameterError(f"layout: {what}: found {shown(found)}; allowed: a whole number from {low} to {high}")
