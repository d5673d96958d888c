# SPDX-License-Identifier: Apache-2.0
"""Asks brokers for the ids of topics: one that was deleted and made again has its old name, and another id.

Contract: aiokafka speaks versions of Kafka's Metadata request that are older than ids, so the one with ids is spelled
out here.  Nothing is made by asking.  Brokers that are older than ids (before Kafka 3.1) have none to tell.
Source: Kafka's protocol guide, Metadata version 12 (KIP-516, KIP-699).  Not here: who compares ids (topic_watch.py).
"""

from __future__ import annotations

import uuid
from io import BytesIO
from typing import Any

from aiokafka.protocol.abstract import AbstractType
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import Boolean, CompactArray, CompactString, Int16, Int32, Schema, TaggedFields

NOBODY = uuid.UUID(int=0)


class _Id(AbstractType[uuid.UUID]):
    """Sixteen bytes."""

    @classmethod
    def encode(cls, value: uuid.UUID) -> bytes:
        return value.bytes

    @classmethod
    def decode(cls, data: BytesIO) -> uuid.UUID:
        return uuid.UUID(bytes=data.read(16))


class _Answer(Response):
    """What brokers say of the topics that were named."""

    API_KEY = 3  # pyright: ignore[reportIncompatibleMethodOverride, reportAssignmentType] - as in all of aiokafka's
    API_VERSION = 12  # pyright: ignore[reportIncompatibleMethodOverride, reportAssignmentType]
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        (
            "brokers",
            CompactArray(
                ("node_id", Int32), ("host", CompactString("utf-8")), ("port", Int32), ("rack", CompactString("utf-8")),
                ("tags", TaggedFields),
            ),
        ),
        ("cluster_id", CompactString("utf-8")),
        ("controller_id", Int32),
        (
            "topics",
            CompactArray(
                ("error_code", Int16), ("name", CompactString("utf-8")), ("topic_id", _Id), ("is_internal", Boolean),
                (
                    "partitions",
                    CompactArray(
                        ("error_code", Int16), ("partition", Int32), ("leader", Int32), ("leader_epoch", Int32),
                        ("replicas", CompactArray(Int32)), ("isr", CompactArray(Int32)),
                        ("offline", CompactArray(Int32)), ("tags", TaggedFields),
                    ),
                ),
                ("operations", Int32), ("tags", TaggedFields),
            ),
        ),
        ("tags", TaggedFields),
    )  # fmt: skip


class _Question(RequestStruct):
    """Topics by their names."""

    FLEXIBLE_VERSION = True
    API_KEY = 3
    API_VERSION = 12
    RESPONSE_TYPE = _Answer
    SCHEMA = Schema(
        ("topics", CompactArray(("topic_id", _Id), ("name", CompactString("utf-8")), ("tags", TaggedFields))),
        ("make_topics", Boolean),
        ("operations", Boolean),
        ("tags", TaggedFields),
    )


class TopicIdsRequest(Request[_Question]):
    """The ids of these topics."""

    API_KEY = 3

    def __init__(self, names: list[str]) -> None:
        self._names = names

    def build(self, request_struct_class: type[_Question]) -> _Question:
        """The request in the only version that is spoken here."""
        return request_struct_class([(NOBODY, name, {}) for name in self._names], False, False, {})


def ids_in(answer: Any) -> dict[str, str]:
    """The ids of those topics that exist, as far as we may see them."""
    found = answer.to_object()["topics"]
    return {topic["name"]: topic["topic_id"].hex for topic in found if topic["error_code"] == 0}
