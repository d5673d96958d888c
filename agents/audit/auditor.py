"""The auditor: recomputes from the logs who had to answer what, to which partition, and compares. Slow and plain on
purpose.

Contract: it shares no code with ledger, Device or stages; it holds the edge's keys and reads `raw`, `rounds`,
`closings`, `reports`, `batches` and `tallies` from their beginning.  For every round, contributor and target it
compares the multiset of reports that must be there with the one that is: lost, twice, over budget (an answer that some
window did not allow), conflicting (a second, different report of one user for one round), foreign (anything else).
What an aborted transaction held must be a part of the same.  Counts of seals and tallies are recounted (recount.py).
Source: ARCHITECTURE section 5.12, the auditor.  Not here: where logs come from.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np

from murmurate.agents.audit.findings import ALL, Audit, Extent, Place, Reader
from murmurate.agents.audit.recount import recount
from murmurate.agents.audit.sent import There, there_is
from murmurate.agents.audit.summed import audit_sums
from murmurate.config.plan import Plan, StreamPlan
from murmurate.randomizers import Key, Question, Secrets
from murmurate.randomizers import question as built
from murmurate.randomizers.errors import ParameterError
from murmurate.randomizers.layouts import layout
from murmurate.randomizers.question import Value
from murmurate.randomizers.thresholds import MICRO
from murmurate.topics.block import REFUSED, RawBlock
from murmurate.topics.messages import Progress, Round
from murmurate.topics.names import stream_id

NumberedRounds = Sequence[tuple[int, Round]]
"""The rounds, each with its number in the log."""


@dataclass
class Person:
    """One user of one stream, as far as the logs show."""

    slot: int
    seen: int
    events: dict[int, list[tuple[int, Value]]] = field(default_factory=dict)  # per period: (time, code or words)
    shown: set[int] = field(default_factory=set)  # periods with any event, valid or not


def audit(plan: Plan, secrets: Secrets, read: Reader, sources: Mapping[str, int], extent: Extent = ALL) -> Audit:
    """Compare all logs with what they ought to hold. extent: how far they reach."""
    found = Audit()
    rounds = [(n, r) for n, r in found.decoded(read, "rounds", 0) if isinstance(r, Round)]
    kept = [(n, r) for n, r in rounds if extent.covers(r.digest.hex())]
    found.rounds = len(kept)
    there = there_is(plan, read, extent, found)
    judged: set[Place] = set()
    if extent.people:
        for p in range(plan.partitions):
            for stream in plan.streams:
                people, closed = _people(plan, stream, secrets, read, p, sources, found)
                found.users += len(people)
                mine = [(n, r) for n, r in rounds if r.stream == stream.name]
                judged |= set(_compare(plan, stream, secrets, people, closed, mine, p, there, found, extent))
        _strangers(rounds, there, judged, found, extent)
        if extent.sums:
            audit_sums(plan, secrets.randomness, read, sources, found, extent)
    else:
        known = {r.digest.hex(): r.targets for _, r in kept}
        judged = {
            at for at in {*there.reports, *there.dones} if at[0] in known and there.answered(*at[:2], known[at[0]])
        }
        found.reports = sum(sum(there.reports[at].values()) for at in judged)
    recount(plan, read, [r for _, r in kept], judged, there.reports, there.dones, found, extent)
    return found


def _people(
    plan: Plan, stream: StreamPlan, secrets: Secrets, read: Reader, p: int, sources: Mapping[str, int], found: Audit
) -> tuple[dict[bytes, Person], dict[int, int]]:
    """Everybody of this stream and partition; the periods that closed, and the record that closed each."""
    people: dict[bytes, Person] = {}
    clocks: dict[int, int] = {}
    first_open: int | None = None
    closed: dict[int, int] = {}
    mine = stream_id(stream.name), stream.domain.words  # blocks of another width are another config's
    for number, record in found.decoded(read, "raw", p):
        if isinstance(record, Progress) and record.topic == stream.topic and record.partition < sources[stream.topic]:
            clocks[record.partition] = max(record.time, clocks.get(record.partition, 0))
            if len(clocks) == sources[stream.topic]:
                now_open = max(0, min(clocks.values()) - plan.lateness_ms) // stream.every_ms
                for t in range(now_open if first_open is None else first_open, now_open):
                    closed[t] = number
                first_open = now_open
        elif isinstance(record, RawBlock) and (record.stream, record.words) == mine:
            for pseudonym, time, code in zip(record.users, record.times.tolist(), _values_of(record), strict=True):
                user = pseudonym.tobytes()
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


class _Due(NamedTuple):
    """What one contributor must have sent for one round, by target."""

    must: dict[int, Counter[bytes]]
    """The reports of users who may answer."""
    refused: dict[int, Counter[bytes]]
    """The reports that users would have sent whom some window did not allow to answer."""
    answers: dict[int, list[tuple[bytes, Value]]]
    """The users whose reports go there, each with the value of the period."""


def _due(
    plan: Plan, stream: StreamPlan, secrets: Secrets, people: Mapping[bytes, Person], oracle: Question, round_: Round,
    slots: Container[int], allowed: Container[int],
) -> _Due:  # fmt: skip
    """From everybody whose slot is asked; `allowed` are the slots that every window allows to answer."""
    due = _Due(defaultdict(Counter), defaultdict(Counter), defaultdict(list))
    for user, person in people.items():
        value = _value(plan, stream, person, round_.t) if person.slot in slots else None
        if value is None:
            continue
        target = _target(secrets.randomness, user, round_)
        report = _report(oracle, secrets.randomness, user, value, round_)
        (due.must if person.slot in allowed else due.refused)[target][report] += 1
        due.answers[target].append((user, value))
    return due


def _compare(
    plan: Plan, stream: StreamPlan, secrets: Secrets, people: Mapping[bytes, Person], closed: Mapping[int, int],
    rounds: NumberedRounds, p: int, there: There, found: Audit, extent: Extent,
) -> list[Place]:  # fmt: skip
    """Every round of one stream against one contributor: the places that were judged."""
    judged = []
    spent: dict[int, list[tuple[int, int, str]]] = defaultdict(list)  # per slot: (t, charge, round)
    limit = plan.epsilon_micro * (stream.share_micro if plan.split == "budget" else MICRO) // MICRO
    for number, round_ in rounds:
        oracle, digest = built(round_.mechanism), round_.digest.hex()
        mask = round_.slots.mask()
        slots = {s for s in range(stream.slots) if mask is None or mask[s]}
        charge = oracle.bill(round_.t).epsilon_micro if not oracle.unprotected or stream.unprotected else limit + 1
        allowed = {s for s in slots if _allowed(stream, limit, spent[s], round_.t, charge)}
        for slot in allowed:
            spent[slot].append((round_.t, charge, digest))
        if round_.t not in closed or not extent.covers(digest):
            continue
        must, refused, answers = _due(plan, stream, secrets, people, oracle, round_, slots, allowed)
        whole = extent.answered(p, number, closed[round_.t]) or there.answered(digest, p, round_.targets)
        if not whole:
            found.pending += 1
            there.waiting |= {(digest, p, target) for target in range(round_.targets)}
        for target in range(round_.targets):
            place = digest, p, target
            others = partial(_others, oracle, secrets.randomness, people, answers[target], round_)
            for attempt in there.attempts.get(place, ()):
                _surplus(attempt - must[target], Counter(), refused[target], others, place, found)
            if whole:
                judged.append(place)
                here = there.reports.get(place, Counter())
                found.reports += sum(here.values())
                found.note("lost", sum((must[target] - here).values()), place)
                _surplus(here - must[target], must[target], refused[target], others, place, found)
    return judged


def _others(
    oracle: Question, key: Key, people: Mapping[bytes, Person], answers: Sequence[tuple[bytes, Value]], round_: Round
) -> Counter[bytes]:
    """The reports that these users would have sent with every other value; for very large domains with those they ever
    had.
    """
    found, of = Counter[bytes](), layout(oracle.layout)
    try:
        every = set(of.enumerate())
    except ParameterError:
        every = set()
    none = oracle.layout[1] - 1 if oracle.layout[0] == "code" else of.nothing
    for user, value in answers:
        ever = {code for events in people[user].events.values() for _, code in events}
        values = every or ever | {none} - {None}
        found.update(_report(oracle, key, user, other, round_) for other in values if other != value)
    return found


def _surplus(
    extra: Counter[bytes], must: Counter[bytes], refused: Counter[bytes], others: Callable[[], Counter[bytes]],
    place: Place, found: Audit,
) -> None:  # fmt: skip
    """Reports that need not be there: which kind each is."""
    different = others() if extra else Counter[bytes]()
    for report, n in extra.items():
        over = min(n, refused[report])
        found.note("over_budget", over, place)
        again = min(n - over, must[report])
        found.note("twice", again, place)
        conflict = min(n - over - again, different[report])
        found.note("conflicting", conflict, place)
        found.note("foreign", n - over - again - conflict, place)


def _strangers(rounds: NumberedRounds, there: There, judged: set[Place], found: Audit, extent: Extent) -> None:
    """Reports of rounds that nobody asked, of periods that have not closed, of contributors that there are not."""
    digests = {r.digest.hex() for _, r in rounds}
    for place in there.reports.keys() - judged - there.waiting:
        if place[0] not in digests or extent.covers(place[0]):
            found.note("foreign", sum(there.reports[place].values()), place)
    for place in (place for place in there.attempts if place[0] not in digests):
        found.note("foreign", sum(sum(attempt.values()) for attempt in there.attempts[place]), place)


def _allowed(stream: StreamPlan, limit: int, spent: Sequence[tuple[int, int, str]], t: int, charge: int) -> bool:
    """Whether a slot may answer once more at t: by looking at every window."""
    if spent and t < spent[-1][0]:
        return False
    if stream.division == "population":
        return charge <= limit and all(abs(t - before) >= stream.w for before, _, _ in spent)
    windows = range(t - stream.w + 1, t + 1)
    return all(charge + sum(c for at, c, _ in spent if s <= at < s + stream.w) <= limit for s in windows)


def _values_of(block: RawBlock) -> list[Value]:
    return block.values.tolist() if block.words == 1 else list(map(tuple, block.values.tolist()))


def _value(plan: Plan, stream: StreamPlan, person: Person, t: int) -> Value | None:
    """The value that this user reports about period t; None if not in its population."""
    start = t * stream.every_ms
    pick = max if stream.several == "last" else min
    past = {at: pick(events) for at, events in person.events.items() if at <= t}
    newest = past[max(past)] if past else None
    if stream.carry_ms is None:
        if person.seen >= start + stream.every_ms:
            return None
        first = stream.initial_code if stream.domain.coded else _one(stream.domain.initial)
        return first if newest is None else newest[1]
    silent_since = max([person.seen, *(at * stream.every_ms for at in person.shown if at < t)])
    if person.seen >= start or silent_since < start - plan.forget_after_ms:
        return None
    if newest is not None and (t in past or (stream.carry_ms and start - newest[0] <= stream.carry_ms)):
        return newest[1]
    return _one(stream.domain.nothing)


def _one(words: tuple[int, ...]) -> Value:
    return words[0] if len(words) == 1 else words


def _serves(plan: Plan, stream: StreamPlan, secrets: Secrets, user: bytes) -> bool:
    if plan.split == "budget":
        return True
    word = _word(secrets.split, "split", user, bytes(32)) % MICRO
    total = 0
    for other in sorted(plan.streams, key=lambda s: s.name):
        total += other.share_micro
        if word < total:
            return other.name == stream.name
    return False


def _slot(key: Key, user: bytes, stream: StreamPlan) -> int:
    context = hashlib.sha256(f"murmurate slots 2\n{stream.name}".encode()).digest()
    return _word(key, "slot", user, context) % stream.slots


def _target(key: Key, user: bytes, round_: Round) -> int:
    return _word(key, "scatter", user, round_.digest) % round_.targets


def _word(key: Key, purpose: str, user: bytes, digest: bytes) -> int:
    row = np.frombuffer(user, np.uint8)[None]
    return int(key.words(purpose, row, round=digest)[0, 0])  # type: ignore[arg-type]


def _report(oracle: Question, key: Key, user: bytes, value: Value, round_: Round) -> bytes:
    return oracle.perturb_one(value, key.draw_one(user, round=round_.digest))


__all__ = ["Audit", "Extent", "Person", "audit"]
