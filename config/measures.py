"""What a stream measures: shares of declared values, a mean, a distribution; a class each, told apart by `measure`.

Contract: a stream that is built makes sense by itself.  Not here: methods and sources (streams.py), what streams share
of the promise (settings.py).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from murmurate.aggregators.methods.options import ADAPTIVE, OFF
from murmurate.config.errors import Mistake, NotAllowedError
from murmurate.config.kinds import AnyNumber, Flag, Levels, Text, Texts, Whole, seen, written
from murmurate.config.plan import stretches
from murmurate.config.quantities import Duration, Missing, MissingKind, Range, Share, millionths, shortest
from murmurate.config.streams import Method, OneOf, Post, Source, Table, by_name
from murmurate.randomizers.mechanism import Measure
from murmurate.randomizers.numeric.mean import GRID
from murmurate.randomizers.registry import serving
from murmurate.randomizers.terms import MAX_SLOTS
from murmurate.topics.domains import Categories, Coded, Grid
from murmurate.topics.release import MAX_NAMES

AUTO: Final = "auto"
MAX_REVISABLE: Final = 4096
"""Figures of releases that are still to be revised: all of them are in the state of the stage that releases."""
UNIT: Final = Text(r"^[^\u0000-\u001f\u007f]{1,64}$", "a text of 1 to 64 printable characters")
VALUE: Final = Text(r"^[^\u0000-\u001f\u007f]{1,256}$", "a text of 1 to 256 printable characters")


class Stream(Table):
    """What every stream says, whatever it measures."""

    every: Annotated[int, Duration("1ms", "24d")]
    """Length of a period; one release each."""
    share: Annotated[float, Share()] = 1.0
    """Its part of the users, or of epsilon under split = "budget"; all parts together at most 1."""
    method: Annotated[Method, BeforeValidator(by_name, json_schema_input_type=str | Method)] = Method(name="lpu")
    """A method's name, or a table with a name and options."""
    several: Literal["last", "first"] = "last"
    """Which of several events of one user in a period counts, by (time, value), never by arrival."""
    missing: Annotated[Missing, MissingKind()] = written("none")
    """What a user without an event says: "none", or the last value for as long as { carry = "15m" } or "always"."""
    slots: Annotated[int, Whole(2, MAX_SLOTS)] | None = None
    """S: users are addressed by a keyed hash mod S, frozen for life: a multiple of 2 w up to 65 536."""
    season: Annotated[int, Duration("2ms", "366d")] | None = None
    """What returns after so long, such as "24h" or "7d": the filter learns its profile. Left out: nothing does."""
    thresholds: Annotated[Mapping[str, float], Levels()] = written({})
    """By name of a statistic: releases say whether it is above or below, and how sure that is."""
    source: Source | None = None
    """Where its events come from; left out: {name}.events, told apart by their "stream"."""

    @property
    def share_micro(self) -> int:
        """Its share in millionths."""
        return millionths(self.share)

    @property
    def says_none(self) -> bool:
        """Whether a user may have no value."""
        return self.missing.carry_ms is not None

    @property
    @abstractmethod
    def initial_code(self) -> int | None:
        """The code of `initial`, if the file says one that is not the default."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The statistics of a release."""

    @property
    def limits(self) -> tuple[float, float]:
        """Between which the first statistic lies; the others are shares."""
        return 0.0, 1.0

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        mistakes = tuple(self._mistakes())
        if mistakes:
            raise NotAllowedError(*mistakes)
        return self

    def _mistakes(self) -> Iterator[Mistake]:
        carry, initial = self.missing.carry_ms, getattr(self, "initial", None)
        if initial is not None and carry is not None:
            yield Mistake("initial", seen(initial), 'only with missing = { carry = "always" }')
        if carry and carry % self.every:
            yield Mistake("missing.carry", seen(shortest(carry)), f"a multiple of every, {shortest(self.every)}")
        if self.season is not None:
            if self.season % self.every or self.season < 2 * self.every:
                allowed = f"a multiple of every, {shortest(self.every)}, twice or more"
                yield Mistake("season", seen(shortest(self.season)), allowed)
            if self.method.filter == OFF:
                yield Mistake("season", seen(shortest(self.season)), f"only with filter = {ADAPTIVE}")
        d = len(self.names)
        if self.method.revise * d > MAX_REVISABLE:
            most = f"at most {MAX_REVISABLE // d}, for {d} figures a release"
            yield Mistake("method.revise", seen(self.method.revise), most)
        for name, level in self.thresholds.items():
            if name not in self.names:
                known = ", ".join([*self.names[:8], *(["..."] if d > 8 else [])])
                yield Mistake("thresholds", seen(name), f"statistics of the stream: {known}")
                continue
            low, high = self.limits if name == self.names[0] else (0.0, 1.0)
            if not low < level < high:
                yield Mistake(f"thresholds.{name}", seen(level), f"between {low:g} and {high:g}")


class Frequency(Stream):
    """How many users say each of some declared values: a rolling histogram."""

    measure: Literal["frequency"]
    """What is measured."""
    values: Annotated[tuple[str, ...], Texts(VALUE, 1, MAX_NAMES)]
    """The values, declared and never inferred from data."""
    other: Annotated[bool, Flag()] = False
    """Whether anything else counts as "other"; if not, such an event is refused and its user has no value."""
    initial: Annotated[str, VALUE] | None = None
    """With carry = "always" and without other: what users say of whom no value was valid yet; the first of `values`."""
    mechanism: Annotated[str, OneOf(AUTO, *serving("frequency", says_none=True))] = AUTO
    """"auto": the one with the smallest exact variance."""
    prefer: Literal["accuracy", "bytes"] = "accuracy"
    """By what "auto" chooses: "bytes" takes the shortest reports among those with half as much variance again."""
    post: Annotated[Post, BeforeValidator(by_name, json_schema_input_type=str | Post)] = Post(name="norm-sub")
    """How estimates are shaped, by name or as a table: norm-sub gives the nearest shares of a population."""

    @property
    def domain(self) -> Coded:
        """What its events may say."""
        return Categories(self.values, self.other)

    @property
    def initial_code(self) -> int | None:
        """Its place among the values."""
        return None if self.initial in (None, self.values[0]) else self.values.index(str(self.initial))

    @property
    def added(self) -> tuple[str, ...]:
        """What a release has besides the declared values."""
        return (*(("other",) if self.other else ()), *(("none",) if self.says_none else ()))

    @property
    def names(self) -> tuple[str, ...]:
        """One a value."""
        return (*self.values, *self.added)

    def _mistakes(self) -> Iterator[Mistake]:
        twice = sorted({value for value in self.values if self.values.count(value) > 1})
        if twice:
            yield Mistake("values", f"{', '.join(map(seen, twice))} more than once", "each value once")
        for name in self.added:
            if name in self.values:
                why = "other = true" if name == "other" else "missing"
                yield Mistake("values", seen(name), f"other words: {why} adds this one")
        if self.initial is not None and self.other:
            yield Mistake("initial", seen(self.initial), "only without other = true, which such users count as")
        elif self.initial is not None and self.initial not in self.values:
            known = ", ".join([*self.values[:8], *(["..."] if len(self.values) > 8 else [])])
            yield Mistake("initial", seen(self.initial), f"one of the values: {known}")
        d, most = len(self.values) + len(self.added), MAX_NAMES
        if not 2 <= d <= most:
            added = f" and {' and '.join(self.added)}" if self.added else ""
            yield Mistake("values", f"{len(self.values)}{added}, {d} in all", f"2 to {most} in all")
        if self.post.k is not None and self.post.k > d:
            yield Mistake("post.k", seen(self.post.k), f"at most the {d} values of the stream")
        yield from super()._mistakes()


class Numbers(Stream):
    """What streams of numbers share: a declared range."""

    range: Annotated[tuple[float, float], Range()]
    """The lowest and the highest number that counts as itself, declared and never inferred; others are clipped."""
    unit: Annotated[str, UNIT] | None = None
    """What the numbers are, for readers of releases: "EUR"."""
    initial: Annotated[float, AnyNumber()] | None = None
    """With carry = "always": what users say of whom no value was valid yet; the low end of `range` if left out."""
    mechanism: str
    prefer: ClassVar[Literal["accuracy"]] = "accuracy"
    measured: ClassVar[Measure]

    @property
    @abstractmethod
    def domain(self) -> Grid:
        """What its events may say."""

    @property
    def initial_code(self) -> int | None:
        """Its cell."""
        return None if self.initial is None else self.domain.code(self.initial) or None

    def _mistakes(self) -> Iterator[Mistake]:
        serve = serving(self.measured, says_none=self.says_none)
        if self.mechanism not in (AUTO, *serve):
            why = "where users may have no value" if self.says_none else 'with missing = { carry = "always" }'
            yield Mistake("mechanism", seen(self.mechanism), f"{', '.join((AUTO, *serve))}, {why}")
        if self.initial is not None and not self.range[0] <= self.initial <= self.range[1]:
            yield Mistake("initial", seen(self.initial), f"from {self.range[0]:g} to {self.range[1]:g}, the range")
        if self.method.variance == "paper":
            yield Mistake("method.variance", seen("paper"), "sampling, for numbers")
        yield from super()._mistakes()


class Mean(Numbers):
    """The mean of a number over the users who have one, and how many have."""

    measured = "mean"
    measure: Literal["mean"]
    """What is measured."""
    mechanism: Annotated[str, OneOf(AUTO, *serving("mean", says_none=True), *serving("mean", says_none=False))] = AUTO
    """"auto": value_presence, or hm where everybody always has a value."""
    clip: Literal["declared", "found"] = "declared"
    """"declared": at the ends of the range; "found": above at a threshold that a first round of everybody finds."""

    @property
    def domain(self) -> Grid:
        """What its events may say."""
        return Grid(*self.range, GRID, "points")

    @property
    def names(self) -> tuple[str, ...]:
        """The mean, and how many have a value."""
        return ("mean", "present") if self.says_none else ("mean",)

    @property
    def limits(self) -> tuple[float, float]:
        """A mean lies in its range."""
        return self.range


class Distribution(Numbers):
    """How a number is distributed over the users: shares of equally long stretches of its range."""

    measured = "distribution"
    measure: Literal["distribution"]
    """What is measured."""
    cells: Annotated[int, Whole(2, MAX_NAMES - 1)] = 64
    """Into how many stretches the range is cut."""
    mechanism: Annotated[
        str, OneOf(AUTO, *serving("distribution", says_none=True), *serving("distribution", says_none=False))
    ] = AUTO
    """"auto": sw_presence, or sw where everybody always has a value."""

    @property
    def domain(self) -> Grid:
        """What its events may say."""
        return Grid(*self.range, self.cells, "stretches")

    @property
    def names(self) -> tuple[str, ...]:
        """One a stretch, and how many have no value."""
        names = stretches(Grid(*self.range, self.cells, "stretches"))
        return (*names, "none") if self.says_none else names


MEASURES: Final[Mapping[str, type[Stream]]] = MappingProxyType(
    {"frequency": Frequency, "mean": Mean, "distribution": Distribution}
)
"""Every measure by name."""


def _known(found: Any) -> Any:
    """A stream of a known measure: of any other, no key is worth a word."""
    if isinstance(found, Mapping) and found.get("measure") not in MEASURES:
        raise NotAllowedError(Mistake("measure", seen(found.get("measure")), ", ".join(MEASURES)))
    return found


AnyStream = Annotated[Frequency | Mean | Distribution, Field(discriminator="measure"), BeforeValidator(_known)]
