# SPDX-License-Identifier: Apache-2.0
"""What the stages need to know of a deployment: plain values, worked out once from the file and checked.

Contract: two files that promise the same give the same plan; a stream's `config` digest changes with anything that
changes what its releases mean.  Not here: reading the file (loader.py, settings.py), secrets (secrets.py).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Generic, Literal, TypeVar

from murmurate.aggregators.accounting.claim import MixedClaim
from murmurate.aggregators.batches import worth_asking
from murmurate.aggregators.measures.measure import Measure, Range
from murmurate.aggregators.measures.summed import SummedMeasure
from murmurate.aggregators.methods.method import Setting
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.aggregators.methods.registry import kind_of
from murmurate.aggregators.postprocess.shaping import NORM_SUB, Shaping
from murmurate.config.until import HeldUntil
from murmurate.randomizers.frequency.appended import AUE
from murmurate.randomizers.terms import Division, StreamTerms, Terms
from murmurate.randomizers.thresholds import MICRO
from murmurate.randomizers.trees import Tree
from murmurate.topics.domains import Domain
from murmurate.topics.events import Fields
from murmurate.topics.release_parts import Model

Measured = TypeVar("Measured", bound=Measure)


class OfMeasure(Generic[Measured]):
    """What the plan of a stream says by its measure and its length of a period, local or central."""

    measure: Measured
    """The kind of measure, with all that it declares."""
    every_ms: int
    """The length of a period."""

    @property
    def domain(self) -> Domain:
        """The values that its events may have."""
        return self.measure.domain

    @property
    def names(self) -> tuple[str, ...]:
        """The statistics of a release."""
        return self.measure.names

    @property
    def unit(self) -> str | None:
        """The unit of numbers, in words: "EUR"."""
        return self.measure.unit

    @property
    def range(self) -> Range | None:
        """The range of numbers: those outside count as the nearer end."""
        return self.measure.range

    def period(self, time_ms: int) -> int:
        """The period that holds an instant."""
        return time_ms // self.every_ms


@dataclass(frozen=True)
class MixedPlan:
    """What a central target makes of one stream."""

    target: float
    """The stream's part of the central epsilon, in nats."""
    epsilon_micro: int
    """The local epsilon that a user spends in any w periods, in micro-nats."""
    mechanism: str
    """The chosen mechanism's name, with the number of cells where it is not local hashing's usual one."""
    question: str
    """The digest of the one question that devices answer (`claimed_as`), 64 hexadecimal digits."""
    claim: MixedClaim
    """What the smallest batch that is released is claimed to have in a window."""
    gain: float
    """How many times smaller the variance is than where reports keep the target by themselves."""


@dataclass(frozen=True)
class StreamPlan(OfMeasure[Measure]):
    """One stream."""

    name: str
    measure: Measure
    """What the stream measures: it answers every question that depends on that."""
    every_ms: int
    w: int
    """Periods that one window can touch, carried values included."""
    share_micro: int
    slots: int
    """S: at least 32 w and a multiple of 2 w, at most 65 536."""
    method: MethodOptions
    mechanism: str
    """The name of a mechanism, or the word "auto"."""
    several: Literal["last", "first"]
    carry_ms: int | None
    """How long a value stands for periods without an event: 0 not at all, None for ever (the papers' setting)."""
    topic: str
    """Where its events come from."""
    fields: Fields
    config: str
    """The digest of all that gives the stream's releases their meaning: 16 hexadecimal digits."""
    revision: int = 1
    prefer: Literal["accuracy", "bytes"] = "accuracy"
    """What "auto" prefers when it chooses."""
    season: int | None = None
    """Periods after which values return, where the file says so."""
    thresholds: Mapping[str, float] = field(default_factory=dict)
    """For each monitored statistic, the threshold of which releases say on which side the truth is."""
    initial: int | None = None
    """The declared code of users who have had no valid value yet, in a stream whose values stand for ever; None if none
    is declared.
    """
    post: Shaping = NORM_SUB
    """How estimates are shaped, for a measure whose estimates are."""
    mixed: MixedPlan | None = None
    """What the deployment's central target makes of it; None without one."""
    stated_model: Model | None = None
    """The model that releases say, with the standard error of `unbiased`; None: they say neither."""

    def __post_init__(self) -> None:
        if self.measure.says_none != (self.carry_ms is not None):
            raise ValueError(f"stream {self.name!r}: found a measure with none, or values that expire, alone")

    @property
    def division(self) -> Division:
        """What the promise is divided into: the method's word."""
        return kind_of(self.method.name).division

    @property
    def unprotected(self) -> bool:
        """Whether its reports show their values, and only their sums are protected."""
        return self.mechanism == AUE.name

    @property
    def says_none(self) -> bool:
        """Whether a user without a value answers none. Values that stand for ever leave no need for it."""
        return self.measure.says_none

    @property
    def initial_code(self) -> int:
        """The code of users who have had no valid value yet, in a stream whose values stand for ever: the declared one,
        else the measure's default.
        """
        return self.measure.default_code if self.initial is None else self.initial

    @property
    def d(self) -> int:
        """Size of the mechanism's domain."""
        return self.measure.d

    def setting(self, made: Plan, first_t: int) -> Setting:
        """What its method knows, from its first period on. Who is asked is no secret: slots are drawn from a public
        seed, the same after a crash.
        """
        seed = hashlib.sha256(b"murmurate/slots/1\n" + f"{made.name}\n{self.name}\n{self.config}".encode())
        return Setting(
            measure=self.measure,
            epsilon_micro=made.spent_micro(self.name),
            w=self.w,
            slots=self.slots,
            first_t=first_t,
            seed=seed.digest(),
            mechanism=self.mechanism if self.mixed is None else self.mixed.mechanism,
            prefer=self.prefer,
            min_batch=worth_asking(made.min_batch),
            season=self.season,
            fakes=made.fakes,
        )

    def terms(self) -> StreamTerms:
        """Its part of the promise."""
        layout = self.domain.layout(self.says_none)
        asked, most = (None, None) if self.mixed is None else ((self.mixed.question,), self.mixed.epsilon_micro)
        unprotected = self.unprotected and asked is not None
        return StreamTerms(
            self.name, self.share_micro, self.w, self.slots, self.division, layout, self.every_ms, asked, most,
            unprotected,
        )  # fmt: skip


@dataclass(frozen=True)
class HoldoutPlan:
    """The periods in which the threshold of a central stream is found."""

    periods: int
    events: int
    """How many events they are declared to have."""
    again: bool = False
    """Whether a threshold is found again after every `fanout` trees."""


@dataclass(frozen=True)
class CentralPlan(OfMeasure[SummedMeasure]):
    """One central stream: the edge sums it exactly, and releases have central noise (ARCHITECTURE rule 27)."""

    name: str
    measure: SummedMeasure
    """What the stream measures: it answers every question that depends on that."""
    every_ms: int
    epsilon_micro: int
    """What everybody may learn about one unit, in micro-nats."""
    tree: Tree
    block: int
    """How many periods a leaf is the sum of."""
    topic: str
    """Where its events come from."""
    fields: Fields
    config: str
    """The digest of all that gives the stream's releases their meaning: 16 hexadecimal digits."""
    revision: int = 1
    holdout: HoldoutPlan | None = None
    """The phase that finds the threshold; None where it is declared, or there is nothing to clip."""
    events: int | None = None
    """How many events of a user count in any window, where the unit is a user; None where it is an event."""
    window_ms: int | None = None
    """The window of `events`, in milliseconds."""
    smoother: str = "recent"
    thresholds: Mapping[str, float] = field(default_factory=dict)
    """For each monitored statistic, the threshold of which releases say on which side the truth is."""

    def gamma(self, name: str, threshold: int) -> Fraction:
        """The rate of the noise of one node of a figure, where numbers above the threshold count as it."""
        parts = self.tree.levels * self.measure.sensitivity(name, threshold) * (self.events or 1)
        return Fraction(self.epsilon_micro, MICRO) * self.measure.part(name) / parts


AnyStreamPlan = StreamPlan | CentralPlan
"""What has a name, events and releases."""


@dataclass(frozen=True)
class Plan:
    """One deployment."""

    name: str
    epsilon_micro: int
    split: Literal["users", "budget"]
    window_ms: int | None
    """The promise's window; None where it is given in periods."""
    delta: float
    min_batch: int
    assumed_corrupt: float
    """The share of any round's reports that may come from whoever attacks."""
    partitions: int
    """P, raw partitions."""
    targets: int
    """Q, reports partitions; batches has as many."""
    enrol: Literal["seen"]
    """Who is asked: every user seen before the period began."""
    forget_after_ms: int
    lateness_ms: int
    future_ms: int
    patience_ms: int
    streams: tuple[StreamPlan, ...]
    """The local streams, whose users randomize their reports."""
    mixed: float | None = None
    """The epsilon, in nats, that holds against everybody but the mixing zone; None where only the local one is set."""
    fakes: int = 0
    """The fake reports that the mixing zone adds to each round of a local stream, over all targets."""
    tallies: int = 1
    """The partitions of tallies, and of releases: each has a publish instance, which asks and releases for its streams.
    """
    users: int | None = None
    """About how many users there will be, where the file says so."""
    central: tuple[CentralPlan, ...] = ()
    """The central streams, which the curator sums."""
    latest: bool = False
    """Whether the newest release of each name has a row in a compacted topic."""
    skew_ms: int = 1000
    """How far a worker's clock may be from the brokers'."""
    until: HeldUntil | None = None
    """What holds before the values above do."""

    def at(self, time_ms: int) -> Plan:
        """The plan as it holds at a time: for a period, that of its beginning."""
        held = self.until
        if held is None or time_ms >= held.time_ms:
            return self
        return replace(
            self, until=None, min_batch=self.min_batch if held.min_batch is None else held.min_batch,
            future_ms=self.future_ms if held.future_ms is None else held.future_ms,
            patience_ms=self.patience_ms if held.patience_ms is None else held.patience_ms,
        )  # fmt: skip

    @property
    def everything(self) -> tuple[AnyStreamPlan, ...]:
        """All streams, in the order of their names."""
        return tuple(sorted((*self.streams, *self.central), key=lambda stream: stream.name))

    def any_stream(self, name: str) -> AnyStreamPlan:
        """The stream of this name, local or central."""
        return next(stream for stream in self.everything if stream.name == name)

    def stream(self, name: str) -> StreamPlan:
        """The local stream of this name."""
        return next(stream for stream in self.streams if stream.name == name)

    def terms(self, fingerprints: Mapping[str, str]) -> Terms:
        """The promise as frozen facts; fingerprints of pepper, slots and split belong to them."""
        streams = tuple(stream.terms() for stream in self.streams)
        keys = tuple(sorted(fingerprints.items()))
        return Terms(self.name, self.epsilon_micro, streams, split=self.split, partitions=self.partitions, keys=keys)

    def epsilon_of(self, name: str) -> int:
        """What a user may spend on this stream in any w periods, in micro-nats."""
        return self.terms({}).limit_micro(name)

    def spent_micro(self, name: str) -> int:
        """What the stream's questions let a user spend on it in any w periods: less than it may be where a central
        target decides.
        """
        return self.terms({}).spent_micro(name)
