# SPDX-License-Identifier: Apache-2.0
"""Horizons that are cut: everybody stops and events go on, or one contributor is away for longer than the patience.

Through every stage, from events to releases.  Not here: crashes at every point of a transaction (test_exactness.py).
"""

from __future__ import annotations

import random
from functools import cache

import orjson
import pytest

from murmurate.agents.embedded.runtime import Runtime
from tests.agents.embedded.test_exactness import CHANGES, PERIODS, audited
from tests.agents.world import FIRST, KEYS, SECOND, TOPIC, Shuffled, arrivals, by_stream, crowd, played
from tests.cases import every

END = (FIRST + PERIODS + 2) * SECOND
RECORDS = arrivals(crowd(CHANGES, users=40, periods=PERIODS), until=END, every=500)

pytestmark = [pytest.mark.audit, pytest.mark.usefixtures("frequent_snapshots")]


@cache
def calm() -> dict[str, list[bytes]]:
    """What the undisturbed run releases."""
    return by_stream(played(CHANGES, RECORDS, step=100))


def begun(schedule: Shuffled | None = None) -> Runtime:
    """A runtime whose streams have begun."""
    runtime = Runtime(CHANGES, KEYS, sources={TOPIC: 2}, schedule=schedule, keep=True)
    runtime.start({each.name: FIRST * SECOND // each.every_ms for each in CHANGES.streams})
    return runtime


@every("parts", [range(4, 5)], long=[range(1, 9)])
def test_a_stop_of_everybody_within_a_horizon_changes_no_byte(parts: range) -> None:
    for part in parts:  # of nine: the first horizon of `screen` ends with the fifth period of ten
        runtime, cut = begun(), len(RECORDS) * part // 9
        runtime.write(RECORDS[:cut])
        runtime.run()
        released = len(runtime.releases())
        runtime.write(RECORDS[cut:])  # while nobody is there
        for task in runtime.tasks:
            task.recover()
        runtime.run()
        assert 0 < released < len(runtime.releases())
        assert by_stream(runtime) == calm()
        found = audited(runtime, CHANGES)
        assert found.holds, found.where


@pytest.mark.audit
def test_a_contributor_who_is_away_within_a_horizon_is_missed_and_its_users_go_on_later() -> None:
    schedule = Shuffled(random.Random(2), frozen=[])
    runtime, cut = begun(schedule), len(RECORDS) // 3
    runtime.write(RECORDS[:cut])
    runtime.run()
    schedule.frozen.append("perturb 2")
    runtime.write(RECORDS[cut:])
    now = END
    for _ in range(40):  # each round has a patience of its own
        now += CHANGES.patience_ms + SECOND
        runtime.tick(now)
        runtime.run()
        if any(b'"missing":1' in one for one in by_stream(runtime)["screen"]):
            break
    schedule.frozen.clear()
    runtime.run()
    said = [orjson.loads(one) for one in by_stream(runtime)["screen"]]
    assert [one["t"] for one in said] == list(range(FIRST, FIRST + len(said)))
    missed = [one["t"] for one in said if one["reports"].get("missing")]
    assert missed
    assert len(said) == (END - 500) // SECOND - FIRST
    assert [one["decision"] for one in said] == [orjson.loads(one)["decision"] for one in calm()["screen"]]
    found = audited(runtime, CHANGES)
    assert found.holds, found.where
