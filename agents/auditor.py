"""The auditor: recomputes from the logs who had to answer what, to which partition, and compares. Slow and plain on
purpose.

Contract: it shares no code with ledger, Device or stages; it holds the edge's keys and reads `raw`, `rounds`,
`reports`, `batches` and `tallies` from their beginning.  For every round, contributor and target it compares the
multiset of reports that must be there with the one that is: lost, twice, over budget (an answer that some window did
not allow), conflicting (a second, different report of one user for one round), foreign (anything else).  Counts of
seals and tallies are recounted. Source: trust.md section 3, test 1.  Not here: where logs come from.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from murmurate.config.plan import Plan, StreamPlan
from murmurate.randomizers import Key, Mechanism, Secrets, mechanism
from murmurate.randomizers.thresholds import MICRO
from murmurate.topics.block import REFUSED, BatchBlock, RawBlock, ReportBlock
from murmurate.topics.codec import decode_record
from murmurate.topics.messages import Close, Done, Progress, Round, Seal, Tally
from murmurate.topics.names import stream_id

Reader = Callable[[str, int], Sequence[bytes]]
"""(topic, partition) -> its records from offset 0."""
Place = tuple[str, int, int]
"""(round, contributor, target)"""


@dataclass
class Audit:
    """What was found. All but the first three are violations."""

    users: int = 0
    rounds: int = 0
    reports: int = 0
    lost: int = 0
    twice: int = 0
    over_budget: int = 0
    conflicting: int = 0
    foreign: int = 0
    miscounted: int = 0
    """`done`, seals and tallies that do not say what is there."""
    where: list[str] = field(default_factory=list)
    """The first violations, by round and partition; never a user."""

    @property
    def holds(self) -> bool:
        """Whether there is no violation."""
        return not (self.lost or self.twice or self.over_budget or self.conflicting or self.foreign or self.miscounted)


@dataclass
class Person:
    """One user of one stream, as the logs tell."""

    slot: int
    seen: int
    events: dict[int, list[tuple[int, int]]] = field(default_factory=dict)  # per period: (time, code)
    shown: set[int] = field(default_factory=set)  # periods with any event, valid or not


def audit(plan: Plan, secrets: Secrets, read: Reader, sources: Mapping[str, int]) -> Audit:
    """Compare all logs with what they ought to hold."""
    found = Audit()
    asked = [r for r in map(decode_record, read("rounds", 0)) if isinstance(r, Round)]
    found.rounds = len(asked)
    actual, dones = _sent(plan, read)
    expected: dict[Place, Counter[bytes]] = defaultdict(Counter)
    for p in range(plan.partitions):
        for stream in plan.streams:
            people, closed = _people(plan, stream, secrets, read("raw", p), p, sources)
            found.users += len(people)
            _compare(plan, stream, secrets, people, closed, [r for r in asked if r.stream == stream.name], p,
                     actual, expected, found)  # fmt: skip
    for place in actual.keys() - expected.keys():
        _note(found, "foreign", sum(actual[place].values()), place)
    _recount(plan, read, asked, expected, actual, dones, found)
    return found


def _people(
    plan: Plan, stream: StreamPlan, secrets: Secrets, raw: Sequence[bytes], p: int, sources: Mapping[str, int]
) -> tuple[dict[bytes, Person], set[int]]:
    """Everybody of this stream and partition, and the periods that closed."""
    people: dict[bytes, Person] = {}
    clocks: dict[int, int] = {}
    first_open: int | None = None
    closed: set[int] = set()
    for record in map(decode_record, raw):
        if isinstance(record, Progress) and record.topic == stream.topic:
            clocks[record.partition] = max(record.time, clocks.get(record.partition, 0))
            if len(clocks) == sources[stream.topic]:
                now_open = max(0, min(clocks.values()) - plan.lateness_ms) // stream.every_ms
                closed |= set(range(now_open if first_open is None else first_open, now_open))
                first_open = now_open
        elif isinstance(record, RawBlock):
            other = next(s for s in plan.streams if stream_id(s.name) == record.stream)
            rows = zip(record.users, record.times.tolist(), record.values.tolist(), strict=True)
            for pseudonym, time, code in rows:
                user = pseudonym.tobytes()
                if other.name != stream.name:
                    continue
                if int.from_bytes(user[:8], "little") % plan.partitions != p or not _serves(
                    plan, stream, secrets, user
                ):
                    continue
                person = people.setdefault(user, Person(_slot(secrets.slots, user, stream.slots), time))
                person.seen = min(person.seen, time)
                person.shown.add(time // stream.every_ms)
                if code != REFUSED:
                    person.events.setdefault(time // stream.every_ms, []).append((time, code))
    return people, closed


def _compare(
    plan: Plan, stream: StreamPlan, secrets: Secrets, people: Mapping[bytes, Person], closed: set[int],
    asked: Sequence[Round], p: int, actual: Mapping[Place, Counter[bytes]],
    expected: dict[Place, Counter[bytes]], found: Audit,
) -> None:  # fmt: skip
    """Every round of one stream against one contributor."""
    spent: dict[int, list[tuple[int, int, str]]] = defaultdict(list)  # per slot: (t, charge, round)
    limit = plan.epsilon_micro * (stream.share_micro if plan.split == "budget" else MICRO) // MICRO
    for question in asked:
        oracle = mechanism(question.mechanism)
        mask = question.slots.mask()
        slots = [s for s in range(stream.slots) if mask is None or mask[s]]
        allowed = {s for s in slots if _allowed(stream, limit, spent[s], question.t, oracle.epsilon_micro)}
        for slot in allowed:
            spent[slot].append((question.t, oracle.epsilon_micro, question.digest.hex()))
        if question.t not in closed:
            continue
        must: dict[int, Counter[bytes]] = defaultdict(Counter)
        refused: dict[int, Counter[bytes]] = defaultdict(Counter)
        others: dict[int, Counter[bytes]] = defaultdict(Counter)
        for user, person in people.items():
            if person.slot not in slots:
                continue
            value = _value(plan, stream, person, question.t)
            if value is None:
                continue
            target = _target(secrets.randomness, user, question)
            report = _report(oracle, secrets.randomness, user, value, question)
            (must if person.slot in allowed else refused)[target][report] += 1
            for other in range(stream.d):
                if other != value:
                    others[target][_report(oracle, secrets.randomness, user, other, question)] += 1
        for target in range(question.targets):
            place = question.digest.hex(), p, target
            expected[place] = must[target]
            there = actual.get(place, Counter())
            found.reports += sum(there.values())
            _note(found, "lost", sum((must[target] - there).values()), place)
            extra = there - must[target]
            for report, n in extra.items():
                over = min(n, refused[target][report])
                _note(found, "over_budget", over, place)
                again = min(n - over, must[target][report])
                _note(found, "twice", again, place)
                conflict = min(n - over - again, others[target][report])
                _note(found, "conflicting", conflict, place)
                _note(found, "foreign", n - over - again - conflict, place)


def _allowed(stream: StreamPlan, limit: int, spent: Sequence[tuple[int, int, str]], t: int, charge: int) -> bool:
    """Whether a slot may answer once more at t: by looking at every window."""
    if spent and t < spent[-1][0]:
        return False
    if stream.division == "population":
        return charge <= limit and all(abs(t - before) >= stream.w for before, _, _ in spent)
    windows = range(t - stream.w + 1, t + 1)
    return all(charge + sum(c for at, c, _ in spent if s <= at < s + stream.w) <= limit for s in windows)


def _value(plan: Plan, stream: StreamPlan, person: Person, t: int) -> int | None:
    """What this user says about period t; None: not in its population."""
    start = t * stream.every_ms
    pick = max if stream.several == "last" else min
    past = {at: pick(events) for at, events in person.events.items() if at <= t}
    newest = past[max(past)] if past else None
    if stream.carry_ms is None:
        return None if newest is None else newest[1]
    silent_since = max([person.seen, *(at * stream.every_ms for at in person.shown if at < t)])
    if person.seen >= start or silent_since < start - plan.forget_after_ms:
        return None
    if newest is not None and (t in past or (stream.carry_ms and start - newest[0] <= stream.carry_ms)):
        return newest[1]
    return stream.d - 1


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


def _slot(key: Key, user: bytes, of: int) -> int:
    return _word(key, "slot", user, bytes(32)) % of


def _target(key: Key, user: bytes, question: Round) -> int:
    return _word(key, "scatter", user, question.digest) % question.targets


def _word(key: Key, purpose: str, user: bytes, digest: bytes) -> int:
    row = np.frombuffer(user, np.uint8)[None]
    return int(key.words(purpose, row, round=digest)[0, 0])  # type: ignore[arg-type]


def _report(oracle: Mechanism, key: Key, user: bytes, value: int, question: Round) -> bytes:
    return oracle.perturb_one(value, key.draw_one(user, round=question.digest))


def _sent(plan: Plan, read: Reader) -> tuple[dict[Place, Counter[bytes]], dict[Place, list[Done]]]:
    """Reports and `done` records that are there."""
    actual: dict[Place, Counter[bytes]] = defaultdict(Counter)
    dones: dict[Place, list[Done]] = defaultdict(list)
    for q in range(plan.targets):
        for record in map(decode_record, read("reports", q)):
            if isinstance(record, ReportBlock):
                rows = (row.tobytes() for row in record.reports)
                actual[record.round.hex(), record.contributor, q].update(rows)
            elif isinstance(record, Done):
                dones[record.round, record.contributor, q].append(record)
    return actual, dones


def _recount(
    plan: Plan, read: Reader, asked: Sequence[Round], expected: Mapping[Place, Counter[bytes]],
    actual: Mapping[Place, Counter[bytes]], dones: Mapping[Place, list[Done]], found: Audit,
) -> None:  # fmt: skip
    """`done`, seals and tallies against the reports that are there."""
    for place in expected:
        digest, p, _ = place
        total = sum(sum(actual.get((digest, p, other), Counter()).values()) for other in range(plan.targets))
        here = sum(actual.get(place, Counter()).values())
        said = [(done.sent, done.total) for done in dones.get(place, [])]
        _note(found, "miscounted", int(said != [(here, total)]), place)
    oracles = {r.digest.hex(): mechanism(r.mechanism) for r in asked}
    closes = {
        r.round: r.contributors for r in reversed([*map(decode_record, read("rounds", 0))]) if isinstance(r, Close)
    }
    sealed = dict(_sealed(plan, read))
    tallies = [r for r in map(decode_record, read("tallies", 0)) if isinstance(r, Tally)]
    for tally in tallies:
        seal, rows = sealed.pop((tally.round, tally.q), (None, Counter()))
        named = closes.get(tally.round, tuple(range(plan.partitions)))
        came: Counter[bytes] = Counter()
        for p in named:
            came += actual.get((tally.round, p, tally.q), Counter())
        support = np.zeros(len(tally.counts), np.int64)
        for report, n in rows.items():
            support += n * oracles[tally.round].support(np.frombuffer(report, np.uint8)[None])
        right = (
            seal is not None
            and seal.received == tally.received == sum(came.values())
            and seal.counted + seal.rejected.total == seal.received
            and (rows == came or (not rows and seal.rejected.undersized == sum(came.values())))
            and support.tolist() == list(tally.counts)
        )
        _note(found, "miscounted", int(not right), (tally.round, -1, tally.q))
    _note(found, "miscounted", len(sealed), ("", -1, -1))


def _sealed(plan: Plan, read: Reader) -> Iterator[tuple[tuple[str, int], tuple[Seal, Counter[bytes]]]]:
    """Each sealed sub-batch with the reports it holds."""
    for b in range(plan.targets):
        rows: dict[tuple[str, int], Counter[bytes]] = defaultdict(Counter)
        for record in map(decode_record, read("batches", b)):
            if isinstance(record, BatchBlock):
                rows[record.round.hex(), record.q].update(row.tobytes() for row in record.reports)
            elif isinstance(record, Seal):
                yield (record.round, record.q), (record, rows.pop((record.round, record.q), Counter()))


def _note(found: Audit, what: str, n: int, place: Place) -> None:
    if n:
        setattr(found, what, getattr(found, what) + n)
        if len(found.where) < 20:
            found.where.append(f"{what}: {n} in round {place[0][:16]}, contributor {place[1]}, target {place[2]}")
