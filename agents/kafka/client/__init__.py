# SPDX-License-Identifier: Apache-2.0
"""All contact with Kafka through aiokafka: readers of committed records, transactional writers, topics, groups.

Contract: every failure leaves as one of errors.py, with a text that says what was tried.  Nothing here retries beyond
aiokafka's own time limits.  Source: ARCHITECTURE section 5.10.  Not here: what is read and written (task.py), Faust
(app.py).
"""

from murmurate.agents.kafka.client.admin import Admin, Described
from murmurate.agents.kafka.client.appender import Appender
from murmurate.agents.kafka.client.connection import Client
from murmurate.agents.kafka.client.member import METADATA_MS, Member, Shared
from murmurate.agents.kafka.client.reader import Reader
from murmurate.agents.kafka.client.records import Got, Place, RecordRun, Waiting, Write
from murmurate.agents.kafka.client.writer import Sender, Writer

__all__ = [
    "METADATA_MS", "Admin", "Appender", "Client", "Described", "Got", "Member", "Place", "Reader", "RecordRun",
    "Sender", "Shared", "Waiting", "Write", "Writer",
]  # fmt: skip
