# SPDX-License-Identifier: Apache-2.0
"""The table of a stream that measures a frequency: the declared values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator

from murmurate.aggregators.chooser import Prefer
from murmurate.aggregators.measures.frequency import Frequency
from murmurate.aggregators.measures.measure import AUTO
from murmurate.config.errors import Mistake
from murmurate.config.kinds import Flag, Text, Texts, repeated, seen
from murmurate.config.measures.stream import StreamTable
from murmurate.config.streams import OneOf, Post, by_name
from murmurate.config.unprotected import UNPROTECTED
from murmurate.randomizers.registry import serving
from murmurate.topics.domains import Categories
from murmurate.topics.release_parts import MAX_NAMES

VALUE: Final = Text(r"^[^\u0000-\u001f\u007f]{1,256}$", "a text of 1 to 256 printable characters")


def _able() -> tuple[str, ...]:
    return serving("frequency", says_none=True)


class FrequencyStream(StreamTable):
    """How many users say each of some declared values: a rolling histogram."""

    measured = Frequency
    measure: Literal["frequency"]
    """What is measured."""
    values: Annotated[tuple[str, ...], Texts(VALUE, 1, MAX_NAMES)]
    """The values, declared and never inferred from data."""
    other: Annotated[bool, Flag()] = False
    """Whether anything else counts as "other"; if not, such an event is refused and its user has no value."""
    initial: Annotated[str, VALUE] | None = None
    """With carry = "always" and without other: what users say of whom no value was valid yet; the first of `values`."""
    mechanism: Annotated[str, OneOf(AUTO, _able, *UNPROTECTED)] = AUTO
    """"auto": the one with the smallest exact variance. aue: no local protection, only with unprotected_locally."""
    prefer: Literal["accuracy", "bytes"] = "accuracy"
    """By what "auto" chooses: "bytes" takes the shortest reports among those with half as much variance again."""
    post: Annotated[Post, BeforeValidator(by_name, json_schema_input_type=str | Post)] = Post(name="norm-sub")
    """How estimates are shaped, by name or as a table: norm-sub gives the nearest shares of a population."""

    def statistic(self) -> Frequency:
        """Shares of its values."""
        return Frequency(Categories(self.values, self.other), self.says_none)

    def meaning(self) -> dict[str, Any]:
        """Its values."""
        return {"values": self.values, "other": self.other}

    @property
    def preference(self) -> Prefer:
        """As the file says."""
        return self.prefer

    def shaping(self) -> Post:
        """As the file says."""
        return self.post

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
        if twice := repeated(self.values):
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
