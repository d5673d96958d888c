"""All contact with Kafka through aiokafka: readers of committed records, transactional writers, topics, groups.

Contract: every failure leaves as one of errors.py, by what the caller does about it, with a text that says what was
tried.  A transaction awaits each delivery before it commits: aiokafka commits even where a record was refused.
Nothing here retries beyond aiokafka's own time limits.  Source: spec "rounds loop", traps.  Not here: what is read
and written (task.py), Faust (app.py).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import aiokafka.producer.sender as _sender
from aiokafka import AIOKafkaClient, AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition
from aiokafka import errors as kafka
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from murmurate.agents.kafka.errors import (
    AwayError,
    BrokerError,
    FencedError,
    LostRecordsError,
    RefusedError,
    TopicsError,
)
from murmurate.config.access import MECHANISM, Access

_sender.BACKOFF_OVERRIDE = 0.002  # 20 ms by default, between back-to-back transactions of one producer

REQUEST_MS = 20_000
TRANSACTION_MS = 10_000
"""A dead writer's open transaction hides what follows for at most this long; its successor ends it at once."""
FETCH_BYTES = 4 << 20
BATCH_BYTES = 1 << 20
POLL_MS = 100

_AWAY = (
    kafka.KafkaConnectionError, kafka.KafkaTimeoutError, kafka.RequestTimedOutError, kafka.NodeNotReadyError,
    kafka.NotLeaderForPartitionError, kafka.LeaderNotAvailableError, kafka.GroupCoordinatorNotAvailableError,
    kafka.NotCoordinatorForGroupError, kafka.BrokerNotAvailableError, kafka.NotEnoughReplicasError,
    kafka.NotEnoughReplicasAfterAppendError, kafka.KafkaStorageError, kafka.NoBrokersAvailable,
    kafka.ConsumerStoppedError, kafka.ProducerClosed, asyncio.TimeoutError, ConnectionError,
)  # fmt: skip
_REFUSED = (
    kafka.AuthenticationFailedError, kafka.TopicAuthorizationFailedError, kafka.GroupAuthorizationFailedError,
    kafka.ClusterAuthorizationFailedError, kafka.TransactionalIdAuthorizationFailed, kafka.IllegalSaslStateError,
    kafka.UnsupportedSaslMechanismError, kafka.SaslAuthenticationFailed,
)  # fmt: skip


class Place(NamedTuple):
    """A partition of a topic, by the topic's full name."""

    topic: str
    partition: int


class Got(NamedTuple):
    """A record as it was read."""

    place: Place
    offset: int
    key: bytes | None
    value: bytes | None
    time_ms: int


class Write(NamedTuple):
    """A record to be written."""

    place: Place
    value: bytes
    key: bytes | None = None


@contextlib.contextmanager
def said(what: str) -> Iterator[None]:
    """Any failure of aiokafka as one of ours, with what was tried."""
    try:
        yield
    except BrokerError:
        raise
    except (kafka.ProducerFenced, kafka.InvalidProducerEpoch) as error:
        raise FencedError(f"{what}: another instance has taken over") from error
    except kafka.OffsetOutOfRangeError as error:
        raise LostRecordsError(f"{what}: the records are no longer there") from error
    except kafka.UnknownTopicOrPartitionError as error:
        raise TopicsError(f"{what}: no such topic or partition (see `murmurate topics create`)") from error
    except _REFUSED as error:
        raise RefusedError(f"{what}: refused: {_reason(error)}") from error
    except _AWAY as error:
        if _is_refusal(error):
            raise RefusedError(f"{what}: refused: {_reason(error)}") from error
        raise AwayError(f"{what}: {_reason(error)}") from error
    except kafka.KafkaError as error:
        raise BrokerError(f"{what}: {_reason(error)}") from error


def _reason(error: BaseException) -> str:
    """An error's name and first line: aiokafka's texts show addresses and codes, never what records hold."""
    text = str(error).partition("\n")[0]
    name = type(error).__name__
    return f"{name}: {text}".removesuffix(": ") if name not in text else text


def _is_refusal(error: BaseException) -> bool:
    """Whether a failed connection hides a refused login."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, _REFUSED):
            return True
        seen = seen.__cause__ or seen.__context__
    return False


class Client:
    """Makes connections that all know where the brokers are and who we are."""

    def __init__(self, access: Access, name: str = "murmurate") -> None:
        self.access, self.name = access, name

    def _common(self) -> dict[str, Any]:
        common: dict[str, Any] = {
            "bootstrap_servers": list(self.access.brokers), "client_id": self.name,
            "security_protocol": self.access.protocol, "ssl_context": self.access.tls,
            "request_timeout_ms": REQUEST_MS,
        }  # fmt: skip
        if self.access.username is not None:
            common |= {
                "sasl_mechanism": MECHANISM, "sasl_plain_username": self.access.username,
                "sasl_plain_password": self.access.password,
            }  # fmt: skip
        return common

    async def answers(self) -> None:
        """Return when a broker answers; AwayError or RefusedError otherwise."""
        client = AIOKafkaClient(**self._common())
        with said(f"brokers {', '.join(self.access.brokers)}"):
            try:
                await client.bootstrap()
            finally:
                await client.close()

    def reader(self) -> Reader:
        """A reader that belongs to no group."""
        return Reader(self._common())

    def writer(self, identity: str) -> Writer:
        """A transactional writer: opening a second one of the same identity fences this one."""
        return Writer(self._common(), identity)

    def sender(self) -> Sender:
        """A writer without transactions, for records that are nobody's state."""
        return Sender(self._common())

    def member(self, group: str, topics: Collection[str], instance: str, changed: Changed) -> Member:
        """A member of a group that only shares out partitions."""
        return Member(self._common(), group, topics, instance, changed)

    def admin(self) -> Admin:
        """Topics and groups."""
        return Admin(self._common())


class Reader:
    """Reads committed records of partitions that it is told, from offsets that it is told."""

    def __init__(self, common: Mapping[str, Any]) -> None:
        self._consumer = AIOKafkaConsumer(
            **common, isolation_level="read_committed", auto_offset_reset="none", enable_auto_commit=False,
            fetch_max_wait_ms=POLL_MS, max_partition_fetch_bytes=FETCH_BYTES, fetch_max_bytes=4 * FETCH_BYTES,
        )  # fmt: skip

    async def __aenter__(self) -> Reader:
        with said("reader"):
            await self._consumer.start()
        return self

    async def __aexit__(self, *what: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the connection."""
        with contextlib.suppress(kafka.KafkaError):
            await self._consumer.stop()

    def at(self, offsets: Mapping[Place, int]) -> None:
        """Read these partitions from these offsets, and no others."""
        places = [TopicPartition(*place) for place in offsets]
        self._consumer.assign(places)
        for place, offset in offsets.items():
            self._consumer.seek(TopicPartition(*place), offset)

    async def poll(self, timeout_ms: int = POLL_MS, most: int | None = None) -> list[Got]:
        """The next records, in order within each partition; none after the timeout."""
        with said("reading"):
            found = await self._consumer.getmany(timeout_ms=timeout_ms, max_records=most)
        return [
            Got(Place(place.topic, place.partition), record.offset, record.key, record.value, record.timestamp)
            for place, records in found.items()
            for record in records
        ]

    async def position(self, place: Place) -> int:
        """The offset of the next record: records that were aborted or compacted away lie behind it too."""
        with said(f"position of {place.topic} {place.partition}"):
            return int(await self._consumer.position(TopicPartition(*place)))

    async def bounds(self, places: Collection[Place]) -> dict[Place, tuple[int, int]]:
        """The first offset of each partition and the one after its last committed record."""
        wanted = [TopicPartition(*place) for place in places]
        with said(f"offsets of {', '.join(sorted({place.topic for place in places}))}"):
            first = await self._consumer.beginning_offsets(wanted)
            end = await self._consumer.end_offsets(wanted)
        return {Place(at.topic, at.partition): (first[at], end[at]) for at in wanted}

    async def between(self, place: Place, start: int, stop: int) -> AsyncIterator[Got]:
        """The records from `start` to before `stop`."""
        if start >= stop:
            return
        self.at({place: start})
        while await self.position(place) < stop:
            for got in await self.poll():
                if got.offset >= stop:
                    return
                yield got


class Writer:
    """One transactional id. After any failure it must be thrown away."""

    def __init__(self, common: Mapping[str, Any], identity: str) -> None:
        self.identity = identity
        self._producer = AIOKafkaProducer(
            **common, transactional_id=identity, transaction_timeout_ms=TRANSACTION_MS, linger_ms=0,
            retry_backoff_ms=10, max_batch_size=BATCH_BYTES, max_request_size=8 * BATCH_BYTES,
        )  # fmt: skip

    async def open(self) -> None:
        """Fence every earlier holder of the identity and end what it left open."""
        with said(f"writer {self.identity}"):
            await self._producer.start()

    async def transact(self, writes: Iterable[Write]) -> list[int]:
        """All of these, or none: their offsets, once they are committed."""
        producer = self._producer
        with said(f"transaction of {self.identity}"):
            await producer.begin_transaction()
            sent = [
                await producer.send(place.topic, value, key=key, partition=place.partition)
                for place, value, key in writes
            ]
            offsets = [int((await delivery).offset) for delivery in sent]  # each one: a refused record must stop us
            await producer.commit_transaction()
        return offsets

    async def close(self) -> None:
        """Let go. What is open is left to the successor, or to the timeout."""
        with contextlib.suppress(kafka.KafkaError, asyncio.TimeoutError):
            await asyncio.wait_for(self._producer.stop(), 5)


class Sender:
    """Writes records as they come, each once and in order."""

    def __init__(self, common: Mapping[str, Any]) -> None:
        self._producer = AIOKafkaProducer(
            **common, enable_idempotence=True, linger_ms=5, max_batch_size=BATCH_BYTES, max_request_size=8 * BATCH_BYTES
        )

    async def __aenter__(self) -> Sender:
        with said("writer"):
            await self._producer.start()
        return self

    async def __aexit__(self, *what: object) -> None:
        with contextlib.suppress(kafka.KafkaError):
            await self._producer.stop()

    async def send(self, writes: Sequence[Write]) -> list[int]:
        """Write these, and return their offsets once all are safe."""
        with said("writing"):
            sent = [
                await self._producer.send(place.topic, value, key=key, partition=place.partition)
                for place, value, key in writes
            ]
            return [int((await delivery).offset) for delivery in sent]

    async def partitions(self, topic: str) -> int:
        """How many partitions a topic has."""
        with said(f"topic {topic}"):
            return len(await self._producer.partitions_for(topic))


Changed = Callable[[frozenset[Place]], Awaitable[None]]
"""Called with every partition that is ours now, after each change."""


class Member(ConsumerRebalanceListener):
    """Membership of a group that shares out partitions and reads nothing itself."""

    def __init__(
        self, common: Mapping[str, Any], group: str, topics: Collection[str], instance: str, changed: Changed
    ) -> None:
        self._changed, self._topics = changed, list(topics)
        self._consumer: Any = AIOKafkaConsumer(
            **common, group_id=group, group_instance_id=instance, enable_auto_commit=False, auto_offset_reset="latest",
            session_timeout_ms=6_000, heartbeat_interval_ms=1_000, rebalance_timeout_ms=10_000,
            max_poll_interval_ms=2**31 - 1,
        )  # fmt: skip

    async def open(self) -> None:
        """Join."""
        with said("group"):
            await self._consumer.start()
        self._consumer.subscribe(self._topics, listener=self)

    async def close(self) -> None:
        """Leave."""
        with contextlib.suppress(kafka.KafkaError):
            await self._consumer.stop()

    async def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Everything goes back before it is shared out anew."""
        await self._changed(frozenset())

    async def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Ours from now on."""
        self._consumer.pause(*assigned)  # a reader of its own reads them
        await self._changed(frozenset(Place(at.topic, at.partition) for at in assigned))


class Described(NamedTuple):
    """A topic as the brokers have it."""

    partitions: int
    replication: int
    settings: Mapping[str, str]


class Admin:
    """Topics and groups of a cluster."""

    def __init__(self, common: Mapping[str, Any]) -> None:
        self._admin: Any = AIOKafkaAdminClient(**common)

    async def __aenter__(self) -> Admin:
        with said("brokers"):
            await self._admin.start()
        return self

    async def __aexit__(self, *what: object) -> None:
        with contextlib.suppress(kafka.KafkaError):
            await self._admin.close()

    async def topics(self) -> list[str]:
        """Every topic that we may see."""
        with said("topics"):
            return sorted(await self._admin.list_topics())

    async def describe(self, names: Collection[str]) -> dict[str, Described]:
        """Those of the named topics that exist."""
        with said("topics"):
            found = [topic for topic in await self._admin.describe_topics(list(names)) if topic["error_code"] == 0]
            resources = [ConfigResource(ConfigResourceType.TOPIC, topic["topic"]) for topic in found]
            answers = await self._admin.describe_configs(resources) if resources else []
        settings: dict[str, dict[str, str]] = {}
        for answer in answers:
            for resource in answer.resources:
                code, _, _, name, entries = resource[:5]
                if code == 0:
                    settings[name] = {entry[0]: entry[1] for entry in entries}
        return {
            topic["topic"]: Described(
                len(topic["partitions"]), len(topic["partitions"][0]["replicas"]), settings.get(topic["topic"], {})
            )
            for topic in found
        }

    async def create(self, wanted: Mapping[str, Described]) -> list[str]:
        """Make those that do not exist yet: which were made."""
        new = [
            NewTopic(name, want.partitions, want.replication, topic_configs=dict(want.settings))
            for name, want in wanted.items()
        ]
        with said("topics"):
            answer = await self._admin.create_topics(new)
        made = []
        for name, code, *rest in answer.topic_errors:
            if code == 0:
                made.append(name)
            elif code != kafka.TopicAlreadyExistsError.errno:
                reason = rest[0] if rest and rest[0] else kafka.for_code(code).__name__
                raise TopicsError(f"topic {name}: cannot be made: {reason}")
        return made

    async def alter(self, name: str, settings: Mapping[str, str]) -> None:
        """Set these settings of a topic."""
        resource = ConfigResource(ConfigResourceType.TOPIC, name, configs=dict(settings))
        with said(f"topic {name}"):
            await self._admin.alter_configs([resource])

    async def delete(self, names: Collection[str]) -> None:
        """Remove topics."""
        with said("topics"):
            await self._admin.delete_topics(list(names))

    async def committed(self, group: str) -> dict[Place, int]:
        """The offsets that a group has committed."""
        with said(f"group {group}"):
            found = await self._admin.list_consumer_group_offsets(group)
        return {Place(at.topic, at.partition): kept.offset for at, kept in found.items()}

    async def members(self, group: str) -> list[tuple[str, str, str]]:
        """(state of the group, instance or member, client) of each member."""
        with said(f"group {group}"):
            answers = await self._admin.describe_consumer_groups([group])
        return [
            (str(found[2]), str(member[0]), str(member[2]))
            for answer in answers
            for found in answer.groups
            for member in (found[5] or [(None, "", "")])
        ]
