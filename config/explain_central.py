# SPDX-License-Identifier: Apache-2.0
"""What a deployment's central streams promise, in words and as data: a part of `murmurate check`.

Contract: as explain.py.  Every figure is worked out from the plan by the code that draws the noise or measures it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from murmurate.aggregators.measures.summed import COUNT, TOTAL
from murmurate.config.central_noise import largest, period_deviation
from murmurate.config.plan import CentralPlan, Plan
from murmurate.config.quantities import shortest
from murmurate.randomizers.thresholds import MICRO


@dataclass(frozen=True)
class CentralFacts:
    """One central stream, worked out."""

    name: str
    measure: str
    what: str
    """What is measured, in words."""
    names: tuple[str, ...]
    every_ms: int
    epsilon: float
    unit: str
    """What the promise is about: "event" or "user"."""
    events: int | None
    """How many events of a user count in a window, where it is about users."""
    window_ms: int | None
    fanout: int
    levels: int
    block: int
    """How many periods a leaf is the sum of."""
    tree_ms: int
    """How long one tree lasts; the next one follows by itself."""
    threshold: float | None
    """Larger numbers count as this one; None where there is nothing to clip, or a hold-out finds it."""
    holdout_periods: int | None
    """How many periods find the threshold, whose events are in no sum."""
    holdout_events: int | None
    again: bool
    """Whether a threshold is found again after every `fanout` trees."""
    noise: dict[str, float]
    """The standard error of what one leaf says, for every name; of a found threshold, at the end of the range."""
    range: tuple[float, float] | None
    range_unit: str | None
    config: str

    def lines(self) -> Iterator[str]:
        """The facts in words."""
        who = "one event" if self.events is None else f"one user's first {self.events} events of a window"
        block = f", summed in blocks of {self.block}" if self.block > 1 else ""
        yield f"{self.what}, a release every {shortest(self.every_ms)}{block}, epsilon {self.epsilon:g} for {who}"
        if self.holdout_periods is not None:
            again = f", and again after every {self.fanout} trees" if self.again else ""
            yield (
                f"the first {self.holdout_periods} periods ({shortest(self.holdout_periods * self.every_ms)}) find the "
                f"threshold at which numbers are clipped{again}: their events, about {self.holdout_events}, are in no "
                "sum"
            )
        elif self.threshold is not None:
            yield f"numbers above {self.threshold:.12g} count as {self.threshold:.12g}"
        yield self._noise()
        lasts = shortest(self.tree_ms)
        leaves = self.fanout ** (self.levels - 1)
        yield f"a tree of {self.levels} levels has {leaves} leaves and lasts {lasts}; the next one follows by itself"

    def _noise(self) -> str:
        of = "a period" if self.block == 1 else f"a block of {self.block} periods"
        unit = f" {self.range_unit}" if self.range_unit else ""
        if self.range is None:  # counts, which are all alike
            many = f" for each of {len(self.names)} counts" if len(self.names) > 1 else ""
            return f"noise of {of}: {_digits(next(iter(self.noise.values())))} events{many} (standard error)"
        each = f"{_digits(self.noise[TOTAL])}{unit}"
        count = f", and {_digits(self.noise[COUNT])} for the number of events" if COUNT in self.noise else ""
        if self.holdout_periods is None:
            return f"noise of {of}: {each}{count} (standard error)"
        times = self.noise[TOTAL] / self.range[1]
        return f"noise of {of}: {_digits(times)} times the threshold (standard error), at most {each}{count}"


def central_facts(stream: CentralPlan) -> CentralFacts:
    """One central stream, worked out."""
    held, measure = stream.holdout, stream.measure
    clips = measure.range is not None and held is None
    return CentralFacts(
        name=stream.name,
        measure=measure.name,
        what=f"{measure.name} of {measure.what}{measure.resolution}",
        names=stream.names,
        every_ms=stream.every_ms,
        epsilon=stream.epsilon_micro / MICRO,
        unit="event" if stream.events is None else "user",
        events=stream.events,
        window_ms=stream.window_ms,
        fanout=stream.tree.fanout,
        levels=stream.tree.levels,
        block=stream.block,
        tree_ms=stream.tree.leaves * stream.block * stream.every_ms,
        threshold=largest(stream) * measure.step(stream.names[0]) if clips else None,
        holdout_periods=None if held is None else held.periods,
        holdout_events=None if held is None else held.events,
        again=held is not None and held.again,
        noise={name: period_deviation(stream, name) for name in stream.names},
        range=stream.range,
        range_unit=stream.unit,
        config=stream.config,
    )


def central_promise(made: Plan) -> Iterator[str]:
    """What central streams promise, and whom they trust."""
    if not made.central:
        return
    names = ", ".join(stream.name for stream in made.central)
    yield (
        f"{names}: the edge sums events exactly and adds the noise itself. Whoever runs the edge, or may read its "
        "topics, sees exact sums."
    )
    events = [stream for stream in made.central if stream.events is None]
    if events:
        yield (
            f"Whoever sees everything beyond the edge learns at most {_each(events)} about whether one event was "
            "there, its time and its value included. Replacing one event by another costs twice that, and k events of "
            "one user k times."
        )
    for stream in made.central:
        if stream.events is not None and stream.window_ms is not None:
            yield (
                f"{stream.name}: of a user the first {stream.events} events of any {shortest(stream.window_ms)} count, "
                f"and whoever sees everything beyond the edge learns at most epsilon {plain(stream.epsilon_micro)} "
                "about one user's events of one such stretch; k stretches cost k times that."
            )
    yield from _together(made)


def _each(streams: list[CentralPlan]) -> str:
    """One epsilon, or that of each stream."""
    if len({stream.epsilon_micro for stream in streams}) == 1:
        return f"epsilon {plain(streams[0].epsilon_micro)}"
    return "epsilon (" + ", ".join(f"{stream.name} {plain(stream.epsilon_micro)}" for stream in streams) + ")"


def _together(made: Plan) -> Iterator[str]:
    """Which streams sum the same events or users, whose parts of epsilon add up."""
    topics: dict[str, list[CentralPlan]] = {}
    for stream in made.central:
        if stream.fields.stream is None:  # else each event names the one stream that it is of
            topics.setdefault(stream.topic, []).append(stream)
    users = [stream for stream in made.central if stream.events is not None]
    both = [(f"the events of {topic}", streams) for topic, streams in sorted(topics.items())]
    for what, streams in (*both, ("the same users", users)):
        if len(streams) > 1:
            parts = " + ".join(f"{stream.name} {plain(stream.epsilon_micro)}" for stream in streams)
            whole = plain(sum(stream.epsilon_micro for stream in streams))
            yield f"Several sum {what}, and their parts add up: {parts} = epsilon {whole}."


def plain(micro: int) -> str:
    """Millionths as a number with at least one place: 2000000 is "2.0"."""
    digits = f"{micro // MICRO}.{micro % MICRO:06d}".rstrip("0")
    return f"{digits}0" if digits.endswith(".") else digits


def _digits(number: float) -> str:
    """Three digits that say something, without an exponent where there are at most nine before the point."""
    return f"{number:.3g}" if not 1000 <= number < 1e9 else f"{float(f'{number:.3g}'):,.0f}".replace(",", " ")
