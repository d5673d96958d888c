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

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from murmurate.agents.audit.findings import ALL, Audit, Extent, Place, Reader
from murmurate.agents.audit.heard import HeardRound, heard
from murmurate.agents.audit.people import Person, belongs, held, people_of, reported, word_of
from murmurate.agents.audit.recount import recount
from murmurate.agents.audit.sent import There, there_is
from murmurate.agents.audit.summed import audit_sums
from murmurate.agents.audit.transcripts import Transcripts
from murmurate.config.plan import Plan, StreamPlan
from murmurate.randomizers import Key, Question, Secrets
from murmurate.randomizers import question as built
from murmurate.randomizers.bill import Bill
from murmurate.randomizers.errors import ParameterError
from murmurate.randomizers.layouts import layout
from murmurate.randomizers.question import Value
from murmurate.randomizers.sessions.node import Node
from murmurate.randomizers.thresholds import MICRO
from murmurate.topics.messages import Round


def audit(plan: Plan, secrets: Secrets, read: Reader, sources: Mapping[str, int], extent: Extent = ALL) -> Audit:
    """Compare all logs with what they ought to hold. extent: how far they reach."""
    found = Audit()
    rounds = list(heard(plan, found.decoded(read, "rounds", 0)))
    kept = [one.round for one in rounds if extent.covers(one.round.digest.hex())]
    found.rounds = len(kept)
    there = there_is(plan, read, extent, found)
    judged: set[Place] = set()
    if extent.people:
        for p in range(plan.partitions):
            for stream in plan.streams:
                people, closed = people_of(plan, stream, secrets, read, p, sources, found)
                found.users += len(people)
                mine = [one for one in rounds if one.round.stream == stream.name]
                judged |= set(_compare(plan, stream, secrets, people, closed, mine, p, there, found, extent))
        _strangers(rounds, there, judged, found, extent)
        if extent.sums:
            audit_sums(plan, secrets.randomness, read, sources, found, extent)
    else:
        known = {r.digest.hex(): r.targets for r in kept}
        judged = {
            at for at in {*there.reports, *there.dones} if at[0] in known and there.answered(*at[:2], known[at[0]])
        }
        found.reports = sum(sum(there.reports[at].values()) for at in judged)
    recount(plan, read, kept, judged, there.reports, there.dones, found, extent)
    return found


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
        value = reported(plan, stream, person, round_.t) if person.slot in slots else None
        if value is None:
            continue
        target = _target(secrets.randomness, user, round_)
        report = _report(oracle, secrets.randomness, user, value, round_)
        (due.must if person.slot in allowed else due.refused)[target][report] += 1
        due.answers[target].append((user, value))
    return due


def _told(
    transcripts: Transcripts[Person], secrets: Secrets, people: Mapping[bytes, Person], node: Node, round_: Round,
    allowed: Container[int],
) -> _Due:  # fmt: skip
    """What those in session had to tell of a node."""
    due = _Due(defaultdict(Counter), defaultdict(Counter), defaultdict(list))
    transcripts.opened(round_, node, people.items())
    for user, report in transcripts.told(round_, node, people.items(), allowed, lambda one: one.slot).items():
        due.must[_target(secrets.randomness, user, round_)][report] += 1
    return due


def _compare(
    plan: Plan, stream: StreamPlan, secrets: Secrets, people: Mapping[bytes, Person], closed: Mapping[int, int],
    rounds: Sequence[HeardRound], p: int, there: There, found: Audit, extent: Extent,
) -> list[Place]:  # fmt: skip
    """Every round of one stream against one contributor: the places that were judged.

    1. Which slots may answer. 2. What must be there. 3. What is there too much or too little.
    """
    judged = []
    spent: dict[int, list[_OnBill]] = defaultdict(list)  # per slot
    limit = plan.epsilon_micro * (stream.share_micro if plan.split == "budget" else MICRO) // MICRO
    transcripts = Transcripts[Person](
        secrets.randomness, partial(belongs, plan, stream), lambda person, t: held(stream, person, t)
    )
    for number, round_, fits in rounds:
        oracle, digest = built(round_.mechanism), round_.digest.hex()
        mask = round_.slots.mask()
        fits = fits and (stream.unprotected or not oracle.unprotected)
        bill = oracle.bill(round_.t)
        if isinstance(oracle, Node):
            fits &= stream.division == "population" and bill.epsilon_micro <= limit
            fits = fits and transcripts.admits(round_, oracle)
        slots = {s for s in range(stream.slots) if fits and (mask is None or mask[s])}
        allowed = {s for s in slots if _allowed(stream, limit, spent[s], round_.t, bill)}
        for slot in allowed:
            spent[slot].append(_OnBill(round_.t, bill))
        if isinstance(oracle, Node) and fits:
            transcripts.granted(round_, oracle)
        if round_.t not in closed or not extent.covers(digest):
            continue
        if isinstance(oracle, Node) and fits:
            must, refused, answers = _told(transcripts, secrets, people, oracle, round_, allowed)
        else:
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


def _strangers(rounds: Sequence[HeardRound], there: There, judged: set[Place], found: Audit, extent: Extent) -> None:
    """Reports of rounds that nobody asked, of periods that have not closed, of contributors that there are not."""
    digests = {one.round.digest.hex() for one in rounds}
    for place in there.reports.keys() - judged - there.waiting:
        if place[0] not in digests or extent.covers(place[0]):
            found.note("foreign", sum(there.reports[place].values()), place)
    for place in (place for place in there.attempts if place[0] not in digests):
        found.note("foreign", sum(sum(attempt.values()) for attempt in there.attempts[place]), place)


class _OnBill(NamedTuple):
    """What a slot has answered: the period, and the bill that it is on."""

    t: int
    bill: Bill


def _allowed(stream: StreamPlan, limit: int, spent: Sequence[_OnBill], t: int, bill: Bill) -> bool:
    """Whether a slot may answer once more at t: by looking at every window, or because it is on the newest bill."""
    if bill.digest is not None and spent and spent[-1].bill == bill:
        return spent[-1].t < t
    if spent and t < spent[-1].t:
        return False
    if stream.division == "population":
        rested = all(bill.first - before.bill.last >= stream.w for before in spent)
        return bill.epsilon_micro <= limit and rested
    windows = range(t - stream.w + 1, t + 1)
    return all(
        bill.epsilon_micro + sum(one.bill.epsilon_micro for one in spent if s <= one.t < s + stream.w) <= limit
        for s in windows
    )


def _target(key: Key, user: bytes, round_: Round) -> int:
    return word_of(key, "scatter", user, round_.digest) % round_.targets


def _report(oracle: Question, key: Key, user: bytes, value: Value, round_: Round) -> bytes:
    return oracle.perturb_one(value, key.draw_one(user, round=round_.digest))


__all__ = ["Audit", "Extent", "Person", "audit"]
