# SPDX-License-Identifier: Apache-2.0
"""The table of a stream that measures numbers of items: of each item a mean, the share of holders and their mean."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal

from murmurate.aggregators.measures.largest import By, LargestNumbers
from murmurate.aggregators.measures.measure import AUTO
from murmurate.aggregators.measures.vector import HELD, OF_HOLDERS, ItemNumbers
from murmurate.aggregators.measures.vector_questions import serving_vectors
from murmurate.config.errors import Mistake
from murmurate.config.kinds import Flag, WholeNumber, seen
from murmurate.config.measures.many import ItemsTable, declared_items
from murmurate.config.streams import OneOf
from murmurate.topics.domains import Signed
from murmurate.topics.domains.domain import MAX_LISTED
from murmurate.topics.release_parts import MAX_NAME

USUAL_MOST: Final = 8
"""How many items of a user are kept where the file does not say."""


class VectorStream(ItemsTable):
    """Numbers from -1 to 1 that users have for some of many items."""

    measured = ItemNumbers
    measure: Literal["vector"]
    """What is measured."""
    most: Annotated[int, WholeNumber(1, MAX_LISTED)] | None = None
    """How many items of a user are kept; of more, a keyed hash keeps the same ones of them in every period. Left out:
    8, or all items where they are fewer. Errors grow with it.
    """
    shares: Annotated[bool, Flag()] = True
    """Whether releases have the share of holders and the mean among holders of each item, besides the mean over all
    users. Without them other mechanisms serve, which are more precise where epsilon is small.
    """
    by: Annotated[Literal["mean", "share"], OneOf("mean", "share")] = "mean"
    """By what the largest items are found where a release does not list every item: their means over all users, by
    absolute value, or their shares of holders.
    """
    mechanism: Annotated[str, OneOf(AUTO, *serving_vectors(shares=True), *serving_vectors(shares=False))] = AUTO
    """"auto": the one with the smallest exact variance of what is told."""

    @property
    def kept(self) -> int:
        """How many items of a user are kept."""
        return min(USUAL_MOST, self._many) if self.most is None else self.most

    @property
    def _figures_each(self) -> int:
        return 3 if self.shares else 1

    @property
    def _by(self) -> By:
        return self.by

    def statistic(self) -> ItemNumbers:
        """Means of its items."""
        of, listed = Signed(self.known, self.kept), self.listed
        if listed is not None:
            return LargestNumbers(of, self.says_none, shares=self.shares, listed=listed)
        return ItemNumbers(of, self.says_none, shares=self.shares)

    def meaning(self) -> dict[str, Any]:
        """Its items, how many of a user are kept, and what is told of them."""
        return {"items": self.known, "most": self.kept, "shares": self.shares, **self._listing()}

    def _mistakes(self) -> Iterator[Mistake]:
        own = list(self._declared())
        yield from own
        if not own:  # else there is no measure to ask more
            yield from super()._mistakes()

    def _declared(self) -> Iterator[Mistake]:
        if mistake := declared_items(self.values, self.items):
            yield mistake
            return
        if wrong := list(self._listing_mistakes()):
            yield from wrong
            return
        if self.by == "share" and not self.shares:
            yield Mistake("by", seen(self.by), "mean, with shares = false")
        if not self.statistic().possible:
            told = "shares of holders" if self.shares else "means alone"
            yield Mistake("shares", seen(self.shares), f"{seen(not self.shares)}: no mechanism tells {told} of them")
        for place, item in enumerate(self.values or ()):
            ends = [end for end in (HELD, OF_HOLDERS) if item.endswith(end)]
            if ends:
                yield Mistake(f"values.{place}", seen(item), f'texts that do not end in "{ends[0]}"')
            elif len(item) > MAX_NAME - len(OF_HOLDERS):
                allowed = f"at most {MAX_NAME - len(OF_HOLDERS)}"
                yield Mistake(f"values.{place}", f"a text of {len(item)} characters", allowed)
