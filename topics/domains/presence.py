# SPDX-License-Identifier: Apache-2.0
"""That something happened: every value is the same one, for streams that only count events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from murmurate.topics.domains.domain import Codes, Domain, Layout, Words, Wrong


@dataclass(frozen=True)
class AnyValue(Domain):
    """Every value has the code 0."""

    coded: ClassVar[bool] = True

    @property
    def words(self) -> int:
        """One."""
        return 1

    @property
    def none(self) -> int:
        """The code after the only one."""
        return 1

    def layout(self, none: bool) -> Layout:
        """Codes."""
        return ("code", 1 + none)

    @property
    def nothing(self) -> Words:
        """The code after the only one."""
        return (1,)

    @property
    def initial(self) -> Words:
        """The only code."""
        return (0,)

    def codes(self, *, texts: bool = False) -> Codes:
        """One for everything."""
        return OneCode()

    def value(self, row: int, /) -> bool:
        """What an event might say."""
        return True


class OneCode(Codes):
    """The code of any value."""

    def __getitem__(self, value: Any, /) -> int:
        """0."""
        return 0

    def wrong(self, value: Any) -> Wrong | None:
        """No value is."""
        return None
