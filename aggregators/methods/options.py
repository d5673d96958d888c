"""What a stream's method is: its name, its options, the filter behind it and the phase before it, as one value.

Contract: plain and hashable; two equal ones make the same method.  `described` is what a release and a config digest
say of it.  What is None is left to the method; which of these it takes, and what it makes of them, is said by its class
(base class `MethodBase`) and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from murmurate.randomizers import ParameterError
from murmurate.randomizers.errors import shown

ADAPTIVE, OFF = FILTERS = ("adaptive", "off")
DECLARED, FOUND = CLIPS = ("declared", "found")
"""Where a mean's numbers are clipped: at the end of the declared range, or at a threshold that a phase before all
others finds.
"""
HALF: Final = "0.5"
"""The share of first rounds where the file says none."""
OF_FILTERS: Final = ("filter", "revise")
"""The options that every method takes."""
OF_ONE: Final[Mapping[str, str]] = {"variance": "sampling", "first_share": HALF, "grouping": "free"}
"""The options that some methods take, each with its value where the file says none."""


@dataclass(frozen=True)
class MethodOptions:
    """A method by its name, and how it is run."""

    name: str
    variance: str | None = None
    """For methods that ask some of the users: errors with the sampling of users ("sampling"), or as the paper has them
    ("paper").
    """
    first_share: str | None = None
    """A text that says exactly which part of what a window may spend looks for change."""
    grouping: str | None = None
    """For PeGaSus: whether groups are found among the estimates ("free") or by rounds of their own ("paid")."""
    filter: str = OFF
    """Whether the adaptive filter stands behind it. A method without one is the papers' series."""
    revise: int = 0
    """After so many periods each release is made once more; 0: not at all."""
    clip: str = DECLARED
    """For a mean: where numbers are clipped."""

    def __post_init__(self) -> None:
        if self.filter not in FILTERS:
            raise ParameterError(f"filter: found {shown(self.filter)}; allowed: {', '.join(FILTERS)}")
        if self.clip not in CLIPS:
            raise ParameterError(f"clip: found {shown(self.clip)}; allowed: {', '.join(CLIPS)}")
        if self.revise and not self.filtered:
            found = shown(self.revise)
            raise ParameterError(f"revise: found {found} without a filter; allowed: with filter = {ADAPTIVE!r}")

    @property
    def filtered(self) -> bool:
        """Whether the adaptive filter stands behind it."""
        return self.filter == ADAPTIVE

    @property
    def finds_clip(self) -> bool:
        """Whether it begins by finding where to clip."""
        return self.clip == FOUND

    @property
    def own(self) -> dict[str, Any]:
        """What is said to the method itself, by the names of its arguments."""
        said = {option: getattr(self, option) for option in OF_ONE}
        return {option: value for option, value in said.items() if value is not None}

    def described(self) -> dict[str, str | int]:
        """In the words of a release. An even share is as good as none, no revision as none, the end of the range as no
        clipping.
        """
        said: dict[str, str | int] = {"name": self.name, **self.own}
        if said.get("first_share") == HALF:
            del said["first_share"]
        said["filter"] = self.filter
        if self.revise:
            said["revise"] = self.revise
        if self.finds_clip:
            said["clip"] = self.clip
        return said
