# SPDX-License-Identifier: Apache-2.0
"""Values of several words through perturb: raw blocks taken, a period frozen, everybody's report made and packed.

Sets of at most 8 of 1024 items, padded to 4, by OLH; rows of 8 attributes, two of them told, by GRR; strings of 48
bits, their first 16, by OLH.  CPU time of one core.  Targets are those of users through perturb's answer; beside each
stands what taking their events in costs besides.
"""

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import cast

import numpy as np

from benchmarks.measure import Row, at_least, short
from murmurate.agents.cli.replay import known_secrets
from murmurate.agents.replay.run import keys
from murmurate.agents.replay.synthetic_rows import made_up
from murmurate.agents.stages.admission import raw_records
from murmurate.agents.stages.perturb import Perturb
from murmurate.agents.stages.stage import Log, Record
from murmurate.aggregators.measures.frequency import Frequency
from murmurate.config.loader import build
from murmurate.config.plan import Plan
from murmurate.config.planning import plan
from murmurate.randomizers import GRR, OLH, Question, Viewed
from murmurate.randomizers.padding import Padded
from murmurate.randomizers.row_views import Marginal
from murmurate.randomizers.views import Prefix
from murmurate.topics.codec import encode
from murmurate.topics.domains import Bits, Categories, Domain, Grid, Items
from murmurate.topics.domains import Row as Attributes
from murmurate.topics.message import Message
from murmurate.topics.messages import Progress, Round, Settled, Start
from murmurate.topics.slots import Slots

USERS, FIRST, RUNS, EVERY = 400_000, 100, 3, 60_000


def rows() -> Iterator[Row]:
    sets, strings = Items(1024, 8), Bits(48)
    people = Attributes(tuple((f"a{i}", Grid(0, 1, 8, "stretches")) for i in range(8)))
    padded = Viewed(Padded(sets.layout(True), 4), OLH(d=1028, epsilon=1.0))
    marginal = Viewed(Marginal(people.layout(True), [1, 4]), GRR(d=65, epsilon=1.0))
    prefix = Viewed(Prefix(strings.layout(True), 16), OLH(d=(1 << 16) + 1, epsilon=1.0))
    yield from perturbed("sets, padded, OLH", sets, padded, 2e6)
    yield from perturbed("rows, marginal, GRR", people, marginal, 5e6)
    yield from perturbed("strings, prefix, OLH", strings, prefix, 5e6)


def perturbed(name: str, domain: Domain, question: Question, target: float) -> Iterator[Row]:
    """Users a second of CPU, of one kind of values."""
    of, chance = deployment(domain), np.random.default_rng(1)
    (stream,) = of.streams
    stage = Perturb(of, keys(known_secrets("bench"), "bench").edge, 0, {stream.topic: 1})
    folded = 0

    def fold(topic: str, *found: bytes | Message) -> float:
        nonlocal folded
        began = time.process_time()
        for one in found:
            stage.fold(Record(Log(topic, 0), folded, one if isinstance(one, bytes) else encode(one)))
            folded += 1
        return time.process_time() - began

    users = chance.integers(0, 256, (USERS, 16), np.uint8)
    values = made_up(domain, chance, USERS, 0)
    values = values if domain.words > 1 else values[:, 0]

    def events(t: int) -> list[bytes]:
        times = t * EVERY + chance.integers(0, EVERY, USERS)
        return [out.value for out in raw_records(of, stream.name, users, times, values)]

    def reach(t: int) -> Progress:
        return Progress(topic=stream.topic, partition=0, time=t * EVERY + of.lateness_ms)

    fold("rounds", Start(stream=stream.name, t=FIRST, config=stream.config, revision=stream.revision))
    fold("raw", *events(FIRST - 1), reach(FIRST))
    came, answered = [], []
    for t in range(FIRST, FIRST + RUNS):
        round_ = Round(
            stream=stream.name, t=t, slots=Slots.every(stream.slots), mechanism=question.spec(), purpose="publication",
            contributors=1, targets=1, patience_ms=of.patience_ms, config=stream.config, revision=stream.revision,
        )  # fmt: skip
        came.append(fold("raw", *events(t)))
        fold("rounds", round_)
        answered.append(fold("raw", reach(t + 1)))
        assert sum(len(out.value) for out in stage.drain().records) > USERS * question.wire_size
        fold("rounds", Settled(stream=stream.name, t=t))
    yield at_least(f"perturb: {name}", USERS / min(answered), target)
    yield Row("  events taken in", f"{short(USERS / min(came))}/s", f"{domain.words} words", True)


def deployment(domain: Domain) -> Plan:
    """One stream of these values, which perturb asks of its measure, and nothing else."""
    of = plan(
        build({
            "schema": 1, "name": "bench", "privacy": {"epsilon": 1.0, "window": {"periods": 1}},
            "population": {"partitions": 1}, "kafka": {"targets": 1}, "time": {"lateness": "1ms"},
            "streams": {"x": {"measure": "frequency", "values": ["v"], "every": "1m", "method": "lpu"}},
        })
    )  # fmt: skip
    return replace(of, streams=(replace(of.streams[0], w=1, measure=Frequency(cast(Categories, domain))),))
