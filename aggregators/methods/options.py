# SPDX-License-Identifier: Apache-2.0
"""What a stream's method is: its name, its options, the filter behind it and the phase before it, as one value.

Contract: plain and hashable; two equal ones make the same method.  `described` is what a release and a config digest
hold of it.  What is None is left to the method; which options it takes, and how it uses them, is in its class (base
class `MethodBase`) and nowhere else.
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
"""The share of first rounds if the file has none."""
OF_FILTERS: Final = ("filter", "revise")
"""The options that every method takes."""
OF_ONE: Final[Mapping[str, str]] = {
    "variance": "sampling", "first_share": HALF, "grouping": "free",
    "horizon": "1", "changes": "8", "fanout": "2", "goal": "mean", "users": "0",
    "portions": "", "form": "",
}  # fmt: skip
"""The options that some methods take, each with its value if the file has none; "": the method has one of its own."""


@dataclass(frozen=True)
class MethodOptions:
    """A method by its name, and how it is run."""

    name: str
    variance: str | None = None
    """For methods that ask some of the users: errors with the sampling of users ("sampling"), or as the paper has them
    ("paper").
    """
    first_share: str | None = None
    """The part of a window's resource that first rounds use to look for change, as a text so that it is exact."""
    grouping: str | None = None
    """For PeGaSus: whether groups are found among the estimates ("free") or by rounds of their own ("paid")."""
    horizon: str | None = None
    """For methods of horizons: the number of periods of one, as a text."""
    changes: str | None = None
    """For methods of horizons: how many changes a user tells in one, at most."""
    fanout: str | None = None
    """For methods of horizons: how many changes over a stretch of time make one of the next longer kind."""
    goal: str | None = None
    """For methods of horizons: what the users are divided for: values of periods ("mean"), sums from the beginning on
    ("prefix"), or sums over any stretch ("ranges").
    """
    users: str | None = None
    """For methods of horizons: how many users are expected, "0" if nobody has said."""
    portions: str | None = None
    """For methods of horizons: how users are divided between levels, where that is not the method's own way."""
    form: str | None = None
    """For those that tell changes by ExSub: its form, where that is not the paper's."""
    filter: str = OFF
    """Whether the adaptive filter is behind the method. Without it releases are those of the papers."""
    revise: int = 0
    """After how many periods each release is revised once; 0: never. Of methods of horizons after one horizon."""
    clip: str = DECLARED
    """For a mean: where numbers are clipped."""

    def __post_init__(self) -> None:
        if self.filter not in FILTERS:
            raise ParameterError(f"filter: found {shown(self.filter)}; allowed: {', '.join(FILTERS)}")
        if self.clip not in CLIPS:
            raise ParameterError(f"clip: found {shown(self.clip)}; allowed: {', '.join(CLIPS)}")
        if self.horizon is not None and str(self.revise) not in ("0", self.horizon):
            raise ParameterError(f"revise: found {shown(self.revise)}; allowed: 0, or {self.horizon}, the horizon")
        if self.horizon is not None and self.revise and self.filtered:
            raise ParameterError(f"revise: found {shown(self.revise)} with a filter; allowed: with filter = {OFF!r}")
        if self.revise and not self.filtered and self.horizon is None:
            found = shown(self.revise)
            raise ParameterError(f"revise: found {found} without a filter; allowed: with filter = {ADAPTIVE!r}")

    @property
    def filtered(self) -> bool:
        """Whether the adaptive filter is behind the method."""
        return self.filter == ADAPTIVE

    @property
    def finds_clip(self) -> bool:
        """Whether the method begins by finding where to clip."""
        return self.clip == FOUND

    @property
    def own(self) -> dict[str, Any]:
        """The options of the method itself, by the names of its arguments."""
        given = {option: getattr(self, option) for option in OF_ONE}
        return {option: value for option, value in given.items() if value is not None}

    def described(self) -> dict[str, str | int]:
        """The options as a release has them. Left out are an even `first_share`, `revise` = 0 and `clip` = "declared",
        which change nothing.
        """
        described: dict[str, str | int] = {"name": self.name, **self.own}
        if described.get("first_share") == HALF:
            del described["first_share"]
        described["filter"] = self.filter
        if self.revise:
            described["revise"] = self.revise
        if self.finds_clip:
            described["clip"] = self.clip
        return described
