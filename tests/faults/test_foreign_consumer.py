# SPDX-License-Identifier: Apache-2.0
"""Subscribers outside: plain Kafka, the topic's name and the published schema are all that they need, in Java as in the
Python of docs/SUBSCRIBING.md.
"""

from __future__ import annotations

import asyncio
import hashlib
import subprocess
from pathlib import Path

import orjson
import pytest
from aiokafka import AIOKafkaProducer

from tests.faults.broker import Broker
from tests.faults.deployed import Deployed
from tests.faults.jars import compiles, jars, java
from tests.faults.pages import blocks, run
from tests.faults.recordings import deployment, recording

DEPLOYMENT = deployment(periods=4, partitions=2) + "\n[releases]\nlatest = true\n"

TESTS = Path(__file__).parent.parent
PROGRAM = TESTS / "foreign" / "Releases.java"
SCHEMA = TESTS.parent / "topics" / "schema" / "release.schema.json"


def subscriber(deployed: Deployed, bootstrap: str, count: int) -> subprocess.CompletedProcess[str]:
    if not compiles():
        pytest.fail("this java runs no source files: apt-get install default-jdk-headless", pytrace=False)
    topic = f"{deployed.plan.name}.releases"
    command = [str(java()), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx192m", "-cp", f"{jars('4.2.0')}/*"]
    command += ["-Dorg.slf4j.simpleLogger.defaultLogLevel=error", str(PROGRAM), bootstrap, topic, str(SCHEMA)]
    return subprocess.run([*command, str(count)], capture_output=True, text=True, timeout=100, check=False)


async def write(deployed: Deployed, bootstrap: str, value: bytes, *, commit: bool) -> None:
    topic = f"{deployed.plan.name}.releases"
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=f"{deployed.plan.name}-forger")
    await producer.start()
    try:
        await producer.begin_transaction()
        await producer.send_and_wait(topic, value, partition=0)
        await (producer.commit_transaction() if commit else producer.abort_transaction())
    finally:
        await producer.stop()


def line(release: bytes) -> str:
    said = orjson.loads(release)
    return f"{said['stream']} {said['t']} {hashlib.sha256(release).hexdigest()}"


def altered(release: bytes, **changes: object) -> bytes:
    return orjson.dumps(orjson.loads(release) | changes, option=orjson.OPT_SORT_KEYS)


def test_a_subscriber_in_java_sees_each_period_once_as_replayed_and_nothing_that_was_aborted(
    deployed: Deployed, broker: Broker, tmp_path: Path
) -> None:
    source = str(recording(tmp_path / "clicks.jsonl", users=400, periods=12))
    wanted = deployed.expected(source)
    aborted = altered(wanted[0], t=10**6)
    asyncio.run(write(deployed, broker.bootstrap, aborted, commit=False))
    (spare := tmp_path / "spare").mkdir()
    worker, feed = deployed.worker(env={"TMPDIR": str(spare)}), deployed.feed(source)
    assert deployed.releases(len(wanted)) == wanted
    assert feed.wait() == 0
    asyncio.run(write(deployed, broker.bootstrap, aborted, commit=False))
    worker.kill()
    assert list(spare.iterdir()) == []  # whoever is killed leaves no folder behind
    in_python(deployed, broker, wanted)
    ended = subscriber(deployed, broker.bootstrap, len(wanted))
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines() == [line(release) for release in wanted]


def in_python(deployed: Deployed, broker: Broker, wanted: list[bytes]) -> None:
    """Let the programs of docs/SUBSCRIBING.md read the same releases, and the table of the newest ones."""
    follow, table = blocks("SUBSCRIBING.md", "python")[:2]  # the others read over HTTP
    said = [orjson.loads(release) for release in wanted]
    assert run(follow, deployed, broker).splitlines() == [
        f"screen {one['start']} {one['decision']} {one['estimate']}" for one in said[:3]
    ]
    assert {got.key for got in deployed.everything("releases")} == {b"screen"}
    newest = said[-1]
    assert sorted(run(table, deployed, broker).splitlines()) == sorted(
        f"screen {name} {newest['t']} {value} {newest['stderr'][name]}" for name, value in newest["estimate"].items()
    )
    assert len(deployed.everything("releases.latest")) == len(wanted) * len(newest["estimate"])


FAULTS = ("a key missing", "an inner key missing", "a key too many")


@pytest.mark.parametrize(
    "fault", ["a period twice", *(pytest.param(fault, marks=pytest.mark.faults) for fault in FAULTS)]
)
def test_the_subscriber_would_notice(deployed: Deployed, broker: Broker, tmp_path: Path, fault: str) -> None:
    good = deployed.expected(str(recording(tmp_path / "clicks.jsonl", users=400, periods=3)))[0]
    said = orjson.loads(good)
    bad, complaint = {
        "a key missing": (orjson.dumps({key: said[key] for key in said if key != "privacy"}), "found no privacy"),
        "an inner key missing": (altered(good, reports={"slots": 1}), "reports: found no received"),
        "a key too many": (altered(good, user="somebody"), "found user, which the schema does not know"),
        "a period twice": (good, "a second time"),
    }[fault]
    for value in (good, bad if fault == "a period twice" else altered(bad, t=10**6)):
        asyncio.run(write(deployed, broker.bootstrap, value, commit=True))
    ended = subscriber(deployed, broker.bootstrap, 2)
    assert ended.returncode == 1
    assert complaint in ended.stderr
