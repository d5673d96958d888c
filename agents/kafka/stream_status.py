# SPDX-License-Identifier: Apache-2.0
"""How far each stream of a deployment is, by what it has written: its first period, open rounds, the newest release.

Contract: what may not be read is said, not guessed.  Source: ARCHITECTURE rule 9.  Not here: stages and workers
(status.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from murmurate.agents.kafka.agreement import none_found
from murmurate.agents.kafka.client import Client, Got, Place, Reader
from murmurate.agents.kafka.collect import last, span
from murmurate.agents.kafka.errors import RefusedError
from murmurate.config.overdue import REPEATED, allowed_ms, overdue
from murmurate.config.plan import Plan
from murmurate.topics.codec import decode
from murmurate.topics.errors import WireError
from murmurate.topics.message import Message
from murmurate.topics.messages import Config, GiveUp, Round, Settled, Start
from murmurate.topics.names import stream_partition, topic
from murmurate.topics.release import Release


@dataclass
class StreamStatus:
    """One stream."""

    stream: str
    first: int | None = None
    """The stream's first period; None if it has not begun."""
    settled: int | None = None
    """The newest period about which nothing more will be asked."""
    open: list[Round] = field(default_factory=list)
    given_up: Counter[str] = field(default_factory=Counter)
    """How often each open round was given up, by its digest."""
    release: Release | None = None
    """The newest release."""
    age_ms: int | None = None
    """How long ago the newest release was made."""


async def stream_states(
    client: Client, plan: Plan, there: Mapping[str, list[Place]], now_ms: int, wrong: list[str],
    configs: list[Config], *, fed: bool,
) -> list[StreamStatus]:  # fmt: skip
    """How far each is; `configs` gets the config records, and `wrong` a line where there is none."""
    found = {stream.name: StreamStatus(stream.name) for stream in plan.everything}
    rounds, releases = topic(plan.name, "rounds"), topic(plan.name, "releases")
    try:
        async with client.reader() as reader:
            if rounds in there:
                async for got in span(reader, await reader.bounds(there[rounds])):
                    message = _message(got.value)
                    if isinstance(message, Config):
                        configs.append(message)
                    _control(found, message)
                if not configs:
                    wrong.append(none_found(rounds))
            if releases in there:
                await _newest(reader, there[releases], found, {s.name: s.revision for s in plan.everything}, now_ms)
    except RefusedError as error:
        wrong.append(str(error))
    for each in found.values():
        each.open = [round_ for round_ in each.open if each.settled is None or round_.t > each.settled]
        wrong += _stands_still(plan, each, now_ms, fed=fed)
    return list(found.values())


def _stands_still(plan: Plan, found: StreamStatus, now_ms: int, *, fed: bool) -> Iterator[str]:
    """A line where the newest release is overdue, and one where a round is given up again and again."""
    begun_ms = None if found.first is None else found.first * plan.any_stream(found.stream).every_ms
    age_ms = found.age_ms if found.release is not None or begun_ms is None else now_ms - begun_ms
    if not fed and age_ms is not None and age_ms > allowed_ms(plan, found.stream):
        yield overdue(plan, found.stream, age_ms)
    times = max((found.given_up[round_.digest.hex()] for round_ in found.open), default=0)
    if times > REPEATED:
        yield f"{found.stream}: an open round was given up {times} times; allowed: workers that answer and mix it"


def _control(found: Mapping[str, StreamStatus], message: Message | None) -> None:
    """One record of `rounds`."""
    match message:
        case Start(stream=stream, t=t) if stream in found and found[stream].first is None:
            found[stream].first = t
        case Settled(stream=stream, t=t) if stream in found:
            found[stream].settled = max(t, found[stream].settled or t)
            found[stream].open = [round_ for round_ in found[stream].open if round_.t > t]
        case Round(stream=stream) if stream in found:
            found[stream].open.append(message)
        case GiveUp(round=digest):
            for each in found.values():
                each.given_up[digest] += any(round_.digest.hex() == digest for round_ in each.open)
        case _:
            pass


async def _newest(
    reader: Reader,
    partitions: list[Place],
    found: Mapping[str, StreamStatus],
    revisions: Mapping[str, int],
    now_ms: int,
) -> None:
    """The last release of each stream, however many others of its partition lie behind it."""
    for each in found.values():
        own = [partitions[stream_partition(each.stream, len(partitions))]]
        _, last_of = await last(reader, own, 1, partial(_released, stream=each.stream, revision=revisions[each.stream]))
        for got in (got for records in last_of.values() for got in records):
            release = _message(got.value)
            if isinstance(release, Release):
                each.release, each.age_ms = release, max(0, now_ms - got.time_ms)


def _released(got: Got, stream: str, revision: int) -> bool:
    """Whether it is a release of this stream, and no older period once more."""
    found = _message(got.value)
    return isinstance(found, Release) and (found.stream, found.revision) == (stream, revision)


def _message(value: bytes | None) -> Message | None:
    try:
        return decode(value or b"")
    except WireError:
        return None
