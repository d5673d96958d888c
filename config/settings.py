# SPDX-License-Identifier: Apache-2.0
"""The deployment file as a class: one promise to users, who they are, time, Kafka, secrets, and the streams.

Contract: a Deployment that is built can be planned: what its keys owe each other was checked, and every mistake was
named.  Unknown keys are refused, nothing can change afterwards.  Not here: reading files and the environment
(loader.py), one stream by itself (streams.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from murmurate.aggregators.accounting.claim import FEWEST
from murmurate.aggregators.measures.measure import AUTO
from murmurate.aggregators.methods.options import HALF
from murmurate.aggregators.methods.registry import METHODS, kind_of, searching
from murmurate.config.brokers import ADDRESS, Kafka, Secret
from murmurate.config.central_noise import too_much
from murmurate.config.errors import Mistake, NotAllowedError
from murmurate.config.fakes import too_many, unable
from murmurate.config.kinds import Flag, Text, WholeNumber, written
from murmurate.config.measures.central import CentralStream
from murmurate.config.measures.registry import AnyStream
from murmurate.config.measures.stream import StreamTable
from murmurate.config.mixed_searches import SERVED
from murmurate.config.plan import CentralPlan
from murmurate.config.planning_central import AcceptedTimes, central_plan
from murmurate.config.promises import CuratorTable, PrivacyTable
from murmurate.config.quantities import MAX_W, Duration, shortest
from murmurate.config.streams import ConfigTable
from murmurate.config.unprotected import undeclared
from murmurate.config.until import UntilTable
from murmurate.randomizers.terms import MAX_SLOTS
from murmurate.randomizers.thresholds import MICRO
from murmurate.topics.names import NAME_PATTERN, STREAM_PATTERN, TOPICS

NAME: Final = Text(NAME_PATTERN, "1 to 32 of a-z, 0-9, dash, a letter first")
STREAM_NAME: Final = Text(STREAM_PATTERN, "1 to 32 of a-z, 0-9, dash, underscore, a letter first")

SKEW_MS: Final = 1000
LEAST_SKEW_MS: Final = 100
"""Clocks that are kept by NTP differ by less: with a lateness of 0 half of it would refuse every one."""

SecretName = Literal["pepper", "randomness", "slots", "split", "state", "shuffle"]


class Population(ConfigTable):
    """Who is asked."""

    partitions: Annotated[int, WholeNumber(1, 1024)] = 8
    """Raw partitions, for life: moving a user would forget what was spent."""
    enrol: Literal["seen"] = "seen"  # naming users beforehand needs a log of its own: not yet
    """Who takes part: whoever ever sent an event, from the next period on; or only enrolled users."""
    forget_after: Annotated[int, Duration("1s", "4000d")] = written("7d")
    """A silent user leaves after this: at least one window, so that nothing spent is forgotten."""
    users: Annotated[int, WholeNumber(1, 999_999_999)] | None = None
    """About how many users there will be: what `check` and `plan` take where --users is not given."""


class Time(ConfigTable):
    """How long one waits, and for whose clock."""

    lateness: Annotated[int, Duration("0s", "24d")] = written("10s")
    """A period closes this long after its end."""
    clock: Literal["wall", "feed"] = "wall"
    """The door's clock, or that of `murmurate feed`, for recordings."""
    future: Annotated[int, Duration("0s", "24d")] = written("5m")
    """An event further ahead of the clock than this is refused."""
    patience: Annotated[int, Duration("1ms", "1d")] = written("30s")
    """A round's missing contributors are closed out after this."""
    skew: Annotated[int, Duration("10ms", "1h")] | None = None
    """A worker gives no ticks while its clock is further than this from the brokers'; left out: 1s, or half of lateness
    where that is less, but at least 100ms.
    """

    @property
    def skew_ms(self) -> int:
        """How far a worker's clock may be from the brokers', in milliseconds."""
        return max(LEAST_SKEW_MS, min(SKEW_MS, self.lateness // 2)) if self.skew is None else self.skew


class SecretsTable(ConfigTable):
    """Where each secret is kept; only fingerprints are ever printed."""

    pepper: Secret | None = None
    """Edge: user to pseudonym."""
    randomness: Secret | None = None
    """Edge: the chance in every report, as sensitive as the raw data."""
    slots: Secret | None = None
    """Edge: pseudonym to slot, frozen for life."""
    split: Secret | None = None
    """Edge: pseudonym to stream, frozen for life."""
    state: Secret | None = None
    """Edge: seals the state that holds everybody's current value."""
    shuffle: Secret | None = None
    """Mixing: the order of reports."""


class Web(ConfigTable):
    """The page and its endpoints."""

    listen: Annotated[str, ADDRESS] = "127.0.0.1:8000"
    """The address at which the page listens."""
    edge: Annotated[str, ADDRESS] = "127.0.0.1:8001"
    """Where an edge worker shows its own metrics: counts of raw events, for the edge alone."""


class ReleasesTable(ConfigTable):
    """What releases hold besides what everybody reads."""

    queries: Annotated[bool, Flag()] = False
    """Whether they hold what queries over many periods need: the standard error of `unbiased`, and the model."""
    latest: Annotated[bool, Flag()] = False
    """Whether the newest release of each name also has a row in the compacted topic `releases.latest`."""


class Deployment(ConfigTable):
    """One deployment: a murmurate.toml, each key of which MURMURATE__TABLE__KEY in the environment overrides."""

    schema_: Annotated[Literal[1], Field(alias="schema")] = 1
    """Version of this file's form."""
    name: Annotated[str, NAME]
    """Prefix of every topic, group, transactional id and metric label."""
    privacy: PrivacyTable
    curator: CuratorTable | None = None
    """What central streams promise; needed where there are any."""
    population: Population = Population()
    time: Time = Time()
    kafka: Kafka = Kafka()
    secrets: SecretsTable = SecretsTable()
    web: Web = Web()
    releases: ReleasesTable = ReleasesTable()
    until: UntilTable | None = None
    """What holds until an instant, while values change: `murmurate config apply` writes it."""
    streams: dict[Annotated[str, STREAM_NAME], AnyStream]
    """What is measured, a table [streams.NAME] each."""

    @property
    def local(self) -> dict[str, StreamTable]:
        """The streams whose users randomize their reports."""
        return {name: stream for name, stream in self.streams.items() if isinstance(stream, StreamTable)}

    @property
    def central(self) -> dict[str, CentralStream]:
        """The streams that the curator sums."""
        return {name: stream for name, stream in self.streams.items() if isinstance(stream, CentralStream)}

    def w(self, stream: StreamTable) -> int:
        """The periods that one window can touch.

        A window may begin inside a period, hence + 1; a carried value speaks longer than its event (ARCHITECTURE rule
        3).
        """
        window = self.privacy.window
        if window.periods is not None or window.ms is None:
            return window.periods or 1
        return -(-(window.ms + (stream.missing.carry_ms or 0)) // stream.every) + 1

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        mistakes = (
            *self._mistakes(),
            *(mistake for name in self.local for mistake in self._stream_mistakes(name)),
            *self._central_mistakes(),
        )
        if mistakes:
            raise NotAllowedError(*mistakes)
        return self

    def _mistakes(self) -> Iterator[Mistake]:
        mixed, honest = self.privacy.mixed, math.floor((1 - self.privacy.assumed_corrupt) * self.privacy.min_batch)
        if mixed is not None and mixed.epsilon >= self.privacy.epsilon:
            yield Mistake("privacy.mixed.epsilon", f"{mixed.epsilon:g}", f"below epsilon, {self.privacy.epsilon:g}")
        if mixed is not None and honest < FEWEST:
            found = f"{self.privacy.min_batch}, of which {honest} are honest"
            yield Mistake("privacy.min_batch", found, f"with privacy.mixed, {FEWEST} honest reports or more")
        yield from too_many(self.privacy)
        yield from undeclared(self.privacy, self.local)
        if not self.streams:
            yield Mistake("streams", "none", "one or more tables [streams.NAME]")
        if sum(stream.share_micro for stream in self.local.values()) > MICRO:
            shares = ", ".join(f"{name} {stream.share:g}" for name, stream in sorted(self.local.items()))
            yield Mistake("streams.*.share", shares, "at most 1 together")
        window = self.privacy.window
        needed = window.ms or max((stream.every * self.w(stream) for stream in self.local.values()), default=0)
        if self.population.forget_after < needed:
            found, least = shortest(self.population.forget_after), shortest(needed)
            yield Mistake("population.forget_after", f"{found!r}", f'"{least}" or more, the window')

    def _stream_mistakes(self, name: str) -> Iterator[Mistake]:
        stream, key = self.local[name], f"streams.{name}"
        w = self.w(stream)
        post = stream.shaping()
        if post is not None and post.name == "auto" and self.population.users is None:
            yield Mistake("population.users", "nothing", f'a number of users, since streams.{name}.post is "auto"')
        kind, first = kind_of(stream.method.name), Fraction(str(stream.method.first_share or HALF))
        answers = math.ceil(1 / (kind.smallest(w, stream.method_options()) * min(first, 1 - first) / first))
        if w > MAX_W:
            yield Mistake(f"{key}.every", f"{w} periods in one window", f"at most {MAX_W} periods in one window")
        elif stream.slots is not None and (stream.slots % (2 * w) or not 2 * w <= stream.slots <= MAX_SLOTS):
            most = MAX_SLOTS - MAX_SLOTS % (2 * w)
            yield Mistake(f"{key}.slots", f"{stream.slots}", f"a multiple of 2 w = {2 * w}, up to {most}")
        elif kind.division == "population" and (stream.slots or min(32 * w, MAX_SLOTS)) < answers:
            found = f"{stream.slots or 'no number'}, and {answers} rounds of stream {name!r} a window"
            yield Mistake(f"{key}.slots", found, f"at least {answers}, or another method")
        limit = self.privacy.epsilon_micro
        if self.privacy.split == "budget":
            limit = limit * stream.share_micro // MICRO
        if kind.division == "budget" and limit < answers:
            found = f"{self.privacy.epsilon:g}, {limit} micro-nats for {answers} answers of stream {name!r}"
            yield Mistake("privacy.epsilon", found, "at least one micro-nat an answer")
        if self.privacy.mixed is not None and kind.division == "budget" and not (kind.fixed or stream.method.searches):
            able = ", ".join(one for one, other in METHODS.items() if other.division == "population" or other.fixed)
            yield Mistake(f"{key}.method", stream.method.name, f"with privacy.mixed, {able}")
        if self.privacy.mixed is not None and stream.method.of_horizons:
            yield Mistake(f"{key}.method", stream.method.name, "with privacy.mixed, one without horizons")
        if self.privacy.fakes and stream.method.searches:
            yield Mistake(f"{key}.method", stream.method.name, "with privacy.fakes, one that searches for nothing")
        elif self.privacy.mixed is not None and stream.method.searches and stream.method.name not in SERVED:
            able = ", ".join(one for one in searching(stream.statistic()) if one in SERVED)
            allowed = f"with privacy.mixed, {able or 'one that searches for nothing'}"
            yield Mistake(f"{key}.method", stream.method.name, allowed)
        if stream.method.of_horizons and stream.mechanism != AUTO:
            yield Mistake(f"{key}.mechanism", repr(stream.mechanism), f"auto, with method = {stream.method.name}")
        if self.privacy.mixed is not None and stream.method_options().finds_clip:
            yield Mistake(f"{key}.clip", "found", "with privacy.mixed, declared, since devices answer one question")
        yield from unable(self.privacy, name, stream)
        yield from self._source_mistakes(name)

    def _source_mistakes(self, name: str) -> Iterator[Mistake]:
        source = self.streams[name].source
        ours = {f"{self.name}.{topic}" for topic in TOPICS if topic != "events"}
        if source is not None and source.topic in ours:
            yield Mistake(f"streams.{name}.source.topic", repr(source.topic), "a topic that is not Murmurate's own")

    def _central_mistakes(self) -> Iterator[Mistake]:
        """1. There is a promise. 2. Streams that share events, or users, share its epsilon. 3. Noise fits."""
        central = self.central
        for name in central:
            yield from self._source_mistakes(name)
        if not central:
            return
        if self.curator is None:
            yield Mistake("curator", "nothing", f"a table with epsilon, since {next(iter(central))} is central")
            return
        users = [name for name, stream in central.items() if stream.protects is not None]
        if users and self.curator.window is None:
            yield Mistake("curator.window", "nothing", f'a duration such as "24h", since {users[0]} protects users')
        for together in self._together(users):
            if sum(central[name].share_micro for name in together) > MICRO:
                shares = ", ".join(f"{name} {central[name].share:g}" for name in together)
                yield Mistake("streams.*.share", shares, "at most 1 together, since they sum the same events or users")

        for name in central:
            if (found := too_much(self.central_plan(name))) is not None:
                allowed = "more epsilon, a larger step, a smaller range or threshold, or fewer levels"
                yield Mistake(f"streams.{name}", found, allowed)

    def central_plan(self, name: str) -> CentralPlan:
        """What the stages need to know of a central stream."""
        curator = self.curator
        assert curator is not None  # noqa: S101 - a file with a central stream says it, or is refused
        times = AcceptedTimes(self.time.clock, self.time.lateness, self.time.future)
        return central_plan(self.name, name, self.central[name], times, curator.epsilon_micro, curator.window)

    def _together(self, users: list[str]) -> list[list[str]]:
        """Central streams of which one unit is in several: those over one topic, and all that protect users. Streams of
        {name}.events share no event, since each event names its stream.
        """
        topics: dict[str, list[str]] = {}
        for name, stream in sorted(self.central.items()):
            if stream.source is not None:
                topics.setdefault(stream.source.topic, []).append(name)
            else:
                topics[f"{self.name}.events {name}"] = [name]
        return [*topics.values(), *([sorted(users)] if users else [])]
