# SPDX-License-Identifier: Apache-2.0
"""Vectors with few entries: items, and a number from -1 to 1 for each.

Contract: an event says an object from items to numbers.  Its words are pairs, rising by item: the item's number, and
round(65 536 x) + 65 536; filled with (FILLER, 0).  An entry that rounds to 0 is an absent item.  Of more than `most`
entries `codes` gives all, and `cut` those that stay.  A number outside the range makes the whole value wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from murmurate.topics.domains import tables
from murmurate.topics.domains.domain import (
    FILLER,
    Codes,
    Words,
    Wrong,
)
from murmurate.topics.domains.grid import NUMBER
from murmurate.topics.domains.items import Listed, numbering, wrong_by_error

ONE: Final = 1 << 16
"""What the number 1 is; 0 stands at ONE, -1 at 0."""


@dataclass(frozen=True)
class Signed(Listed):
    """Vectors. items: names, or how many whole numbers from 0 there are, written as digits. most: entries that count.

    >>> Signed(("speed", "price"), 2).codes()[{"price": -0.5}]
    (1, 32768, 2147483647, 0)
    """

    called = "signed"
    entry = 2

    @property
    def initial(self) -> Words:
        """The words of users who have had no valid value yet, in a stream whose values stand for ever: no entry."""
        return (FILLER, 0) * self.most

    def codes(self, *, texts: bool = False) -> Codes:
        """Their codes. texts: objects stand in cells."""
        return _Vectors(self, texts=texts)

    def value(self, row: Words, /) -> dict[str, float]:
        """The value of an event with these words."""
        pairs = [(int(item), int(number)) for item, number in zip(row[::2], row[1::2], strict=True) if item != FILLER]
        names = [str(item) if isinstance(self.items, int) else self.items[item] for item, _ in pairs]
        return {name: (number - ONE) / ONE for name, (_, number) in zip(names, pairs, strict=True)}


class _Vectors(Codes):
    """The words of objects."""

    def __init__(self, domain: Signed, *, texts: bool) -> None:
        self._texts, self._fill = texts, (FILLER, 0) * domain.most
        self._number = numbering(domain.items, texts=True)  # the names of JSON's members are texts

    def __getitem__(self, value: Any, /) -> Words:
        """The words of an object."""
        if self._texts:
            value = tables.members(value, name_last=True)
        if type(value) is not dict:
            raise TypeError
        found: list[int] = []
        for item, number in sorted(zip(map(self._number, value), value.values(), strict=True), key=_item):
            if self._texts and type(number) is str and NUMBER.fullmatch(number):
                number = float(number)
            if type(number) is not float and type(number) is not int:
                raise TypeError
            if not -1 <= number <= 1:
                raise ValueError
            if cell := round(number * ONE):
                found += (item, cell + ONE)
        return (*found, *self._fill[len(found) :])

    def wrong(self, value: Any) -> Wrong | None:
        """No object, or an entry that is no number; or an item that is unknown, or a number outside the range."""
        return wrong_by_error(self.__getitem__, value)


def _item(pair: tuple[int, Any]) -> int:
    return pair[0]
