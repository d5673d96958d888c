# SPDX-License-Identifier: Apache-2.0
"""Sets of declared items, or of whole numbers.

Contract: an event says a list of items in any order.  Its words are the items' numbers, rising, filled with FILLER to
`most`; of a longer list `codes` gives the words of all, and `cut` those that stay.  The empty list is a value.  An item
that nobody declared, one that stands there twice or one of another type makes the whole value wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from murmurate.topics.domains import tables
from murmurate.topics.domains.domain import (
    FILLER,
    MAX_LISTED,
    Codes,
    Domain,
    Layout,
    Ranks,
    Values,
    Words,
    Wrong,
    checked_names,
    checked_number,
    keep_smallest,
)

MAX_ITEMS: Final = FILLER
MAX_NAMED: Final = 1 << 24
_DIGITS = re.compile(r"0|[1-9][0-9]{0,9}", re.ASCII)


@dataclass(frozen=True)
class Listed(Domain):
    """A few of many items, by name or by number."""

    items: tuple[str, ...] | int
    most: int
    called: ClassVar[str]
    """What a layout and an error call it."""
    entry: ClassVar[int]
    """Words an item."""

    def __post_init__(self) -> None:
        check_items(self.items)
        checked_number(self.most, f"{self.called}: most", 1, MAX_LISTED)

    @property
    def d(self) -> int:
        """How many items there are."""
        return self.items if isinstance(self.items, int) else len(self.items)

    @property
    def words(self) -> int:
        """Those of so many items."""
        return self.entry * self.most

    def layout(self, none: bool) -> Layout:
        """What it is called, how many items there are, how many count."""
        return (self.called, self.d, self.most, int(none))

    def cut(self, rows: Sequence[Words], ranks: Ranks) -> Values:
        """Those of the smallest ranks."""
        return keep_smallest(rows, self.entry, self.most, ranks)


@dataclass(frozen=True)
class Items(Listed):
    """Sets. items: their names, or how many whole numbers from 0 there are. most: how many of them count.

    >>> Items(("home", "basket", "help"), 2).codes()[["help", "home"]], Items(10, 3).codes()[[7]]
    ((0, 2), (7, 2147483647, 2147483647))
    """

    called = "items"
    entry = 1

    @property
    def initial(self) -> Words:
        """The words of users who have had no valid value yet, in a stream whose values stand for ever: those of the
        empty set.
        """
        return (FILLER,) * self.most

    def codes(self, *, texts: bool = False) -> Codes:
        """Their codes. texts: lists stand in cells."""
        return _Sets(self, texts=texts)

    def value(self, row: Words, /) -> list[str] | list[int]:
        """The value of an event with these words."""
        numbers = [int(word) for word in row if word != FILLER]
        return numbers if isinstance(self.items, int) else [self.items[number] for number in numbers]


class _Sets(Codes):
    """The words of lists."""

    def __init__(self, domain: Items, *, texts: bool) -> None:
        self._texts, self._fill = texts, (FILLER,) * domain.most
        self._number = numbering(domain.items, texts=texts)

    def __getitem__(self, value: Any, /) -> Words:
        """The words of a list."""
        if self._texts:
            value = tables.listed(value)
        if type(value) is not list:
            raise TypeError
        numbers = set(map(self._number, value))
        if len(numbers) != len(value):
            raise ValueError
        return (*sorted(numbers), *self._fill[len(numbers) :])

    def wrong(self, value: Any) -> Wrong | None:
        """No list, or an item of a wrong type; or one that is unknown or there twice."""
        return wrong_by_error(self.__getitem__, value)


def check_items(items: Any) -> None:
    """MappingError unless these are names, or a number of items."""
    if isinstance(items, int):
        checked_number(items, "items", 1, MAX_ITEMS)
    else:
        checked_names(items, "items", MAX_NAMED)


def numbering(items: tuple[str, ...] | int, *, texts: bool) -> Callable[[Any], int]:
    """From an item to its number; TypeError of another type, LookupError or ValueError of an unknown one.
    texts: numbers may come as their decimal digits.
    """
    if isinstance(items, int):
        return _Numbers(items, texts=texts).__getitem__
    return _Names({name: number for number, name in enumerate(items)}).__getitem__


class _Names(dict[str, int]):
    """Declared names. Only what is none comes to `__missing__`."""

    def __missing__(self, name: object) -> int:
        raise LookupError if type(name) is str else TypeError


class _Numbers:
    """Whole numbers below d."""

    def __init__(self, d: int, *, texts: bool) -> None:
        self._d, self._texts = d, texts

    def __getitem__(self, item: Any) -> int:
        if type(item) is str and self._texts:
            if not _DIGITS.fullmatch(item):
                raise ValueError
            item = int(item)
        if type(item) is not int:
            raise TypeError
        if not 0 <= item < self._d:
            raise ValueError
        return item


def wrong_by_error(codes: Callable[[Any], object], value: Any) -> Wrong | None:
    """The kind of fault that an error of the lookup stands for: a wrong type, or no value of the domain."""
    try:
        codes(value)
    except TypeError:
        return "type"
    except (LookupError, ValueError):
        return "value"
    return None
