# SPDX-License-Identifier: Apache-2.0
"""All contact with Faust: an app for each stage that shares out its source partitions and delivers their records.

Contract: one agent, raw bytes, nothing acknowledged before the Task says so, committed records only (which Faust does
not do by itself), every partition sought to its Task's mark whenever it is assigned, whatever offsets the group has
committed.  A Task that has enough makes its partition be left out of fetches; the queue between never blocks.  What
Faust offers beyond that is not used: no tables, producers, web, sensors.  Source: ARCHITECTURE rules 12 and 18, section
5.10.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import time
from collections.abc import Collection, Mapping, Set
from typing import Any, Protocol

import faust
from faust.auth import OAuthCredentials, SASLCredentials, SSLCredentials
from faust.transport.drivers import aiokafka as driver
from faust.types import TP

from murmurate.agents.kafka.client import METADATA_MS
from murmurate.agents.kafka.client.access import Access
from murmurate.agents.kafka.client.kafka_errors import check_membership, close_within, kafka_errors, leaves

SESSION_S, HEARTBEAT_S, REBALANCE_S, REQUEST_S = 6.0, 1.0, 10.0, 20.0
COMMIT_S, NEVER_S = 10.0, 1e9
"""Offsets in the group are for lag displays only: the Tasks' marks, every ten seconds; Faust itself commits never."""
STOP_S = 5.0
FETCH_MS, PATIENT_MS = 100, 500
"""How long brokers hold a fetch: the first while more comes than is taken, since a partition that is fetched again has
to wait for what the others' fetch waits for; the second while little comes. What comes is told at once either way.
"""
CROWDED_S = 1.0
MOST_RECORDS = 500
FETCH_BYTES = 4 << 20


logging.getLogger(__name__).setLevel(logging.WARNING)  # mode logs every service of this module as it comes and goes


class Owner(Protocol):
    """Who owns the partitions of a stage: it opens and parks Tasks, and takes records."""

    async def assigned(self, partitions: frozenset[int]) -> None:
        """These are ours now, and no others: learn from which offset each is wanted."""
        ...

    async def revoked(self) -> None:
        """All partitions are given up for now."""
        ...

    def wanted(self, partition: int) -> int | None:
        """The offset that is wanted next; None if the partition is not ours."""
        ...

    def take(self, partition: int, offset: int, value: bytes | None, more: bool) -> None:
        """A record. `more`: others of the same fetch follow at once."""
        ...

    def marks(self) -> Mapping[int, int]:
        """Up to which offset each partition is done, for lag displays."""
        ...


def _assignor(partitions: int) -> type:
    """Shares out all partitions that there are, by the plan and not by what a broker says: one that has just come back
    may not know its topics yet, nobody would be given anything, and a member that is then restarted under its own name
    would be handed that nothing again, for ever.
    """

    class PlannedPartitions:
        def partitions_for_topic(self, topic: str) -> set[int]:
            return set(range(partitions))

    known: Any = PlannedPartitions()

    class Assignor(driver.RoundRobinPartitionAssignor):  # type: ignore[name-defined,misc]
        @classmethod
        def assign(cls, cluster: Any, members: Any) -> Any:
            return super().assign(known, members)

    return Assignor


class _Thread(driver.AIOKafkaConsumerThread):
    """Faust's consumer, made to read committed records, and to leave out partitions that are held."""

    _crowded = -math.inf  # when more came last than was taken

    def _create_worker_consumer(self, transport: Any) -> Any:
        consumer = super()._create_worker_consumer(transport)
        consumer._isolation_level = "read_committed"
        given: Mapping[str, Any] = getattr(self.consumer, "given", {})
        consumer._fetch_max_wait_ms = given.get("fetch_max_wait_ms", PATIENT_MS)
        consumer._fetch_max_bytes = given.get("fetch_max_bytes", consumer._fetch_max_bytes)
        consumer._partition_assignment_strategy = [_assignor(self.app.conf.topic_partitions)]
        return consumer

    async def on_thread_stop(self) -> None:
        """Leave the group."""
        leaves(self._consumer)
        await super().on_thread_stop()

    async def _fetch_records(
        self, consumer: Any, active_partitions: Any, timeout: float | None = None, max_records: int | None = None
    ) -> Any:
        held: Set[TP] = getattr(self.consumer, "held", frozenset())
        active = {tp for tp in active_partitions or () if tp not in held}
        if not active:  # aiokafka would take "none" for "all"
            check_membership(consumer)
            await asyncio.sleep(FETCH_MS / 1000)
            return {}
        crowded = bool(held) or time.monotonic() - self._crowded < CROWDED_S
        patience_ms = FETCH_MS if crowded else PATIENT_MS
        given: Mapping[str, Any] = getattr(self.consumer, "given", {})
        consumer._fetcher._fetch_max_wait_ms = given.get("fetch_max_wait_ms", patience_ms)
        found = await super()._fetch_records(consumer, active, timeout=patience_ms / 1000, max_records=max_records)
        if held or sum(map(len, found.values())) >= MOST_RECORDS:
            self._crowded = time.monotonic()
        newest: dict[TP, int] = getattr(self.consumer, "newest", {})
        newest.update({tp: records[-1].offset for tp, records in found.items() if records})
        return found


class _Consumer(driver.Consumer):
    """Faust's consumer service, made to seek to the Tasks' marks."""

    owner: Owner
    held: Set[TP] = frozenset()
    newest: dict[TP, int]
    given: Mapping[str, Any]
    """What the file says about fetching."""

    def _new_consumer_thread(self) -> _Thread:
        return _Thread(self, loop=self.loop, beacon=self.beacon)

    def track_message(self, message: Any) -> None:
        """Nothing: what is done and what is not, the Tasks' marks say. Faust's own books would grow with each gap."""

    async def _add_gap(self, tp: TP, offset_from: int, offset_to: int) -> None:
        """Nothing, for the same reason: each transaction leaves a gap."""

    async def perform_seek(self) -> None:
        """Instead of the group's committed offsets: what each Task wants next."""
        for tp in self.assignment():
            offset = self.owner.wanted(tp.partition)
            if offset is not None:
                await self.seek(tp, offset)


class _StageApp(faust.App):
    """Faust's app, which has nothing to keep in a folder: whoever is killed leaves none behind."""

    def _create_directories(self) -> None:
        """None."""


class StageApp:
    """A Faust app for one stage and this worker's membership in its group."""

    def __init__(self, access: Access, *, group: str, topic: str, partitions: int, instance: str, owner: Owner) -> None:
        self._owner, self._topic, self._held = owner, topic, set[TP]()
        self._newest: dict[TP, int] = {}  # the last offset of each partition's newest fetch
        self._app = _StageApp(
            group, broker=[f"aiokafka://{broker}" for broker in access.brokers], **_credentials(access),
            store="memory://", value_serializer="raw", key_serializer="raw", web_enabled=False,
            topic_partitions=partitions, topic_disable_leader=True, topic_allow_declare=False,
            table_standby_replicas=0, agent_supervisor="mode.CrashingSupervisor", stream_wait_empty=False,
            broker_commit_interval=NEVER_S, broker_max_poll_records=MOST_RECORDS,
            consumer_auto_offset_reset="earliest", consumer_group_instance_id=instance, autodiscover=False,
            **_properties(access),
        )  # fmt: skip
        self._app.transport = self._transport(access)
        source = self._app.topic(topic, key_type=bytes, value_type=bytes, partitions=partitions)

        newest = self._newest

        async def deliver(stream: Any) -> None:
            async for event in stream.noack().events():
                message = event.message
                more = message.offset < newest.get(message.tp, 0)
                owner.take(message.partition, message.offset, message.value, more)

        self._app.agent(source, name=f"{group}.deliver", concurrency=1)(deliver)
        self._app.on_rebalance_complete.connect(self._assigned)  # type: ignore[arg-type] # right before the seek
        self._app.on_partitions_revoked.connect(self._revoked)  # type: ignore[arg-type]

    def _transport(self, access: Access) -> Any:
        app_owner, held = self._owner, self._held

        class Consumer(_Consumer):
            owner = app_owner

        Consumer.held, Consumer.newest = held, self._newest
        Consumer.given = access.given("fetch_max_wait_ms", "fetch_max_bytes")

        class Transport(driver.Transport):
            pass

        Transport.Consumer = Consumer
        return Transport(self._app.conf.broker_consumer, self._app)

    async def _assigned(self, app: Any, **more: Any) -> None:
        self._held.clear()
        assignment = self._app.consumer.assignment()
        await self._owner.assigned(frozenset(tp.partition for tp in assignment if tp.topic == self._topic))

    async def _revoked(self, app: Any, revoked: Collection[TP], **more: Any) -> None:
        await self._owner.revoked()

    def hold(self, partition: int, held: bool) -> None:
        """Fetch no more of this partition for now; or go on."""
        tp = TP(self._topic, partition)
        if held:
            self._held.add(tp)
        else:
            self._held.discard(tp)

    async def start(self) -> None:
        """Join the group."""
        with kafka_errors(f"group {self._app.conf.id}"):
            self._app.finalize()
            await self._app.maybe_start()

    async def wait(self) -> None:
        """Until the app ends, by itself or by a failure, which is raised."""
        with kafka_errors(f"group {self._app.conf.id}"):
            await self._app.wait_until_stopped()
            if self._app.crash_reason is not None:
                raise self._app.crash_reason

    async def commit(self) -> None:
        """Tell the group where we are, from time to time, until cancelled. Whoever recovers does not look at it."""
        while True:
            await self._commit()
            await asyncio.sleep(COMMIT_S)

    async def _commit(self) -> None:
        marks = {TP(self._topic, p): mark for p, mark in self._owner.marks().items()}
        if marks and not self._app.rebalancing:
            with contextlib.suppress(Exception):  # a rebalance, or a broker that is away: the Tasks will notice
                await self._consumer()._commit(marks)

    def _consumer(self) -> Any:
        return self._app.consumer

    async def stop(self) -> None:
        """Leave the group."""
        await close_within(self._app.stop(), STOP_S)


def _credentials(access: Access) -> dict[str, Any]:
    """Faust's own words for how one logs in."""
    if access.mechanism is None:
        return {} if access.tls is None else {"broker_credentials": SSLCredentials(context=access.tls)}
    if access.tokens is not None:
        return {"broker_credentials": OAuthCredentials(oauth_cb=access.tokens, ssl_context=access.tls)}
    credentials = SASLCredentials(
        username=access.username, password=access.password, ssl_context=access.tls, mechanism=access.mechanism
    )
    return {"broker_credentials": credentials}


def _properties(access: Access) -> dict[str, Any]:
    """The properties of the client, in Faust's own words and units."""
    usual = {
        "broker_session_timeout": SESSION_S, "broker_heartbeat_interval": HEARTBEAT_S,
        "broker_rebalance_timeout": REBALANCE_S, "broker_request_timeout": REQUEST_S,
        "consumer_metadata_max_age_ms": METADATA_MS, "consumer_max_fetch_size": FETCH_BYTES,
    }  # fmt: skip
    seconds = {
        "broker_session_timeout": "session_timeout_ms", "broker_heartbeat_interval": "heartbeat_interval_ms",
        "broker_rebalance_timeout": "rebalance_timeout_ms", "broker_request_timeout": "request_timeout_ms",
    }  # fmt: skip
    same = {
        "consumer_metadata_max_age_ms": "metadata_max_age_ms", "broker_client_id": "client_id",
        "consumer_connections_max_idle_ms": "connections_max_idle_ms",
        "consumer_max_fetch_size": "max_partition_fetch_bytes",
    }  # fmt: skip
    given = access.properties
    told = {faust: int(given[name]) / 1000 for faust, name in seconds.items() if name in given}
    return usual | told | {faust: given[name] for faust, name in same.items() if name in given}
