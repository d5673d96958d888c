# SPDX-License-Identifier: Apache-2.0
"""Releases of very many items: those that are named, and the largest of all others.

Contract: an answer tells of every item, and a method follows all of them; a release lists the items that are declared
by name, always, and `top` others, found anew in each release as the largest estimates (ties by the order of items).  To
choose is post-processing and costs no privacy, but of many estimates the largest are too large: an item that is listed
as found says more than noise only beyond the threshold that the release states.  That is as many standard errors as
leave one item that nobody holds to be expected in 44 releases, whatever the number of items (quotients.py).  Nothing is
listed before anything was measured.  Not here: which estimates there are (filters/many.py).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.filters.many import ManyCoordinates, largest
from murmurate.aggregators.measures.items import ItemShares
from murmurate.aggregators.measures.measure import Measure
from murmurate.aggregators.measures.quotients import errors_from_zero
from murmurate.aggregators.measures.result import ChosenItems, Floats, NamedFigures
from murmurate.aggregators.measures.rows import Rows
from murmurate.aggregators.measures.vector import TITLES, ItemNumbers
from murmurate.aggregators.methods.method import Decision
from murmurate.randomizers import Question
from murmurate.topics.domains import Items, Signed
from murmurate.topics.domains.domain import FILLER

TOP: Final = 20
"""The number of largest items that a release lists where the file does not say."""
By = Literal["mean", "share"]
"""Whether the largest have the largest means, by absolute value, or the largest shares of holders."""


class Listing(NamedTuple):
    """Which items a release lists."""

    named: tuple[int, ...] = ()
    """The items that are always listed, by their place among all."""
    top: int = TOP
    """The number of largest others."""
    by: By = "mean"


BY_MEAN: Final = Listing()
BY_SHARE: Final = Listing(by="share")


@dataclass(frozen=True)
class LargestOfMany(Measure):
    """The part of a measure of many items that chooses what a release lists."""

    listed: Listing = BY_MEAN
    """Which items a release lists."""

    @property
    @abstractmethod
    def _every_name(self) -> tuple[str, ...]:
        """The names of all figures of all items, part by part."""

    @cached_property
    def _known_names(self) -> frozenset[str]:
        return frozenset(self._every_name)

    @property
    @abstractmethod
    def _items_count(self) -> int:
        """The number of items."""

    @property
    def _titles(self) -> tuple[str, ...]:
        """The titles of the figures of an item."""
        return ("",)

    @property
    def _parts(self) -> int:
        """The number of figures of an item."""
        return len(self._every_name) // self._items_count

    @property
    def _ranked_by(self) -> int:
        """The part of figures by which items are ranked: means come first, and shares after them or alone."""
        return 1 if self.listed.by == "share" and self._parts > 1 else 0

    # ---- what is declared ----

    @property
    def names(self) -> tuple[str, ...]:
        """None: they are found."""
        return ()

    @property
    def most_names(self) -> int:
        """The figures of the items that are listed."""
        return self._parts * min(self._items_count, len(self.listed.named) + self.listed.top)

    def fits(self, names: Iterable[str]) -> bool:
        """Whether all of these are names of figures."""
        return self._known_names.issuperset(names)

    @property
    def monitored(self) -> tuple[str, ...]:
        """The figures of the items that are named: those of others may not be known."""
        every, d = self._every_name, self._items_count
        return tuple(every[part * d + item] for part in range(self._parts) for item in self.listed.named)

    @property
    def true_names(self) -> tuple[str, ...]:
        """The figures of all items."""
        return self._every_name

    @property
    def scored(self) -> tuple[str, ...]:
        """The first figure of each item; of a release those that it lists are scored."""
        return self._every_name[: self._items_count]

    @property
    def shown(self) -> NDArray[np.int64]:
        """The indices of the statistics behind the first figure of each item."""
        return np.arange(self._items_count)

    @property
    def lists_largest(self) -> bool:
        """Whether a release lists some items of many."""
        return True

    def page(self) -> dict[str, Any]:
        """The page's description, with the kinds of figures by the ends of their names."""
        every, d = self._every_name, self._items_count
        ends = [every[part * d].removeprefix(every[0]) for part in range(self._parts)]
        kinds = [
            {"end": end, "title": title, "number": not self.is_share(every[part * d])}
            for part, (end, title) in enumerate(zip(ends, self._titles, strict=False))
        ]
        named = [every[item] for item in self.listed.named]
        return {**super().page(), "tables": None, "listed": {"kinds": kinds, "named": named}}

    # ---- what is followed ----

    def many(self, question: Question) -> ManyCoordinates:
        """Every item on average, the listed ones and some more closely."""
        d, ranges = self._items_count, self.ranges(question)
        return ManyCoordinates(
            d,
            None if ranges is None else tuple(ranges[part * d] for part in range(question.statistics // d)),
            self.listed.named,
            min(self.listed.top, d - len(self.listed.named)),
            by=self._ranked_by,
            absolute=self.listed.by == "mean",
            beyond=self._beyond,
        )

    @property
    def _beyond(self) -> float:
        """The number of its standard errors that an item which nobody holds exceeds hardly ever."""
        found = max(1, self._items_count - len(self.listed.named))
        return errors_from_zero(2 * found if self.listed.by == "mean" else found)

    # ---- the figures of a release ----

    def _named(
        self, decision: Decision, estimate: Floats, stderr: Floats, course: Floats | None = None
    ) -> NamedFigures:
        """The figures of the items that are listed; of none while nothing was measured."""
        own, d, nothing = decision.vector, self._items_count, np.zeros(0)
        if decision.measured_t is None and own.best is None:
            return NamedFigures((), nothing, nothing, nothing, nothing, found=True)
        ranked = slice(self._ranked_by * d, (self._ranked_by + 1) * d)
        size = np.abs(estimate[ranked]) if self.listed.by == "mean" else estimate[ranked].copy()
        size[np.isnan(size)] = -np.inf
        size[list(self.listed.named)] = -np.inf
        found = largest(size, self.listed.top)
        found = found[np.isfinite(size[found])]
        items = np.append(np.array(self.listed.named, np.int64), found)
        at = (np.arange(self._parts)[:, np.newaxis] * d + items).reshape(-1)
        names, every = tuple(self._every_name[place] for place in at), self._every_name[:d]
        errors = stderr[ranked][found]
        chosen = ChosenItems(
            of=d,
            by=self.listed.by,
            named=tuple(every[item] for item in self.listed.named),
            found=tuple(every[item] for item in found),
            errors=self._beyond,
            threshold=self._beyond * float(np.median(errors)) if len(errors) else None,
        )
        figures = NamedFigures(
            names, estimate[at], stderr[at], own.unbiased[at], np.sqrt(own.measured_variance[at]),
            None if course is None else course[:, at], found=True, chosen=chosen,
        )  # fmt: skip
        return figures if decision.measured_t is not None else figures.unmeasured(estimated=True)


@dataclass(frozen=True)
class LargestNumbers(LargestOfMany, ItemNumbers):
    """The numbers of very many items."""

    domain: Signed

    @property
    def _items_count(self) -> int:
        return self.domain.d

    @property
    def _every_name(self) -> tuple[str, ...]:
        return self._names

    @property
    def _titles(self) -> tuple[str, ...]:
        return TITLES

    def truth(self, counts: Rows) -> Floats:
        """The figures of all items from the row of every user; NaN where there is none."""
        if not len(counts):
            return np.full(len(self._names), np.nan)
        return super().truth(counts)


@dataclass(frozen=True)
class LargestShares(LargestOfMany, ItemShares):
    """The shares of holders of very many items."""

    domain: Items
    listed: Listing = BY_SHARE

    @property
    def _items_count(self) -> int:
        return self.domain.d

    @property
    def _every_name(self) -> tuple[str, ...]:
        return self._names

    def truth(self, counts: Rows) -> Floats:
        """The share of holders of each item, from the row of every user."""
        if not len(counts):
            return np.full(self.domain.d, np.nan)
        silent = self.views[0].of.silent(counts)
        held = np.minimum(counts[~silent], FILLER).reshape(-1)
        return np.asarray(np.bincount(held[held < self.domain.d], minlength=self.domain.d) / len(counts))
