# SPDX-License-Identifier: Apache-2.0
"""Where a deployment's releases are on Kafka, and who one is there: kafka://HOST:PORT[,HOST:PORT]/DEPLOYMENT.

Contract: with a deployment file the credentials and client settings are those of its [kafka] table, as for `watch`, and
its brokers unless an address is given; without one a plain connection.  Not here: reading (kafka/followed.py).
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from murmurate.agents.kafka.client import Client, Place
from murmurate.agents.kafka.client.access import Access, access
from murmurate.agents.kafka.collect import places
from murmurate.agents.kafka.errors import TopicsError
from murmurate.config.settings import Deployment
from murmurate.errors import UsageError
from murmurate.topics.names import stream_partition, topic

SCHEME: Final = "kafka://"
ALLOWED: Final = "kafka://HOST:PORT[,HOST:PORT]/DEPLOYMENT"
_ADDRESS = re.compile(r"kafka://([^/@\s]+:[0-9]{1,5}(?:,[^/@\s]+:[0-9]{1,5})*)/([a-z][a-z0-9-]{0,31})/?", re.ASCII)


class KafkaAddress(NamedTuple):
    """Brokers and a deployment there."""

    brokers: tuple[str, ...]
    deployment: str


def kafka_address(text: str) -> KafkaAddress:
    """The address in a text. UsageError where it is none.

    >>> kafka_address("kafka://a:9092,b:9092/shop")
    KafkaAddress(brokers=('a:9092', 'b:9092'), deployment='shop')
    """
    found = _ADDRESS.fullmatch(text)
    if found is None:
        raise UsageError(f"subscribe: found {text[:80]!r}; allowed: {ALLOWED}")
    return KafkaAddress(tuple(found[1].split(",")), found[2])


def client_of(address: KafkaAddress | None, deployment: Deployment | None) -> Client:
    """A client for an address, with the credentials of a deployment file where there is one."""
    if deployment is None:
        assert address is not None  # noqa: S101 - one of the two is there
        return Client(Access(address.brokers))
    if address is not None:
        kafka = deployment.kafka.model_copy(update={"brokers": address.brokers})
        deployment = deployment.model_copy(update={"kafka": kafka})
    return Client(access(deployment))


async def partitions(client: Client, deployment: str, stream: str | None, count: int | None) -> list[Place]:
    """The partitions of the releases topic in which the stream may be. count: of the topic, where it is known."""
    name = topic(deployment, "releases")
    if count is not None and stream is not None:
        return [Place(name, stream_partition(stream, count))]
    found = (await places(client, [name])).get(name, [])
    if not found:
        raise TopicsError(
            f"subscribe: found no topic {name} that we may read; allowed: one of `murmurate topics create`"
        )
    return found
