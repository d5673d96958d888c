# SPDX-License-Identifier: Apache-2.0
"""Numbers of items that users hold: ratings, votes, changes of balances; of each item three figures.

Contract: a user holds some items, each with a number from -1 to 1 (0 counts as not held), and one report tells of all
of them (randomizers/vectors).  "jam" is the mean of its numbers over all users, with 0 for who does not hold it; "jam
present" the share of holders; "jam mean of holders" their quotient, with the standard error of a ratio, NaN unless the
share is significantly above 0 among as many as there are items.  With `shares` false the first figure stands alone,
told by mechanisms that tell nothing else.  A user without a value reports like one who holds nothing.
Source: ARCHITECTURE section 5.17.  Not here: errors of quotients (quotients.py), sets without numbers (items.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.chooser import Prefer
from murmurate.aggregators.measures.items import CROWD, sets
from murmurate.aggregators.measures.measure import AUTO, Range, stands
from murmurate.aggregators.measures.quotients import MeasuredPair, quotients
from murmurate.aggregators.measures.result import Floats, NamedFigures
from murmurate.aggregators.measures.rows import RowMeasure, Rows, smallest
from murmurate.aggregators.measures.vector_bounds import least_variance
from murmurate.aggregators.measures.vector_questions import serving_vectors, telling_question, told_variance
from murmurate.aggregators.methods.method import Decision, Estimate
from murmurate.aggregators.postprocess.shaping import NORM_SUB, Shaping
from murmurate.randomizers import Question
from murmurate.randomizers.layouts import layout
from murmurate.randomizers.thresholds import Epsilon
from murmurate.randomizers.vectors import SparseOracle
from murmurate.topics.domains import Signed
from murmurate.topics.domains.domain import FILLER
from murmurate.topics.domains.signed import ONE

HELD: Final = " present"
"""The end of the name of a share of holders."""
OF_HOLDERS: Final = " mean of holders"
"""The end of the name of a mean among holders."""
TITLES: Final = "Mean of all users", "Share of holders", "Mean of holders"
"""The kinds of figures, in the order of their names."""
WHOLE: Final[Range] = (-1.0, 1.0)
"""The range of a number."""


@dataclass(frozen=True)
class ItemNumbers(RowMeasure):
    """The mean of each item's numbers, the share of its holders, and the mean among them."""

    domain: Signed
    shares: bool = True
    """Whether shares of holders, and means among them, are told besides means over all users."""

    name = "vector"
    all_shares = False
    zero_stands = False

    @property
    def items(self) -> tuple[str, ...]:
        """The names of the items, or their numbers where they have none."""
        return self._items

    @cached_property
    def _items(self) -> tuple[str, ...]:
        items = self.domain.items
        return tuple(map(str, range(items))) if isinstance(items, int) else items

    @property
    def names(self) -> tuple[str, ...]:
        """The means over all users, then the shares of holders, then the means among holders."""
        return self._names

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(item + end for end in (("", HELD, OF_HOLDERS) if self.shares else ("",)) for item in self.items)

    @property
    def whole_names(self) -> tuple[str, ...]:
        """The means over all users, then the shares of holders."""
        return self._names[: self.statistics]

    @property
    def scored(self) -> tuple[str, ...]:
        """The means over all users: their errors count."""
        return self.items

    @property
    def statistics(self) -> int:
        """The number of statistics that a method follows: means over all users, and shares of holders."""
        return self.domain.d * (2 if self.shares else 1)

    @property
    def shown(self) -> NDArray[np.int64]:
        """The indices of the means."""
        return np.arange(self.domain.d)

    @property
    def axis(self) -> Range:
        """From -1 to 1."""
        return WHOLE

    def limits(self, name: str) -> Range:
        """From -1 to 1, of a share from 0."""
        return (0.0, 1.0) if self.is_share(name) else WHOLE

    def is_share(self, name: str) -> bool:
        """Whether the name ends as those of shares do, which no item's own name does."""
        return name.endswith(HELD)

    # ---- which questions devices get ----

    @property
    def serving(self) -> tuple[str, ...]:
        """The mechanisms that tell what this measure does, those that ask least of a device first."""
        return serving_vectors(shares=self.shares)

    def choose(self, epsilon: Epsilon, prefer: Prefer = "accuracy") -> Question:
        """The question with the smallest exact variance of what is told where users hold `most` items."""
        return _best(self, epsilon)

    def question(self, name: str, epsilon: Epsilon, prefer: Prefer = "accuracy") -> Question:
        """The question by the mechanism of this name."""
        if name == AUTO:
            return self.choose(epsilon, prefer)
        return telling_question(name, self.layout, epsilon, shares=self.shares)

    def usual_variance(self, question: Question, n: int) -> float:
        """The mean variance of means of signs, and of shares where they are told, where users hold `most` items."""
        return told_variance(question) / n

    def least_variance(self, name: str, epsilon: Epsilon) -> float:
        """What costly mechanisms never stay below."""
        most = min(self.domain.most, self.domain.d)
        return least_variance(name, most, float(epsilon), most / self.domain.d)

    def ranges(self, question: Question) -> Sequence[Range]:
        """From -1 to 1 for means, from 0 to 1 for shares."""
        return (WHOLE,) * self.domain.d + ((0.0, 1.0),) * (self.statistics - self.domain.d)

    # ---- the figures of a release ----

    def result(self, decision: Decision, shaping: Shaping = NORM_SUB) -> NamedFigures:
        """The three figures of each item, each within its limits."""
        standing, vector = stands(decision), decision.vector
        if not self.shares:
            error = np.sqrt(standing.variance)
            return self._named(decision, np.clip(standing.statistics, -1, 1), error, standing.course)
        asked, own = decision.question, Estimate(decision.t, vector.unbiased, vector.measured_variance)
        assert isinstance(asked, SparseOracle)  # noqa: S101 - of what else would there be shares
        newest = MeasuredPair(asked, vector.measured_variance, vector.answer, vector.users)
        mean, error = quotients(newest, standing, filtered=vector.best is not None)
        own_mean, own_error = quotients(newest, own, filtered=False)
        means, shares = np.split(standing.statistics, 2)
        course = standing.course
        return self._named(
            decision.with_vector(
                unbiased=np.append(vector.unbiased, own_mean),
                own_variance=np.append(vector.measured_variance, own_error**2),
            ),
            np.concatenate((np.clip(means, -1, 1), np.clip(shares, 0, 1), np.clip(mean, -1, 1))),
            np.append(np.sqrt(standing.variance), error),
            None if course is None else np.hstack((course, _course_of_holders(course))),
        )

    def means(self, decision: Decision) -> tuple[Floats, Floats]:
        """The method's means over all users and those of a release, once something was measured: without the means
        among holders, which take longer than all else.
        """
        means = slice(self.domain.d)
        return decision.vector.unbiased[means], np.clip(stands(decision).statistics[means], -1, 1)

    def true_of(self, rows: Rows) -> Floats:
        """The number of each item, 0 where it is not held, and then 1 or 0 for whether it is: [n, statistics]."""
        d = self.domain.d
        numbers, holds = np.zeros((len(rows), d + 1)), np.zeros((len(rows), d + 1))  # the last one: what is no item
        items, of = self._entries(rows)
        at = np.arange(len(rows))[:, np.newaxis], np.minimum(items, d)
        numbers[at], holds[at] = of, 1
        return np.hstack((numbers[:, :d], holds[:, :d])) if self.shares else numbers[:, :d]

    def truth(self, counts: Rows) -> Floats:
        """The figures from the row of every user; of an item that nobody holds the mean among holders is NaN."""
        d, n = self.domain.d, len(counts)
        if not n:
            return np.full(len(self.names), np.nan)
        items, numbers = self._entries(counts)
        places = np.minimum(items, d).reshape(-1)
        total = np.bincount(places, numbers.reshape(-1), minlength=d + 1)[:d]
        if not self.shares:
            return np.asarray(total / n)
        held = np.bincount(places, minlength=d + 1)[:d]
        among = np.divide(total, held, out=np.full(d, np.nan), where=held > 0)
        return np.concatenate((total / n, held / n, among))

    def _entries(self, rows: Rows) -> tuple[Rows, Floats]:
        """The items of each row, all fillers for *none*, and their numbers, 0 beside a filler."""
        silent = layout(self.layout).silent(rows)[:, np.newaxis]
        items = np.where(silent, FILLER, rows[:, ::2]).astype(np.uint32)
        return items, np.where(items == FILLER, 0.0, (rows[:, 1::2].astype(np.float64) - ONE) / ONE)

    # ---- descriptions in words ----

    @property
    def moving(self) -> str:
        """The words for what moves in a synthetic truth."""
        return "each mean"

    def scale(self, stream: str) -> str:
        """Numbers from -1 to 1, which are comparable."""
        return "mean of numbers from -1 to 1"

    @property
    def what(self) -> str:
        """The largest vector of a user, and the number of items."""
        held = min(self.domain.most, self.domain.d)
        figures = "mean, share and mean of holders" if self.shares else "mean"
        return f"each user's numbers (of up to {held} of {self.domain.d} items): {figures} of each"

    @property
    def brief(self) -> str:
        """The name, and the number of items."""
        return f"{self.name} of {self.domain.d} items"

    def said(self, code: int) -> str:
        """Users who have had no valid value yet count as holding nothing."""
        return "holders of nothing"

    @property
    def called(self) -> tuple[str, str]:
        """The words for figures on the page."""
        return "Figure", "Figures"

    def page(self) -> dict[str, Any]:
        """The page's description, with a table for each kind of figure, whose rows are consecutive names."""
        titles = TITLES[: len(self.names) // self.domain.d]
        return {**super().page(), "tables": [{"title": title, "cells": self.domain.d} for title in titles]}

    # ---- synthetic values ----

    def crowd(self) -> tuple[Rows, Floats]:
        """Up to `most` items, the k-th in about 1/k as many vectors as the first, each with numbers around its own."""
        items = sets(self.domain.d, self.domain.most, min(self.domain.most, self.domain.d))
        place = np.arange(CROWD)[:, np.newaxis] * 0.7548776662466927 % 1  # fills 0 to 1 evenly
        number = np.clip(0.7 * np.cos(2.4 * items) + 0.6 * (place - 0.5), -1, 1)
        steps = np.rint(number * ONE).astype(np.int64)
        steps[steps == 0] = 1
        rows = np.stack((items, np.where(items == FILLER, 0, steps + ONE)), axis=2).reshape(CROWD, -1)
        return rows.astype(np.uint32), np.ones(CROWD)

    def example(self, mark: int, *, peak: bool) -> dict[str, float]:
        """The k-th item is in every (k+1)-th vector; in the peak the first item's numbers are higher."""
        held = [item for item in range(min(self.domain.d, 98)) if mark % (item + 2) == 0][: self.domain.most]
        numbers = {item: (-0.4, 0.8, 0.5, -0.8)[item % 4] + (mark % 5 - 2) / 10 for item in held}
        if peak and 0 in numbers:
            numbers[0] += 1.2
        return {self.items[item]: round(number, 2) for item, number in numbers.items()}


def _course_of_holders(course: Floats) -> Floats:
    """The mean and variance of the means among holders so far, from those of means and shares as if shares had been
    constant; mean 0 and variance 1 where nobody held the item.
    """
    (means, shares), (of_means, of_shares) = (np.split(row, 2) for row in course)
    held = shares > 0
    share = np.where(held, shares, 1.0)
    mean = means / share
    moved = (of_means + mean**2 * of_shares) / share**2
    return np.stack((np.where(held, np.clip(mean, -1, 1), 0.0), np.where(held, moved, 1.0)))


@lru_cache(maxsize=256)
def _best(measure: ItemNumbers, epsilon: Epsilon) -> Question:
    return smallest(measure, epsilon)
