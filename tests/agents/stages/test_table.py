# SPDX-License-Identifier: Apache-2.0
"""One table says which stages there are: both runtimes, the topics and who may read them follow it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from murmurate.agents.embedded.runtime import Runtime
from murmurate.agents.kafka.topology import Topology, ZoneKeys
from murmurate.agents.stages.stage import Log
from murmurate.agents.stages.table import CLOCK, TABLE, topic_partitions
from murmurate.topics.names import STAGES, TOPICS, topics
from tests.agents.central import central
from tests.agents.world import KEYS, TOPIC, deployment, stream

SOURCES = {TOPIC: 3, "another": 2}
STREAMS = [stream("mood", topic="another", share_micro=500_000), stream("screen", share_micro=500_000)]
PLAN = replace(deployment(*STREAMS, partitions=4, targets=2), tallies=2, central=(central("spent"),))
TOPOLOGY = {fed: Topology(PLAN, ZoneKeys(KEYS.edge, KEYS.shuffle), SOURCES, fed=fed) for fed in (False, True)}
RUNTIME = Runtime(PLAN, KEYS, sources=SOURCES)


def test_the_table_has_every_stage_that_topics_know_in_the_same_order() -> None:
    assert list(TABLE) == list(STAGES)
    assert [row.zone for row in TABLE.values()] == list(STAGES.values())


@pytest.mark.parametrize("stage", TABLE)
def test_both_runtimes_have_the_same_instances_of_a_stage_and_they_read_the_same(stage: str) -> None:
    embedded, wired = RUNTIME.of_stage[stage], TOPOLOGY[False].wirings(stage)
    assert len(embedded) == len(wired) > (stage != "curate")
    for task, wiring in zip(embedded, wired, strict=True):
        assert type(task.stage) is type(wiring.build())
        ticks = [log for log in task.inputs if log not in wiring.inputs]  # which on Kafka the worker gives itself
        assert task.inputs == [*wiring.inputs, *ticks]
        assert ticks == {"door": [Log("ticks", wiring.inputs[0].partition)], "publish": [CLOCK]}.get(stage, [])
        assert task.name.split()[0] == wiring.stage == stage


@pytest.mark.parametrize("fed", [False, True])
@pytest.mark.parametrize("stage", TABLE)
def test_a_stage_reads_what_it_may_read_and_nothing_that_it_may_read_is_left(stage: str, fed: bool) -> None:
    for wiring in TOPOLOGY[fed].wirings(stage):
        ours = {log.topic for log in wiring.inputs} - wiring.foreign
        state = f"state.{stage}"
        may = {name for name, row in TOPICS.items() if stage in row.readers and (fed or not row.fed)}
        assert ours == may - {"events", state}
        assert wiring.state.topic == f"shop.{state}"


def test_every_topic_has_room_for_every_instance() -> None:
    counts = topic_partitions(PLAN, SOURCES)
    assert counts == {
        "raw": 4, "reports": 2, "batches": 2, "tallies": 2, "releases": 2, "releases.latest": 2, "state.door": 6,
        "state.perturb": 4, "state.shuffle": 2, "state.aggregate": 2, "state.publish": 2, "sums": 1, "state.curate": 1,
    }  # fmt: skip
    for stage in TABLE:
        places = [wiring.partition for wiring in TOPOLOGY[False].wirings(stage)]
        assert len(set(places)) == len(places)
        assert max(places) < counts[f"state.{stage}"]


def test_a_deployment_without_central_streams_has_no_curator_and_none_of_its_topics() -> None:
    plan = replace(PLAN, central=())
    assert Runtime(plan, KEYS, sources=SOURCES).of_stage["curate"] == []
    assert Topology(plan, ZoneKeys(KEYS.edge, KEYS.shuffle), SOURCES, fed=False).wirings("curate") == []
    assert topic_partitions(PLAN, SOURCES).keys() - topic_partitions(plan, SOURCES).keys() <= {"sums", "state.curate"}
    gone = {row.name for row in topics(fed=True, central=True)} - {row.name for row in topics(fed=True, central=False)}
    assert gone == {"sums", "state.curate"}


def test_a_door_keeps_its_place_and_begins_where_its_source_ends_unless_a_recording_is_fed() -> None:
    places = {wiring.inputs[0]: wiring.partition for wiring in TOPOLOGY[False].wirings("door")}
    assert places == {Log(name, p): 2 * p + (name == TOPIC) for name, n in SOURCES.items() for p in range(n)}
    assert sorted(SOURCES) == ["another", TOPIC]
    for fed in (False, True):
        for wiring in TOPOLOGY[fed].wirings("door"):
            assert wiring.pushed is None
            assert (wiring.from_end, set(wiring.foreign)) == (not fed, {wiring.inputs[0].topic})
