# SPDX-License-Identifier: Apache-2.0
"""Horizons in front of real perturb stages: users who come, go and change, and whatever somebody writes into `rounds`.

Nobody computes a release here: what the stages send is read from their log, and the auditor compares it with raw events
and rounds.  Two partitions, two cohorts that take turns, levels of spans 1, 2 and 4.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from murmurate.agents.audit.auditor import audit
from murmurate.agents.audit.findings import Audit
from murmurate.agents.embedded.log import Logs
from murmurate.agents.embedded.task import Task
from murmurate.agents.stages.perturb import Perturb
from murmurate.agents.stages.stage import Log, Out
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.config.plan import Plan
from murmurate.randomizers.identity import partitions, slots
from murmurate.randomizers.sessions import Category, Horizon
from murmurate.randomizers.sessions.node import Node
from murmurate.topics.block import ReportBlock
from murmurate.topics.codec import decode_record, encode
from murmurate.topics.message import Message
from murmurate.topics.messages import Round
from murmurate.topics.slots import Slots
from tests.agents.stages.hands import ROUNDS, progress, pseudonyms, question, rows, settled, start
from tests.agents.world import FIRST, KEYS, SECOND, TOPIC, deployment, stream
from tests.randomizers.sessions.horizons import horizon

T, W, USERS, PARTITIONS = 4, 4, 40, 2
CODES = Category(5, none=True)
FEW = 3
"""The most changes that a user tells."""


def made(cohort: int = 0, periods: int = T, *, of: int = 12, cohorts: int = 2, **changes: Any) -> Horizon:
    """A horizon of one of the cohorts, with every node told."""
    usual: dict[str, Any] = {"every": True, "each": 2, "of": CODES, "changes": FEW}
    found = horizon(periods, 2, cohort=cohort, cohorts=cohorts, **(usual | changes))
    return Horizon(
        found.tree, cohort, cohorts, of, found.slots, found.ones, found.changes, found.protocols
    )  # fmt: skip


COHORTS = made(0), made(1)
PLAN = deployment(
    stream(
        "screen", "sao2", w=W, slots=12,
        method=MethodOptions("sao2", horizon="4", changes="3", fanout="2", goal="mean", users="0"),
    ),
    partitions=PARTITIONS, targets=2, min_batch=2,
)  # fmt: skip
SCREEN = PLAN.streams[0]
PEOPLE = pseudonyms(USERS, 5)
HOME = partitions(PEOPLE, PARTITIONS)
SLOT = slots(KEYS.edge.devices.slots, PEOPLE, SCREEN.slots, "screen")


def node(of: Horizon, first_t: int, level: int, number: int, **changes: Any) -> Round:
    """The round of a node, in a horizon that begins at first_t."""
    asked = Node(of, level, number)
    usual: dict[str, Any] = {"mechanism": asked.spec(), "slots": Slots.chosen(of.asked(level))}
    return question(PLAN, SCREEN, **({"t": first_t + asked.step - 1} | usual | changes))


def lawful(of: Horizon, first_t: int) -> Iterator[Message]:
    """All rounds of a horizon, each period settled after its own."""
    for step in range(1, of.tree.periods + 1):
        yield from (node(of, first_t, level, number) for level, number in of.tree.ending(step))
        yield settled(SCREEN, first_t + step - 1)


class Course(NamedTuple):
    """What is written into all logs."""

    raw: list[list[bytes]]
    """By partition."""
    rounds: list[Message]


def raw_of(events: Sequence[tuple[int, int, int]], until: int, forged: Sequence[tuple[int, int, int]] = ()) -> Any:
    """The raw records of each partition, of (period, user, code), closed before period `until`. forged: events that
    somebody writes to the partition that is not their user's.
    """
    found: list[list[bytes]] = [[] for _ in range(PARTITIONS)]
    for t in range(FIRST - 1, until):
        for p in range(PARTITIONS):
            for what, home in ((events, p), (forged, 1 - p)):
                mine = [(user, code) for at, user, code in what if at == t and HOME[user] == home]
                if mine:
                    users, codes = PEOPLE[[user for user, _ in mine]], [code for _, code in mine]
                    sent = rows(PLAN, SCREEN, users, [t * SECOND + 1] * len(mine), codes, home)
                    found[p] += sent
            found[p].append(encode(progress((t + 1) * SECOND + PLAN.lateness_ms)))
    return found


def habits(rng: random.Random, until: int, users: int = USERS) -> list[tuple[int, int, int]]:
    """Users most of whom are there before the first period, who change now and then, and go."""
    events = []
    for user in range(users):
        comes = FIRST - 1 if rng.random() < 0.7 else rng.randrange(FIRST, until)
        events += [(t, user, rng.randrange(4)) for t in range(comes, until) if t == comes or rng.random() < 0.4]
    return events


def run(
    course: Course, rng: random.Random, plan: Plan = PLAN, *, order: Sequence[str] = (), crashes: bool = False,
    stop: int = 0,
) -> Logs:  # fmt: skip
    """The stages take both logs, in this order of topics or in any. crashes: with crashes in between, from snapshots
    and from the logs. stop: take one snapshot after so many turns and go on from it.
    """
    logs = Logs()
    logs.append(Out(Log("raw", p), record) for p, mine in enumerate(course.raw) for record in mine)
    logs.append(Out(ROUNDS, encode(one)) for one in course.rounds)
    tasks = [_task(plan, p, logs) for p in range(PARTITIONS)]
    idle = turns = 0
    while idle < 2 * len(tasks) + 2:
        moved = False
        for p, task in enumerate(tasks):
            reads = [Log("raw", p), ROUNDS]
            inputs = [log for topic in order for log in reads if log.topic == topic] or rng.sample(reads, 2)
            moved |= task.step(1 << 30 if order else rng.choice([1, 2, 5]), inputs)
            turns += 1
            torn = turns == stop or (crashes and rng.random() < 0.4)
            if torn and task.state and (stop or rng.random() < 0.5):
                snapshot, begin = task.snapshot()
                task.state.append(task.record(begin, snapshot))
            if torn:
                task.recover()
        idle = 0 if moved else idle + 1
    return logs


def _task(plan: Plan, p: int, logs: Logs) -> Task:
    return Task(f"perturb {p}", lambda: Perturb(plan, KEYS.edge, p, {TOPIC: 1}), [Log("raw", p), ROUNDS], logs, {})


def sent(logs: Logs) -> dict[str, Counter[bytes]]:
    """All reports, by round."""
    found: dict[str, Counter[bytes]] = defaultdict(Counter)
    for record in logs.all("reports"):
        block = decode_record(record)
        if isinstance(block, ReportBlock):
            found[block.round.hex()].update(row.tobytes() for row in block.reports)
    return found


def audited(logs: Logs, plan: Plan = PLAN) -> Audit:
    """What the auditor says."""

    def read(topic: str, partition: int) -> Sequence[bytes]:
        log = Log(topic, partition)
        return [logs.read(log, offset).value for offset in range(logs.end(log))]

    return audit(plan, KEYS.edge.devices, read, {TOPIC: 1})


def opening(*more: Message) -> list[Message]:
    """The beginning of `rounds`."""
    return [start(SCREEN), *more]


def of_level(of: Horizon, level: int, users: Sequence[int] | None = None) -> list[int]:
    """The users of a level."""
    everybody = range(USERS) if users is None else users
    return [user for user in everybody if of.level_of_slot[SLOT[user]] == level]


def whole(of: Horizon, first_t: int) -> int:
    """The number of reports that a lawful horizon gets of users who are all there from the beginning."""
    levels = np.bincount(of.level_of_slot[SLOT] + 1, minlength=of.tree.levels + 1)[1:]
    return sum(int(levels[level]) * len(of.tree.nodes(level)) for level in range(of.tree.levels))


UNTIL = FIRST + 3 * T + 1
"""Behind three horizons, of the one cohort, the other one, and the first one again."""
LAWFUL = [*lawful(COHORTS[0], FIRST), *lawful(COHORTS[1], FIRST + T), *lawful(COHORTS[0], FIRST + 2 * T)]
ALL = [(FIRST - 1, user, user % 4) for user in range(USERS)]
"""Everybody is there from the beginning."""


WAYS: list[dict[str, Any]] = [{"crashes": True}, {"order": ["rounds", "raw"]}, {}]
"""How logs may be read besides one after the other, raw events first."""


def checked(course: Course, seed: int, plan: Plan = PLAN, *, every: bool = False) -> Logs:
    """The logs of a course, which are the same however it is read and whoever dies. every: in all ways, not in one that
    the seed decides.
    """
    rng = random.Random(seed)
    usual = run(course, rng, plan, order=["raw", "rounds"])
    found = audited(usual, plan)
    assert found.holds, found.where
    for way in WAYS if every else WAYS[seed % 3 :][:1]:
        again = run(course, rng, plan, **way)
        assert sorted(again.all("reports")) == sorted(usual.all("reports")), way
    return usual
