"""The parts of a [streams.NAME] table that do not depend on what it measures: its method, and where its events come
from.

Contract: `METHODS` is the one list of methods a file may name.  Not here: what is measured (measures.py), what streams
share (settings.py), what a method does (aggregators/methods).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, model_validator

from murmurate.aggregators.methods.adaptive import HALF
from murmurate.aggregators.methods.dsat import often
from murmurate.aggregators.methods.pegasus import PARTS
from murmurate.aggregators.methods.registry import ADAPTIVE, OFF
from murmurate.aggregators.postprocess.registry import METHODS as SHAPES
from murmurate.config.errors import Mistake, NotAllowedError
from murmurate.config.kinds import Kind, Number, Text, Whole, seen
from murmurate.randomizers.terms import Division

EVEN: Final = float(HALF)
"""The share of first rounds where the file does not say."""

MAX_REVISE: Final = 100
"""Periods after which one may be revised."""

Described = Mapping[str, str | int | float]
"""A method's name and options as a release shows them."""


@dataclass(frozen=True)
class Schedule:
    """How a method spends the promise, as far as the file's checks need to know."""

    division: Division
    """budget: everybody answers each period with a part of epsilon; population: a part of the users with all of it."""
    part: Callable[[int, Described], Fraction]
    """From w and the method with its options to the part that a period's smallest round uses: of the users, or of
    epsilon under budget division."""
    options: tuple[str, ...] = ()
    """Which of [streams.NAME.method]'s keys it takes."""


def _one_of(parts: Callable[[int], int]) -> Callable[[int, Described], Fraction]:
    return lambda w, said: Fraction(1, parts(w))


def _first(w: int, said: Described) -> Fraction:
    return Fraction(str(said.get("first_share", EVEN))) / w


def _grouped(w: int, said: Described) -> Fraction:
    return Fraction(1, PARTS * w if said.get("grouping") == "paid" else w)


METHODS: Final[Mapping[str, Schedule]] = MappingProxyType(
    {
        "lbu": Schedule("budget", _one_of(lambda w: w)),
        "lpu": Schedule("population", _one_of(lambda w: w)),
        "lsp": Schedule("population", _one_of(lambda w: 1)),
        "lbd": Schedule("budget", _first, ("first_share",)),
        "lpd": Schedule("population", _first, ("variance", "first_share")),
        "lba": Schedule("budget", _first, ("first_share",)),
        "lpa": Schedule("population", _first, ("variance", "first_share")),
        "lb-dsat": Schedule("budget", _first),
        "lp-dsat": Schedule("population", _first, ("variance",)),
        # The first sample has 0.2 ln 2 of the resource; later ones may have less, as far as min_batch allows.
        "lb-rescuedp": Schedule("budget", _one_of(lambda w: 8)),
        "lp-rescuedp": Schedule("population", _one_of(lambda w: 8), ("variance",)),
        "lb-fast": Schedule("budget", _one_of(often)),
        "lp-fast": Schedule("population", _one_of(often), ("variance",)),
        "lb-pegasus": Schedule("budget", _grouped, ("grouping",)),
        "lp-pegasus": Schedule("population", _grouped, ("variance", "grouping")),
    }
)
"""Every method by name. Sources: LDP-IDS, sections 5 and 6; spec/streams.md 2.1 and 2.2."""


class Table(BaseModel):
    """A table of the deployment file: frozen, and with no key that is not described."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True, use_attribute_docstrings=True, populate_by_name=False
    )


class OneOf(Kind):
    """One word of a list that is known when the file is read."""

    def __init__(self, *words: str) -> None:
        self.words = words

    @property
    def allowed(self) -> str:
        """All of them."""
        return ", ".join(self.words)

    @property
    def schema(self) -> dict[str, Any]:
        """An enumeration."""
        return {"enum": list(self.words)}

    def read(self, found: Any) -> str:
        """The word."""
        if found not in self.words:
            raise ValueError
        return str(found)


POINTER: Final = Text(r"^(/([^~/]|~[01])*)+$", 'a JSON pointer such as "/session/user_id"')
TOPIC: Final = Text(r"^[A-Za-z0-9._-]{1,249}$", "a topic: 1 to 249 letters, digits, dots, dashes, underscores")


class Source(Table):
    """Where a stream's events are found: any JSON topic of yours."""

    topic: Annotated[str, TOPIC]
    """The topic."""
    user: Annotated[str, POINTER] = "/user"
    """Who, a text or a whole number."""
    time: Annotated[str, POINTER] | None = None
    """When: RFC 3339 or epoch milliseconds. Left out: the door's clock, at its first tick after the event."""
    value: Annotated[str, POINTER] = "/value"
    """What."""


class Post(Table):
    """How the best estimates of a release become shares that a reader takes them for."""

    name: Annotated[str, OneOf(*SHAPES, "auto")]
    """A post-processing of `murmurate.aggregators.postprocess`; "auto": the one that `plan` names for so many users."""
    k: Annotated[int, Whole(1, 4096)] | None = None
    """For base-cut: how many values have users, where that is known; the others are 0."""
    alpha: Annotated[float, Number(0, 4096, with_low=False)] | None = None
    """For base-cut and significant: how many values that nobody has may stay by chance, 2 and 0.05 if left out."""

    @model_validator(mode="after")
    def _only_its_own(self) -> Self:
        takers = {"k": ("base-cut",), "alpha": ("base-cut", "significant")}
        mistakes = [
            Mistake(option, seen(getattr(self, option)), f"only with {', '.join(names)}")
            for option, names in takers.items()
            if getattr(self, option) is not None and self.name not in names
        ]
        if self.k is not None and self.alpha is not None:
            mistakes.append(Mistake("alpha", seen(self.alpha), "not with k, which says what stays"))
        if mistakes:
            raise NotAllowedError(*mistakes)
        return self


class Method(Table):
    """Who is asked when, and what is released."""

    name: Annotated[str, OneOf(*METHODS)]
    """lbu, lpu: the same each period; lsp: everybody, once a window; lbd, lpd, lba, lpa: more where the data change;
    lb-, lp-: dsat, rescuedp, fast, pegasus, of everybody's epsilon or of the users."""
    variance: Literal["sampling", "paper"] | None = None
    """For lp methods but lpu: with the sampling of users (default), or as the paper has it."""
    first_share: Annotated[float, Number(0.001, 1)] | None = None
    """For lbd, lpd, lba, lpa: the part of what a window may spend that looks for change; 0.5 if left out."""
    grouping: Literal["free", "paid"] | None = None
    """For pegasus: groups are found among the estimates (default), or by rounds of their own with a fifth of all."""
    filter: Literal["adaptive", "off"] = "adaptive"
    """Estimates from all reports so far, by the adaptive filter; or the method's own series."""
    revise: Annotated[int, Whole(0, MAX_REVISE)] = 0
    """So many periods later each is released once more, in the light of what came since; 0: not."""

    @model_validator(mode="after")
    def _only_its_own(self) -> Self:
        mistakes = []
        for option in OPTIONS:
            found = getattr(self, option)
            if found is not None and option not in METHODS[self.name].options:
                takers = ", ".join(name for name, schedule in METHODS.items() if option in schedule.options)
                mistakes.append(Mistake(option, seen(found), f"only with {takers}"))
        if self.revise and self.filter == OFF:
            mistakes.append(Mistake("revise", seen(self.revise), f"only with filter = {ADAPTIVE}"))
        if mistakes:
            raise NotAllowedError(*mistakes)
        return self

    def described(self) -> dict[str, str | int]:
        """Name and options as a release shows them, defaults written out; an even share is as good as none. Numbers
        as texts that say them exactly.
        """
        said: dict[str, str | int] = {"name": self.name}
        for option in METHODS[self.name].options:
            found = getattr(self, option) or OPTIONS[option]
            if option != "first_share" or found != EVEN:
                said[option] = str(found)
        said["filter"] = self.filter
        if self.revise:
            said["revise"] = self.revise
        return said


OPTIONS: Final[Mapping[str, str | float]] = MappingProxyType(
    {"variance": "sampling", "first_share": EVEN, "grouping": "free"}
)
"""What a method takes besides its name, and its value where the file does not say."""


def by_name(found: Any) -> Any:
    """A method that is given by its name alone."""
    return {"name": found} if isinstance(found, str) else found
