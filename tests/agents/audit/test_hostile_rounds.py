# SPDX-License-Identifier: Apache-2.0
"""Whatever stands in `rounds`, perturb and the auditor agree on who answers: a server cannot make either look wrong."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

from murmurate.agents.audit.auditor import audit
from murmurate.agents.audit.findings import VIOLATIONS
from murmurate.agents.stages.perturb import Perturb
from murmurate.agents.stages.stage import Log, Record
from murmurate.config.plan import Plan
from murmurate.randomizers import mechanism
from murmurate.topics.codec import decode_record, encode
from murmurate.topics.messages import Round, Settled, Start
from murmurate.topics.slots import Slots
from tests.agents.audit.test_auditor import END, PLAN, Tape, plan
from tests.agents.audit.test_follow import SESSIONS
from tests.agents.world import KEYS, TOPIC, arrivals, crowd, played

PLANS = {"population": PLAN, "budget": plan("lbu"), "sessions": SESSIONS}


@cache
def honest(name: str) -> Tape:
    of = PLANS[name]
    return Tape(played(of, arrivals(crowd(of, users=60, periods=7), until=END), step=300))


def changed(round_: Round, of: Plan, rng: random.Random) -> Round:
    """A round as a server might wish it."""
    size = round_.slots.of
    mask = np.array([rng.random() < 0.5 for _ in range(size)])
    mask[rng.randrange(size)] = True
    other = mechanism({"name": "oue", "d": 5, "epsilon": 0.1}).spec()
    dearer = dict(round_.mechanism) | {"epsilon_micro": rng.choice([100_000, 150_000, 200_000, 300_000, 2_000_000])}
    changes: list[dict[str, Any]] = [
        {"t": max(0, round_.t + rng.randint(-6, 12))}, {"slots": Slots.chosen(mask)}, {"slots": Slots.every(size)},
        {"slots": Slots.every(size + 1)}, {"mechanism": other}, {"config": "f" * 16}, {"revision": 2},
        {"contributors": of.partitions + 1}, {"targets": 1}, {"targets": of.targets + 1}, {"t": round_.t + 10**6},
        {"mechanism": {"name": "nothing", "d": 4}}, {"stream": "nobody"},
    ]  # fmt: skip
    if "epsilon_micro" in round_.mechanism:
        changes.append({"mechanism": dearer})
        changes.append({"mechanism": dearer, "t": max(0, round_.t + rng.randint(0, 3))})
    found = round_
    for change in rng.sample(changes, rng.choice([1, 1, 2])):
        found = found.model_copy(update=change)
    again = decode_record(found.canonical())
    assert isinstance(again, Round)
    return again


def hostile(name: str, rng: random.Random) -> list[bytes]:
    """The rounds of a run, with others between them, some twice, and periods that are settled too early."""
    told: list[bytes] = []
    records = honest(name).records["rounds", 0]
    for record in records:
        told.append(record)
        found = decode_record(record)
        if isinstance(found, Round):
            told += [encode(changed(found, PLANS[name], rng)) for _ in range(rng.choice([0, 1, 2]))]
            told += [record] * (rng.random() < 0.1)
            if rng.random() < 0.05:
                told.append(encode(Settled(stream=found.stream, t=found.t)))
            if rng.random() < 0.05:
                told.append(encode(Start(stream=found.stream, t=found.t, config=found.config, revision=1)))
    return told


def answers(of: Plan, rounds: list[bytes], raw: list[bytes], p: int, rng: random.Random) -> Iterator[tuple[Log, bytes]]:
    """What perturb makes of them, its two logs in pieces."""
    stage = Perturb(of, KEYS.edge, p, {TOPIC: 2})
    logs = {Log("rounds", 0): rounds, Log("raw", p): raw}
    at = dict.fromkeys(logs, 0)
    while any(at[log] < len(held) for log, held in logs.items()):
        log = rng.choice([log for log, held in logs.items() if at[log] < len(held)])
        if not stage.ready(log):
            log = Log("rounds", 0)
            if at[log] == len(rounds):
                return
        for _ in range(rng.choice([1, 5, 40])):
            if at[log] < len(logs[log]) and stage.ready(log):
                stage.fold(Record(log, at[log], logs[log][at[log]]))
                at[log] += 1
        yield from ((out.log, out.value) for out in stage.drain().records if out.log.topic == "reports")


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.audit) for seed in range(2, 30))])
def test_perturb_and_the_auditor_agree_whatever_a_server_asks(name: str, seed: int) -> None:
    of, rng, tape = PLANS[name], random.Random(f"{name} {seed}"), honest(name)
    rounds = hostile(name, rng)
    records: dict[tuple[str, int], list[bytes]] = defaultdict(list, {("rounds", 0): rounds})
    for p in range(of.partitions):
        records["raw", p] = tape.records["raw", p]
        for log, value in answers(of, rounds, tape.records["raw", p], p, rng):
            records[log.topic, log.partition].append(value)
    assert len(rounds) > len(tape.records["rounds", 0])
    found = audit(of, KEYS.edge.devices, lambda topic, p: records[topic, p], {TOPIC: 2})
    counts = {kind: getattr(found, kind) for kind in VIOLATIONS if getattr(found, kind)}
    assert not counts, (counts, found.where)
    assert found.reports > 20
