# SPDX-License-Identifier: Apache-2.0
"""What nobody can read is named once, whoever meets it, and stops nobody."""

from __future__ import annotations

from dataclasses import replace

import pytest

from murmurate.agents.embedded.runtime import Runtime
from murmurate.agents.stages.stage import Log, Out
from murmurate.topics.codec import decode
from murmurate.topics.messages import Dead
from murmurate.topics.names import STAGES, TOPICS, names_dead
from tests.agents.world import FIRST, KEYS, SECOND, TOPIC, arrivals, crowd, deployment, played, stream

NONSENSE = b'{"schema":"murmurate/never/1"}'


def dead(runtime: Runtime) -> list[Dead]:
    found = [decode(value) for zone in ("edge", "mixing", "analysis") for value in runtime.logs.all(f"dead.{zone}")]
    return [one for one in found if isinstance(one, Dead)]


@pytest.mark.parametrize("publishers", [1, 2])
@pytest.mark.parametrize("topic", ["raw", "rounds", "reports", "batches", "tallies"])
def test_a_record_that_nobody_can_read_has_one_dead_letter(topic: str, publishers: int) -> None:
    runtime = Runtime(replace(deployment(), tallies=publishers), KEYS, sources={TOPIC: 1})
    runtime.write([Out(Log(topic, 0), NONSENSE)])
    assert runtime.run()
    (letter,) = dead(runtime)
    assert (letter.topic, letter.partition, letter.offset) == (topic, 0, 0)
    (place,) = [log for log in runtime.logs.topics() if log.topic.startswith("dead.")]
    assert place.topic == f"dead.{TOPICS[topic].zone}"


def test_one_stage_of_each_topics_own_zone_reads_it() -> None:
    for name, row in TOPICS.items():
        readers = [stage for stage in row.readers if stage in STAGES]
        if not name.startswith("state.") and readers:
            assert [names_dead(name, STAGES[stage]) for stage in readers].count(True) == 1


def test_tallies_and_releases_go_by_stream_to_as_many_partitions_as_the_plan_says() -> None:
    plan = deployment(stream("screen", share_micro=500_000), stream("mood", share_micro=500_000))
    records = arrivals(crowd(plan, users=200, periods=4), until=(FIRST + 6) * SECOND)
    one, three = (played(replace(plan, tallies=n), records) for n in (1, 3))
    assert sorted(one.releases()) == sorted(three.releases())
    assert len({log for log in three.logs.topics() if log.topic == "tallies"}) == 2
    for topic in ("tallies", "releases"):
        assert [log.partition for log in one.logs.topics() if log.topic == topic] == [0]
