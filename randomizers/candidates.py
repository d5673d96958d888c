# SPDX-License-Identifier: Apache-2.0
"""Which candidates a set of items holds: items themselves, or sets of items of which it holds all.

Contract: `sizes` and `pick` give for arrays what `of` gives for one set; candidates are numbered from 0 in rising
order.  Not here: the views that report them (views.py, padding.py).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import comb
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from murmurate.randomizers.errors import ParameterError, shown
from murmurate.randomizers.lanes import LANE_ROWS
from murmurate.randomizers.layouts import FILLER, ItemsLayout, Row

Candidates = Sequence[int] | Sequence[Sequence[int]]
Ints = NDArray[np.int64]

MOST_BYTES: Final = 1 << 16
"""The most bytes that a list of candidates may take as JSON."""
MOST_SETS: Final = 1 << 10
"""The largest number of sets of items, and of different items in them, since each lane of users looks up every one."""
_TABLE: Final = 1 << 20  # items up to which numbers stand in a table


class CandidateIndex(ABC):
    """Candidates among the items of a layout."""

    number: int
    """The number of candidates."""
    most: int
    """The largest number of candidates that a set can hold."""

    def __init__(self, items: ItemsLayout) -> None:
        self.items = items

    @property
    def empty(self) -> tuple[int, ...]:
        """The words of the empty set."""
        return (FILLER,) * self.items.most

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """The part of a view's spec that lists the candidates."""

    @abstractmethod
    def of(self, words: Sequence[int]) -> list[int]:
        """The numbers of the candidates that one set holds, rising."""

    @abstractmethod
    def example(self, number: int) -> tuple[int, ...]:
        """The words of a set that holds this candidate and as few others as possible."""

    @abstractmethod
    def columns(self, rows: Row) -> Iterator[tuple[NDArray[np.bool_], Ints | int]]:
        """In rising order of numbers, pairs of who holds another candidate, and its number."""

    def sizes(self, rows: Row) -> Ints:
        """The number of candidates that each row of uint32[n, words] holds: int64[n]. For *none* it is arbitrary."""
        sizes = np.zeros(len(rows), np.int64)
        for start in range(0, len(rows), LANE_ROWS):  # sets of items look each item up, of all these rows
            lane = slice(start, start + LANE_ROWS)
            for holds, _ in self.columns(rows[lane]):
                sizes[lane] += holds
        return sizes

    def pick(self, rows: Row, index: Ints) -> Ints:
        """For each row the number of its candidate at this index, counted from 0 among its own; 0 if it has fewer."""
        picked, before = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
        for holds, number in self.columns(rows):
            here = holds & (before == index)
            np.copyto(picked, number, where=here)
            before += holds
        return picked


class EveryItem(CandidateIndex):
    """Every item is a candidate, with its own number."""

    def __init__(self, items: ItemsLayout) -> None:
        super().__init__(items)
        self.number, self.most = items.d, min(items.most, items.d)

    def parameters(self) -> dict[str, Any]:
        """No parameters, since all items are candidates."""
        return {}

    def of(self, words: Sequence[int]) -> list[int]:
        """The items of the set, whose numbers are the candidates'."""
        return [word for word in words if word != FILLER]

    def example(self, number: int) -> tuple[int, ...]:
        """The set of this item alone."""
        return (number, *self.empty[1:])

    def columns(self, rows: Row) -> Iterator[tuple[NDArray[np.bool_], Ints | int]]:
        """Each word of the rows that is an item."""
        for column in range(rows.shape[1]):
            yield rows[:, column] != FILLER, rows[:, column].astype(np.int64)

    def pick(self, rows: Row, index: Ints) -> Ints:
        """The item at this index of each row."""
        place = np.minimum(index, rows.shape[1] - 1)
        picked: Ints = rows[np.arange(len(rows)), place].astype(np.int64)
        picked[picked >= self.number] = 0
        return picked


class SomeItems(CandidateIndex):
    """A list of items as candidates."""

    def __init__(self, items: ItemsLayout, candidates: Sequence[int]) -> None:
        super().__init__(items)
        self._candidates = tuple(sorted(candidates))
        self.number, self.most = len(candidates), min(items.most, len(candidates))
        self._sorted = np.array(self._candidates, np.int64)

    def parameters(self) -> dict[str, Any]:
        """The list of candidates."""
        return {"candidates": self._candidates}

    def of(self, words: Sequence[int]) -> list[int]:
        """The candidates among the words."""
        among = set(words)
        return [number for number, item in enumerate(self._candidates) if item in among]

    def example(self, number: int) -> tuple[int, ...]:
        """The set of this candidate alone."""
        return (self._candidates[number], *self.empty[1:])

    def columns(self, rows: Row) -> Iterator[tuple[NDArray[np.bool_], Ints | int]]:
        """Each word of the rows that is a candidate, with its number."""
        table = _numbers(self._candidates, self.items.d) if self.items.d <= _TABLE else None
        for column in range(rows.shape[1]):
            words = rows[:, column]
            if table is not None:
                number = table[np.minimum(words, np.uint32(self.items.d))].astype(np.int64)
                yield number >= 0, number
            else:
                number = np.minimum(np.searchsorted(self._sorted, words), self.number - 1)
                yield self._sorted[number] == words, number


@lru_cache(maxsize=16)  # and no question keeps one: a round can ask by a thousand lists
def _numbers(candidates: tuple[int, ...], d: int) -> NDArray[np.int32]:
    """For each item, the number of the candidate that it is, or -1."""
    table = np.full(d + 1, -1, np.int32)
    table[list(candidates)] = np.arange(len(candidates))
    return table


class SetsOfItems(CandidateIndex):
    """Sets of items as candidates, of each of which a value must hold all items."""

    def __init__(self, items: ItemsLayout, candidates: Sequence[Sequence[int]]) -> None:
        super().__init__(items)
        self._candidates = sorted(tuple(sorted(of)) for of in candidates)
        self.number = len(candidates)
        smallest = min(len(of) for of in candidates)
        self.most = min(self.number, sum(comb(items.most, size) for size in range(smallest, items.most + 1)))
        self._items = sorted({item for of in candidates for item in of})

    def parameters(self) -> dict[str, Any]:
        """The lists of items."""
        return {"candidates": tuple(self._candidates)}

    def of(self, words: Sequence[int]) -> list[int]:
        """The numbers of the sets whose items are all among the words."""
        among = set(words)
        return [number for number, of in enumerate(self._candidates) if among.issuperset(of)]

    def example(self, number: int) -> tuple[int, ...]:
        """The set of this candidate's items alone."""
        own = self._candidates[number]
        return own + self.empty[len(own) :]

    def columns(self, rows: Row) -> Iterator[tuple[NDArray[np.bool_], Ints | int]]:
        """The holders of each candidate, one candidate after the other."""
        among = {item: (rows == item).any(axis=1) for item in self._items}
        for number, of in enumerate(self._candidates):
            holds = among[of[0]]
            for item in of[1:]:
                holds = holds & among[item]
            yield holds, number


def candidate_index(name: str, items: ItemsLayout, candidates: Candidates | None) -> CandidateIndex:
    """The candidates, if each is an item or a set of items of the layout, once, and all fit a round."""
    if candidates is None:
        return EveryItem(items)
    if not isinstance(candidates, (list, tuple)) or not candidates:
        raise ParameterError(f"{name}: candidates: found {shown(candidates)}; allowed: one or more")
    if len(candidates) > MOST_BYTES // 2 or _bytes(candidates) > MOST_BYTES:
        raise ParameterError(f"{name}: candidates: found more than {MOST_BYTES} bytes; allowed: a shorter list")
    listed: list[Any] = list(candidates)
    if not any(isinstance(one, (list, tuple)) for one in listed):
        _check(name, listed, items)
        return SomeItems(items, listed)
    for one in listed:
        if not isinstance(one, (list, tuple)) or not 1 <= len(one) <= items.most:
            raise ParameterError(f"{name}: candidates: found {shown(one)}; allowed: lists of 1 to {items.most} items")
        _check(name, one, items)
    if len({tuple(sorted(one)) for one in listed}) < len(listed):
        raise ParameterError(f"{name}: candidates: found one twice; allowed: each once")
    if max(len(listed), len({item for one in listed for item in one})) > MOST_SETS:
        raise ParameterError(f"{name}: candidates: found more than {MOST_SETS} sets or items in them; allowed: fewer")
    return SetsOfItems(items, listed)


def _bytes(candidates: Candidates) -> int:
    try:
        return len(orjson.dumps(candidates))
    except TypeError:
        return 0  # what is no number is refused by name


def _check(name: str, found: Sequence[object], items: ItemsLayout) -> None:
    for item in found:
        if isinstance(item, bool) or not isinstance(item, int) or not 0 <= item < items.d:
            raise ParameterError(f"{name}: candidates: found {shown(item)}; allowed: items from 0 to {items.d - 1}")
    if len(set(found)) < len(found):
        raise ParameterError(f"{name}: candidates: found one twice; allowed: each once")
