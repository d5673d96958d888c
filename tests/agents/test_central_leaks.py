# SPDX-License-Identifier: Apache-2.0
"""Exact sums stay at the edge: they stand in no topic, log, metric, state or dead letter outside of it, and nothing
that leaves it depends on raw values but the noisy sums and the threshold.
"""

from __future__ import annotations

import logging
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import orjson
import pytest

from murmurate.agents.embedded import task as task_module
from murmurate.agents.embedded.runtime import Runtime
from murmurate.agents.stages.stage import Log
from murmurate.topics.block import SumsBlock
from murmurate.topics.codec import decode_record
from murmurate.topics.curated import Curated
from murmurate.topics.names import STAGES, TOPICS
from murmurate.topics.release import Release
from tests.agents.central import BLOCKS, FEW, FOUND_SPENT, SPENT, VISITS, beside, curated, ran, spending
from tests.agents.world import FIRST, SECOND, TOPIC, Crashes, Event, Shuffled, arrivals

PERIODS = 10
END = (FIRST + PERIODS + 2) * SECOND
PLAN = beside(SPENT, FOUND_SPENT, BLOCKS, FEW, VISITS)
EDGE = {name for name, row in TOPICS.items() if row.zone == "edge"} | {TOPIC}
AMOUNT = 14.3
"""What everybody spends: sums of it are numbers that nothing else says."""


def crowd(amount: float | None) -> list[Event]:
    """The same events at the same times; of the central streams but `visits` all say this amount, or their own."""
    return [
        event if amount is None or event.stream in ("screen", "visits") else replace(event, value=amount)
        for event in spending(PLAN, users=160, periods=PERIODS, seed=8)
    ]


@pytest.fixture(name="run")
def torn_run(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Runtime:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(task_module, "SNAPSHOT_BYTES", 4000)
    crashes = Crashes({("after fold", kind): range(10, 300, 41) for kind in ("door", "perturb", "curate", "publish")})
    return ran(PLAN, arrivals(crowd(AMOUNT), until=END), faults=crashes, step=100, schedule=Shuffled(random.Random(1)))


def exact_sums(runtime: Runtime) -> set[int]:
    """Every exact sum of a period, at a partition and over all, that is large enough to be no other number."""
    found, whole = set[int](), Counter[tuple[bytes, int]]()
    for value in runtime.logs.all("sums"):
        block = decode_record(value)
        assert isinstance(block, SumsBlock)
        total = int(block.sums[len(block.sums) // 2 :].sum()) if len(block.sums) > 1 else 0
        whole[block.stream, block.t] += total
        found |= {total, *(int(n) for n in block.sums)}
    return {n for n in found | set(whole.values()) if n >= 2000}


def forms(number: int) -> Iterator[bytes]:
    for size in (4, 8):
        if number < 1 << 8 * size:
            yield number.to_bytes(size, "little")
            yield number.to_bytes(size, "big")
            yield number.to_bytes(size, "little").hex().encode()
    yield b"[%d," % number
    yield b":%d," % number
    yield b":%d.0" % number
    yield b"%.1f" % (number / 10)


def hits(data: bytes, numbers: set[int]) -> int:
    return sum(data.count(form) for number in numbers for form in forms(number))


def test_no_exact_sum_leaves_the_edge(run: Runtime, caplog: pytest.LogCaptureFixture) -> None:
    numbers = exact_sums(run)
    assert len(numbers) > 40
    assert hits(b"".join(run.logs.all("sums")), numbers) > 200  # the search finds what is there
    for log in run.logs.topics():
        if log.topic not in EDGE:
            text = b"".join(run.logs.all(log.topic))
            if log.topic == "reports":
                continue  # coins of other streams, as long as no sum
            assert hits(text, numbers) == 0, log
    assert hits(b"".join(run.logs.all("dead.edge")), numbers) == 0
    assert hits(caplog.text.encode(), numbers) == 0


def test_no_exact_sum_stands_in_a_state_record_or_in_what_a_stage_counts(run: Runtime) -> None:
    numbers, seen = exact_sums(run), 0
    for task in run.tasks:
        for record in task.state:
            data = record.small + b"".join(record.snapshot) + repr((record.marks, record.start)).encode()
            assert hits(data, numbers) == 0, task.name
            seen += 1
        counts = {name: value for name, value in vars(task.stage).items() if isinstance(value, Counter)}
        if STAGES[task.name.split()[0]] != "edge":
            assert hits(repr(counts).encode(), numbers) == 0
    assert seen > 10


def test_sums_stand_in_the_edge_alone_by_the_table() -> None:
    for name in ("sums", "state.curate"):
        row = TOPICS[name]
        assert row.zone == "edge"
        stages = {*row.writers, *row.readers} - {"auditor"}  # which holds the edge's secrets, and writes nothing
        assert {STAGES[who] for who in stages} == {"edge"}


def outside(runtime: Runtime) -> dict[Log, list[Any]]:
    """What leaves the edge of central streams, but for noisy sums and thresholds."""
    found: dict[Log, list[Any]] = {}
    for log in runtime.logs.topics():
        if log.topic in ("rounds", "tallies", "releases"):
            found[log] = list(filter(None, (_without_figures(value) for value in runtime.logs.all(log.topic))))
        elif log.topic not in EDGE and log.topic not in ("reports", "batches"):
            found[log] = list(runtime.logs.all(log.topic))
    return found


def _without_figures(value: bytes) -> Any:
    match decode_record(value):
        case Curated() as one:
            return one.stream, one.t, one.config, one.tree and one.tree.first_t, one.sums and len(one.sums)
        case Release(central=promise) as one if promise is not None:
            return one.stream, one.t, one.decision, one.measured_t, promise, sorted(one.estimate), one.block is None
        case Release():
            return None
    said = orjson.loads(value)
    return None if said.get("stream") == "screen" or "round" in said["schema"] else said


@pytest.mark.parametrize(
    "amount", [1e9, None, *(pytest.param(amount, marks=pytest.mark.audit) for amount in (0.0, 50.0))]
)
def test_all_that_leaves_the_edge_is_alike_whatever_people_spend_but_noisy_sums_and_the_threshold(
    amount: float | None,
) -> None:
    base = ran(PLAN, arrivals(crowd(AMOUNT), until=END), step=300)
    other = ran(PLAN, arrivals(crowd(amount), until=END), step=300)
    assert outside(base) == outside(other)
    assert curated(base, "spent") != curated(other, "spent")
    lengths = [[len(value) for value in run.logs.all("sums")] for run in (base, other)]
    assert lengths[0] == lengths[1]


def test_events_without_a_value_change_no_count_of_events_and_nothing_else_that_leaves() -> None:
    told = crowd(AMOUNT)
    wrong = [
        replace(event, value="rubbish") if i % 3 and event.stream != "screen" else event for i, event in enumerate(told)
    ]
    base, other = (ran(PLAN, arrivals(events, until=END), step=300) for events in (told, wrong))
    assert curated(base, "visits") == curated(other, "visits")
    assert outside(base) == outside(other)


def test_the_noise_on_twin_runs_is_the_same_so_only_the_sums_differ() -> None:
    """As ARCHITECTURE rule 27 has it: noise follows from key, stream, time and shape, never from what is summed."""
    base, other = (ran(PLAN, arrivals(crowd(amount), until=END), step=300) for amount in (AMOUNT, 12.0))
    whole = SPENT.tree.denominator
    for one, two in zip(curated(base, "spent"), curated(other, "spent"), strict=True):
        assert one.sums is not None
        assert two.sums is not None
        assert one.sums[1] == two.sums[1]  # as many events
        difference = (one.sums[0][0] - two.sums[0][0]) * whole + one.sums[0][1] - two.sums[0][1]
        assert difference % whole == 0
    assert np.ptp([one.sums[0][0] for one in curated(base, "spent") if one.sums]) > 0
