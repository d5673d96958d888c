# SPDX-License-Identifier: Apache-2.0
"""What every domain offers: how many words a value takes, what they mean, JSON to words and back.

Contract: a domain is plain data and follows from its declaration alone.  Its layout is a plain tuple that says what the
words of a value mean (docs/WIRE.md lists the forms); `codes` turns a parsed JSON value into words or says what is wrong
with it, whatever was sent.  Not here: whole events (events.py), questions about values (randomizers/).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal

import numpy as np
from numpy.typing import NDArray

from murmurate.topics.errors import MappingError

FILLER: Final = 0x7FFFFFFF
"""Stands where a list has no further item: above every item."""
NONE: Final = 0xFFFFFFFE
"""The first word of a user without a value; the others are 0."""
MAX_LISTED: Final = 64
"""Items of a set, at most."""

Wrong = Literal["type", "value", "field"]
Layout = tuple[Any, ...]
Words = tuple[int, ...]
Values = NDArray[np.uint32]
Ranks = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.uint64]]
"""From which row an entry comes, and its item, to its rank: the smallest stay."""


class Codes(ABC):
    """Values to codes or words. A value that has none is a LookupError, a TypeError or a ValueError."""

    @abstractmethod
    def __getitem__(self, value: Any, /) -> int | Words:
        """The code of a value, or its words; of a list with too many items the words of all of them."""

    @abstractmethod
    def wrong(self, value: Any) -> Wrong | None:
        """Why a value has no code; None if it has one."""


@dataclass(frozen=True)
class Domain(ABC):
    """The values that an event may have."""

    coded: ClassVar[bool] = False
    """Whether a value is a single code below a declared number, *none* the last one. All others are rows of words."""

    @property
    def none(self) -> int:
        """The code of a user without a value, where values are codes. MappingError for rows of words."""
        raise MappingError("domain: found rows of words; allowed: only domains of codes have a last one")

    @property
    @abstractmethod
    def words(self) -> int:
        """How many 32-bit words every value takes."""

    @abstractmethod
    def layout(self, none: bool) -> Layout:
        """What the words mean. none: whether a user may have no value."""

    @property
    @abstractmethod
    def initial(self) -> Words:
        """The words of users who have had no valid value yet, in a stream whose values stand for ever and whose file
        declares none.
        """

    @property
    def nothing(self) -> Words:
        """The words of a user who has no value. No event has them."""
        return (NONE, *(0,) * (self.words - 1))

    @abstractmethod
    def codes(self, *, texts: bool = False) -> Codes:
        """Its codes. texts: values come as texts, as in a CSV file."""

    @abstractmethod
    def value(self, row: Any, /) -> Any:
        """The value of an event with this code, or with these words."""

    def encode(self, numbers: NDArray[np.float64]) -> Values | None:
        """The codes of many finite numbers at once, where values are numbers: uint32[n]; else None."""
        return None

    def rows(self, values: Iterable[Any]) -> Values:
        """The words of JSON values: uint32[n, words]. MappingError at the first one that has none."""
        codes, found = self.codes(), list[Words]()
        for place, value in enumerate(values):
            wrong = codes.wrong(value)
            row = None if wrong else codes[value]
            row = (row,) if isinstance(row, int) else row
            if row is None or len(row) != self.words:
                raise MappingError(f"values: place {place}: found {wrong or 'too many items'}; allowed: the domain's")
            found.append(row)
        return np.array(found, np.uint32).reshape(-1, self.words)

    def cut(self, rows: Sequence[Words], ranks: Ranks) -> Values:
        """The words of lists with too many items, of which those of the smallest ranks stay: uint32[n, words]."""
        raise MappingError(f"cut: found {len(rows)} rows too long; allowed: only in domains of lists")


def keep_smallest(rows: Sequence[Words], entry: int, most: int, ranks: Ranks) -> Values:
    """The entries of each row that have the smallest ranks, `most` of them, by item: uint32[n, entry * most]. An entry
    is `entry` words, the item first.
    """
    lengths = np.array([len(row) // entry for row in rows], np.int64)
    words = np.fromiter((word for row in rows for word in row), np.uint32, int(lengths.sum()) * entry)
    entries = words.reshape(-1, entry)
    owner = np.repeat(np.arange(len(rows)), lengths)
    items = entries[:, 0].astype(np.int64)
    order = np.lexsort((items, ranks(owner, items), owner))
    place = np.arange(len(order)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    stay = order[place < most]
    stay = stay[np.lexsort((items[stay], owner[stay]))]
    held = np.minimum(lengths, most)
    at = np.arange(len(stay)) - np.repeat(np.cumsum(held) - held, held)
    found = np.zeros((len(rows), most, entry), np.uint32)
    found[:, :, 0] = FILLER
    found[owner[stay], at] = entries[stay]
    return found.reshape(len(rows), most * entry)


def checked_names(names: Any, what: str, most: int) -> None:
    """MappingError unless these are different texts, from one to so many."""
    if not isinstance(names, tuple) or not 1 <= len(names) <= most or not all(isinstance(name, str) for name in names):
        raise MappingError(f"{what}: found no tuple of texts; allowed: 1 to {most} texts")
    if len(set(names)) != len(names):
        raise MappingError(f"{what}: found one twice; allowed: each once")


def checked_number(found: Any, what: str, low: int, high: int) -> None:
    """MappingError unless this is a whole number in these bounds."""
    if isinstance(found, bool) or not isinstance(found, int) or not low <= found <= high:
        raise MappingError(f"{what}: found {found!r}; allowed: a whole number from {low} to {high}")
