# SPDX-License-Identifier: Apache-2.0
"""What a deployment promises and who reads what, in words and as data: `murmurate check`.

Contract: every figure is worked out from the plan by the code that the stages use; nothing is claimed that is not
checked.  Lines have at most 80 columns.  Not here: mistakes (loader.py), which method to take (`murmurate plan`).
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

from murmurate.aggregators.batches import users_needed
from murmurate.aggregators.filters.seasons import PHASES
from murmurate.aggregators.methods.options import OF_ONE, MethodOptions
from murmurate.aggregators.postprocess.shaping import NORM_SUB
from murmurate.config.enough import asks_everybody_first, round_up, shortage, smallest_round, spaced
from murmurate.config.explain_central import CentralFacts, central_facts, central_promise, plain
from murmurate.config.explain_horizons import in_horizons
from murmurate.config.explain_many import many_lines
from murmurate.config.explain_mixed import MixedFacts, mixed_facts, mixed_lines, mixed_promise
from murmurate.config.plan import Plan, StreamPlan
from murmurate.config.planning import resolve
from murmurate.config.quantities import shortest
from murmurate.config.unprotected import at_epsilon, local_promise
from murmurate.randomizers.thresholds import MICRO
from murmurate.topics.names import TOPICS, ZONES, topic

COLUMNS: Final = 80
SEES: Final = {
    "edge": "is trusted with raw events, as is whoever runs the brokers",
    "mixing": "sees when reports arrive, and mixes them",
    "analysis": "sees what was reported, not by whom",
    "everybody": "sees the questions and whom they ask, by slot; nothing about users",
}
"""What each zone learns."""


@dataclass(frozen=True)
class StreamFacts:
    """One stream, worked out."""

    name: str
    measure: str
    what: str
    """What is measured, in words."""
    names: tuple[str, ...]
    every_ms: int
    w: int
    share: float
    share_of: str
    method: MethodOptions
    mechanism: str
    answer_epsilon: float | None
    """What one answer spends; None where reports show their values."""
    wire_bytes: int
    """The bytes of a report."""
    slots: int
    unit: str
    """The part of all users that the smallest round asks, as a fraction."""
    users_needed: int
    """The number of users in the whole deployment from which on the smallest round is hardly ever below min_batch."""
    post: str | None
    """How the estimates of a frequency are shaped."""
    carry_ms: int | None
    config: str
    range: tuple[float, float] | None
    """The range of the numbers; what lies outside counts as the nearer end."""
    range_unit: str | None
    cells: int | None
    """The number of codes of a number, of which a user reports at most one a period."""
    season_ms: int | None = None
    """After how long values return, by the file."""
    asks_everybody_first: bool = False
    """Whether a clipping threshold is found first."""
    bias: str = ""
    """By what figures are off in the mean, if by anything."""
    listed: tuple[str, ...] = ()
    """What is listed of very many items, and what that costs, in words."""
    mixed: MixedFacts | None = None
    """What the mixing adds for the smallest batch."""


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
            yield from _wrapped(sentence, "    ", "      ")
        if self.curator:
            yield ""
            yield "  What its curator promises, beside that and never added to it:"
        for sentence in self.curator:
            yield from _wrapped(sentence, "    ", "      ")
        yield ""
        wide = max(map(len, (*(stream.name for stream in self.streams), *(one.name for one in self.central))))
        for stream in self.streams:
            yield from _stream_lines(stream, wide)
        for central in self.central:
            lead, indent = f"  {central.name:<{wide}}  ", " " * min(wide + 4, 24)
            for place, line in enumerate(central.lines()):
                yield from _wrapped(line, indent if place else lead, indent)
        yield ""
        yield "  who reads what"
        for zone, topics in self.zones.items():
            yield from _wrapped(" ".join(topics), f"    {zone:<10}", " " * 14)
            shown = [stream.name for stream in self.streams if stream.answer_epsilon is None]
            sees = (
                f"SEES WHAT USERS SAY ({', '.join(shown)}), and adds it up"
                if shown and zone == "mixing"
                else SEES[zone]
            )
            yield from _wrapped(sees, " " * 14, " " * 14)
        for warning in self.warnings:
            yield from _wrapped(f"warning: {warning}", "  ", "    ")
        yield "  ok"


def explain(made: Plan, users: int | None = None) -> Facts:
    """What this plan promises; with a number of users (else the file's), also which streams would have too few reports
    to release.
    """
    users = users or made.users
    streams = tuple(_facts(made, stream) for stream in made.streams)
    short = () if users is None else tuple(_too_few(made, users))
    central = tuple(central_facts(stream) for stream in made.central)
    promise, curator = promises(made)
    return Facts(made.name, promise, streams, _zones(made), short, curator, central)


def promises(made: Plan) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What a plan promises its users, and what it promises of the events of central streams, as `explain` says both;
    without the figures of its streams, which take a while.
    """
    return tuple(_promise(made)), tuple(central_promise(made))


def _facts(made: Plan, stream: StreamPlan) -> StreamFacts:
    used = resolve(made, stream.name)
    part = smallest_round(made, stream)
    return StreamFacts(
        name=stream.name,
        measure=stream.measure.name,
        what=f"{stream.measure.name} of {stream.measure.what}{stream.measure.resolution}",
        names=stream.names,
        every_ms=stream.every_ms,
        w=stream.w,
        share=stream.share_micro / MICRO,
        share_of="the users" if made.split == "users" else "epsilon",
        method=stream.method,
        mechanism=used.answered_by,
        answer_epsilon=None if used.unprotected else used.epsilon,
        wire_bytes=used.wire_size,
        slots=stream.slots,
        unit=str(part),
        users_needed=users_needed(part, made.min_batch),
        post=stream.post.name if stream.measure.shaped else None,
        carry_ms=stream.carry_ms,
        config=stream.config,
        range=stream.range,
        range_unit=stream.unit,
        cells=stream.domain.none if stream.range else None,
        season_ms=None if stream.season is None else stream.season * stream.every_ms,
        asks_everybody_first=asks_everybody_first(made, stream),
        bias=stream.measure.bias_of(used),
        listed=tuple(many_lines(stream, used, made.targets)),
        mixed=mixed_facts(made, stream),
    )


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


def _stream_lines(stream: StreamFacts, wide: int) -> Iterator[str]:
    lead, indent = f"  {stream.name:<{wide}}  ", " " * min(wide + 4, 24)
    share = {1.0: "all of", 0.5: "half of"}.get(stream.share, f"{stream.share * 100:g} % of")
    whole = f"{share} {stream.share_of}".replace("all of the", "all")
    method, even = stream.method, OF_ONE["first_share"]
    variance = " by the paper's variance" if method.variance == "paper" else ""
    looks = f" with {method.first_share} of a window's budget to look for change"
    first = looks if method.first_share not in (None, even) else ""
    paid = ", groups found by rounds of their own" if method.grouping == "paid" else ""
    filtered = "" if method.filtered or method.horizon is not None else ", without the filter"
    horizons = "" if method.horizon is None else in_horizons(method, stream.every_ms)
    revised = f", releases revised {method.revise} periods later" if method.revise and not horizons else ""
    shaped = f", estimates shaped by {stream.post}" if stream.post not in (None, NORM_SUB.name) else ""
    parts = [
        f"{stream.what}, a release every {shortest(stream.every_ms)}",
        f"windows of w = {stream.w} period{'s' if stream.w > 1 else ''}",
        whole,
        f"method {method.name}{variance}{first}{paid}{horizons}{filtered}{revised}{shaped}",
        f"mechanism {stream.mechanism} {at_epsilon(stream.answer_epsilon)}",
        f"{stream.wire_bytes} byte{'s' if stream.wire_bytes > 1 else ''} a report",
    ]
    if stream.carry_ms:
        parts.insert(1, f"a value stands for {shortest(stream.carry_ms)}")
    yield from _wrapped(", ".join(parts), lead, indent)
    part_of_users = "all users" if stream.unit == "1" else f"{stream.unit} of the users"
    needed = (
        f"a round asks {part_of_users}; with {spaced(round_up(stream.users_needed))} users or more it brings the "
        "min_batch reports that a release needs"
    )
    yield from _wrapped(needed, indent, indent)
    for said in (*stream.listed, *([stream.bias] if stream.bias else [])):
        yield from _wrapped(said, indent, indent)
    for said in mixed_lines(stream.mixed) if stream.mixed else ():
        yield from _wrapped(said, indent, indent)
    if stream.season_ms is not None:
        phases = min(stream.season_ms // stream.every_ms, PHASES)
        learned = f"what returns every {shortest(stream.season_ms)} is learned, as a profile of {phases} values"
        yield from _wrapped(learned, indent, indent)
    for line in _clipping_lines(stream):
        yield from _wrapped(line, indent, indent)


def _clipping_lines(stream: StreamFacts) -> Iterator[str]:
    """What a stream of numbers does about its clipping threshold."""
    method = stream.method
    if stream.asks_everybody_first:
        begins = f"{method.name} begins {stream.w} period{'s' if stream.w > 1 else ''} later"
        found = (
            f"finds its clipping threshold first, in the first period with users: everybody answers once, and {begins}"
        )
        yield f"{found}; it clips only where that surely pays"
    elif method.finds_clip:
        whole = "clips at the end of its range alone: with this epsilon, window and method the search for a threshold"
        yield f"{whole} would not surely pay"


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


def _wrapped(text: str, lead: str, indent: str) -> list[str]:
    return textwrap.wrap(
        text, COLUMNS, initial_indent=lead, subsequent_indent=indent, break_on_hyphens=False, break_long_words=True
    )
