"""The table of a stream that measures which items users hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal

from murmurate.aggregators.measures.items import PADDED, ItemShares
from murmurate.aggregators.measures.measure import AUTO
from murmurate.config.errors import Mistake
from murmurate.config.kinds import Texts, WholeNumber, repeated, seen
from murmurate.config.measures.frequency import VALUE
from murmurate.config.measures.wide import WideStream
from murmurate.config.streams import OneOf
from murmurate.randomizers.registry import VECTORS
from murmurate.topics.domains import Items
from murmurate.topics.domains.domain import MAX_LISTED
from murmurate.topics.release_parts import MAX_NAMES

USUAL_PAD: Final = 4
"""Where the file does not say."""


class ItemsStream(WideStream):
    """How many users hold each of some declared items."""

    measured = ItemShares
    measure: Literal["items"]
    """What is measured."""
    values: Annotated[tuple[str, ...], Texts(VALUE, 1, MAX_NAMES)] | None = None
    """The items by name, declared and never inferred from data; or else `items`."""
    items: Annotated[int, WholeNumber(1, MAX_NAMES)] | None = None
    """How many items there are, which events call by whole numbers from 0; or else `values`."""
    most: Annotated[int, WholeNumber(1, MAX_LISTED)] = 8
    """How many items of a user are kept; of more, a keyed hash keeps the same ones of them in every period."""
    pad: Annotated[int, WholeNumber(1, MAX_LISTED)] | None = None
    """How many items a set is filled up to. Errors grow with it, and who holds more items is counted for fewer. Left
    out: 4, or `most` or all items where they are fewer.
    """
    mechanism: Annotated[str, OneOf(AUTO, *PADDED, *sorted(VECTORS))] = AUTO
    """"auto": the one with the smallest exact variance. grr, olh and oue tell one item of a padded set, the others all
    of a set, without regard to `pad`.
    """

    @property
    def known(self) -> tuple[str, ...] | int:
        """The items, or how many there are."""
        return self.values if self.values is not None else self.items or 1

    @property
    def filled(self) -> int:
        """How many items a set is filled up to."""
        return min(USUAL_PAD, self._largest) if self.pad is None else self.pad

    @property
    def _largest(self) -> int:
        """How many items a set can have."""
        return min(self.most, self._many)

    @property
    def _many(self) -> int:
        return self.known if isinstance(self.known, int) else len(self.known)

    def statistic(self) -> ItemShares:
        """Shares of holders of its items."""
        return ItemShares(Items(self.known, self.most), self.says_none, pad=self.filled)

    def meaning(self) -> dict[str, Any]:
        """Its items, and how sets are cut and filled."""
        return {"items": self.known, "most": self.most, "pad": self.filled}

    def _mistakes(self) -> Iterator[Mistake]:
        if mistake := declared_items(self.values, self.items):
            yield mistake
            return
        if self.filled > self._largest:
            limit = "`most`" if self._largest == self.most else "the number of items"
            yield Mistake("pad", seen(self.pad), f"a whole number from 1 to {self._largest}, which is {limit}")
        yield from super()._mistakes()


def declared_items(values: tuple[str, ...] | None, items: int | None) -> Mistake | None:
    """What is wrong with items of which there should be names or a number: neither or both, or a name twice."""
    if (values is None) == (items is None):
        found = "nothing" if values is None else "both values and items"
        return Mistake("values", found, 'either values = ["home", "basket"] or items = 1024')
    if twice := repeated(values or ()):
        return Mistake("values", f"{', '.join(map(seen, twice))} more than once", "each value once")
    return None
