# SPDX-License-Identifier: Apache-2.0
"""What a deployment promises and who reads what, in words and as data: `murmurate check`.

Contract: every figure is worked out from the plan by the code that the stages use; nothing is claimed that is not
checked.  Lines have at most 80 columns.  Not here: mistakes (loader.py), which method to take (`murmurate plan`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

from murmurate.config.enough import shortage
from murmurate.config.explain_central import CentralFacts, central_facts, central_promise, plain
from murmurate.config.explain_mixed import mixed_promise
from murmurate.config.explain_streams import StreamFacts, stream_facts, stream_lines, wrapped
from murmurate.config.plan import Plan
from murmurate.config.quantities import shortest
from murmurate.config.unprotected import local_promise
from murmurate.randomizers.thresholds import MICRO
from murmurate.topics.names import TOPICS, ZONES, topic

SEES: Final = {
    "edge": "is trusted with raw events, as is whoever runs the brokers",
    "mixing": "sees when reports arrive, and mixes them",
    "analysis": "sees what was reported, not by whom",
    "everybody": "sees the questions and whom they ask, by slot; nothing about users",
}
"""What each zone learns."""


@dataclass(frozen=True)
class Facts:
    """One deployment, worked out."""

    name: str
    promise: tuple[str, ...]
    streams: tuple[StreamFacts, ...]
    zones: dict[str, tuple[str, ...]]
    """The topics that each zone reads, sources included."""
    warnings: tuple[str, ...]
    curator: tuple[str, ...] = ()
    """What central streams promise: another promise, which is never added to the users' one."""
    central: tuple[CentralFacts, ...] = ()

    def document(self) -> dict[str, Any]:
        """The facts as JSON takes them."""
        streams = [asdict(stream) | {"method": stream.method.described()} for stream in self.streams]
        return {"ok": True, **asdict(self), "streams": streams}

    def lines(self) -> Iterator[str]:
        """The facts in words."""
        count = len(self.streams) + len(self.central)
        yield f"{self.name}: {count} stream{'s' if count > 1 else ''}. What this file promises:"
        for sentence in self.promise:
            yield from wrapped(sentence, "    ", "      ")
        if self.curator:
            yield ""
            yield "  What its curator promises, beside that and never added to it:"
        for sentence in self.curator:
            yield from wrapped(sentence, "    ", "      ")
        yield ""
        wide = max(map(len, (*(stream.name for stream in self.streams), *(one.name for one in self.central))))
        for stream in self.streams:
            yield from stream_lines(stream, wide)
        for central in self.central:
            lead, indent = f"  {central.name:<{wide}}  ", " " * min(wide + 4, 24)
            for place, line in enumerate(central.lines()):
                yield from wrapped(line, indent if place else lead, indent)
        yield ""
        yield "  who reads what"
        for zone, topics in self.zones.items():
            yield from wrapped(" ".join(topics), f"    {zone:<10}", " " * 14)
            shown = [stream.name for stream in self.streams if stream.answer_epsilon is None]
            sees = (
                f"SEES WHAT USERS SAY ({', '.join(shown)}), and adds it up"
                if shown and zone == "mixing"
                else SEES[zone]
            )
            yield from wrapped(sees, " " * 14, " " * 14)
        for warning in self.warnings:
            yield from wrapped(f"warning: {warning}", "  ", "    ")
        yield "  ok"


def explain(made: Plan, users: int | None = None) -> Facts:
    """What this plan promises; with a number of users (else the file's), also which streams would have too few reports
    to release.
    """
    users = users or made.users
    streams = tuple(stream_facts(made, stream) for stream in made.streams)
    short = () if users is None else tuple(_too_few(made, users))
    central = tuple(central_facts(stream) for stream in made.central)
    promise, curator = promises(made)
    return Facts(made.name, promise, streams, _zones(made), short, curator, central)


def promises(made: Plan) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What a plan promises its users, and what it promises of the events of central streams, as `explain` says both;
    without the figures of its streams, which take a while.
    """
    return tuple(_promise(made)), tuple(central_promise(made))


def _promise(made: Plan) -> Iterator[str]:
    if not made.streams:
        yield "No stream asks users for reports, so nothing is spent of what [privacy] allows."
        return
    epsilon = f"epsilon {plain(made.epsilon_micro)}"
    periods = f"{made.streams[0].w} periods of a stream"
    stretch = f"in any {periods if made.window_ms is None else _stretch(made.window_ms)}"
    yield from local_promise(made, f"{epsilon} about one user {stretch}")
    if made.window_ms is None:
        yield "The window is a number of periods, as in the papers, and not one stretch of time for all streams."
        for stream in made.streams:
            if stream.carry_ms:
                yield (
                    f"{stream.name}: a value is carried {shortest(stream.carry_ms)}, and each period it speaks for "
                    "counts by itself: one event can be answered about in more than one window."
                )
    yield from mixed_promise(made)
    yield "Windows add up: k windows that do not overlap can cost k times epsilon, with no limit over a lifetime."
    for stream in made.streams:
        if stream.carry_ms is None:
            yield (
                f"{stream.name}: a value stands until the next one, so the promise is over the sequence of values, as "
                "in the papers: each window hides what a user's values were in it. One event that stands for longer "
                "than a window is answered about in every one of them."
            )
            yield (
                f"{stream.name}: a user joins with the first event, whatever it says. Until a valid value comes they "
                f"count as {stream.measure.said(stream.initial_code)}, which releases show too often by as many as "
                "there are: the edge counts them (murmurate_users_initial)."
            )
    if made.split == "budget":
        parts = ", ".join(f"{stream.name} {plain(made.epsilon_of(stream.name))}" for stream in made.streams)
        yield f"Every user answers for every stream; together they spend at most {epsilon}: {parts}."
    elif len(made.streams) > 1:
        spends = "" if any(stream.unprotected for stream in made.streams) else ", and spends the whole epsilon there"
        yield f"Each user answers for one stream, chosen once by a keyed hash{spends}."
    idle = MICRO - sum(stream.share_micro for stream in made.streams)
    if idle:
        what = "the users answer for no stream" if made.split == "users" else "epsilon stay unspent"
        yield f"{idle * 100 / MICRO:g} % of {what}."


def _too_few(made: Plan, users: int) -> Iterator[str]:
    for stream in made.streams:
        if (said := shortage(made, stream, users)) is not None:
            yield f"{stream.name}: {said}"


def _zones(made: Plan) -> dict[str, tuple[str, ...]]:
    """Pipeline topics by zone, sources at the edge first."""
    sources = sorted({stream.topic for stream in made.everything})
    data = {
        "edge": ("raw", *(("sums",) if made.central else ())),
        "mixing": ("reports", "closings"),
        "analysis": ("batches", "tallies", "releases"),
    }
    zones = {}
    for zone in ZONES:
        names = tuple(topic(made.name, name) for name in data[zone] if TOPICS[name].zone == zone)
        zones[zone] = (*sources, *names) if zone == "edge" else names
    return zones | {"everybody": (topic(made.name, "rounds"),)}


def _stretch(ms: int) -> str:
    units = {"d": "day", "h": "hour", "m": "minute", "s": "second", "ms": "millisecond"}
    short = shortest(ms)
    count, unit = int(short.rstrip("dhms")), short.lstrip("0123456789")
    return units[unit] if count == 1 else f"{count} {units[unit]}s"
