# SPDX-License-Identifier: Apache-2.0
"""The common part of measures whose names nobody knows beforehand: methods search for the values that many users hold.

Contract: a release names the values that were found or are still followed, at most `top`, with the share of users who
hold each, and says how they were found (`FoundNames`); it may name none.  No value is named whose measured share was
below `least` when it was found.  A name stands for exactly one value, and `values_of` gives it back.  The truth is the
exact share among the rows of all users, for replays alone.  Planning predicts no search.
Not here: what is searched for (found_strings.py, found_items.py), how (aggregators/methods/finding.py).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.measures.measure import Measure
from murmurate.aggregators.measures.result import Floats, FoundNames, NamedFigures
from murmurate.aggregators.methods.method import Decision, FoundValues
from murmurate.aggregators.postprocess.shaping import NORM_SUB, Shaping
from murmurate.topics.release_parts import MAX_LISTED_ITEMS

TOP: Final = 32
"""How many values a release lists at most, where a file does not say."""
LEAST: Final = 0.001
"""The share below which nothing is named, where a file does not say."""
MOST_LISTED: Final = MAX_LISTED_ITEMS
Values = NDArray[np.uint32]
"""Codes uint32[k], or rows of words uint32[k, words]."""


@dataclass(frozen=True)
class FoundMeasure(Measure):
    """Shares of users who hold each of the values that were found."""

    top: int = TOP
    """The largest number of values in a release."""
    least: float = LEAST
    """The share below which nothing is named; 0: none."""

    ranked: ClassVar[bool] = True
    keeps_answers: ClassVar[bool] = False
    takes_a_crowd: ClassVar[bool] = True

    # ---- what a kind defines ----

    @property
    @abstractmethod
    def nothing(self) -> Values:
        """No values, in the form that a search gives: uint32[0] or uint32[0, words]."""

    @abstractmethod
    def names_of(self, values: Values) -> tuple[str, ...]:
        """The name of each value in a release."""

    @abstractmethod
    def values_of(self, names: Sequence[str]) -> Values:
        """The values of these names; ValueError where one is no name of a value."""

    @abstractmethod
    def true_shares(self, rows: Values, counts: NDArray[np.int64], values: Values) -> Floats:
        """The exact share of users who hold each value, where so many users have each of these different rows."""

    # ---- what all of them say ----

    @property
    def names(self) -> tuple[str, ...]:
        """None: they are found."""
        return ()

    @property
    def most_names(self) -> int:
        """The largest number of values in a release."""
        return self.top

    @property
    def possible(self) -> tuple[str, ...]:
        """All mechanisms that serve it, since a search asks about no more values than it names itself."""
        return self.serving

    @property
    def is_searched(self) -> bool:
        """Names are found, whatever they are."""
        return True

    @property
    def default_code(self) -> int:
        """The domain itself says which value comes first."""
        return 0

    def monitors(self, name: str) -> bool:
        """Whether it is the name of a value: any may be found."""
        try:
            return self.names_of(self.values_of((name,))) == (name,)
        except ValueError:
            return False

    @property
    def monitored_words(self) -> str:
        """Any value may have a threshold, by the name that a release would have for it."""
        one, _ = self.called
        return f"any {one.lower()}, as a release names it"

    def result(self, decision: Decision, shaping: Shaping = NORM_SUB) -> NamedFigures:
        """The shares of what was found, and how it was found."""
        told = decision.outcome
        if not isinstance(told, FoundValues) or told.finding is None:
            raise TypeError(f"{self.name}: found {type(told).__name__}; allowed: values that a method found")
        names, finding = self.names_of(told.values), told.finding
        own = told.estimates if told.unbiased is None else told.unbiased
        own_errors = told.errors if told.unbiased_errors is None else told.unbiased_errors
        moved = dict(zip(names, finding.moved.tolist(), strict=True))
        discovery = FoundNames(
            least=self.least,
            threshold=finding.threshold,
            since=tuple(finding.since.tolist()),
            seen=tuple(finding.seen.tolist()),
            rose=tuple(name for name, way in moved.items() if way > 0),
            fell=tuple(name for name, way in moved.items() if way < 0),
            gone=self.names_of(finding.gone),
        )
        return NamedFigures(names, told.estimates, told.errors, own, own_errors, found=True, discovery=discovery)

    @property
    def moving(self) -> str:
        """What moves in a synthetic truth."""
        return "each share"

    def said(self, code: int) -> str:
        """The value of users who have had none yet."""
        return f'"{self.domain.value(self.domain.initial)}"'
