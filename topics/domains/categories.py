# SPDX-License-Identifier: Apache-2.0
"""Declared texts, such as the screens of an app: one code each.

Contract: codes are 0 to k - 1 in the declared order, then "other" if enabled.  `none`, the code of a user without a
value, follows after all others: no event has it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final

from murmurate.topics.domains.domain import Codes, Domain, Layout, Words, Wrong, checked_names

MAX_CATEGORIES: Final = 1 << 24
"""As many as the largest domain of a mechanism."""


@dataclass(frozen=True)
class Categories(Domain):
    """The declared values of a stream and their codes: 0 to k - 1 in order, then "other" if enabled, then *none*."""

    coded: ClassVar[bool] = True
    values: tuple[str, ...]
    other: bool = False

    def __post_init__(self) -> None:
        checked_names(self.values, "categories", MAX_CATEGORIES)

    @property
    def words(self) -> int:
        """One."""
        return 1

    @property
    def none(self) -> int:
        """The code of a user without a value: the first after all others. No event has it; the stage gives it."""
        return len(self.values) + self.other

    @property
    def size(self) -> int:
        """The number of codes, *none* included: the domain of a mechanism that can report none."""
        return self.none + 1

    def layout(self, none: bool) -> Layout:
        """Codes."""
        return ("code", self.none + none)

    @property
    def nothing(self) -> Words:
        """The code after all others."""
        return (self.none,)

    @property
    def initial(self) -> Words:
        """The code of users who have had no valid value yet, in a stream whose values stand for ever: "other", or the
        first one.
        """
        return (len(self.values) if self.other else 0,)

    def value(self, row: int, /) -> str:
        """The value of an event with this code."""
        if row < len(self.values):
            return self.values[row]
        other = "other"
        while other in self.values:
            other += "-"
        return other

    def codes(self, *, texts: bool = False) -> Declared:
        """Their codes; texts or not, they are texts."""
        return Declared(self)


class Declared(dict[str, int], Codes):
    """The codes of declared texts. Only a value that is not declared comes to `__missing__`."""

    def __init__(self, categories: Categories) -> None:
        super().__init__({value: code for code, value in enumerate(categories.values)})
        self._other = len(categories.values) if categories.other else None

    def __missing__(self, value: object) -> int:
        if self._other is None or type(value) is not str:
            raise LookupError
        return self._other

    def wrong(self, value: Any) -> Wrong | None:
        """Not a text, or one that nobody declared."""
        if type(value) is not str:
            return "type"
        return "value" if self._other is None and value not in self else None
