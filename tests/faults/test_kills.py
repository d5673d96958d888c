# SPDX-License-Identifier: Apache-2.0
"""Workers die, freeze, join and leave, brokers go away; releases, reports and budgets do not notice.

`make test` has a worker that is frozen; kill -9 is there in every phase of a round (test_every_phase.py), and forced
offsets in test_isolation.py.  `make faults` has all of it, also at length: 1 M events of 50 000 users, three seeds.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from murmurate.agents.kafka.client import Place
from tests.faults.broker import Broker
from tests.faults.chaos import Chaos, Deed
from tests.faults.deployed import Deployed
from tests.faults.offsets import force
from tests.faults.recordings import deployment, recording

SEEDS = (1, 2, 3)


@pytest.fixture
def short(tmp_path: Path) -> str:
    """Half a minute of 600 users."""
    return str(recording(tmp_path / "clicks.jsonl", users=600, periods=30))


@pytest.fixture
def shorter(tmp_path: Path) -> str:
    """A quarter of a minute of 600 users."""
    return str(recording(tmp_path / "clicks.jsonl", users=600, periods=16))


@pytest.fixture
def long(tmp_path: Path) -> str:
    """A million events of 50 000 users."""
    return str(recording(tmp_path / "clicks.jsonl", users=50_000, periods=40, each=0.5))


def ends(deployed: Deployed, source: str, chaos: Chaos, *, workers: int = 2, speed: str = "1.5x") -> None:
    """Run to the end under chaos: the releases are those of a replay, and the auditor has nothing to say."""
    wanted = deployed.expected(source)
    for _ in range(workers):
        deployed.worker().until('"ready"', 60.0)
    feed = deployed.feed(source, "--speed", speed)
    found = deployed.releases(len(wanted), 180.0, chaos)
    assert found == wanted, deployed.blame(found, wanted)
    chaos.finish()
    said = f"{chaos.kills} kills, {chaos.deaths} ended by themselves"
    print(f"{said}; the longest pause between releases {deployed.longest_pause_s:.1f} s")
    assert feed.wait() == 0
    audit = deployed.run("audit", "ledger", "--json")
    assert audit.returncode == 0, audit.stdout + audit.stderr


@pytest.mark.faults
@pytest.mark.parametrize(("source", "kills"), [("shorter", 3), ("short", 5)])
def test_kill_9_of_workers_changes_no_byte(
    deployed: Deployed, source: str, kills: int, request: pytest.FixtureRequest
) -> None:
    chaos = Chaos(deployed, seed=1, pause_s=2.5)
    chaos.plan([chaos.kill] * kills)
    ends(deployed, request.getfixturevalue(source), chaos)
    assert chaos.kills == kills


@pytest.mark.faults
def test_partitions_added_to_the_source_among_kills_change_no_byte(deployed: Deployed, short: str) -> None:
    """A feed that began before gives the new doors the time, and no events."""
    chaos = Chaos(deployed, seed=4, pause_s=2.0)

    async def widened() -> list[int]:
        async with deployed.client.admin() as admin:
            await admin.widen(f"{deployed.plan.name}.events", 4)
        return []

    def widen() -> None:
        in_thread(widened())

    chaos.plan([chaos.kill, widen, chaos.kill, chaos.kill])
    ends(deployed, short, chaos)
    places = {(got.place.partition, got.key) for got in deployed.everything("state.door")}
    assert {partition for partition, _ in places} == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("source", "pause_s"), [("shorter", 2.5), pytest.param("short", 4.0, marks=pytest.mark.faults)]
)
def test_a_frozen_worker_wakes_up_after_its_successor_and_changes_no_byte(
    deployed: Deployed, source: str, pause_s: float, request: pytest.FixtureRequest
) -> None:
    chaos = Chaos(deployed, seed=2, pause_s=pause_s)
    chaos.plan([lambda: chaos.freeze(9.0)])
    ends(deployed, request.getfixturevalue(source), chaos)


@pytest.mark.faults
def test_a_broker_killed_and_group_offsets_forced_ahead_change_no_byte(
    deployed: Deployed, short: str, broker: Broker
) -> None:
    chaos = Chaos(deployed, seed=3, pause_s=4.0)

    def bounce() -> None:
        broker.kill()
        broker.restart()

    chaos.plan([bounce, lambda: ahead(deployed), chaos.kill])
    ends(deployed, short, chaos)


@pytest.mark.faults
def test_a_zombie_a_broker_killed_and_group_offsets_forced_ahead_change_no_byte(
    deployed: Deployed, short: str, broker: Broker
) -> None:
    """The two above in one run, which begins with a quiet moment: the zombie had rounds open when it froze."""
    chaos = Chaos(deployed, seed=3, pause_s=2.5)

    def freeze() -> None:
        chaos.freeze(9.0)
        chaos.rest(9.0)

    def bounce() -> None:
        broker.kill()
        broker.restart()

    chaos.plan([lambda: None, freeze, bounce, lambda: ahead(deployed)])
    ends(deployed, short, chaos)


def ahead(deployed: Deployed) -> None:
    """Kill everybody and commit offsets that no Task has reached: whoever believes them loses reports."""
    for worker in deployed.workers:
        worker.kill()
    name = deployed.plan.name
    far = {Place(f"{name}.raw", p): 10**6 for p in range(4)}
    for _ in range(150):  # the group takes them when its dead members' sessions are over
        if in_thread(force(deployed.client, f"{name}-perturb", far)) == [0] * 4:
            return
        time.sleep(0.1)
    raise AssertionError("the group took no offsets from outside")


def in_thread(work: Coroutine[Any, Any, list[int]]) -> list[int]:
    """Beside the loop that follows the releases."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


@pytest.mark.faults
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", SEEDS)
def test_twenty_kills_of_any_worker(deployed: Deployed, long: str, seed: int) -> None:
    chaos = Chaos(deployed, seed=seed, pause_s=3.0)
    chaos.plan([chaos.kill] * 20)
    ends(deployed, long, chaos, workers=3, speed="0.5x")
    assert chaos.kills == 20


@pytest.mark.faults
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", SEEDS)
def test_zombies_outages_and_broker_kills(deployed: Deployed, long: str, seed: int, broker: Broker) -> None:
    chaos = Chaos(deployed, seed=seed, pause_s=8.0)

    def bounce() -> None:
        broker.kill()
        broker.restart()

    def outage() -> None:
        broker.kill()
        chaos.later(30.0, broker.restart)
        chaos.rest(30.0)  # nobody can do anything to a broker that is away

    deeds: list[Deed] = [lambda: chaos.freeze(14.0), bounce, lambda: ahead(deployed), bounce, outage]
    chaos.draw.shuffle(deeds)
    chaos.plan([*deeds, chaos.kill])
    ends(deployed, long, chaos, workers=3, speed="0.5x")


@pytest.mark.faults
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", SEEDS)
def test_workers_join_and_leave(deployed: Deployed, long: str, seed: int) -> None:
    chaos = Chaos(deployed, seed=seed, pause_s=4.0)
    chaos.plan([chaos.join] * 2 + [chaos.leave] * 3 + [chaos.kill])
    ends(deployed, long, chaos, workers=3, speed="0.7x")


@pytest.mark.faults
@pytest.mark.timeout(1200)
def test_one_of_three_brokers_lost(deployment_name: str, tmp_path: Path) -> None:
    source = str(recording(tmp_path / "clicks.jsonl", users=5_000, periods=40))
    with Broker(tmp_path / "brokers", nodes=3) as brokers:
        brokers.start()
        deployed = Deployed(tmp_path / "shop", deployment_name, brokers.bootstrap, deployment(), replication=3)
        deployed.create()
        try:
            chaos = Chaos(deployed, seed=1, pause_s=5.0)
            chaos.plan([lambda: brokers.kill(1), chaos.kill, lambda: brokers.restart(1)])
            ends(deployed, source, chaos)
        finally:
            deployed.close()
