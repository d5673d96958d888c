# SPDX-License-Identifier: Apache-2.0
"""Example deployments and events that fit them: what `murmurate init` writes.

Contract: the same plan and size give the same bytes, by a fixed formula (SHA-256 of user and step; no chance), in order
of time: in the middle one value becomes popular, so that there is something to see.  Users who tell changes through
horizons set out and arrive once in each.  `SMALL` is for tests and what compares bytes; `first` has users enough that
the first chart of a newcomer is a good one.  Not here: writing files (agents/cli/init.py), the recording of the demo.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from importlib.resources import files
from itertools import product
from math import lcm
from typing import Any, Final

import orjson

from murmurate.aggregators.measures.searched_words import MOMENTS
from murmurate.aggregators.methods.registry import HORIZON_METHODS
from murmurate.config.plan import AnyStreamPlan, Plan, StreamPlan
from murmurate.topics.pointers import tokens

GROUPS: Final = 40
"""How many groups of a journey's users arrive together in a horizon."""
MINUTE_MS: Final = 60_000


@dataclass(frozen=True, slots=True)
class Sample:
    """How large a sample of events is, and when it begins."""

    users: int = 800
    minutes: int = 30
    one_in: int = 5
    """Minutes between two events of one user, on average."""
    start_ms: int = 1_794_992_400_000
    """2026-11-18T09:00:00Z, a Wednesday."""

    @property
    def peak(self) -> range:
        """The minutes in which one value is popular: from two fifths of all to two thirds."""
        return range(self.minutes * 2 // 5, self.minutes * 2 // 3)

    def ending(self, now_ms: int, made: Plan) -> Sample:
        """A sample like this one, with the newest whole periods of every stream of a plan that are over by now."""
        together = lcm(MINUTE_MS, *(stream.every_ms for stream in made.everything))
        return replace(self, start_ms=now_ms // together * together - self.minutes * MINUTE_MS)


SMALL: Final = Sample()
_FIRST: Final = Sample(users=8_000, minutes=60, one_in=3)
_CROWD: Final = Sample(users=25_000, minutes=60, one_in=3)


def first(made: Plan) -> Sample:
    """The sample of a newcomer to a plan; changes through horizons are told in many short periods, so fewer of them."""
    if any(map(_tells_changes, made.everything)):
        return SMALL
    crowded = any(isinstance(stream, StreamPlan) and stream.measure.takes_a_crowd for stream in made.everything)
    return _CROWD if crowded else _FIRST


def names() -> tuple[str, ...]:
    """The examples there are."""
    folder = files("murmurate.config").joinpath("examples")
    return tuple(sorted(found.name.removesuffix(".toml") for found in folder.iterdir() if found.name.endswith(".toml")))


def example(kind: str, name: str | None = None) -> str:
    """The text of an example's murmurate.toml, of a deployment of this name or of its own."""
    text = files("murmurate.config").joinpath("examples", f"{kind}.toml").read_text(encoding="utf-8")
    if name is None:
        return text
    first = re.search(r'^name = "([^"]+)"( *)', text, re.MULTILINE)
    assert first  # noqa: S101 - each example has a name
    spaces = " " * max(len(first[2]) + len(first[1]) - len(name), 2) if first[2] else ""
    text = text.replace(first[0], f'name = "{name}"{spaces}', 1)
    return re.sub(rf"\b{re.escape(first[1])}(?=\.(releases|events)\b)", name, text)


def events(made: Plan, size: Sample = SMALL) -> Iterator[bytes]:
    """JSON lines of events, in order of time, for each stream of a plan, from the same users."""
    streams = list(enumerate(made.everything))
    rows = [row for place, one in streams if _tells_changes(one) for row in _journeys(one, place, size)]
    for (place, stream), minute, user in product(streams, range(size.minutes), range(size.users)):
        if _tells_changes(stream):
            continue
        mark = hashlib.sha256(b"%d %d %d" % (user, minute, place)).digest()
        introduces = not minute and isinstance(stream, StreamPlan)  # the first minute, everybody who may be asked
        if mark[0] % size.one_in and not introduces:
            continue
        time_ms = size.start_ms + minute * MINUTE_MS + int.from_bytes(mark[1:5], "little") % MINUTE_MS
        value = _value(stream, int.from_bytes(mark[5:9], "little"), minute, size)
        rows.append((time_ms, user, place, value))
    layouts = [_layout(stream) for stream in made.everything]
    for time_ms, user, place, value in sorted(rows, key=lambda row: row[:3]):
        texts = {"stream": made.everything[place].name, "user": f"u-{user}", "time": _instant(time_ms), "value": value}
        yield orjson.dumps(_event(layouts[place], texts)) + b"\n"


def _value(stream: AnyStreamPlan, chance: int, minute: int, size: Sample) -> Any:
    """The value of an event in a minute of the sample."""
    peak = minute in size.peak
    if isinstance(stream, StreamPlan):
        return stream.measure.example_at(chance, minute * MOMENTS // size.minutes, peak=peak)
    return stream.measure.example(chance % 100, peak=peak)


def _tells_changes(stream: AnyStreamPlan) -> bool:
    return isinstance(stream, StreamPlan) and stream.method.name in HORIZON_METHODS


def _journeys(stream: AnyStreamPlan, place: int, size: Sample) -> Iterator[tuple[int, int, int, Any]]:
    """Everybody sets out when a horizon begins, and arrives once in it, one of GROUPS together."""
    assert isinstance(stream, StreamPlan)  # noqa: S101 - it tells changes
    horizon, (before, after) = int(stream.method.horizon or 1), stream.measure.journey()
    periods = size.minutes * MINUTE_MS // stream.every_ms
    for first in range(0, periods, horizon):
        for user in range(size.users):
            mark = hashlib.sha256(b"%d %d" % (first, user * GROUPS // size.users)).digest()
            arrival = first + 1 + int.from_bytes(mark[:4], "little") % (horizon - 1)
            for period, value in ((first, before), (arrival, after)):
                if period < periods:
                    yield size.start_ms + period * stream.every_ms + user % stream.every_ms, user, place, value


def _layout(stream: AnyStreamPlan) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """What an event of a stream says, each with the names of the tables that lead to it."""
    fields = stream.fields
    pointers = {"stream": fields.stream, "user": fields.user, "time": fields.time or "/time", "value": fields.value}
    return tuple((said, tuple(tokens(pointer))) for said, pointer in pointers.items() if pointer is not None)


@lru_cache(maxsize=64)
def _second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _instant(time_ms: int) -> str:
    return f"{_second(time_ms // 1000)}.{time_ms % 1000:03d}Z"


def _event(layout: tuple[tuple[str, tuple[str, ...]], ...], said: dict[str, Any]) -> dict[str, Any]:
    """The document in which every pointer leads to what it names."""
    event: dict[str, Any] = {}
    for what, (*path, last) in layout:
        table = event
        for step in path:
            table = table.setdefault(step, {})
        table[last] = said[what]
    return event
