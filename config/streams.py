# SPDX-License-Identifier: Apache-2.0
"""The parts of a [streams.NAME] table that do not depend on what it measures: its method, and where its events come
from.

Contract: a file may name every method that there is (aggregators/methods/registry.py), and of its options those that
its class takes.  Not here: what is measured (measures/), what streams share (settings.py), what a method does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from murmurate.aggregators.methods.finding import FindingMethod
from murmurate.aggregators.methods.horizons import HorizonMethod
from murmurate.aggregators.methods.options import ADAPTIVE, DECLARED, OF_ONE, OFF, MethodOptions
from murmurate.aggregators.methods.registry import kind_of, names
from murmurate.aggregators.postprocess.registry import METHODS as SHAPES
from murmurate.config.errors import Mistake, NotAllowedError
from murmurate.config.kinds import Kind, Number, Text, WholeNumber, seen
from murmurate.config.quantities import Duration, shortest

MAX_REVISE: Final = 100
"""The most periods after which a release may be revised."""
AFTER_HORIZON: Final = "horizon"
"""What `revise` says where releases are revised after a horizon."""


class ConfigTable(BaseModel):
    """A table of the deployment file: frozen, and with no key that is not described."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, populate_by_name=False)


class OneOf(Kind):
    """One word of a list that is known when the file is read: words, and what gives more of them by then."""

    def __init__(self, *words: str | Callable[[], Iterable[str]]) -> None:
        self._words = words

    @property
    def words(self) -> tuple[str, ...]:
        """All of them, each once."""
        each = [(one,) if isinstance(one, str) else tuple(one()) for one in self._words]
        return tuple(dict.fromkeys(word for some in each for word in some))

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


class Lag(WholeNumber):
    """After how many periods a release is revised, or the word for after a horizon."""

    @property
    def allowed(self) -> str:
        """Its range, and the word."""
        return f'{super().allowed}, or "{AFTER_HORIZON}"'

    @property
    def schema(self) -> dict[str, Any]:
        """An integer in its range, or the word."""
        return {"anyOf": [super().schema, {"const": AFTER_HORIZON}]}

    def read(self, found: Any) -> Any:
        """The number, or the word."""
        return AFTER_HORIZON if found == AFTER_HORIZON else super().read(found)


POINTER: Final = Text(r"^(/([^~/]|~[01])*)+$", 'a JSON pointer such as "/session/user_id"')
TOPIC: Final = Text(r"^[A-Za-z0-9._-]{1,249}$", "a topic: 1 to 249 letters, digits, dots, dashes, underscores")


class SourceTable(ConfigTable):
    """Where a stream's events are found: any JSON topic of yours."""

    topic: Annotated[str, TOPIC]
    """The topic that holds the events."""
    user: Annotated[str, POINTER] = "/user"
    """Where an event has its user, a text or a whole number."""
    time: Annotated[str, POINTER] | None = None
    """Where an event has its time: RFC 3339 or epoch milliseconds. Left out: the door's clock, at its first tick after
    the event.
    """
    value: Annotated[str, POINTER] = "/value"
    """Where an event has its value."""


class Post(ConfigTable):
    """How the best estimates of a release become shares that a reader takes them for."""

    name: Annotated[str, OneOf(*SHAPES, "auto")]
    """A post-processing of `murmurate.aggregators.postprocess`; "auto": the one that `plan` names for so many users."""
    k: Annotated[int, WholeNumber(1, 4096)] | None = None
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


class MethodTable(ConfigTable):
    """Who is asked when, and what is released."""

    name: Annotated[str, OneOf(names)]
    """Which method. lbu, lpu: the same each period; lsp: everybody, once a window; lbd, lpd, lba, lpa: more where the
    data change; lb-, lp-: dsat, rescuedp, fast, pegasus, of everybody's epsilon or of the users.
    """
    variance: Literal["sampling", "paper"] | None = None
    """For lp methods but lpu: with the sampling of users (default), or as the paper has it."""
    first_share: Annotated[float, Number(0.001, 1)] | None = None
    """For lbd, lpd, lba, lpa: the part of what a window may spend that looks for change; 0.5 if left out."""
    grouping: Literal["free", "paid"] | None = None
    """For pegasus: groups are found among the estimates (default), or by rounds of their own with a fifth of all."""
    horizon: Annotated[int, Duration("1ms", "366d")] | None = None
    """For sao2, needed: for how long a user tells changes for one epsilon, such as "24h": whole periods."""
    changes: Annotated[int, WholeNumber(1, 256)] | None = None
    """For sao2: the most changes that a user tells in a horizon, the first value included; 8 if left out."""
    fanout: Annotated[int, WholeNumber(2, 64)] | None = None
    """For sao2: how many changes over a stretch make one of the next longer kind; 2 if left out."""
    goal: Annotated[Literal["mean", "prefix", "ranges"] | None, Field(alias="for")] = None
    """For sao2: what users are divided for: "mean", the value of each period (default), "prefix", sums from a horizon's
    beginning on, or "ranges", sums over any stretch.
    """
    portions: Literal["best", "uniform", "simple", "calibrated"] | None = None
    """For sao2: how users are divided between changes over shorter and longer stretches. "best": for the least error
    (default); or as papers have it: as many each ("uniform"), or by the length of a stretch.
    """
    form: Literal["paper", "majority", "best"] | None = None
    """For sao2: which reports are likelier: those with any change of the user's, as the paper has it (default); those
    that agree with the user more often than not ("majority"); or at each level what has less error ("best").
    """
    filter: Literal["adaptive", "off"] | None = None
    """Estimates from all reports so far, by a filter (default, but for sao2 only if named); or the own series."""
    revise: Annotated[int | Literal["horizon"], Lag(0, MAX_REVISE)] = 0
    """After so many periods each release is made once more, in the light of what came since; 0: not at all. For sao2
    "horizon": as many periods later as a horizon has, by all that the release's own horizon told.
    """

    @model_validator(mode="after")
    def _only_its_own(self) -> Self:
        mistakes = []
        for option in OF_ONE.keys() - {"users"}:
            found = getattr(self, option)
            if found is not None and option not in kind_of(self.name).takes():
                takers = ", ".join(name for name in names() if option in kind_of(name).takes())
                mistakes.append(Mistake(option, seen(found), f"only with {takers}"))
        if self.of_horizons and self.revise not in (0, AFTER_HORIZON):
            mistakes.append(Mistake("revise", seen(self.revise), f'0 or "{AFTER_HORIZON}", with {self.name}'))
        elif self.of_horizons and self.revise and self.filtering == ADAPTIVE:
            mistakes.append(Mistake("revise", seen(self.revise), f"with {self.name} only with filter = {OFF}"))
        elif not self.of_horizons and self.revise == AFTER_HORIZON:
            mistakes.append(Mistake("revise", seen(self.revise), "a number of periods, without horizons"))
        elif self.revise and self.searches:
            mistakes.append(Mistake("revise", seen(self.revise), f"0, with {self.name}"))
        elif self.revise and not self.of_horizons and self.filtering == OFF:
            mistakes.append(Mistake("revise", seen(self.revise), f"only with filter = {ADAPTIVE}"))
        if self.searches and self.filtering == OFF:
            mistakes.append(
                Mistake("filter", seen(self.filter), f"{ADAPTIVE}, with {self.name}, which follows what it finds")
            )
        if self.of_horizons and self.horizon is None:
            mistakes.append(Mistake("horizon", "nothing", 'a length of time, such as "24h"'))
        if mistakes:
            raise NotAllowedError(*mistakes)
        return self

    @property
    def of_horizons(self) -> bool:
        """Whether it asks node by node through horizons."""
        return issubclass(kind_of(self.name), HorizonMethod)

    @property
    def searches(self) -> bool:
        """Whether it searches for values that nobody declared."""
        return issubclass(kind_of(self.name), FindingMethod)

    @property
    def filtering(self) -> str:
        """Whether the adaptive filter is behind the method."""
        return self.filter or (OFF if self.of_horizons else ADAPTIVE)

    def lag(self, every: int) -> int:
        """After how many periods of this length a release is revised; 0: never."""
        return (self.horizon or 0) // every if isinstance(self.revise, str) else self.revise

    def length(self) -> dict[str, str]:
        """The length of a horizon in words, where there is one, and that releases are revised after it."""
        if self.horizon is None:
            return {}
        revised = {"revise": AFTER_HORIZON} if self.revise else {}
        return {"horizon": shortest(self.horizon), **revised}

    def options(self, *, every: int = 1, clip: str = DECLARED) -> MethodOptions:
        """All that there is to say of it, what the file leaves out written out. Numbers as texts that say them exactly.

        every: the length of a period in milliseconds. clip: of a mean or a total, where numbers are clipped.
        """
        known = {"horizon": self.horizon and self.horizon // every, "users": None}
        given = {option: known[option] if option in known else getattr(self, option) for option in OF_ONE}
        kind = kind_of(self.name)
        words = {option: str(given[option] or OF_ONE[option]) for option in kind.takes()}
        said = {option: word for option, word in words.items() if word not in ("", kind.usual_words.get(option))}
        return MethodOptions(self.name, **said, filter=self.filtering, revise=self.lag(every), clip=clip)


def by_name(found: Any) -> Any:
    """A method that is given by its name alone."""
    return {"name": found} if isinstance(found, str) else found
