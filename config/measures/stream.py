# SPDX-License-Identifier: Apache-2.0
"""What every [streams.NAME] table says of a local stream, whatever it measures: one whose reports users randomize.

Contract: a stream that is built makes sense by itself.  A kind of measure has a subclass, which adds what it declares
and builds the measure.  Not here: what all streams say (declared.py), methods and sources (config/streams.py), what
streams share of the promise (config/settings.py), which kinds there are (registry.py).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import BeforeValidator

from murmurate.aggregators.chooser import Prefer
from murmurate.aggregators.methods.options import ADAPTIVE, OFF, MethodOptions
from murmurate.aggregators.methods.registry import searching
from murmurate.config.errors import Mistake
from murmurate.config.kinds import NumbersByName, WholeNumber, seen, written
from murmurate.config.measures.declared import DeclaredStream
from murmurate.config.quantities import Duration, Missing, MissingKind, Share, shortest
from murmurate.config.streams import MethodTable, Post, by_name
from murmurate.randomizers.errors import ParameterError
from murmurate.randomizers.residue_tree import MAX_PERIODS
from murmurate.randomizers.terms import MAX_SLOTS

MAX_REVISABLE: Final = 4096
"""The most figures of releases that are still to be revised: all of them are in the state of the stage that releases.
"""


class StreamTable(DeclaredStream):
    """What every local stream says, whatever it measures."""

    share: Annotated[float, Share()] = 1.0
    """The stream's part of the users, or of epsilon under split = "budget"; all parts together at most 1."""
    method: Annotated[MethodTable, BeforeValidator(by_name, json_schema_input_type=str | MethodTable)] = MethodTable(
        name="lpu"
    )
    """A method's name, or a table with a name and options."""
    several: Literal["last", "first"] = "last"
    """Which of several events of one user in a period counts, by (time, value), never by arrival."""
    missing: Annotated[Missing, MissingKind()] = written("none")
    """What a user without an event says: "none", or the last value for as long as { carry = "15m" } or "always"."""
    slots: Annotated[int, WholeNumber(2, MAX_SLOTS)] | None = None
    """S: users are addressed by a keyed hash mod S, frozen for life: a multiple of 2 w up to 65 536."""
    season: Annotated[int, Duration("2ms", "366d")] | None = None
    """After how long values return, such as "24h" or "7d": the filter learns the profile. Left out: values have no
    season.
    """
    thresholds: Annotated[Mapping[str, float], NumbersByName()] = written({})
    """Thresholds by name of a statistic: releases say whether it is above or below, and how sure that is."""
    if TYPE_CHECKING:  # a key of every table, in the place that suits it
        mechanism: str

    @property
    def says_none(self) -> bool:
        """Whether a user may have no value."""
        return self.missing.carry_ms is not None

    @property
    @abstractmethod
    def initial_code(self) -> int | None:
        """The code of `initial`, if the file says one that is not the default."""

    @property
    def most_names(self) -> int:
        """How many statistics a release has at most."""
        return len(self.names) or self.statistic().most_names

    def limits(self, name: str) -> tuple[float, float]:
        """Between which a statistic lies."""
        return self.statistic().limits(name)

    def method_options(self) -> MethodOptions:
        """Its method."""
        return self.method.options(every=self.every)

    @property
    def preference(self) -> Prefer:
        """By what "auto" chooses."""
        return "accuracy"

    def shaping(self) -> Post | None:
        """How its estimates are shaped; None where they are not."""
        return None

    @property
    def _periods(self) -> int:
        """How many periods a horizon has, if its method is one of horizons."""
        return max(1, (self.method.horizon or 0) // self.every)

    def _horizon_mistakes(self) -> Iterator[Mistake]:
        """What a method of horizons cannot ask."""
        try:
            self.statistic().ones()
        except ParameterError:
            allowed = f'one without horizons, for measure = "{self.measured.name}"'
            yield Mistake("method", seen(self.method.name), allowed)

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
            if self.method.filtering == OFF:
                yield Mistake("season", seen(shortest(self.season)), f"only with filter = {ADAPTIVE}")
            elif self.method.of_horizons or self.method.searches:
                yield Mistake("season", seen(shortest(self.season)), f"none, with {self.method.name}")
        finds = getattr(self, "find", None) is not None  # only then is there a measure before values were looked at
        horizon, able = self.method.horizon, searching(self.statistic()) if finds else ()
        if (self.method.name in able) != (self.method.searches or bool(able)):
            allowed = ", ".join(able) or f'one that searches for nothing, for measure = "{self.measured.name}"'
            yield Mistake("method", seen(self.method.name), allowed)
        if self.method.of_horizons:
            yield from self._horizon_mistakes()
        if horizon is not None and (horizon % self.every or not 1 <= horizon // self.every <= MAX_PERIODS):
            allowed = f"a multiple of every, {shortest(self.every)}, of at most {MAX_PERIODS} periods"
            yield Mistake("method.horizon", seen(shortest(horizon)), allowed)
        if self.method.variance == "paper" and not self.measured.even_noise:
            yield Mistake("method.variance", seen("paper"), f'sampling, for measure = "{self.measured.name}"')
        figures = self.most_names
        if self.method.lag(self.every) * figures > MAX_REVISABLE:
            longest = "horizons of " if self.method.of_horizons else ""
            most = f"{longest}at most {MAX_REVISABLE // figures}, for {figures} figures a release"
            yield Mistake("method.revise", seen(self.method.revise), most)
        for name, level in self.thresholds.items():
            if not self.statistic().monitors(name):
                yield Mistake("thresholds", seen(name), f"statistics of the stream: {self.statistic().monitored_words}")
                continue
            low, high = self.limits(name)
            if not low < level < high:
                yield Mistake(f"thresholds.{name}", seen(level), f"between {low:g} and {high:g}")
