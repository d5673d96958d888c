# SPDX-License-Identifier: Apache-2.0
"""Topics on a real broker: made once, corrected, refused; streams begin once, however many begin them."""

import asyncio
import gc
from collections.abc import Awaitable
from typing import Any, TypeVar

import pytest

from murmurate.agents.kafka.client import Client, Described, Place
from murmurate.agents.kafka.client.access import Access
from murmurate.agents.kafka.errors import TopicsError
from murmurate.agents.kafka.provision import create, faults, sources, wanted
from murmurate.config.loader import build
from murmurate.config.planning import plan
from murmurate.config.settings import Deployment
from murmurate.topics.codec import decode
from murmurate.topics.messages import Start
from tests.config.deployments import small
from tests.faults.broker import Broker

NOW = 1_794_992_430_000
_T = TypeVar("_T")


def run(work: Awaitable[_T]) -> _T:
    async def bounded() -> _T:
        return await asyncio.wait_for(work, 120)

    return asyncio.run(bounded())


def client(broker: Broker) -> Client:
    return Client(Access(tuple(broker.bootstrap.split(","))))


def deployment(name: str, **changes: Any) -> Deployment:
    return build(small(name=name, population__partitions=2, **changes))


async def starts(of: Client, name: str) -> list[Start]:
    place = Place(f"{name}.rounds", 0)
    async with of.reader() as reader:
        first, end = (await reader.bounds([place]))[place]
        return [found async for got in reader.between(place, first, end)
                if isinstance(found := decode(got.value or b""), Start)]  # fmt: skip


async def described(of: Client, *names: str) -> dict[str, Described]:
    async with of.admin() as admin:
        return await admin.describe(names)


def test_every_topic_is_made_as_it_has_to_be_and_a_second_time_changes_nothing(
    broker: Broker, deployment_name: str
) -> None:
    this, of = deployment(deployment_name), client(broker)
    made = plan(this)

    async def twice() -> None:
        before = await create(of, this, made, now_ms=NOW, dry_run=True)
        assert (await described(of, *before.created)) == {}
        first = await create(of, this, made, now_ms=NOW)
        assert first == before
        assert first.created[f"{deployment_name}.raw"] == 2
        assert first.started == {"screen": NOW // 60_000 + 1}
        assert await faults(of, this, made) == []
        assert await sources(of, made) == {f"{deployment_name}.events": 2}
        second = await create(of, this, made, now_ms=NOW + 3_600_000)
        assert (second.created, second.corrected, second.refused, second.started) == ({}, (), (), {})
        assert set(second.right) == set(first.created)
        assert await create(of, this, made, now_ms=NOW, dry_run=True) == second
        assert [start.t for start in await starts(of, deployment_name)] == [NOW // 60_000 + 1]
        have = await described(of, *first.created)
        want = wanted(this, made, {f"{deployment_name}.events": 2})
        assert {name: (topic.partitions, topic.replication) for name, topic in have.items()} == {
            name: (topic.partitions, 1) for name, topic in want.items()
        }
        assert all(have[name].settings.items() >= topic.settings.items() for name, topic in want.items())

    run(twice())


def test_two_that_create_at_the_same_time_begin_each_stream_once(
    broker: Broker, deployment_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    this = deployment(deployment_name)
    made = plan(this)

    async def together() -> None:
        done = await asyncio.gather(
            *(create(client(broker), this, made, now_ms=NOW) for _ in range(5)), return_exceptions=True
        )
        # Who is fenced by another says so; whoever was last has made sure.
        assert any(not isinstance(one, BaseException) for one in done)
        assert all(type(one).__name__ in ("Report", "FencedError") for one in done), done
        assert len(await starts(client(broker), deployment_name)) == 1

    run(together())
    gc.collect()
    assert [
        record.getMessage() for record in caplog.records if record.name == "asyncio"
    ] == []  # no page-long tracebacks


def test_a_setting_is_corrected_and_other_settings_of_the_topic_stay(broker: Broker, deployment_name: str) -> None:
    this, of = deployment(deployment_name), client(broker)
    made, raw = plan(this), f"{deployment_name}.raw"

    async def once_applied(wanted: list[str]) -> list[str]:
        """What is wrong, asked until it is that: a broker applies settings a moment after it has confirmed them."""
        found = await faults(of, this, made)
        for _ in range(500):
            if found == wanted:
                break
            found = await faults(of, this, made)
        return found

    async def corrected() -> None:
        await create(of, this, made, now_ms=NOW)
        async with of.admin() as admin:
            await admin.alter(raw, {"retention.ms": "1000", "cleanup.policy": "compact", "flush.messages": "7"})
        wrong = [
            f"{raw}: cleanup.policy: found compact; allowed: delete",
            f"{raw}: retention.ms: found 1000; allowed: 345600000",
        ]
        assert await once_applied(wrong) == wrong
        report = await create(of, this, made, now_ms=NOW)
        assert len(report.corrected) == 2
        assert await once_applied([]) == []
        settings = (await described(of, raw))[raw].settings
        assert (settings["flush.messages"], settings["compression.type"]) == ("7", "uncompressed")

    run(corrected())


def test_other_partitions_are_refused_and_nothing_begins(broker: Broker, deployment_name: str) -> None:
    this, of = deployment(deployment_name, kafka__targets=1), client(broker)
    made, raw = plan(this), f"{deployment_name}.raw"

    async def refused() -> None:
        async with of.admin() as admin:
            await admin.create({raw: Described(4, 1, {})})
        report = await create(of, this, made, now_ms=NOW)
        assert report.started == {}
        assert report.refused == (
            f"{raw}: found 4 partitions; allowed: 2 (for life: moving a user to another partition would forget what "
            "was spent)",
        )
        assert report.refused[0] in await faults(of, this, made)
        assert (await described(of, raw))[raw].partitions == 4

    run(refused())


def test_a_users_topic_has_to_be_there_and_is_never_touched(broker: Broker, deployment_name: str) -> None:
    theirs = f"{deployment_name}-clicks"
    source = {"topic": theirs, "user": "/u", "value": "/v"}
    this, of = deployment(deployment_name, screen__source=source), client(broker)
    made = plan(this)

    async def looked_at() -> None:
        with pytest.raises(TopicsError, match="found no such topic, or none that we may see; allowed: the topic of"):
            await create(of, this, made, now_ms=NOW)
        with pytest.raises(TopicsError, match=theirs):
            await sources(of, made)
        assert len(await faults(of, this, made)) == 1
        assert len(await faults(of, this, made, ("mixing",))) == 6  # no door, so no source is looked at
        async with of.admin() as admin:
            assert [name for name in await admin.topics() if name.startswith(deployment_name)] == []
            await admin.create({theirs: Described(3, 1, {"retention.ms": "7777777"})})
        before = await described(of, theirs)
        report = await create(of, this, made, now_ms=NOW)
        assert f"{deployment_name}.events" not in report.created
        assert report.created[f"{deployment_name}.state.door"] == 3
        assert await described(of, theirs) == before

    run(looked_at())


def test_under_the_feeds_clock_there_are_its_topics_and_no_stream_begins_by_itself(
    broker: Broker, deployment_name: str
) -> None:
    this, of = deployment(deployment_name, time__clock="feed"), client(broker)

    async def fed() -> None:
        report = await create(of, this, plan(this), now_ms=NOW)
        assert report.started == {}
        assert {f"{deployment_name}.ticks", f"{deployment_name}.feed"} < report.created.keys()
        assert await starts(of, deployment_name) == []

    run(fed())


def test_another_clock_is_refused_for_life_before_anything_is_made_for_it(broker: Broker, deployment_name: str) -> None:
    wall, fed = deployment(deployment_name), deployment(deployment_name, time__clock="feed")
    of = client(broker)

    async def switched() -> None:
        await create(of, wall, plan(wall), now_ms=NOW)
        for dry_run in (True, False):
            report = await create(of, fed, plan(fed), now_ms=NOW, dry_run=dry_run)
            (line,) = report.refused
            assert line.startswith("time.clock: found feed; allowed: wall, for life")
            assert "the other clock needs a deployment of another name" in line
            assert report.created == {}
        async with of.admin() as admin:
            assert not await admin.describe([f"{deployment_name}.ticks", f"{deployment_name}.feed"])

    run(switched())


def test_a_record_keeps_no_time_of_its_own(broker: Broker, deployment_name: str) -> None:
    this, of = deployment(deployment_name), client(broker)

    async def written() -> None:
        await create(of, this, plan(this), now_ms=NOW)
        place = Place(f"{deployment_name}.reports", 0)
        async with of.sender() as sender:
            await sender._producer.send_and_wait(place.topic, b"x", partition=0, timestamp_ms=1)
        async with of.reader() as reader:
            reader.at({place: 0})
            got = (await reader.poll(10_000))[0]
        assert got.time_ms > NOW // 2

    run(written())
