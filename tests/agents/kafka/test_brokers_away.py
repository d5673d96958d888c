# SPDX-License-Identifier: Apache-2.0
"""One of several brokers is away: questions go to another one, and a feed that waits goes on waiting."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest
from aiokafka import errors as kafka

from murmurate.agents.kafka.client import Client, Got, Place, Reader, Sender
from murmurate.agents.kafka.client.admin import AnyNode
from murmurate.agents.kafka.errors import AwayError
from murmurate.agents.kafka.feed import AHEAD, Feeder
from murmurate.agents.replay.source import Source
from murmurate.topics.codec import encode
from murmurate.topics.messages import Settled
from tests.agents.world import deployment, stream

PLAN = deployment(stream("screen", "lpu"))


class Nodes:
    """What an admin client talks to: brokers 1 to 3, of which some are away."""

    def __init__(self, away: set[int]) -> None:
        self.away, self.asked = away, list[int]()
        self.cluster = SimpleNamespace(brokers=lambda: [SimpleNamespace(nodeId=node) for node in (1, 2, 3)])

    def get_random_node(self) -> int:
        return 2

    async def send(self, node: int, request: object) -> int:
        self.asked.append(node)
        if node in self.away:
            raise kafka.NodeNotReadyError(f"node {node}")
        return node


def answer(nodes: Nodes, node: int | None = None) -> int:
    admin = AnyNode.__new__(AnyNode)
    admin._client = cast(Any, nodes)
    return int(asyncio.run(admin._send_request(object(), node)))


def test_where_a_broker_is_away_another_one_is_asked() -> None:
    assert answer(Nodes(set())) == 2
    assert answer(nodes := Nodes({1, 2})) == 3
    assert nodes.asked == [2, 1, 3]
    with pytest.raises(kafka.NodeNotReadyError):
        answer(Nodes({1, 2, 3}))
    with pytest.raises(kafka.NodeNotReadyError):
        answer(Nodes({1}), 1)  # it alone can answer


class AwayClient:
    def admin(self) -> AwayClient:
        return self

    async def __aenter__(self) -> AwayClient:
        raise AwayError("brokers are away")

    async def __aexit__(self, *what: object) -> None:
        pass


class Releases:
    """A reader of rounds, in which a period is settled the second time it is asked."""

    polls = 0

    async def poll(self, timeout_ms: int) -> list[Got]:
        self.polls += 1
        settled = encode(Settled(stream="screen", t=100))
        return [Got(Place("shop.rounds", 0), 0, None, settled, 0)] if self.polls == 2 else []


def test_a_feed_that_waits_for_releases_outlives_brokers_that_are_away() -> None:
    source = SimpleNamespace(streams=["screen"], shared=False)
    feeder = Feeder(PLAN, cast(Source, source), cast(Client, cast(Any, AwayClient())), {})
    feeder.fed.settled["screen"], releases = 90, Releases()
    wanted = (100 + AHEAD) * PLAN.stream("screen").every_ms + PLAN.lateness_ms
    asyncio.run(feeder._wait(cast(Sender, None), cast(Reader, cast(Any, releases)), wanted))
    assert releases.polls == 2
