"""The release: one JSON record a period, the product (ARCHITECTURE rule 10). Subscribers in any language read this.

Contract: no wall clock, host or version in it; estimates and errors, and only they, are rounded to six places: same
input, same bytes. What is not there was not computed, and nothing measured is no number: its name stands with null.
The class is the schema; `example` records are in the tests.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from murmurate.topics.message import Freeze, Message, Part, Positive, Stream, Whole, Word
from murmurate.topics.messages import Parameter, Rejected
from murmurate.topics.names import NAME_PATTERN

PLACES = 6
MAX_NAMES = 1 << 12
"""The most statistics that a deployment declares: three maps of them, names included, fit a message."""
MAX_FIGURES = MAX_NAMES + 1
"""The most figures in one release: the declared statistics, and the share of those who have no value."""

BETWEEN = " | "
"""Between the attributes in the name of a cell: values may hold commas, as the stretches of a range do."""

Number = Annotated[int, Field(ge=-(1 << 63), le=(1 << 64) - 1)] | float  # the integers that JSON writers have
Nats = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(ge=0, lt=1)]
Text = Annotated[str, Field(min_length=1, max_length=64)]
Model = Literal["local", "central"]
"""Who adds the noise: every user's device before it reports anything, or the trusted edge to exact sums."""
Instant = Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{3})?Z$")]
Duration = Annotated[str, Field(pattern=r"^[1-9][0-9]{0,14}(ms|s|m|h|d)$")]


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


class Reports(Part):
    """What the release is made of."""

    slots: Whole
    """How many slots were asked."""
    received: Whole
    counted: Whole
    rejected: Rejected
    missing: Whole = 0
    """Contributors that were closed out. Not written when 0."""


class Shuffled(Part):
    """What the mixing adds: (epsilon, delta) per window, with the bound it comes from."""

    epsilon: Nats
    delta: Annotated[float, Field(gt=0, lt=1)]
    per: Literal["window"]
    n: Positive
    """Reports that hide each other: floor((1 - assumed_corrupt) * counted)."""
    assumed_corrupt: Share
    bound: Word


class Periods(Part):
    """A window given as a number of periods, as in the papers."""

    periods: Positive


class Privacy(Part):
    """The promise this release keeps."""

    unit: Literal["user"]
    epsilon: Nats
    window: Duration | Periods
    w: Positive
    """The window in periods of this stream."""
    shuffled: Shuffled | None
    """The amplified claim, or null where it was not computed, as in every release of this version."""
    carry: Literal["always"] | None = None
    """Values stand until the next one, so the promise is over the sequence of values: one event that stands for longer
    than a window is answered about in each. Not written where values expire.
    """


class CentralPromise(Part):
    """The promise of a central stream: who sees its releases learns at most epsilon about whether one event, or one
    user's events of any one window, are in the sums. It is not the promise to users of other streams, and never added
    to it.
    """

    unit: Literal["event", "user"]
    """What is added or removed; replacing it by another costs twice epsilon."""
    epsilon: Nats
    events: Positive | None = None
    """How many events of a user count in any window, where the unit is a user."""
    window: Duration | None = None
    """That window."""

    @model_validator(mode="after")
    def _of_its_unit(self) -> "CentralPromise":
        if (self.unit == "user") != (self.events is not None) or (self.unit == "user") != (self.window is not None):
            raise ValueError("found events or window without a unit of users; allowed: both, only then")
        return self


class ThresholdSearch(Part):
    """How far the phase is that finds the threshold of a central stream: its events are in no sum."""

    period: Positive
    """Which of them this period is, from 1."""
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
    epsilon, digest = table.get("epsilon"), table.get("digest")
    named = isinstance(digest, str) and re.fullmatch(r"[0-9a-f]{16,64}", digest)
    if not named or not isinstance(epsilon, int | float):
        raise ValueError("found no epsilon or no digest; allowed: both, the digest as 16 to 64 hexadecimal digits")
    return table


Method = Annotated[Mapping[Parameter, Detail], Field(min_length=1, max_length=32), AfterValidator(_described), *Freeze]
Mechanism = Annotated[Method, AfterValidator(_identified), *Freeze]


class Release(Message, tag="murmurate/release/2"):
    """A period's statistics with their errors and their privacy loss attached.

    Every name stands in `estimate`, `stderr` and `unbiased`, with null where nothing is known of it. That is so in two
    cases. Before the first answer `decision` is "unmeasured": all three are null throughout, and there are no
    thresholds. And a statistic about some users alone is null while nobody is known to be one of them: a mean beside
    `present`, while the share of holders was measured within two of its standard errors of none.
    """

    deployment: Annotated[str, Field(pattern=NAME_PATTERN)]
    stream: Stream
    revision: Positive
    t: Whole
    start: Instant
    end: Instant
    measure: Word
    unit: Text | None = None
    range: tuple[Number, Number] | None = None
    decision: Literal["published", "approximated", "unmeasured"]
    """Whether reports of this period speak, or what is known from others; or nothing is known yet."""
    measured_t: Whole | None
    """The period whose reports speak in `unbiased`. While it is null, all of `unbiased` is null too; `estimate` may be
    known before, from reports that only told whether a publication pays.
    """
    estimate: Statistics
    """The best current estimate."""
    stderr: Statistics
    """The standard error of `estimate`: mechanism, sampling, and drift where the value is older than its period; null
    where the estimate is.
    """
    unbiased: Statistics
    """The raw estimate before any post-processing: it may be negative and need not add to 1."""
    stderr_unbiased: Statistics | None = None
    """The standard error of `unbiased` as an estimate of period `measured_t`: mechanism and sampling, without what may
    have drifted since and without what clipping may take; null where `unbiased` is. Written together with `model`.
    """
    model: Model | None = None
    """Who adds the noise. Written where the deployment's file says the model or asks for releases to be queried."""
    names: Literal["found"] | None = None
    """Written where the names are data, too: the three maps have what was found in this period, which may be nothing.
    Not written where the names are declared.
    """
    tables: Annotated[tuple[Table, ...], Field(min_length=1, max_length=64)] | None = None
    """How names make tables: each table's cells follow each other, called "attribute=value | attribute=value". Not
    written where names stand for themselves.
    """
    thresholds: Annotated[Mapping[Name, Reading], Field(min_length=1, max_length=MAX_FIGURES), *Freeze] | None = None
    """For each monitored statistic that is known, on which side of its threshold it is. Not written where there is
    none.
    """
    reports: Reports | None = None
    """Written for all but central streams, which have no reports."""
    privacy: Privacy | None = None
    """Written for all but central streams."""
    central: CentralPromise | None = None
    """Written for central streams alone: their promise, which is another one."""
    holdout: ThresholdSearch | None = None
    """Written for central streams while their threshold is being found."""
    noise: Noise | None = None
    """Written for central streams, once their threshold is known: which noise the sums have."""
    block: Block | None = None
    """Written for central streams whose leaves are several periods, with the last period of each leaf."""
    mechanism: Mechanism
    """The mechanism's name, parameters and digest."""
    method: Method

    @property
    def result(self) -> Named | Tables:
        """What it says, by name or in tables."""
        maps = self.estimate, self.stderr, self.unbiased
        if self.tables is None:
            return Named(*maps, found=self.names is not None)
        cells = [list(zip(product(*table.values), table.names, strict=True)) for table in self.tables]
        return Tables(self.tables, *(tuple({cell: said[name] for cell, name in of} for of in cells) for said in maps))

    @cached_property
    def known(self) -> dict[str, tuple[float, float]]:
        """Estimate and standard error of every name of which something is known."""
        pairs = ((name, value, self.stderr[name]) for name, value in self.estimate.items())
        return {name: (value, error) for name, value, error in pairs if value is not None and error is not None}

    @model_validator(mode="after")
    def _fits_together(self) -> "Release":
        if not self.estimate.keys() == self.stderr.keys() == self.unbiased.keys():
            raise ValueError("found estimate, stderr and unbiased of different names; allowed: the same names")
        if self.stderr_unbiased is not None and _known(self.stderr_unbiased) != _known(self.unbiased):
            raise ValueError("found unbiased or its stderr_unbiased without the other; allowed: both, or null for both")
        if self.stderr_unbiased is not None and self.stderr_unbiased.keys() != self.unbiased.keys():
            raise ValueError("found stderr_unbiased of other names than unbiased; allowed: the same names")
        if (self.stderr_unbiased is None) != (self.model is None):
            raise ValueError("found stderr_unbiased or model without the other; allowed: both or none")
        if not self.estimate and self.names is None:
            raise ValueError("found no names; allowed: at least one, unless names are found")
        cells = [name for table in self.tables or () for name in table.names]
        if self.tables is not None and sorted(cells) != sorted(self.estimate):
            raise ValueError("found names other than the cells of the tables; allowed: each of these once")
        if not (self.thresholds or {}).keys() <= self.estimate.keys():
            raise ValueError("found a threshold of a name without an estimate; allowed: names of estimates")
        if self.measured_t is not None and self.measured_t > self.t:
            raise ValueError("found measured_t after t; allowed: at most t")
        local, central = (self.privacy, self.reports), (self.central, self.holdout, self.noise, self.block)
        if None in local if self.central is None else local != (None, None):
            raise ValueError("found privacy and reports beside central, or not without; allowed: these two, or central")
        if self.central is None and any(central):
            raise ValueError("found holdout, noise or block without central; allowed: only for central streams")
        if self.holdout is not None and (self.noise is not None or self.decision != "unmeasured"):
            raise ValueError("found figures or their noise in a hold-out; allowed: neither")
        if self.reports is not None and self.reports.received != self.reports.counted + self.reports.rejected.total:
            raise ValueError("found received other than counted and rejected together; allowed: every report once")
        if self.range is not None and not self.range[0] < self.range[1]:
            raise ValueError("found a range that holds nothing; allowed: low below high")
        return self

    @model_validator(mode="after")
    def _says_what_is_known(self) -> "Release":
        known, own = _known(self.estimate), _known(self.unbiased)
        if known != _known(self.stderr):
            raise ValueError("found an estimate or its stderr without the other; allowed: both, or null for both")
        if self.names is not None:  # which may be none, and in a revision others than were said then
            if self.decision == "unmeasured" and self.estimate:
                raise ValueError("found names in what is unmeasured; allowed: none")
            return self
        if (self.decision == "unmeasured") != (not known):
            raise ValueError("found unmeasured with an estimate, or none without it; allowed: null for all, only then")
        if (self.measured_t is None) != (not own) or (self.decision == "published" and self.measured_t is None):
            raise ValueError("found measured_t or unbiased without the other; allowed: both, or null throughout")
        if self.decision == "unmeasured" and own:
            raise ValueError("found unbiased figures of what is unmeasured; allowed: null for all")
        if (self.thresholds or {}).keys() - known:
            raise ValueError("found a threshold of what is not known; allowed: of estimates that are no null")
        return self


def _known(table: Mapping[str, float | None]) -> set[str]:
    return {name for name, value in table.items() if value is not None}
