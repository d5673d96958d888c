# SPDX-License-Identifier: Apache-2.0
"""The table of a stream that measures which items users hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal

from murmurate.aggregators.measures.items import PADDED, ItemShares
from murmurate.aggregators.measures.largest import LargestShares
from murmurate.aggregators.measures.measure import AUTO
from murmurate.config.errors import Mistake
from murmurate.config.kinds import WholeNumber, seen
from murmurate.config.measures.many import ItemsTable, declared_items
from murmurate.config.measures.wide import WideStream
from murmurate.config.streams import OneOf
from murmurate.randomizers.registry import VECTORS
from murmurate.topics.domains import Items
from murmurate.topics.domains.domain import MAX_LISTED

USUAL_PAD: Final = 4
"""Where the file does not say."""


class ItemsStream(ItemsTable, WideStream):
    """How many users hold each of some declared items."""

    measured = ItemShares
    measure: Literal["items"]
    """What is measured."""
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
    def filled(self) -> int:
        """How many items a set is filled up to."""
        return min(USUAL_PAD, self._largest) if self.pad is None else self.pad

    @property
    def _largest(self) -> int:
        """How many items a set can have."""
        return min(self.most, self._many)

    def statistic(self) -> ItemShares:
        """Shares of holders of its items."""
        of, listed = Items(self.known, self.most), self.listed
        if listed is not None:
            return LargestShares(of, self.says_none, pad=self.filled, listed=listed)
        return ItemShares(of, self.says_none, pad=self.filled)

    def meaning(self) -> dict[str, Any]:
        """Its items, and how sets are cut and filled."""
        return {"items": self.known, "most": self.most, "pad": self.filled, **self._listing()}

    def _mistakes(self) -> Iterator[Mistake]:
        if mistake := declared_items(self.values, self.items):
            yield mistake
            return
        if wrong := list(self._listing_mistakes()):
            yield from wrong
            return
        if self.filled > self._largest:
            limit = "`most`" if self._largest == self.most else "the number of items"
            yield Mistake("pad", seen(self.pad), f"a whole number from 1 to {self._largest}, which is {limit}")
        yield from super()._mistakes()
