# SPDX-License-Identifier: Apache-2.0
"""`murmurate.subscribe` on a real broker: committed releases alone, each once, and over HTTP through the death of the
worker that sends them.
"""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path
from typing import Any

import orjson
import pytest

import murmurate as mm
from murmurate.agents.kafka.client import Place, Write
from murmurate.agents.kafka.errors import TopicsError
from tests.agents.library.made import everything, ids, release, take, topic
from tests.faults.broker import Broker
from tests.faults.deployed import Deployed, Process
from tests.faults.guarded import GuardedBroker
from tests.faults.pages import blocks, run
from tests.faults.ports import Ports
from tests.faults.recordings import deployment, recording
from tests.faults.test_access import enter
from tests.faults.test_foreign_consumer import write as forged
from tests.faults.ways import WAYS, prepare

ALL = topic()
SCREEN = ids(ALL, "screen")


async def put(deployed: Deployed, releases: list[dict[str, Any]]) -> None:
    place = Place(f"{deployed.plan.name}.releases", 0)
    writes = [Write(place, orjson.dumps(one), one["stream"].encode()) for one in releases]
    async with deployed.client.sender() as sender:
        await sender.send([*writes[:3], Write(place, b"no release"), *writes[3:]])


def test_on_kafka_each_committed_release_comes_once_from_where_one_wants(broker: Broker, tmp_path: Path) -> None:
    name = f"t-subscribe-{secrets.token_hex(4)}"
    deployed = Deployed(tmp_path, name, broker.bootstrap, deployment(periods=4, partitions=2))
    url = f"kafka://{broker.bootstrap}/{name}"

    decisions = {ids([one])[0]: one["decision"] for one in ALL}

    async def scenario() -> None:
        with pytest.raises(TopicsError, match=f"found no topic {name}.releases that we may read"):
            await everything(mm.subscribe(url, "screen", follow=False))
        await deployed._create(1)
        await put(deployed, ALL[:9])
        await forged(deployed, broker.bootstrap, orjson.dumps(release(999)), commit=False)
        read = mm.subscribe(url, "screen")
        assert await take(read, len(ids(ALL[:9], "screen"))) == ids(ALL[:9], "screen")
        coming = asyncio.ensure_future(take(read, len(SCREEN) - len(ids(ALL[:9], "screen"))))
        await put(deployed, ALL[9:])
        assert ids(ALL[:9], "screen") + await asyncio.wait_for(coming, 60) == SCREEN
        assert read.unreadable == 2
        await read.aclose()
        ways: list[tuple[dict[str, Any], list[str]]] = [
            ({"config": deployed.file}, SCREEN),
            ({"since": SCREEN[4]}, SCREEN[5:]),
            ({"since": "last"}, SCREEN[-1:]),
            ({"since": "2026-11-18T01:50:00Z"}, ids([one for one in ALL if one["t"] >= 110], "screen")),
        ]
        for options, wanted in ways:
            assert await everything(mm.subscribe(url, "screen", follow=False, **options)) == wanted
        assert await everything(mm.subscribe(url, follow=False)) == ids(ALL)
        assert await everything(mm.subscribe(config=deployed.file, follow=False)) == ids(ALL)
        newest = await everything(mm.subscribe(url, "screen", follow=False, newest_only=True))
        assert len(newest) == len({one["t"] for one in ALL if one["stream"] == "screen"})
        (program,) = [block for block in blocks("PYTHON.md", "python") if "kafka://" in block]
        said = await asyncio.to_thread(run, program, deployed, broker)
        assert said.split() == [word for one in SCREEN for word in (one, decisions[one])]
        with pytest.raises(mm.UsageError, match="found no release of 'scren'; allowed: fare, screen"):
            await everything(mm.subscribe(url, "scren"))
        with pytest.raises(mm.UsageError, match="stream: found 'scren'; allowed: screen"):
            mm.subscribe(url, "scren", config=deployed.file)
        with pytest.raises(mm.UsageError, match=f"found deployment 'other'; allowed: {name}"):
            mm.subscribe(f"kafka://{broker.bootstrap}/other", config=deployed.file)

    try:
        asyncio.run(scenario())
    finally:
        deployed.close()


@pytest.mark.faults
def test_over_http_a_worker_that_is_killed_and_another_in_its_place_leave_no_gap(
    deployed: Deployed, tmp_path: Path
) -> None:
    source = str(recording(tmp_path / "clicks.jsonl", users=400, periods=30))
    wanted = [orjson.loads(one) for one in deployed.expected(source)]
    port = (ports := Ports()).claim()
    env = {"MURMURATE__WEB__LISTEN": f"127.0.0.1:{port}"}

    async def scenario(first: Process) -> list[str]:
        subscription, found = mm.subscribe(f"http://127.0.0.1:{port}", "screen"), list[str]()
        found += await asyncio.wait_for(take(subscription, 5), 120)
        first.kill()
        second = deployed.worker(instance="second", env=env)
        found += await asyncio.wait_for(take(subscription, 10), 120)
        second.kill()
        deployed.worker(instance="third", env=env)
        return found + await asyncio.wait_for(take(subscription, len(wanted) - 15), 120)

    worker = deployed.worker(env=env)
    worker.until('"serving"')
    deployed.feed(source, "--speed", "3x")
    assert asyncio.run(scenario(worker)) == ids(wanted, "screen")
    ports.release()


@pytest.mark.faults
def test_with_the_deployment_file_one_comes_in_by_its_credentials(guarded: GuardedBroker, tmp_path: Path) -> None:
    (places := tmp_path / "places").mkdir()
    prepare(places, guarded)
    name, way = f"t-credentials-{secrets.token_hex(4)}", WAYS["SCRAM-SHA-256 over TLS"]
    deployed = Deployed(tmp_path, name, guarded.bootstrap, deployment(periods=4, partitions=2))
    deployed.create(1)
    asyncio.run(put(deployed, ALL))
    enter(deployed, way, guarded, places)
    url = f"kafka://{guarded.at(way.listener)}/{name}"
    for source in (None, url):
        found = mm.subscribe(source, "screen", config=deployed.file, follow=False)
        assert asyncio.run(everything(found)) == SCREEN


DEPLOYMENT = deployment(periods=10, partitions=2)
