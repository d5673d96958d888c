# SPDX-License-Identifier: Apache-2.0
"""What a release is made of: names and their figures, tables, reports, promises, and the noise of central sums.

Contract: estimates and errors, and only they, are rounded to six places.  Not here: the record (release.py).
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from murmurate.topics.message import Freeze, Part, Positive, Whole
from murmurate.topics.messages import Parameter, Rejected

PLACES = 6
MAX_NAMES = 1 << 12
"""The most statistics that a deployment declares: three maps of them, names included, fit a message."""
MAX_FIGURES = MAX_NAMES + 1
"""The most figures in one release: the declared statistics, and the share of those who have no value."""
MAX_LISTED_ITEMS = 512
"""The most items that a release lists of very many."""

BETWEEN = " | "
"""Between the attributes in the name of a cell: values may hold commas, as the stretches of a range do."""

Number = Annotated[int, Field(ge=-(1 << 63), le=(1 << 64) - 1)] | float  # the integers that JSON writers have
Text = Annotated[str, Field(min_length=1, max_length=64)]
Model = Literal["local", "central"]
"""Who adds the noise: every user's device before it reports anything, or the trusted edge to exact sums."""
Instant = Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{3})?Z$")]


def _rounded(table: Mapping[str, float | None]) -> Mapping[str, float | None]:
    if any(value is not None and round(value, PLACES) != value for value in table.values()):
        raise ValueError(f"found a number with more places; allowed: rounded to {PLACES}")
    return table


MAX_NAME = 1 << 8
"""Characters of a statistic's name."""
Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME)]
Statistics = Annotated[Mapping[Name, float | None], Field(max_length=MAX_FIGURES), AfterValidator(_rounded), *Freeze]
Known = Mapping[str, float | None]
"""Figures by name; None where a figure is not known."""


def cell_names(of: Sequence[str], values: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """What the cells of a table are called, the last attribute's values side by side.

    >>> cell_names(["screen", "os"], [["home", "help"], ["ios"]])
    ('screen=home | os=ios', 'screen=help | os=ios')
    """
    return tuple(BETWEEN.join(f"{a}={v}" for a, v in zip(of, cell, strict=True)) for cell in product(*values))


class Table(Part):
    """Some attributes, every combination of whose values has a figure."""

    of: Annotated[tuple[Name, ...], Field(min_length=1, max_length=16)]
    """The attributes of the table, in the order of its axes."""
    values: Annotated[tuple[tuple[Name, ...], ...], Field(min_length=1, max_length=16)]
    """The values of each attribute, in the order of `of`."""

    @property
    def names(self) -> tuple[str, ...]:
        """What its cells are called in the maps of a release."""
        return cell_names(self.of, self.values)

    @model_validator(mode="after")
    def _is_a_table(self) -> "Table":
        cells = math.prod(map(len, self.values))
        if len(self.of) != len(self.values) or not 0 < cells <= MAX_NAMES:
            raise ValueError(f"found no table; allowed: values for each attribute, up to {MAX_NAMES} combinations")
        return self


@dataclass(frozen=True)
class Named:
    """What a release says by name."""

    estimate: Known
    stderr: Known
    unbiased: Known
    found: bool = False
    """Whether the names are data, too: another period may have others, or no names at all."""


@dataclass(frozen=True)
class Tables:
    """What a release says of combinations: for each table, by the values of its attributes."""

    tables: tuple[Table, ...]
    estimate: tuple[Mapping[tuple[str, ...], float | None], ...]
    stderr: tuple[Mapping[tuple[str, ...], float | None], ...]
    unbiased: tuple[Mapping[tuple[str, ...], float | None], ...]


class Reading(Part):
    """On which side of a declared threshold a statistic is."""

    threshold: float
    side: Literal["above", "below"]
    confidence: Annotated[float, Field(ge=0.5, le=1)]
    """The chance that the truth is on the side of the threshold that is named."""


class ListedItems(Part):
    """How the items of a release were chosen from very many: some are always listed, the others were the largest."""

    of: Positive
    """The number of all items."""
    by: Literal["mean", "share"]
    """The figure whose size counts: the mean by its absolute value, or the share of holders."""
    named: Annotated[tuple[Name, ...], Field(max_length=MAX_LISTED_ITEMS)]
    """The items that are in every release, by the file."""
    found: Annotated[tuple[Name, ...], Field(max_length=MAX_LISTED_ITEMS)]
    """The largest of all others in this period, the largest first: by being chosen they tend to be too large."""
    errors: Annotated[float, Field(gt=0)]
    """The number of its standard errors up to which a found item may be chance: of all items that are really 0, one is
    beyond it in one release of 44.
    """
    threshold: Annotated[float, Field(ge=0)] | None
    """The limit of chance: `errors` times the median standard error of what was found; null where nothing was."""


class Discovery(Part):
    """How the names of a release were found where nobody knows the list, and how they fare."""

    least: Annotated[float, Field(ge=0, le=1)]
    """The declared share below which nothing is named; 0 where none is."""
    threshold: Annotated[float, Field(ge=0)] | None
    """The share up to which what is found may be chance: nothing new below it is named. Null where nothing was asked.
    """
    since: Annotated[Mapping[Name, Whole], Field(max_length=MAX_LISTED_ITEMS), *Freeze]
    """For every name, the period in which it was first found, of its present stay."""
    seen: Annotated[Mapping[Name, Whole], Field(max_length=MAX_LISTED_ITEMS), *Freeze]
    """For every name, the newest period in which it was found; later ones only follow it."""
    rose: Annotated[tuple[Name, ...], Field(max_length=MAX_LISTED_ITEMS)] = ()
    """Names that rose by more than chance since they were last said to move."""
    fell: Annotated[tuple[Name, ...], Field(max_length=MAX_LISTED_ITEMS)] = ()
    """Names that fell by more than chance. Neither list is written when empty."""
    gone: Annotated[tuple[Name, ...], Field(max_length=MAX_LISTED_ITEMS)] = ()
    """Names of the release before that this one no longer has: their estimates have fallen below their errors. Not
    written when empty.
    """


class Reports(Part):
    """What the release is made of."""

    slots: Whole
    """How many slots were asked."""
    received: Whole
    counted: Whole
    rejected: Rejected
    missing: Whole = 0
    """Contributors that were closed out. Not written when 0."""


class ThresholdSearch(Part):
    """How far the phase is that finds the threshold of a central stream: its events are in no sum."""

    period: Positive
    """The number of this period in the phase, from 1."""
    periods: Positive

    @model_validator(mode="after")
    def _within(self) -> "ThresholdSearch":
        if self.period > self.periods:
            raise ValueError("found a period after the last one of a hold-out; allowed: up to the last one")
        return self


class Noise(Part):
    """The trees behind a central stream's sums: enough to know the error of any stretch of periods."""

    fanout: Annotated[int, Field(ge=2, le=1 << 16)]
    levels: Annotated[int, Field(ge=1, le=64)]
    """How many levels a tree has, leaves and root included: fanout^(levels - 1) leaves."""
    block: Annotated[int, Field(ge=1)] = 1
    """How many periods a leaf is the sum of. Not written when 1."""
    first_t: Whole
    """The first period of this tree; trees follow each other."""
    node: Statistics
    """The standard deviation of the noise of one node, for every name."""


class HorizonStep(Part):
    """The horizon of a release, and how the nodes that end with its period were weighed: with the standard errors of
    the horizon's other releases enough to know the error of any sum of them.
    """

    first_t: Whole
    """The first period of the horizon."""
    periods: Annotated[int, Field(ge=1, le=1 << 16)]
    fanout: Annotated[int, Field(ge=2, le=1 << 16)]
    """How many nodes of a level make one of the next."""
    levels: Annotated[int, Field(ge=1, le=17)]
    """How many levels of nodes there are: one of level h is a change over fanout^h periods."""
    shares: Annotated[tuple[Annotated[float, Field(ge=0, le=1)], ...], Field(max_length=16)] = ()
    """For each node above the lowest level that ends with this period, from level 1: the weight of the sum of its
    parts' estimates in its own one, where what users told of the node itself has the rest. Not written where none ends.
    """

    def holds(self, t: int) -> bool:
        """Whether a release of this period may say this: it lies in the horizon, and so many nodes end there."""
        step, ends = t - self.first_t + 1, 0
        while ends < self.levels - 1 and step % self.fanout ** (ends + 1) == 0:
            ends += 1
        return 1 <= step <= self.periods and len(self.shares) == ends


class Block(Part):
    """The periods of a leaf that ends with this one, summed."""

    first_t: Whole
    """The first of them."""
    total: Statistics
    """The noisy sum over all of them, for every name."""


Detail = Annotated[str, Field(max_length=64)] | Number


def _described(table: Mapping[str, Detail]) -> Mapping[str, Detail]:
    if not isinstance(table.get("name"), str):
        raise ValueError("found no name; allowed: a table with a name")
    return table


def _identified(table: Mapping[str, Detail]) -> Mapping[str, Detail]:
    epsilon, digest = table.get("epsilon", table.get("central")), table.get("digest")
    named = isinstance(digest, str) and re.fullmatch(r"[0-9a-f]{16,64}", digest)
    if not named or not isinstance(epsilon, int | float):
        raise ValueError(
            "found no epsilon (or central) or no digest; allowed: both, the digest as 16 to 64 hexadecimal digits"
        )
    return table


Method = Annotated[Mapping[Parameter, Detail], Field(min_length=1, max_length=32), AfterValidator(_described), *Freeze]
Mechanism = Annotated[Method, AfterValidator(_identified), *Freeze]
