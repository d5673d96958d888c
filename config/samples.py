# SPDX-License-Identifier: Apache-2.0
"""Example deployments and events that fit them: what `murmurate init` writes.

Contract: the same plan gives the same bytes, by a fixed formula (SHA-256 of user and step; no chance).  800 users over
half an hour, in order of time: some minutes are quiet, and in the middle one value becomes popular, so that there is
something to see.  Users who tell changes through horizons set out and arrive once in each.  Not here: writing files
(agents/cli/init.py), the bundled recording of the demo.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.resources import files
from itertools import product
from typing import Any, Final

import orjson

from murmurate.aggregators.methods.registry import HORIZON_METHODS
from murmurate.config.plan import AnyStreamPlan, Plan, StreamPlan
from murmurate.topics.pointers import tokens

USERS: Final = 800
MINUTES: Final = 30
START_MS: Final = 1_794_992_400_000
"""2026-11-18T09:00:00Z, a Wednesday."""
GROUPS: Final = 40
"""How many groups of a journey's users arrive together in a horizon."""
_MINUTE_MS: Final = 60_000
_ONE_IN: Final = 5  # minutes between two events of one user, on average
_PEAK: Final = range(12, 20)


def names() -> tuple[str, ...]:
    """The examples there are."""
    folder = files("murmurate.config").joinpath("examples")
    return tuple(sorted(found.name.removesuffix(".toml") for found in folder.iterdir() if found.name.endswith(".toml")))


def example(name: str) -> str:
    """The text of an example's murmurate.toml."""
    return files("murmurate.config").joinpath("examples", f"{name}.toml").read_text(encoding="utf-8")


def events(made: Plan) -> Iterator[bytes]:
    """JSON lines of events, in order of time: a few thousand for each stream of a plan, from the same users."""
    rows = [row for place, one in enumerate(made.everything) if _tells_changes(one) for row in _journeys(one, place)]
    for place, minute, user in product(range(len(made.everything)), range(MINUTES), range(USERS)):
        stream = made.everything[place]
        if _tells_changes(stream):
            continue
        mark = hashlib.sha256(b"%d %d %d" % (user, minute, place)).digest()
        introduces = not minute and isinstance(stream, StreamPlan)  # the first minute, everybody who may be asked
        if mark[0] % _ONE_IN and not introduces:
            continue
        time_ms = START_MS + minute * _MINUTE_MS + int.from_bytes(mark[1:5], "little") % _MINUTE_MS
        value = stream.measure.example(int.from_bytes(mark[5:9], "little") % 100, peak=minute in _PEAK)
        rows.append((time_ms, user, place, value))
    for time_ms, user, place, value in sorted(rows, key=lambda row: row[:3]):
        stream = made.everything[place]
        yield orjson.dumps(_event(stream, f"u-{user}", time_ms, value)) + b"\n"


def _tells_changes(stream: AnyStreamPlan) -> bool:
    return isinstance(stream, StreamPlan) and stream.method.name in HORIZON_METHODS


def _journeys(stream: AnyStreamPlan, place: int) -> Iterator[tuple[int, int, int, Any]]:
    """Everybody sets out when a horizon begins, and arrives once in it, one of GROUPS together."""
    assert isinstance(stream, StreamPlan)  # noqa: S101 - it tells changes
    horizon, (before, after) = int(stream.method.horizon or 1), stream.measure.journey()
    for first in range(0, MINUTES * _MINUTE_MS // stream.every_ms, horizon):
        for user in range(USERS):
            mark = hashlib.sha256(b"%d %d" % (first, user * GROUPS // USERS)).digest()
            arrival = first + 1 + int.from_bytes(mark[:4], "little") % (horizon - 1)
            for period, value in ((first, before), (arrival, after)):
                if period < MINUTES * _MINUTE_MS // stream.every_ms:
                    yield START_MS + period * stream.every_ms + user % stream.every_ms, user, place, value


def _event(stream: AnyStreamPlan, user: str, time_ms: int, value: Any) -> dict[str, Any]:
    """The document in which every pointer leads to what it names."""
    fields = stream.fields
    instant = datetime.fromtimestamp(time_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S") + f".{time_ms % 1000:03d}Z"
    event: dict[str, Any] = {}
    for pointer, content in (
        (fields.stream, stream.name),
        (fields.user, user),
        (fields.time or "/time", instant),
        (fields.value, value),
    ):
        if pointer is None:
            continue
        *path, last = tokens(pointer)
        table = event
        for step in path:
            table = table.setdefault(step, {})
        table[last] = content
    return event
