"""What the stages need to know of a deployment: plain values, worked out once from the file and checked.

Contract: two files that promise the same give the same plan; a stream's `config` digest changes with anything that
changes what its releases mean.  Not here: reading the file (loader.py, settings.py), secrets (secrets.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from murmurate.randomizers.terms import Division, StreamTerms, Terms
from murmurate.topics.events import Categories, Fields


@dataclass(frozen=True)
class StreamPlan:
    """One stream."""

    name: str
    measure: Literal["frequency"]
    categories: Categories
    every_ms: int
    w: int
    """Periods that one window can touch, carried values included."""
    share_micro: int
    slots: int
    """S: at least 32 w and a multiple of 2 w, at most 65 536."""
    method: Mapping[str, str | int | float]
    """Its name and options, as a release shows them: {"name": "lpa", "variance": "sampling"}."""
    mechanism: str
    """Word "auto" or a mechanism's name."""
    division: Division
    several: Literal["last", "first"]
    carry_ms: int | None
    """How long a value stands for periods without an event: 0 not at all, None for ever (the papers' setting)."""
    topic: str
    """Where its events come from."""
    fields: Fields
    config: str
    """Digest of all that gives its releases their meaning: 16 hexadecimal digits."""
    revision: int = 1
    prefer: Literal["accuracy", "bytes"] = "accuracy"
    """By what "auto" chooses."""

    @property
    def says_none(self) -> bool:
        """Whether a user without a value answers none. Values that stand for ever leave no need for it."""
        return self.carry_ms is not None

    @property
    def names(self) -> tuple[str, ...]:
        """The statistics of a release, in the order of the codes."""
        names = self.categories.values + (("other",) if self.categories.other else ())
        return (*names, "none") if self.says_none else names

    @property
    def d(self) -> int:
        """Size of the mechanism's domain."""
        return len(self.names)

    def period(self, time_ms: int) -> int:
        """The period that holds an instant."""
        return time_ms // self.every_ms

    def terms(self) -> StreamTerms:
        """Its part of the promise."""
        return StreamTerms(self.name, self.share_micro, self.w, self.slots, self.division, self.d, self.every_ms)


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
    tallies: int = 1
    """Partitions of tallies, and of releases: each has a publish instance, which asks and releases for its streams."""

    def stream(self, name: str) -> StreamPlan:
        """The stream of this name."""
        return next(stream for stream in self.streams if stream.name == name)

    def terms(self, fingerprints: Mapping[str, str]) -> Terms:
        """The promise as frozen facts; fingerprints of pepper, slots and split belong to them."""
        streams = tuple(stream.terms() for stream in self.streams)
        keys = tuple(sorted(fingerprints.items()))
        return Terms(self.name, self.epsilon_micro, streams, split=self.split, partitions=self.partitions, keys=keys)

    def epsilon_of(self, name: str) -> int:
        """What a user may spend on this stream in any w periods, in micro-nats."""
        return self.terms({}).limit_micro(name)
