# SPDX-License-Identifier: Apache-2.0
"""docs/PRODUCING.md, docs/SUBSCRIBING.md and docs/ACCESS.md, run: every Python block, every record and table of the
file, and in `make faults` Kafka's own console tools too.  The Python of subscribers runs in test_foreign_consumer.py.
kcat is shown on these pages and is not on every machine.
"""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from murmurate.agents.kafka.client.access import access
from murmurate.agents.kafka.client.tokens import TokenHook
from murmurate.config.loader import build
from murmurate.config.planning import plan
from murmurate.topics import EventReader
from tests.config.deployments import small
from tests.faults.broker import QUICK_JVM, Broker
from tests.faults.deployed import Deployed
from tests.faults.jars import jars, java
from tests.faults.pages import DOCS, blocks, run
from tests.faults.recordings import deployment, recording

DEPLOYMENT = deployment(periods=4, partitions=2)
PERIODS = 6
TOOLS = {
    "kafka-console-producer.sh": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-console-consumer.sh": "org.apache.kafka.tools.consumer.ConsoleConsumer",
}


def tool(line: str, deployed: Deployed, broker: Broker) -> str:
    """A line of the shell, with Kafka's own tools by their classes."""
    line = line.replace("localhost:9092", broker.bootstrap).replace("shop", deployed.plan.name)
    for script, name in TOOLS.items():
        command = [str(java()), *QUICK_JVM, "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp"]
        line = line.replace(script, shlex.join([*command, f"{jars('4.2.0')}/*", name]))
    ended = subprocess.run(["/bin/sh", "-c", line], cwd=deployed.folder, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def shell(page: str) -> list[str]:
    return [line.removeprefix("$ ") for block in blocks(page, "console") for line in block.splitlines()]


def read(deployed: Deployed, value: bytes) -> int:
    """How many rows the door makes of a record."""
    reader = EventReader(
        {stream.name: stream.domain for stream in deployed.plan.streams}, deployed.plan.streams[0].fields
    )
    return len(reader.read([value]).users)


def test_the_python_that_produces_an_event_writes_what_the_door_reads(deployed: Deployed, broker: Broker) -> None:
    (block,) = blocks("PRODUCING.md", "python")
    run(block, deployed, broker)
    (got,) = deployed.everything("events")
    assert (got.key, json.loads(got.value or b"")["user"]) == (b"anna", "anna")
    assert read(deployed, got.value or b"") == 1


@pytest.mark.faults
def test_the_console_producer_writes_the_same_event(deployed: Deployed, broker: Broker) -> None:
    for line in shell("PRODUCING.md"):
        tool(line, deployed, broker)
    (got,) = deployed.everything("events")
    assert got.key == b"anna"
    assert json.loads(got.value or b"")["time"] == "2026-11-18T09:00:12.480Z"
    assert read(deployed, got.value or b"") == 1


@pytest.mark.parametrize("shipper", ["debezium", "fluent", "vector"])
def test_the_pointers_for_a_shipper_read_its_record(shipper: str) -> None:
    (table,), (record,) = blocks("PRODUCING.md", f"toml {shipper}"), blocks("PRODUCING.md", f"json {shipper}")
    said = tomllib.loads(table)["streams"]["spent"]
    stream: dict[str, Any] = {"measure": "total", "every": "1m", "range": [0, 100]} | said
    made = plan(build(small(streams={"spent": stream}))).streams[0]
    found = EventReader({"spent": made.domain}, made.fields).read([record.strip().encode()])
    assert (found.time.tolist(), found.refusals) == ([1_794_992_412_480], ())
    assert found.code.tolist() == [8192]  # 12.5 of 100, in 65 536ths


@pytest.mark.faults
def test_the_console_consumer_reads_a_committed_release(deployed: Deployed, broker: Broker, tmp_path: Path) -> None:
    source = str(recording(tmp_path / "clicks.jsonl", users=400, periods=PERIODS))
    wanted = deployed.expected(source)
    deployed.worker()
    deployed.feed(source)
    assert deployed.releases(len(wanted)) == wanted
    (line,) = shell("SUBSCRIBING.md")
    assert tool(line, deployed, broker).splitlines() == [wanted[0].decode()]


def test_the_signer_of_the_page_is_a_hook(monkeypatch: pytest.MonkeyPatch) -> None:
    class MSKAuthTokenProvider:
        @staticmethod
        def generate_auth_token(region: str) -> tuple[str, int]:
            return f"signed-for-{region}", 1_794_992_412_480

    package, signer = ModuleType("aws_msk_iam_sasl_signer"), ModuleType("signer")
    vars(package)["MSKAuthTokenProvider"] = MSKAuthTokenProvider
    monkeypatch.setitem(sys.modules, package.__name__, package)
    (block,) = blocks("ACCESS.md", "python")
    exec(compile(block, "ACCESS.md", "exec"), vars(signer))  # noqa: S102 - our own page
    assert asyncio.run(TokenHook("signer:token", vars(signer)["token"]).token()) == "signed-for-eu-central-1"


@pytest.mark.parametrize("number", range(len(blocks("ACCESS.md", "toml"))))
def test_each_table_of_the_access_page_is_one(number: int) -> None:
    build(small(kafka=tomllib.loads(blocks("ACCESS.md", "toml")[number])["kafka"]))


def test_each_login_of_the_access_page_is_there() -> None:
    text = (DOCS / "ACCESS.md").read_text(encoding="utf-8")
    from murmurate.config.brokers import LOGINS, ClientProperties

    assert all(f"`{login}`" in text for login in LOGINS)
    (properties,) = (block for block in blocks("ACCESS.md", "toml") if "[kafka.client]" in block)
    assert tomllib.loads(properties)["kafka"]["client"].keys() == ClientProperties.model_fields.keys()
    assert access(build(small()), {}).protocol == "PLAINTEXT"


@pytest.mark.parametrize("page", sorted(path.name for path in DOCS.glob("*.md")))
def test_every_consumer_on_a_page_reads_committed_records(page: str) -> None:
    """Also those in prose that shows a command: `isolation.level` stands in the same block."""
    text = (DOCS / page).read_text(encoding="utf-8")
    shown = re.findall(r"^```[^\n]*\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    consumers = [block for block in shown if re.search(r"Consumer\(|console-consumer|kcat -C", block)]
    assert [block for block in consumers if not re.search(r"isolation[._-]level\W+read_committed", block)] == []
    assert page != "SUBSCRIBING.md" or len(consumers) == 4
