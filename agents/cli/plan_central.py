# SPDX-License-Identifier: Apache-2.0
"""What `murmurate plan` says of a central stream: trees by their noise, then whole methods for events that are given.

Contract: a function of the plan and, with --like, of a recording, which stays in this process; no line is longer than a
terminal.  Not here: how errors come about (config/central_outlook.py, agents/simulate/central_methods.py).
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

from murmurate.agents.replay.sources import open_source
from murmurate.agents.simulate.central_data import DeclaredEvents, EventData, RecordedEvents
from murmurate.agents.simulate.central_methods import CentralMethods, central_methods
from murmurate.config.central_outlook import CentralOutlook, advice, central_lines, central_outlook, figure, row
from murmurate.config.explain_streams import COLUMNS
from murmurate.config.plan import CentralPlan, Plan

COMPARED = "*"
"""The mark of methods that no stream may have."""


def planned_central(plan: Plan, stream: CentralPlan, like: str | None) -> tuple[dict[str, Any], list[str]]:
    """What to expect of a central stream, for JSON and for a terminal."""
    said, events = central_outlook(stream), _events(plan, stream, like)
    methods = None if events is None else central_methods(stream, events)
    compared = None if methods is None else {"like": like, **methods.document()}
    return {**said.document(), "with_events": compared}, [*_lines(stream, said, methods, like)]


def _events(plan: Plan, stream: CentralPlan, like: str | None) -> EventData | None:
    """The recording; else as many events as are declared; None where nothing is known of them."""
    if like is not None:
        return RecordedEvents(stream, open_source(like, plan, stream.name))
    return None if stream.holdout is None else DeclaredEvents(stream)


def _lines(
    stream: CentralPlan, said: CentralOutlook, methods: CentralMethods | None, like: str | None
) -> Iterator[str]:  # fmt: skip
    who = "one event" if stream.events is None else f"the first {stream.events} events of a user in a window"
    yield from _wrapped(f"{said.stream}: {stream.measure.brief}, epsilon {said.epsilon:g} for {who}", "")
    first, *table = central_lines(said)
    yield from _wrapped(first, "  ")
    yield from table
    if methods is not None:
        yield from _methods(stream, methods, like)
    else:
        clips = "What clipping takes is not in them. " if stream.range else ""
        yield from _wrapped(f"{clips}A recording (--like) tells more, such as how far zeros are off.", "  ")
    for sentence in advice(said):
        yield from _wrapped(sentence, "  ")


def _methods(stream: CentralPlan, methods: CentralMethods, like: str | None) -> Iterator[str]:
    """Whole methods as more lines of the table, and what is assumed or recorded of events."""
    clips = "the same with what clipping takes" if stream.range else "the same"
    yield f"  {clips}, {'for assumed events' if like is None else 'for recorded events'}:"
    for one in methods.ways:
        yield row(one.what if one.offered else f"{one.what} {COMPARED}", one.errors)
    yield from _wrapped(_assumed(stream, like), "  ")
    unit = f" {stream.unit}" if stream.unit else ""
    if methods.thresholds is not None:
        low, high = (figure(end) for end in methods.thresholds)
        between = low if low == high else f"{low} to {high}"
        yield from _wrapped(f"With them the hold-out finds a threshold of {between}{unit}.", "  ")
    if any(not one.offered for one in methods.ways):
        yield from _wrapped(
            f"{COMPARED} to compare with, and no method of a stream: the smooth sensitivity of S-P and S-PAK holds "
            f"(epsilon, delta) only, here with delta = {methods.delta:.2g}, and for one event in another's place.",
            "  ",
        )
    if methods.predicted is not None:
        yield from _wrapped(
            f"A period within a block is predicted by {stream.smoother}, and off by {figure(methods.predicted)}{unit}.",
            "  ",
        )
    elif stream.block > 1:
        yield from _wrapped("How far predictions within a block are off depends on how sums move: --like.", "  ")


def _assumed(stream: CentralPlan, like: str | None) -> str:
    if like is not None:
        over = "" if stream.events is None else f", those of a user beyond the first {stream.events}, too"
        return f"recorded: {like}, all of its events{over}; forwards and backwards again where it is too short."
    held = stream.holdout
    assert held is not None  # noqa: S101 - nothing is assumed else
    return (
        f"assumed: {held.events / held.periods:.3g} events a period, as declared, independent of each other; half of "
        "the numbers below a twentieth of the range, one in 200 above .46 of it (log-normal). --like takes a recording."
    )


def _wrapped(text: str, lead: str) -> list[str]:
    return textwrap.wrap(text, COLUMNS, initial_indent=lead, subsequent_indent=lead, break_on_hyphens=False)
