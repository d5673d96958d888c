# SPDX-License-Identifier: Apache-2.0
"""Shares of users who hold each of some declared items: what lies in baskets, which places were visited.

Contract: a user holds a set of items and reports one of them, sampled at random, or a dummy that pads the set to `pad`
(randomizers/padding.py): unbiased where nobody holds more than `pad`; each item of a user who holds c > pad of them
counts pad / c times.  Or a mechanism for vectors tells the whole set at once (randomizers/vectors): unbiased for every
set, `pad` plays no part.  Shares do not sum to 1.  A user without a value reports like one with the empty set, so a
release has no "none".  "auto" compares all of them by the exact variance of an item that `pad` / d of the users hold,
and the exact bias where sets of 0 to `most` items are equally frequent, in REPORTS reports.
Source: Wang 2021, 5.3 (Adap, between GRR and OLH); ARCHITECTURE section 5.17.  Not here: items that nobody declared.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.chooser import Prefer
from murmurate.aggregators.measures.result import Floats
from murmurate.aggregators.measures.rows import Rows, quickest, smallest
from murmurate.aggregators.measures.vector_bounds import least_variance
from murmurate.aggregators.measures.vector_ways import is_of_vectors, vector_question
from murmurate.aggregators.measures.wide import WideMeasure
from murmurate.randomizers import Question, Viewed
from murmurate.randomizers.layouts import ItemsLayout
from murmurate.randomizers.layouts import layout as layout_of
from murmurate.randomizers.padding import Padded
from murmurate.randomizers.registry import VECTORS
from murmurate.randomizers.sessions import Holding
from murmurate.randomizers.thresholds import Epsilon
from murmurate.randomizers.views import View
from murmurate.topics.domains import Items
from murmurate.topics.domains.domain import FILLER

PADDED: Final = ("grr", "olh", "oue")
"""The oracles that tell one item of a padded set: one of the first two is best of them, and OUE's reports hold a bit
per item.
"""
REPORTS: Final = 10_000
"""The number of reports for which "auto" weighs bias, which more reports do not lessen, against variance."""
CROWD: Final = 512
"""The number of sets in a synthetic population."""
SPREAD: Final = 0.6180339887498949, 0.41421356237309515
"""Steps of sequences that fill 0 to 1 evenly: from one synthetic set to the next, and within a set."""


@dataclass(frozen=True)
class ItemShares(WideMeasure):
    """Shares of users who hold each item."""

    domain: Items
    pad: int = 1
    """The size up to which a set is padded: users who hold more count for fewer items."""

    name = "items"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the items, or their numbers where they have none."""
        return self._names

    @cached_property
    def _names(self) -> tuple[str, ...]:
        items = self.domain.items
        return tuple(map(str, range(items))) if isinstance(items, int) else items

    @property
    def whole_names(self) -> tuple[str, ...]:
        """The names of the items."""
        return self._names

    @property
    def views(self) -> tuple[View, ...]:
        """The single view, which samples one item of a set, or a dummy."""
        return self._views

    @cached_property
    def _views(self) -> tuple[View, ...]:
        return (Padded(self.layout, self.pad),)

    @property
    def serving(self) -> tuple[str, ...]:
        """The oracles of padded sets, and the mechanisms for vectors, those that ask least of a device first."""
        return (*PADDED, *quickest(VECTORS))

    def choose(self, epsilon: Epsilon, prefer: Prefer = "accuracy") -> Question:
        """The question with the smallest exact error of a share: see the contract for what is assumed of users."""
        return _best(self, epsilon)

    def question(self, name: str, epsilon: Epsilon, prefer: Prefer = "accuracy") -> Question:
        """The question by the mechanism of this name: about the whole set, or about one item of the padded set."""
        if is_of_vectors(name):
            return vector_question(name, self.layout, epsilon)
        return super().question(name, epsilon, prefer)

    def usual_error(self, question: Question) -> float:
        """The variance of one report, and REPORTS times the square of the bias."""
        bias = self.usual_bias if isinstance(question, Viewed) else 0.0
        return self.usual_variance(question, 1) + REPORTS * bias**2

    @property
    def usual_bias(self) -> float:
        """By how much padding makes an item's share too small, where sets of 0 to `most` of all items, each item as
        often as any other, are equally frequent: the mean of what a set has beyond `pad`, over the number of items.
        """
        most = min(self.domain.most, self.domain.d)
        return sum(max(0, size - self.pad) for size in range(most + 1)) / (most + 1) / self.domain.d

    def least_variance(self, name: str, epsilon: Epsilon) -> float:
        """What costly mechanisms never stay below."""
        most = min(self.domain.most, self.domain.d)
        return least_variance(name, most, float(epsilon), min(1.0, self.pad / self.domain.d))

    def ones(self) -> Holding:
        """One coordinate for each item."""
        of = layout_of(self.layout)
        assert isinstance(of, ItemsLayout)  # noqa: S101 - the domain's
        return Holding(of)

    def usual(self, view: View) -> float:
        """The share of an item's holders if users hold `pad` items on average."""
        return min(1.0, self.pad / self.domain.d)

    def true_of(self, rows: Rows) -> NDArray[np.bool_]:
        """Which items each set holds, none for *none*: bool[n, items]."""
        d = self.domain.d
        holds = np.zeros((len(rows), d + 1), np.bool_)  # the last column takes what is no item
        items = np.where(self.views[0].of.silent(rows)[:, np.newaxis], FILLER, rows)
        holds[np.arange(len(rows))[:, np.newaxis], np.minimum(items, d)] = True
        return holds[:, :d]

    def crowd(self) -> tuple[Rows, Floats]:
        """Sets of 0 to `pad` items, all equally frequent; the k-th item is in about 1/k as many sets as the first."""
        return sets(self.domain.d, self.domain.most, min(self.pad, self.domain.d)), np.ones(CROWD)

    def said(self, code: int) -> str:
        """Users who have had no valid value yet count as holding nothing."""
        return "holders of nothing"

    @property
    def what(self) -> str:
        """The largest set of a user, the number of items, and the padding."""
        most = min(self.domain.most, self.domain.d)
        return f"each user's set (up to {most} of {self.domain.d} items)"

    def bias_of(self, question: Question) -> str:
        """An explanation of the bias where a set is padded and may have more items than `pad`."""
        most = min(self.domain.most, self.domain.d)
        if self.pad >= most or not isinstance(question, Viewed):
            return ""
        return (
            f"a user who holds more than pad = {self.pad} items counts for {self.pad} of them, each item in part: "
            f"so shares come out too small (pad = {most} avoids that, with larger errors); where sets of 0 to {most} "
            f'items are equally frequent, which "auto" assumes, by {self.usual_bias:.2g} on average'
        )

    @property
    def called(self) -> tuple[str, str]:
        """The words for items on the page."""
        return "Item", "Items"

    def journey(self) -> tuple[list[str] | list[int], list[str] | list[int]]:
        """No item, and the first one: one change."""
        return [], self.example(0, peak=False)[:1]

    def example(self, mark: int, *, peak: bool) -> list[str] | list[int]:
        """The k-th item is in every (k+1)-th set; in the peak two fifths of the sets also hold the third item (or the
        last).
        """
        d, most = self.domain.d, self.domain.most
        held = [item for item in range(min(d, 98)) if mark % (item + 2) == 0][:most]
        third = min(2, d - 1)
        if peak and mark % 5 < 2 and third not in held:
            held = [third, *held][:most]
        return self.domain.value((*sorted(held), *(FILLER,) * (most - len(held))))


def sets(d: int, most: int, largest: int) -> Rows:
    """The sets of a synthetic population, of 0 to `largest` of d items, filled up to `most`: uint32[CROWD, most]."""
    popular = np.cumsum(1 / np.arange(1.0, d + 1))
    rows = np.full((CROWD, most), FILLER, np.uint32)
    for place in range(CROWD):
        size = place % (largest + 1)
        at = (place * SPREAD[0] + np.arange(4 * size) * SPREAD[1]) % 1
        drawn = np.minimum(np.searchsorted(popular / popular[-1], at, side="right"), d - 1)
        held = list(dict.fromkeys(drawn.tolist()))[:size]
        rows[place, : len(held)] = sorted(held)
    return rows


@lru_cache(maxsize=256)
def _best(measure: ItemShares, epsilon: Epsilon) -> Question:
    return smallest(measure, epsilon)
