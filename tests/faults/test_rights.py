# SPDX-License-Identifier: Apache-2.0
"""The commands of `topics acl` on a real broker: each principal does what the table says, and nothing else."""

import asyncio
import secrets
import shlex
import ssl
from collections.abc import Awaitable, Collection, Iterator
from typing import NamedTuple, TypeVar

import pytest

from murmurate.agents.kafka.agreement import compare
from murmurate.agents.kafka.client import Client, Described, Place, Write
from murmurate.agents.kafka.client.access import Access
from murmurate.agents.kafka.errors import AgreementError, AwayError, RefusedError, TopicsError
from murmurate.agents.kafka.provision import create, faults, sources
from murmurate.agents.kafka.rights import ROLES, acl
from murmurate.config.loader import build
from murmurate.config.planning import plan
from murmurate.topics.names import STAGES, TOPICS, ZONES
from tests.config.deployments import small
from tests.faults.broker import Broker

NAME = "shop"
LOGIN = "SCRAM-SHA-512"
THEIRS = "app.clicks"
VISITS = {
    "model": "central", "measure": "count", "every": "1s", "source": {"topic": THEIRS, "user": "/u", "value": "/v"},
}  # fmt: skip
THIS = build(
    small(
        time__clock="feed",
        population__partitions=2,
        screen__source={"topic": THEIRS, "user": "/u", "value": "/v"},
        curator={"epsilon": 1.0},
        streams__visits=VISITS,
        releases={"latest": True},
    )
)
PLAN = plan(THIS)
WALL = build(small())
NOW = 1_794_992_430_000
MAY = {
    "edge": ({"raw", "rounds", "ticks", "sums", "state.door", "state.perturb", "state.curate"},
             {"raw", "reports", "sums", "tallies", "dead.edge", "state.door", "state.perturb", "state.curate"}),
    "mixing": ({"reports", "rounds", "closings", "state.shuffle"},
               {"batches", "closings", "dead.mixing", "state.shuffle"}),
    "analysis": ({"batches", "tallies", "rounds", "feed", "releases", "state.aggregate", "state.publish"},
                 {"tallies", "releases", "releases.latest", "rounds", "dead.analysis", "state.aggregate",
                  "state.publish"}),
    "subscribers": ({"releases", "releases.latest"}, set()),
    "operator": ({"closings", "dead.edge", "dead.mixing", "dead.analysis"}, set()),
    "auditor": ({"raw", "rounds", "closings", "reports", "batches", "tallies", "sums", "state.perturb",
                 "state.aggregate"}, set()),
    "provision": ({"rounds"}, {"rounds"}),
    "feed": ({"rounds"}, {"ticks", "feed", "rounds"}),
}  # fmt: skip
"""Written out by hand: role -> (reads, writes)."""
_T = TypeVar("_T")


class Guarded(NamedTuple):
    """A broker with zones, and a client for each principal."""

    broker: Broker
    clients: dict[str, Client]


def run(work: Awaitable[_T]) -> _T:
    async def bounded() -> _T:
        return await asyncio.wait_for(work, 240)

    return asyncio.run(bounded())


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    users = {f"{NAME}-{role}": secrets.token_hex(8) for role in ROLES}
    with Broker(tmp_path_factory.mktemp("rights"), sasl=True, users=users, brief=True) as broker:
        tls = ssl.create_default_context(cafile=str(broker.ca_file))
        clients = {
            role: Client(Access((broker.sasl_bootstrap,), f"{NAME}-{role}", users[f"{NAME}-{role}"], tls, LOGIN))
            for role in ROLES
        }
        broker.acl(*(shlex.split(line)[3:] for line in acl(THIS, PLAN)))

        async def made() -> None:
            anybody = Client(Access((broker.bootstrap,)))  # whose listener allows everything
            async with anybody.admin() as admin:
                await admin.create({THEIRS: Described(2, 1, {})})
            report = await create(clients["provision"], THIS, PLAN, now_ms=NOW)
            async with anybody.sender() as sender:
                await sender.send([Write(Place(name, 0), b"x", b"k") for name in (THEIRS, *report.created)])

        run(made())
        yield Guarded(broker, clients)


async def read(client: Client, topics: Collection[str]) -> set[str]:
    """Which of them it may read: a topic that it is not even shown cannot be read."""
    async with client.admin() as admin:
        shown = await admin.topics()
    return {topic for topic in shown if topic in topics and await reads(client, topic)}


async def reads(client: Client, topic: str) -> bool:
    """Whether it may read a topic that it is shown."""
    try:
        async with client.reader() as reader:
            reader.at({Place(topic, 0): 0})
            for _ in range(100):
                if await reader.poll():
                    return True
    except RefusedError:
        return False
    raise AssertionError(f"{topic}: neither a record nor a refusal")


async def writes(client: Client, topic: str) -> bool:
    """Whether it may write."""
    try:
        async with client.sender() as sender:
            await sender.send([Write(Place(topic, 0), b"x", b"k")])
    except RefusedError:
        return False
    return True


async def opens(client: Client, identity: str) -> bool:
    """Whether it may be this transactional writer."""
    writer = client.writer(identity)
    try:
        await writer.open()
    except RefusedError:
        return False
    finally:
        await writer.close()
    return True


async def sees(client: Client, group: str) -> bool:
    """Whether it may ask about a group."""
    while True:
        try:
            async with client.admin() as admin:
                await admin.committed(group)
        except AwayError:  # the first question of all makes the brokers set up what keeps groups
            continue
        except RefusedError:
            return False
        return True


def test_each_principal_reads_and_writes_what_the_table_says_and_nothing_else(guarded: Guarded) -> None:
    topics = [f"{NAME}.{row.name}" for row in TOPICS.values() if row.cleanup != "theirs"]

    async def rights(client: Client) -> tuple[set[str], set[str]]:
        return await read(client, topics), {name for name in topics if await writes(client, name)}

    async def told() -> list[tuple[set[str], set[str]]]:
        return await asyncio.gather(*map(rights, guarded.clients.values()))

    found = dict(zip(guarded.clients, run(told()), strict=True))
    assert found == {
        role: ({f"{NAME}.{name}" for name in read}, {f"{NAME}.{name}" for name in write})
        for role, (read, write) in MAY.items()
    }
    denied = 2 * len(topics) * len(ROLES) - sum(len(read) + len(write) for read, write in found.values())
    assert denied > 150
    # Who counts in a round is the mixing zone's to say, and what is asked is not.
    assert {role for role, (_, write) in found.items() if f"{NAME}.closings" in write} == {"mixing"}
    assert f"{NAME}.rounds" not in found["mixing"][1]


def test_of_the_users_topics_the_edge_reads_and_the_feed_writes(guarded: Guarded) -> None:
    async def told() -> dict[str, tuple[bool, bool]]:
        return {
            role: (bool(await read(client, [THEIRS])), await writes(client, THEIRS))
            for role, client in guarded.clients.items()
        }

    nothing = (False, False)
    assert run(told()) == dict.fromkeys(ROLES, nothing) | {"edge": (True, False), "feed": (False, True)}


def test_a_zone_has_the_writers_and_the_groups_of_its_own_stages(guarded: Guarded) -> None:
    async def told() -> dict[str, dict[str, tuple[bool, bool]]]:
        return {
            stage: {
                zone: (await opens(guarded.clients[zone], f"{NAME}-{stage}-0"),
                       await sees(guarded.clients[zone], f"{NAME}-{stage}"))
                for zone in ZONES
            }
            for stage in STAGES
        }  # fmt: skip

    async def named() -> dict[str, list[bool]]:
        first = dict(reversed([(zone, stage) for stage, zone in STAGES.items()]))
        return {zone: [await opens(guarded.clients[one], f"{NAME}-{stage}-worker-a.b-1") for one in ZONES]
                for zone, stage in first.items()}  # fmt: skip

    assert run(named()) == {zone: [one == zone for one in ZONES] for zone in ZONES}
    assert run(told()) == {stage: {zone: (zone == home,) * 2 for zone in ZONES} for stage, home in STAGES.items()}


def test_a_worker_of_each_zone_finds_its_topics_in_order_by_its_own_rights(guarded: Guarded) -> None:
    async def told() -> list[str]:
        return [line for zone in ZONES for line in await faults(guarded.clients[zone], THIS, PLAN, (zone,))]

    assert run(told()) == []
    assert run(sources(guarded.clients["edge"], PLAN)) == {THEIRS: 2}
    with pytest.raises(TopicsError, match="none that we may see"):
        run(sources(guarded.clients["analysis"], PLAN))


def test_each_zone_may_compare_the_config_record_and_provision_may_write_the_next(guarded: Guarded) -> None:
    source = {"topic": THEIRS, "user": "/u", "value": "/v"}
    central = {"curator": {"epsilon": 1.0}, "streams__visits": VISITS}
    feed = {"time__clock": "feed", "population__partitions": 2, "screen__source": source}
    changed = build(small(**feed, **central, time__patience="7s"))

    async def told() -> None:
        for role in (*ZONES, "feed"):
            assert (await compare(guarded.clients[role], PLAN, {}, fed=True)).number == 1
        report = await create(guarded.clients["provision"], changed, plan(changed), now_ms=NOW)
        assert (report.refused, report.config) == ((), 2)
        with pytest.raises(AgreementError):
            await compare(guarded.clients["mixing"], PLAN, {}, fed=True)

    run(told())


def test_the_feed_is_nobody_under_the_wall_clock() -> None:
    lines = acl(WALL, plan(WALL), {"edge": "User:CN=edge"})
    assert not any("feed" in line for line in lines)
    assert sum("--allow-principal User:CN=edge " in line for line in lines) == 4
    assert any("--operation Create" in line and f"--topic {NAME}.events" in line for line in lines)
