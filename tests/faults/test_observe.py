# SPDX-License-Identifier: Apache-2.0
"""What a worker shows while it runs on a real broker: metrics by zone, readiness, the page; and who follows it."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import NamedTuple

import orjson
import yaml

from murmurate.agents.kafka.client import Place, Write
from murmurate.agents.kafka.errors import BrokerError
from murmurate.agents.kafka.release_reader import ReleaseReader
from murmurate.agents.observe.families import EDGE_ONLY
from murmurate.topics.codec import encode
from murmurate.topics.names import ZONES
from murmurate.topics.release import Release
from tests.agents.web.test_serving import released
from tests.faults.broker import Broker
from tests.faults.deployed import RUN, Deployed, Process
from tests.faults.recordings import deployment, recording

DEPLOYMENT = deployment(partitions=2)
PERIODS = 12
USERS = 400


class Answer(NamedTuple):
    status: int
    text: str


def get(url: str) -> Answer:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 - our own server
            return Answer(answer.status, answer.read().decode())
    except urllib.error.HTTPError as refused:
        return Answer(refused.code, refused.read().decode())


def served(worker: Process) -> list[str]:
    """Where a worker serves, by its own log."""
    worker.until('"serving"')
    (line,) = [line for line in worker.lines() if line["message"] == "serving"]
    return list(line["at"])


def until(url: str, pattern: str, timeout_s: float = 60.0) -> Answer:
    """Until an answer says this."""
    end = time.monotonic() + timeout_s
    while not re.search(pattern, (answer := get(url)).text, re.MULTILINE):
        assert time.monotonic() < end, f"{url} never said {pattern!r}: {answer.text[-3000:]}"
        time.sleep(0.1)  # another process answers
    return answer


def total(text: str, name: str) -> float:
    return sum(float(value) for value in re.findall(rf"^{name}(?:{{[^}}]*}})? (\S+)$", text, re.MULTILINE))


def test_a_worker_shows_what_it_does_and_raw_counts_at_the_edges_address_alone(
    deployed: Deployed, tmp_path: Path
) -> None:
    source = recording(tmp_path / "clicks.jsonl", users=USERS, periods=PERIODS)
    worker = deployed.worker()
    public, edge = served(worker)
    assert get(f"{public}/healthz") == (200, '{"status": "ok"}')
    until(f"{public}/readyz", '"ready": true')
    ready = orjson.loads(get(f"{edge}/readyz").text)
    assert ready["partitions"]["perturb"] == 2
    wanted = deployed.expected(str(source))
    feed = deployed.feed(str(source))
    found = deployed.releases(len(wanted))
    assert feed.wait() == 0
    assert found == wanted
    until(f"{public}/metrics", r"^murmurate_lag_records\{.*batches.*\} 0\.0$")
    shown = get(f"{public}/metrics").text
    assert total(shown, "murmurate_releases_total") == len(wanted)
    assert not any(name in shown for name in EDGE_ONLY)
    assert ".raw" not in shown
    assert "perturb" not in shown
    assert "door" not in shown
    raw = get(f"{edge}/metrics").text
    assert total(raw, "murmurate_events_total") >= USERS * PERIODS
    assert re.search(r'^murmurate_lag_records{.*topic="[^"]*\.raw"', raw, re.MULTILINE)
    last = f"{public}/v1/streams/screen/releases?last=3"
    with urllib.request.urlopen(last, timeout=10) as answer:  # noqa: S310 - our own server
        lines: list[bytes] = []
        while len(lines) < 3:
            line = answer.readline()
            lines += [line[6:].strip()] if line.startswith(b"data: ") else []
    assert [orjson.loads(line) for line in lines] == [orjson.loads(one) for one in wanted[-3:]]
    worker.terminate()
    assert worker.wait() == 0


def test_a_worker_of_a_zone_serves_what_belongs_there(deployed: Deployed, tmp_path: Path) -> None:
    alone = deployed.folder / "mixing.toml"
    text = deployed.file.read_text()
    kept = [line for line in text.splitlines() if not re.match("(pepper|randomness|slots|split|state) =", line)]
    alone.write_text("\n".join(kept))
    worker = deployed.worker("--zone", "mixing", "-c", str(alone))
    (public,) = served(worker)
    until(f"{public}/readyz", '"ready": true')
    assert get(public).status == 404
    assert total(get(f"{public}/metrics").text, "murmurate_info") == 1


def test_a_follower_gets_every_release_once_though_its_broker_dies(broker: Broker, deployed: Deployed) -> None:
    place, records = Place(f"{deployed.plan.name}.releases", 0), released()[:12]
    follow = ReleaseReader(deployed.client, deployed.plan.name, 1, history=100)
    found: list[Release] = []

    async def write(some: list[Release]) -> None:
        writer = deployed.client.writer(f"{deployed.plan.name}-test")
        await writer.open()
        for release in some:
            await writer.transact([Write(place, encode(release))])
        await writer.close()

    async def take(count: int) -> None:
        while len(found) < count:
            try:
                async for release in follow:
                    found.append(release)
                    if len(found) == count:
                        break
            except BrokerError:
                await asyncio.sleep(0.2)

    async def scenario() -> None:
        await write(records[:5])
        await take(3)
        going_on = asyncio.create_task(take(12))
        broker.kill()
        broker.restart()
        await write(records[5:])
        await going_on

    asyncio.run(asyncio.wait_for(scenario(), 120))
    assert found == records
    assert follow.last == {release.stream: release for release in records}
    assert follow.unreadable == 0


def test_a_follower_begins_with_the_newest_and_passes_over_what_is_no_release(deployed: Deployed) -> None:
    place, records = Place(f"{deployed.plan.name}.releases", 0), released()[:8]
    follow = ReleaseReader(deployed.client, deployed.plan.name, 1, history=4)

    async def scenario() -> None:
        writer = deployed.client.writer(f"{deployed.plan.name}-test")
        await writer.open()
        for value in [*(encode(release) for release in records), b"no release"]:
            await writer.transact([Write(place, value)])
        await writer.transact([Write(place, encode(records[0]))])
        found = []
        async for release in follow:
            found.append(release)
            if len(found) == 3:
                break
        assert found == [*records[-2:], records[0]]
        assert follow.unreadable == 1
        await writer.close()

    asyncio.run(asyncio.wait_for(scenario(), 60))


def test_what_init_writes_for_compose_runs_zone_by_zone(broker: Broker, deployment_name: str, tmp_path: Path) -> None:
    """Every command of our services, in their order and with their environment, only without containers."""

    def run(*args: str, **env: str) -> None:
        done = subprocess.run([*RUN, *args], cwd=tmp_path, env=os.environ | env, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr

    run("init")
    run("keys", "new", "secrets/")
    services = yaml.safe_load((tmp_path / "compose.yaml").read_text())["services"]
    here = {"kafka:19092": broker.bootstrap, "/run/secrets": str(tmp_path / "secrets")}
    addresses = {"0.0.0.0:8000": "0.0.0.0:0", "172.30.77.2:8001": "127.0.0.1:0"}
    environments: dict[str, dict[str, str]] = {}
    for name in ("topics", *ZONES):
        environment: dict[str, str] = services[name]["environment"]
        env = {key: addresses.get(value) or value for key, value in environment.items()}
        for there, instead in here.items():
            env = {key: value.replace(there, instead) for key, value in env.items()}
        environments[name] = env | {"MURMURATE__NAME": deployment_name, "MURMURATE__POPULATION__PARTITIONS": "2"}
    run(*services["topics"]["command"], **environments["topics"])
    workers = {
        zone: Process([*RUN, *services[zone]["command"]], tmp_path / f"{zone}.log", environments[zone])
        for zone in ZONES
    }
    try:
        for zone, worker in workers.items():
            public, *edge = served(worker)
            assert len(edge) == (zone == "edge")
            until(f"{public}/readyz", '"ready": true')
            assert get(public).status == (200 if zone == "analysis" else 404)
        for worker in workers.values():
            worker.terminate()
        assert [worker.wait() for worker in workers.values()] == [0, 0, 0]
    finally:
        for worker in workers.values():
            worker.end()
