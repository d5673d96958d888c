# SPDX-License-Identifier: Apache-2.0
"""Items, or sets of items, that many users hold, found among more than a release can list.

Contract: a method searches for them (aggregators/methods/set_methods.py).  An item has its own name, or its number; a
set of several has theirs in rising order, joined by " + ".  A share is that of users who hold the item, or all items of
the set: shares do not sum to 1, and a user without a value holds nothing.
Source: Wang 2021, 5.3 and 5.4.  Not here: what a release says of what was found (found.py), declared items (items.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.chooser import Prefer
from murmurate.aggregators.measures.found import FoundMeasure, Values
from murmurate.aggregators.measures.items import ItemShares
from murmurate.aggregators.measures.result import Floats
from murmurate.aggregators.methods.set_questions import candidates_question
from murmurate.randomizers import Question
from murmurate.randomizers.errors import shown
from murmurate.randomizers.thresholds import Epsilon
from murmurate.topics.domains import Items
from murmurate.topics.domains.domain import FILLER, NONE

Find = Literal["items", "itemsets"]
"""What is found: single items, or also sets of several."""
TOGETHER: Final = " + "
"""Between the items in the name of a set."""


def largest_of(find: Find, top: int, most: int) -> int:
    """The largest number of items in a name. most: how many items a user can hold. Of sets it is below the logarithm of
    `top` to base 2 (Wang 2021), but 2 at least.

    >>> largest_of("items", 32, 8), largest_of("itemsets", 32, 8), largest_of("itemsets", 3, 8)
    (1, 4, 2)
    """
    return 1 if find == "items" else min(most, max(2, (top - 1).bit_length() - 1))


@dataclass(frozen=True)
class FoundItems(FoundMeasure):
    """Shares of users who hold items, or sets of items, that nobody listed."""

    domain: Items
    find: Find = "items"
    """What is found."""

    name = "items"

    # ---- what is declared ----

    @property
    def d(self) -> int:
        """The number of items."""
        return self.domain.d

    @property
    def largest(self) -> int:
        """The largest number of items in a name."""
        return largest_of(self.find, self.top, min(self.domain.most, self.domain.d))

    @property
    def serving(self) -> tuple[str, ...]:
        """No mechanism by name: a search has one for each of its phases."""
        return ()

    def choose(self, epsilon: Epsilon, prefer: Prefer = "accuracy") -> Question:
        """The question that looks for candidates."""
        return candidates_question(self.layout, 1, 2 * self.top, epsilon)

    # ---- names ----

    @property
    def nothing(self) -> Values:
        """No rows of items: uint32[0, largest]."""
        return np.zeros((0, self.largest), np.uint32)

    def names_of(self, values: Values) -> tuple[str, ...]:
        """The names of items, of which FILLER is none, side by side.

        >>> FoundItems(Items(("bread", "tea", "milk"), 2), find="itemsets").names_of(np.array([[0, 2], [1, FILLER]]))
        ('bread + milk', 'tea')
        """
        return tuple(TOGETHER.join(map(str, self.domain.value(tuple(row)))) for row in values.tolist())

    def values_of(self, names: Sequence[str]) -> Values:
        """The rows of items of these names: uint32[names, largest]."""
        rows = np.full((len(names), self.largest), FILLER, np.uint32)
        for row, name in zip(rows, names, strict=True):
            items = [self._number(part) for part in (name.split(TOGETHER) if self.largest > 1 else [name])]
            if len(items) > self.largest or not all(a < b for a, b in pairwise(items)):
                raise ValueError(f"found {shown(name)}; allowed: up to {self.largest} items in rising order")
            row[: len(items)] = items
        return rows

    def _number(self, name: str) -> int:
        """The item of this name; ValueError where there is none."""
        if not isinstance(self.domain.items, int):
            number = self._numbers.get(name, -1)
        else:
            number = int(name) if name.isascii() and name.isdigit() and len(name) <= 10 else -1
            number = number if str(number) == name and number < self.domain.items else -1
        if number < 0:
            raise ValueError(f"found {shown(name)}; allowed: items of the stream")
        return number

    @cached_property
    def _numbers(self) -> dict[str, int]:
        items = self.domain.items
        return {} if isinstance(items, int) else {name: number for number, name in enumerate(items)}

    # ---- what is true ----

    def true_shares(self, rows: Values, counts: NDArray[np.int64], values: Values) -> Floats:
        """The exact share of users who hold all items of each value: float64[values]; NaN without any user."""
        users = int(counts.sum())
        if not users:
            return np.full(len(values), np.nan)
        return np.array([int(counts[holders].sum()) / users for holders in self._holders(rows, values)], np.float64)

    def _holders(self, rows: Values, values: Values) -> Iterator[NDArray[np.int64]]:
        """For each value the places of the rows that hold it; of a row only wanted items are looked at, and of users
        without a value nothing.
        """
        wanted = np.unique(values)
        says = rows[:, :1] != NONE
        place, column = np.nonzero(np.isin(rows, wanted[wanted != FILLER]) & says)
        item = rows[place, column]
        order = np.argsort(item, kind="stable")
        place, item = place[order], item[order]
        for value in values:
            held = value[value != FILLER]
            first = np.searchsorted(item, held), np.searchsorted(item, held, side="right")
            each = [place[start:end] for start, end in zip(*first, strict=True)]
            common = each[0]
            for more in each[1:]:
                common = np.intersect1d(common, more, assume_unique=True)
            yield common

    # ---- descriptions in words ----

    @property
    def what(self) -> str:
        """What is looked for, and in how large sets of how many items."""
        most, d = min(self.domain.most, self.domain.d), self.domain.d
        sought = "items" if self.find == "items" else "items and sets of items"
        return f"the {self.top} most frequent {sought} of each user's set (up to {most} of {d} items)"

    def said(self, code: int) -> str:
        """Users who have had no valid value yet count as holding nothing."""
        return "holders of nothing"

    @property
    def called(self) -> tuple[str, str]:
        """The words for what is found on the page."""
        return ("Item", "Items") if self.find == "items" else ("Set", "Sets")

    def journey(self) -> tuple[list[str] | list[int], list[str] | list[int]]:
        """No item, and the first one."""
        return self._declared.journey()

    def example(self, mark: int, *, peak: bool) -> list[str] | list[int]:
        """The sets of synthetic users, as of declared items."""
        return self._declared.example(mark, peak=peak)

    @property
    def _declared(self) -> ItemShares:
        return ItemShares(self.domain, self.says_none)
