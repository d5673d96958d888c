"""Who was there and what they said, as far as `raw` shows: users of a stream, their slots, and their values by period.

Contract: shares no code with the door, the devices and the stages.  Slow and plain on purpose.  Not here: what they had
to answer (auditor.py).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from murmurate.agents.audit.findings import Audit, Reader
from murmurate.config.plan import Plan, StreamPlan
from murmurate.randomizers import Key, Secrets
from murmurate.randomizers.question import Value
from murmurate.randomizers.thresholds import MICRO
from murmurate.topics.block import REFUSED, RawBlock
from murmurate.topics.messages import Progress
from murmurate.topics.names import stream_id
from murmurate.topics.quiet import Quiet


@dataclass
class Person:
    """One user of one stream, as far as the logs show."""

    slot: int
    seen: int
    events: dict[int, list[tuple[int, Value]]] = field(default_factory=dict)  # per period: (time, code or words)
    shown: set[int] = field(default_factory=set)  # periods with any event, valid or not


def people_of(
    plan: Plan, stream: StreamPlan, secrets: Secrets, read: Reader, p: int, sources: Mapping[str, int], found: Audit
) -> tuple[dict[bytes, Person], dict[int, int]]:
    """Everybody of this stream and partition; the periods that closed, and the record that closed each. sources: how
    many partitions each source had at first; one that was added counts from its first time on.
    """
    people: dict[bytes, Person] = {}
    clocks: dict[int, int] = {}
    first_open: int | None = None
    closed: dict[int, int] = {}
    mine = stream_id(stream.name), stream.domain.words  # blocks of another width are another config's
    for number, record in found.decoded(read, "raw", p):
        if isinstance(record, Progress | Quiet) and record.topic == stream.topic:
            for source in record.partitions if isinstance(record, Quiet) else (record.partition,):
                clocks[source] = record.time
            if set(range(sources[stream.topic])) <= clocks.keys():
                now_open = max(0, min(clocks.values()) - plan.lateness_ms) // stream.every_ms
                for t in range(now_open if first_open is None else first_open, now_open):
                    closed[t] = number
                first_open = now_open if first_open is None else max(first_open, now_open)
        elif isinstance(record, RawBlock) and (record.stream, record.words) == mine:
            for pseudonym, time, code in zip(record.users, record.times.tolist(), _values_of(record), strict=True):
                user = pseudonym.tobytes()
                if time < (first_open or 0) * stream.every_ms:  # the period was over at this record
                    continue
                if int.from_bytes(user[:8], "little") % plan.partitions != p or not _serves(
                    plan, stream, secrets, user
                ):
                    continue
                person = people.setdefault(user, Person(_slot(secrets.slots, user, stream), time))
                person.seen = min(person.seen, time)
                person.shown.add(time // stream.every_ms)
                if code not in (REFUSED, (REFUSED,) * record.words):
                    person.events.setdefault(time // stream.every_ms, []).append((time, code))
    return people, closed


def _values_of(block: RawBlock) -> list[Value]:
    return block.values.tolist() if block.words == 1 else list(map(tuple, block.values.tolist()))


def reported(plan: Plan, stream: StreamPlan, person: Person, t: int) -> Value | None:
    """The value that this user reports about period t; None if not in its population."""
    return held(stream, person, t) if belongs(plan, stream, person, t) else None


def belongs(plan: Plan, stream: StreamPlan, person: Person, t: int) -> bool:
    """Whether this user is in the population of period t."""
    start = t * stream.every_ms
    if stream.carry_ms is None:
        return person.seen < start + stream.every_ms
    silent_since = max([person.seen, *(at * stream.every_ms for at in person.shown if at < t)])
    return person.seen < start and silent_since >= start - plan.forget_after_ms


def held(stream: StreamPlan, person: Person, t: int) -> Value:
    """The value of this user in period t: its own, an older one that still stands, or what stands for none."""
    start = t * stream.every_ms
    pick = max if stream.several == "last" else min
    past = {at: pick(events) for at, events in person.events.items() if at <= t}
    newest = past[max(past)] if past else None
    if stream.carry_ms is None:
        first = stream.initial_code if stream.domain.coded else _one(stream.domain.initial)
        return first if newest is None else newest[1]
    if newest is not None and (t in past or (stream.carry_ms and start - newest[0] <= stream.carry_ms)):
        return newest[1]
    return _one(stream.domain.nothing)


def _one(words: tuple[int, ...]) -> Value:
    return words[0] if len(words) == 1 else words


def _serves(plan: Plan, stream: StreamPlan, secrets: Secrets, user: bytes) -> bool:
    if plan.split == "budget":
        return True
    word = word_of(secrets.split, "split", user, bytes(32)) % MICRO
    total = 0
    for other in sorted(plan.streams, key=lambda s: s.name):
        total += other.share_micro
        if word < total:
            return other.name == stream.name
    return False


def _slot(key: Key, user: bytes, stream: StreamPlan) -> int:
    context = hashlib.sha256(f"murmurate slots 2\n{stream.name}".encode()).digest()
    return word_of(key, "slot", user, context) % stream.slots


def word_of(key: Key, purpose: str, user: bytes, digest: bytes) -> int:
    """The first word of a key for a user, in a context."""
    row = np.frombuffer(user, np.uint8)[None]
    return int(key.words(purpose, row, round=digest)[0, 0])  # type: ignore[arg-type]
