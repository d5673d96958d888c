# SPDX-License-Identifier: Apache-2.0
"""What tables of streams of items share: which items there are, and which of very many a release lists.

Contract: where all figures of all items fit a release, it has all of them, unless `top` or `named` says otherwise;
where they do not, it lists those that are named and the largest others.  Not here: what is measured of an item.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Final

from murmurate.aggregators.measures.largest import TOP, By, Listing
from murmurate.config.errors import Mistake, NotAllowedError
from murmurate.config.kinds import Kind, Texts, WholeNumber, repeated, seen
from murmurate.config.measures.frequency import VALUE
from murmurate.config.measures.wide import RowStream
from murmurate.config.quantities import shortest
from murmurate.topics.release_parts import MAX_LISTED_ITEMS, MAX_NAMES

MAX_ITEMS: Final = 1 << 16
"""The most items of a stream: an answer's counts of all of them travel, and are followed."""


class ItemNames(Kind):
    """A list of items, by name or by number; from the environment as JSON no list can come."""

    @property
    def allowed(self) -> str:
        """How many, and how they are said."""
        return f"a list of 1 to {MAX_LISTED_ITEMS} items, by name or by number"

    @property
    def schema(self) -> dict[str, Any]:
        """An array of texts or of whole numbers."""
        return {
            "type": "array", "items": {"type": ["string", "integer"]}, "minItems": 1, "maxItems": MAX_LISTED_ITEMS,
        }  # fmt: skip

    def read(self, found: Any) -> tuple[str, ...]:
        """The names, numbers as their digits."""
        if not isinstance(found, (list, tuple)) or not 1 <= len(found) <= MAX_LISTED_ITEMS:
            raise ValueError
        wrong = [
            Mistake(str(place), seen(item), "a text or a whole number")
            for place, item in enumerate(found)
            if isinstance(item, bool) or not isinstance(item, (str, int))
        ]
        if wrong:
            raise NotAllowedError(*wrong)
        return tuple(map(str, found))


class ItemsTable(RowStream):
    """What streams of items share."""

    values: Annotated[tuple[str, ...], Texts(VALUE, 1, MAX_ITEMS)] | None = None
    """The items by name, declared and never inferred from data; or else `items`."""
    items: Annotated[int, WholeNumber(1, MAX_ITEMS)] | None = None
    """How many items there are, which events call by whole numbers from 0; or else `values`."""
    top: Annotated[int, WholeNumber(1, MAX_LISTED_ITEMS)] | None = None
    """The number of largest items that a release lists, besides those that are `named`. Left out: 20 where all items do
    not fit a release, which has 4 096 figures at most, or where some are named; else all items are in it.
    """
    named: Annotated[tuple[str, ...], ItemNames()] | None = None
    """Items that are in every release, however small. Only these can have thresholds where not all items are."""

    @property
    def known(self) -> tuple[str, ...] | int:
        """The items, or how many there are."""
        return self.values if self.values is not None else self.items or 1

    @property
    def _many(self) -> int:
        return self.known if isinstance(self.known, int) else len(self.known)

    @property
    def _figures_each(self) -> int:
        """The number of figures of an item."""
        return 1

    @property
    def _by(self) -> By:
        return "share"

    @property
    def listed(self) -> Listing | None:
        """What a release lists, where it does not list every item."""
        if self.top is None and self.named is None and self._figures_each * self._many <= MAX_NAMES:
            return None
        return Listing(tuple(map(self._place, self.named or ())), TOP if self.top is None else self.top, self._by)

    def _listing(self) -> dict[str, Any]:
        """What is listed, as a part of what releases mean; nothing where every item is."""
        found = self.listed
        return {} if found is None else {"listed": [*found.named], "top": found.top, "by": found.by}

    def _place(self, name: str) -> int:
        """The place of an item among all; ValueError where there is none of that name."""
        if isinstance(self.known, tuple):
            return self.known.index(name)
        number = int(name) if name.isascii() and name.isdigit() and len(name) < 10 else -1
        if str(number) != name or number >= self.known:
            raise ValueError(name)
        return number

    def _unknown(self) -> Iterator[tuple[int, str]]:
        known = set(self.known) if isinstance(self.known, tuple) else set(map(str, range(self.known)))
        yield from ((place, name) for place, name in enumerate(self.named or ()) if name not in known)

    def _listing_mistakes(self) -> Iterator[Mistake]:
        """What is wrong with which items are listed."""
        if wrong := list(self._unknown()):
            first, last = (
                (self.known[0], self.known[-1]) if isinstance(self.known, tuple) else ("0", str(self._many - 1))
            )
            for place, name in wrong:
                yield Mistake(f"named.{place}", seen(name), f"items of the stream: {first} ... {last}")
            return
        if twice := repeated(self.named or ()):
            yield Mistake("named", f"{', '.join(map(seen, twice))} more than once", "each item once")
            return
        if (listed := self.listed) is None:
            return
        if len(listed.named) + listed.top > MAX_LISTED_ITEMS:
            key = "top" if self.top is not None else "named"
            found = f"{listed.top} largest and {len(listed.named)} named items"
            yield Mistake(key, found, f"at most {MAX_LISTED_ITEMS} together")
        why = "only where a release has every item: without top and named"
        if self._figures_each * self._many > MAX_NAMES:
            why = f"only where a release has every item, up to {MAX_NAMES // self._figures_each} of them"
        if self.method.revise:
            yield Mistake("method.revise", seen(self.method.revise), why)
        if self.season is not None:
            yield Mistake("season", seen(shortest(self.season)), why)


def declared_items(values: tuple[str, ...] | None, items: int | None) -> Mistake | None:
    """What is wrong with items of which there should be names or a number: neither or both, or a name twice."""
    if (values is None) == (items is None):
        found = "nothing" if values is None else "both values and items"
        return Mistake("values", found, 'either values = ["home", "basket"] or items = 1024')
    if twice := repeated(values or ()):
        return Mistake("values", f"{', '.join(map(seen, twice))} more than once", "each value once")
    return None
