# SPDX-License-Identifier: Apache-2.0
"""Rows of attributes, and values with a public number beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import ParameterError
from murmurate.randomizers.layouts.layout import (
    MAX_ATTRIBUTES,
    MAX_WORD,
    Layout,
    Mask,
    Row,
    checked,
)
from murmurate.randomizers.question import LayoutSpec, Values


@dataclass(frozen=True)
class RowLayout(Layout):
    """A layout of rows of attributes, each a code below its size."""

    word: ClassVar[str] = "row"
    sizes: tuple[int, ...]
    none: bool

    def __post_init__(self) -> None:
        if not 1 <= len(self.sizes) <= MAX_ATTRIBUTES:
            raise ParameterError(f"row: found {len(self.sizes)} attributes; allowed: 1 to {MAX_ATTRIBUTES}")
        for size in self.sizes:
            checked("row: size of an attribute", size, 1, MAX_WORD)

    @cached_property
    def places(self) -> tuple[tuple[int, int], ...]:
        """For each attribute, the index of its word and the factor of its code in it."""
        packed: list[list[int]] = []
        for size in self.sizes:
            if not packed or prod(packed[-1]) * size > MAX_WORD:
                packed.append([])
            packed[-1].append(size)
        return tuple((word, prod(of[i + 1 :])) for word, of in enumerate(packed) for i in range(len(of)))

    @property
    def words(self) -> int:  # type: ignore[override]
        """The number of words, the smallest that the rule allows."""
        return self.places[-1][0] + 1

    def spec(self) -> LayoutSpec:
        """The description by name, sizes and whether there is *none*."""
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
class MeasuredLayout(Layout):
    """A layout of a value with a public number beside it, which is 0 for a user without a value."""

    word: ClassVar[str] = "measured"
    inner: Layout
    levels: int

    def __post_init__(self) -> None:
        if isinstance(self.inner, MeasuredLayout):
            raise ParameterError("measured: found a measured value in another; allowed: one number beside a value")
        checked("measured: levels", self.levels, 2, 1 << 24)

    @property
    def words(self) -> int:  # type: ignore[override]
        """The number of words: one more than the value has."""
        return self.inner.words + 1

    @property
    def none(self) -> bool:  # type: ignore[override]
        """Whether the value may be *none*. Where it is a code, none is its last one."""
        return self.inner.none

    def spec(self) -> LayoutSpec:
        """The description by name, the value's layout and the number of levels."""
        return "measured", self.inner.spec(), self.levels

    def values(self, rows: Row) -> Values:
        """The private part of each row: the values."""
        return rows[:, 0] if self.inner.words == 1 else rows[:, :-1]

    def _wrong(self, rows: Row) -> Mask:
        return np.asarray(self.inner.wrong(self.values(rows)) | (rows[:, -1] >= self.levels))

    def _listed(self) -> Iterator[tuple[int, ...]]:
        return ((*value, number) for value in self.inner._listed() for number in range(self.levels))

    @property
    def _size(self) -> int:
        return self.inner._size * self.levels
