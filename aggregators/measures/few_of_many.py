# SPDX-License-Identifier: Apache-2.0
"""What is asked of a measure whose releases may list few of very many statistics; the defaults list all of them.

Contract: defaults for measures that have every statistic in each release.  Not here: those that have not (largest.py).
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from murmurate.aggregators.measures.planned import PlannedMeasure
from murmurate.randomizers import Question

if TYPE_CHECKING:  # what a filter follows
    from murmurate.aggregators.filters.many import ManyCoordinates


class FewOfMany(PlannedMeasure):
    """The part of a measure that says which statistics a release has."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The names of a release's statistics, in their order; empty where names are found and part of the result."""

    @property
    def monitored(self) -> tuple[str, ...]:
        """The names of the statistics that may have a threshold: those that every measured release has."""
        return self.names

    @property
    def monitored_words(self) -> str:
        """The statistics that may have a threshold, in words, the first ones where they are many."""
        some = [*self.monitored[:8], *(["..."] if len(self.monitored) > 8 else [])]
        return ", ".join(some) or "none, since names are found"

    def monitors(self, name: str) -> bool:
        """Whether a statistic of this name may have a threshold."""
        return name in self.monitored

    @property
    def is_searched(self) -> bool:
        """Whether a method searches for names, of which any value of the domain may be one."""
        return False

    @property
    def lists_largest(self) -> bool:
        """Whether a release lists the largest of very many items, and those that are named."""
        return False

    @property
    def whole_names(self) -> tuple[str, ...]:
        """The names of all statistics of all items that an answer tells, where users hold some of many items."""
        return ()

    def many(self, question: Question) -> ManyCoordinates | None:
        """What a filter follows of very many items, not all of which it can follow closely; None where it can."""
        return None
