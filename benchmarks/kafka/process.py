# SPDX-License-Identifier: Apache-2.0
"""The children of the Kafka benchmarks: a worker, bare Tasks, a bare copy loop, a bare Faust agent.

Told by JSON in the first argument; says {} when it is ready, and what it has measured at its end, which is SIGTERM for
those that would go on for ever.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
import threading
import time
from dataclasses import replace
from typing import Any

import faust
import orjson
import uvloop
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from murmurate.agents.cli.replay import known_secrets
from murmurate.agents.kafka.client import Client
from murmurate.agents.kafka.client.access import access
from murmurate.agents.kafka.client.reader import FETCH_BYTES, POLL_MS
from murmurate.agents.kafka.client.writer import BATCH_BYTES
from murmurate.agents.kafka.task import Task
from murmurate.agents.kafka.topology import Topology, zone_keys
from murmurate.agents.kafka.worker import Worker, collect_garbage_rarely
from murmurate.agents.stages.stage import Out
from murmurate.config.loader import build
from murmurate.config.planning import plan as planned
from murmurate.config.secrets import ZONE_SECRETS
from murmurate.topics.names import STAGES


class Watch:
    """When each stage was live, when it last committed, and how often. Implements Observer.

    `until`: (stage, messages that it is to write), and then the process ends by itself.
    """

    def __init__(self, stop: asyncio.Event, until: tuple[str, int] | None) -> None:
        self.stages: dict[str, dict[str, float]] = {}
        self._stop, self._until = stop, until

    def _of(self, task: Task) -> dict[str, float]:
        fresh = {"live": 0.0, "last": 0.0, "flushes": 0, "seconds": 0.0, "messages": 0, "cpu_s": 0.0}
        return self.stages.setdefault(task.wiring.stage, fresh)

    def recovered(self, task: Task, seconds: float) -> None:
        mine = self._of(task)
        mine["live"], mine["began_cpu_s"] = time.time(), time.process_time()

    def flushed(self, task: Task, seconds: float, out: tuple[Out, ...]) -> None:
        mine = self._of(task)
        mine["flushes"] += 1
        mine["seconds"] += seconds
        if out:
            mine["last"], mine["cpu_s"] = time.time(), time.process_time() - mine["began_cpu_s"]
        mine["messages"] += sum(record.value[:1] == b"{" for record in out)
        if self._until is not None and task.wiring.stage == self._until[0] and mine["messages"] >= self._until[1]:
            self._stop.set()


def say(found: dict[str, Any]) -> None:
    """A line to whoever started us."""
    sys.stdout.buffer.write(orjson.dumps(found) + b"\n")
    sys.stdout.flush()


async def stages(order: dict[str, Any]) -> None:
    """The stages of some zones, until SIGTERM."""
    collect_garbage_rarely()
    deployment = build(order["settings"])
    plan, zones = planned(deployment), order["zones"]
    names = {name for zone in zones for name in ZONE_SECRETS[zone]}
    keys = zone_keys({name: value for name, value in known_secrets(plan.name).items() if name in names}, plan.name)
    client, stop, sources = Client(access(deployment)), asyncio.Event(), order["sources"]
    watch, topology = Watch(stop, order.get("until")), Topology(plan, keys, sources, fed=True)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    if order["what"] == "worker":
        worker = Worker(
            plan, client, topology, sources, zones, instance=order["instance"], observer=watch, now_ms=lambda: 0,
            fed=True,
        )  # fmt: skip
        running = asyncio.create_task(worker.run(stop))
        while not worker.ready and not running.done():
            await asyncio.sleep(0.01)
        say({})
        await running
    else:
        some = order.get("only") or [stage for stage, zone in STAGES.items() if zone in zones and stage != "door"]
        wirings = [wiring for stage in some for wiring in topology.wirings(stage)]
        tasks = [Task(replace(wiring, pushed=None), client, watch) for wiring in wirings]
        await asyncio.gather(*(task.open() for task in tasks))
        runs = [asyncio.create_task(task.run()) for task in tasks]
        say({})
        await asyncio.wait((asyncio.create_task(stop.wait()), *runs), return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.stop()
        await asyncio.gather(*runs)
        await asyncio.gather(*(task.close() for task in tasks))
    say(watch.stages)


async def copy(order: dict[str, Any]) -> None:
    """Each record of a partition to another topic, exactly once, until so many have passed: aiokafka and no more."""
    brokers = order["settings"]["kafka"]["brokers"]
    place = TopicPartition(order["topic"], 0)
    producer = AIOKafkaProducer(
        bootstrap_servers=brokers, transactional_id=f"{order['into']}-copy", linger_ms=0,
        max_batch_size=BATCH_BYTES, max_request_size=8 * BATCH_BYTES,
    )  # fmt: skip
    consumer = AIOKafkaConsumer(
        bootstrap_servers=brokers, isolation_level="read_committed", enable_auto_commit=False,
        fetch_max_wait_ms=POLL_MS, max_partition_fetch_bytes=FETCH_BYTES, fetch_max_bytes=4 * FETCH_BYTES,
    )  # fmt: skip
    await producer.start()
    await consumer.start()
    consumer.assign([place])
    consumer.seek(place, 0)
    began, began_cpu_s, passed, position = time.time(), time.process_time(), 0, 0
    while position < order["end"]:
        records = (await consumer.getmany(timeout_ms=POLL_MS)).get(place, [])
        if records:
            async with producer.transaction():
                sent = [await producer.send(order["into"], record.value, partition=0) for record in records]
                for delivery in sent:
                    await delivery
            passed += len(records)
        position = await consumer.position(place)
    found = {"seconds": time.time() - began, "cpu_s": time.process_time() - began_cpu_s, "records": passed}
    await consumer.stop()
    await producer.stop()
    say(found)


async def agent(order: dict[str, Any]) -> None:
    """Faust as its manual shows it: an agent that is given one JSON event at a time, until so many have come."""
    brokers, topic, count = order["settings"]["kafka"]["brokers"], order["topic"], order["count"]
    with tempfile.TemporaryDirectory() as folder:
        app = faust.App(
            f"{topic}-agent", broker=[f"kafka://{broker}" for broker in brokers], value_serializer="json",
            store="memory://", web_enabled=False, datadir=folder, topic_disable_leader=True,
            consumer_auto_offset_reset="earliest", autodiscover=False, consumer_max_fetch_size=FETCH_BYTES,
        )  # fmt: skip
        came, times, done = 0, list[tuple[float, float]](), asyncio.Event()

        async def take(stream: Any) -> None:
            nonlocal came
            async for event in stream:
                assert event["user"]
                came += 1
                if came in (1, count):
                    times.append((time.time(), time.process_time()))
                    if came == count:
                        done.set()

        app.agent(app.topic(topic), name=f"{topic}.take")(take)
        app.finalize()
        await app.maybe_start()
        await done.wait()
        (began, cpu_began), (ended, cpu_ended) = times
        say({"seconds": ended - began, "cpu_s": cpu_ended - cpu_began})
        await app.stop()


def _outlive_nobody() -> None:
    while os.read(0, 1):  # ends with whoever started us
        pass
    os._exit(1)


def main() -> None:
    order = orjson.loads(sys.argv[1])
    threading.Thread(target=_outlive_nobody, daemon=True).start()
    made = {"copy": copy, "agent": agent}.get(order["what"], stages)
    uvloop.run(made(order))


if __name__ == "__main__":
    main()
