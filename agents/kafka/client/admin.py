# SPDX-License-Identifier: Apache-2.0
"""Topics and groups of a cluster."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

from aiokafka import errors as kafka
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment

from murmurate.agents.kafka.client.kafka_errors import kafka_errors
from murmurate.agents.kafka.client.reasons import connected
from murmurate.agents.kafka.client.records import Place
from murmurate.agents.kafka.client.topic_ids import TopicIdsRequest, ids_in
from murmurate.agents.kafka.errors import AwayError, TopicsError

WAIT_S: Final = 20.0
TRIES: Final = 3
OF_THE_TOPIC = 1  # Kafka's DYNAMIC_TOPIC_CONFIG: a setting of this topic, and no broker's default


class Described(NamedTuple):
    """A topic as the brokers have it."""

    partitions: int
    replication: int
    settings: Mapping[str, str]


class AnyNode(AIOKafkaAdminClient):
    """An admin client that asks another broker where one is away. aiokafka draws one of those that it has heard of, so
    that with one of three away hardly anything that takes several questions comes to its end.
    """

    async def _send_request(self, request: Any, node_id: int | None = None) -> Any:
        nodes = [node_id]
        if node_id is None:
            first = self._client.get_random_node()
            nodes = [first, *(one.nodeId for one in self._client.cluster.brokers() if one.nodeId != first)]
        for node in nodes[:-1]:
            with contextlib.suppress(kafka.NodeNotReadyError):  # it was not sent
                return await super()._send_request(request, node)
        return await super()._send_request(request, nodes[-1])


class Admin:
    """Topics and groups of a cluster."""

    def __init__(self, common: Mapping[str, Any]) -> None:
        self._common = common
        self._admin: Any = AnyNode(**common)

    async def __aenter__(self) -> Admin:
        await connected("brokers", self._common, self._admin.start())
        return self

    async def __aexit__(self, *what: object) -> None:
        with contextlib.suppress(kafka.KafkaError):
            await self._admin.close()

    async def topics(self) -> list[str]:
        """Every topic that we may see."""
        with kafka_errors("topics"):
            return sorted(await self._admin.list_topics())

    async def partitions(self, names: Collection[str]) -> dict[str, int]:
        """How many partitions topics have now. Only of topics that exist: brokers may make others when asked."""
        with kafka_errors("topics"):
            found = await self._admin.describe_topics(sorted(names))
        return {topic["topic"]: len(topic["partitions"]) for topic in found if topic["error_code"] == 0}

    async def widen(self, name: str, partitions: int) -> None:
        """Give a topic so many partitions, and wait until that is to be seen."""
        with kafka_errors(f"partitions of {name}"):
            await self._admin.create_partitions({name: NewPartitions(partitions)})
        end = time.monotonic() + WAIT_S
        while (await self.partitions([name])).get(name, 0) < partitions and time.monotonic() < end:
            await asyncio.sleep(0.05)

    async def ids(self, names: Collection[str]) -> dict[str, str]:
        """The ids of those of these topics that exist, as far as we may see them; none from brokers older than ids."""
        with kafka_errors("ids of topics"):
            try:
                return ids_in(await self._admin._send_request(TopicIdsRequest(sorted(names)))) if names else {}
            except NotImplementedError:  # aiokafka: the brokers speak no version that we do
                return {}

    async def describe(self, names: Collection[str]) -> dict[str, Described]:
        """Those of the named topics that exist, as far as we may see them."""
        with kafka_errors("topics"):
            # Asked for by its name, a topic that does not exist would be made by brokers that make topics themselves.
            listed = set(await self._admin.list_topics()) & set(names)
            described = await self._admin.describe_topics(sorted(listed)) if listed else []
            found = [topic for topic in described if topic["error_code"] == 0]
        settings = await self._settings([topic["topic"] for topic in found])
        return {
            topic["topic"]: Described(
                len(topic["partitions"]), len(topic["partitions"][0]["replicas"]), settings[topic["topic"]]
            )
            for topic in found
            if topic["topic"] in settings
        }

    async def _settings(self, names: Collection[str], source: int | None = None) -> dict[str, dict[str, str]]:
        """The settings of topics that the brokers know: all that hold, or those from one source."""
        resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
        with kafka_errors("settings of topics"):
            answers = await self._admin.describe_configs(resources) if resources else []
            found: dict[str, dict[str, str]] = {}
            for answer in answers:
                for code, _, _, name, entries in (resource[:5] for resource in answer.resources):
                    if code == kafka.UnknownTopicOrPartitionError.errno:
                        continue
                    if code:
                        raise kafka.for_code(code)(name)
                    found[name] = {entry[0]: entry[1] for entry in entries if source in (None, entry[3])}
        return found

    async def broker_setting(self, name: str) -> str | None:
        """A setting of the brokers, as one of them has it; None if it has none of that name."""
        with kafka_errors("settings of brokers"):
            nodes = await self._admin.describe_cluster()
            number = str(nodes["brokers"][0]["node_id"])
            answers = await self._admin.describe_configs([ConfigResource(ConfigResourceType.BROKER, number)])
            for code, _, _, _, entries in (resource[:5] for answer in answers for resource in answer.resources):
                if code:
                    raise kafka.for_code(code)(number)
                return next((entry[1] for entry in entries if entry[0] == name), None)
        return None

    async def create(self, wanted: Mapping[str, Described]) -> list[str]:
        """Make those that do not exist yet, and wait until the brokers have told each other: which were made."""
        new = [
            NewTopic(name, want.partitions, want.replication, topic_configs=dict(want.settings))
            for name, want in wanted.items()
        ]
        with kafka_errors("topics"):
            answer = await self._admin.create_topics(new)
        made = []
        for name, code, *rest in answer.topic_errors:
            if code == 0:
                made.append(name)
            elif code != kafka.TopicAlreadyExistsError.errno:
                reason = rest[0] if rest and rest[0] else kafka.for_code(code).__name__
                raise TopicsError(f"topic {name}: cannot be made: {reason}")
        end = time.monotonic() + WAIT_S
        while absent := sorted(wanted.keys() - (await self.describe(wanted)).keys()):
            if time.monotonic() > end:
                raise TopicsError(
                    f"{absent[0]}: was made {WAIT_S:g} s ago and is not to be seen; allowed: a topic we see"
                )
            await asyncio.sleep(0.05)
        return made

    async def alter(self, name: str, settings: Mapping[str, str]) -> None:
        """Set these settings of a topic; its others stay: Kafka's AlterConfigs takes away what it is not told."""
        own = (await self._settings([name], OF_THE_TOPIC)).get(name, {})
        resource = ConfigResource(ConfigResourceType.TOPIC, name, configs=own | dict(settings))
        with kafka_errors(f"topic {name}"):
            for answer in await self._admin.alter_configs([resource]):
                for code, *rest in answer.resources:
                    if code:
                        raise kafka.for_code(code)(rest[0] or "")

    async def delete(self, names: Collection[str]) -> None:
        """Remove topics."""
        with kafka_errors("topics"):
            await self._admin.delete_topics(list(names))

    async def committed(self, group: str) -> dict[Place, int]:
        """The offsets that a group has committed."""
        with kafka_errors(f"group {group}"):
            found = await self._admin.list_consumer_group_offsets(group)
        return {Place(at.topic, at.partition): kept.offset for at, kept in found.items()}

    async def owners(self, group: str) -> tuple[str, dict[str, frozenset[Place]]]:
        """A group's state, and what each member owns; members that have nothing yet too. A cluster that has never had a
        group makes room for them when it is first asked.
        """
        for left in reversed(range(TRIES)):
            try:
                return await self._owners(group)
            except AwayError:
                if not left:
                    raise
            await asyncio.sleep(0.5)
        raise AssertionError("unreachable")

    async def _owners(self, group: str) -> tuple[str, dict[str, frozenset[Place]]]:
        with kafka_errors(f"group {group}"):
            groups = [
                found for answer in await self._admin.describe_consumer_groups([group]) for found in answer.groups
            ]
            for code in (found[0] for found in groups if found[0]):
                raise kafka.for_code(code)(group)
        state, owned = "Dead", dict[str, frozenset[Place]]()
        for found in groups:
            state = str(found[2])
            for member in found[5]:
                theirs = ConsumerProtocolMemberAssignment.decode(member[4]).assignment if member[4] else ()
                owned[str(member[0])] = frozenset(Place(topic, p) for topic, parts in theirs for p in parts)
        return state, owned
