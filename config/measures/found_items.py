# SPDX-License-Identifier: Apache-2.0
"""The table of a stream of items with `find`: which items, or sets of items, many users hold, of very many.

Contract: items are declared by names or by how many there are, which may be more than any release could list.  Not
here: streams whose releases list declared items (items.py), how the search goes (aggregators/methods).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import model_validator

from murmurate.aggregators.measures.found import LEAST, MOST_LISTED, TOP
from murmurate.aggregators.measures.found_items import TOGETHER, Find, FoundItems, largest_of
from murmurate.aggregators.measures.measure import AUTO
from murmurate.aggregators.methods.set_methods import SVIM, SVSM
from murmurate.config.errors import Mistake
from murmurate.config.kinds import Number, Texts, WholeNumber, seen
from murmurate.config.measures.frequency import VALUE
from murmurate.config.measures.many import MAX_ITEMS, declared_items
from murmurate.config.measures.stream import StreamTable
from murmurate.config.quantities import shortest
from murmurate.config.streams import OneOf
from murmurate.topics.domains import Items
from murmurate.topics.domains.domain import FILLER, MAX_LISTED
from murmurate.topics.release_parts import MAX_NAME

USUAL: Final[Mapping[str, str]] = {"items": SVIM.name, "itemsets": SVSM.name}
"""The method that finds these where a file names none."""


class FoundItemsStream(StreamTable):
    """Items, or sets of items, that many users hold, without a list."""

    measured = FoundItems
    measure: Literal["items"]
    """What is measured."""
    find: Annotated[Find, OneOf(*USUAL)]
    """What is looked for: single "items", or "itemsets": also sets of several that users hold together."""
    values: Annotated[tuple[str, ...], Texts(VALUE, 1, MAX_ITEMS)] | None = None
    """The items by name; or else `items`."""
    items: Annotated[int, WholeNumber(1, FILLER)] | None = None
    """How many items there could be, which events call by whole numbers from 0; or else `values`."""
    most: Annotated[int, WholeNumber(1, MAX_LISTED)] = 8
    """How many items of a user are kept; of more, a keyed hash keeps the same ones of them in every period."""
    top: Annotated[int, WholeNumber(1, MOST_LISTED)] = TOP
    """How many names a release has at most; twice as many are candidates in each period."""
    least: Annotated[float, Number(0, 1)] = LEAST
    """The share of users below which nothing is named; 0: whatever stands out from chance is."""
    mechanism: Annotated[str, OneOf(AUTO)] = AUTO
    """"auto": each phase of a search has its own."""

    @model_validator(mode="before")
    @classmethod
    def _has_a_method(cls, found: Any) -> Any:
        """The table with the usual method where it names none."""
        usual = USUAL.get(str(found.get("find"))) if isinstance(found, Mapping) else None
        return found if usual is None or found.get("method") is not None else {**found, "method": usual}

    def statistic(self) -> FoundItems:
        """What is found of its items."""
        return FoundItems(Items(self._known, self.most), self.says_none, top=self.top, least=self.least, find=self.find)

    def meaning(self) -> dict[str, Any]:
        """Its items, how sets are cut, and what is named of what is found."""
        found = {"find": self.find, "top": self.top, "least": repr(self.least)}
        return {"items": self._known, "most": self.most, **found}

    @property
    def initial_code(self) -> None:
        """The domain says what users hold of whom no value was valid yet."""
        return

    @property
    def _known(self) -> tuple[str, ...] | int:
        return self.values if self.values is not None else self.items or 1

    def _mistakes(self) -> Iterator[Mistake]:
        if mistake := declared_items(self.values, self.items):
            yield mistake
            return
        if self.find == "itemsets":
            yield from self._itemset_mistakes()
        if self.season is not None:
            yield Mistake("season", seen(shortest(self.season)), "none, with find")
            return
        yield from super()._mistakes()

    def _itemset_mistakes(self) -> Iterator[Mistake]:
        """What is wrong where sets of several items are to be found, and named by their items."""
        many = self._known if isinstance(self._known, int) else len(self._known)
        if min(self.most, many) < 2:
            key = "most" if self.most < 2 else "values" if self.values is not None else "items"
            yield Mistake(key, seen(self.most if self.most < 2 else many), "2 or more, with find = itemsets")
            return
        names = self.values or ()
        if wrong := [name for name in names if TOGETHER in name]:
            yield Mistake(f"values.{names.index(wrong[0])}", seen(wrong[0]), f'a name without "{TOGETHER}"')
        largest = largest_of(self.find, self.top, min(self.most, many))
        length = sum(sorted(map(len, names))[-largest:]) + len(TOGETHER) * (largest - 1)
        if names and length > MAX_NAME:
            allowed = f"at most {MAX_NAME}, as a set of {largest} items is called by all their names"
            yield Mistake("values", f"names of {length} characters together", allowed)
