# SPDX-License-Identifier: Apache-2.0
"""Transactions of other producers that are open in a source topic, and since when: everything behind them waits.

Contract: one is open where a partition's last stable offset lies before its high watermark; the record there is its
first.  It has been open since the door last passed a tick there, or since that record was written, whichever is later:
a producer may have given its record any time.  One that outlives what brokers allow has lost its coordinator, and
somebody has to end it.  These are raw-side facts (ARCHITECTURE rule 9).  Not here: who is told (status.py, observe/).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from murmurate.agents.kafka.client import Client, Place, Reader
from murmurate.agents.kafka.errors import BrokerError

DEFAULT_LIMIT_MS: Final = 15 * 60_000
"""Kafka's default of `transaction.max.timeout.ms`, for those who may not ask the brokers."""
GRACE_MS: Final = 60_000


class OpenTransaction(NamedTuple):
    """The first one that is open in a partition."""

    place: Place
    offset: int
    """The offset of the transaction's first record."""
    since_ms: int

    def hangs(self, now_ms: int, limit_ms: int) -> bool:
        """Whether it has been open for longer than brokers allow and a minute."""
        return now_ms - self.since_ms > limit_ms

    def line(self, now_ms: int, limit_ms: int) -> str:
        """What somebody has to do about one that hangs."""
        topic, partition = self.place
        return (
            f"{topic}/{partition}: found a transaction that has been open at offset {self.offset} for "
            f"{(now_ms - self.since_ms) // 1000} s; allowed: {limit_ms // 1000} s, the brokers' "
            "transaction.max.timeout.ms and a minute. Whatever stands behind it waits, and so do the periods of its "
            f"streams; `kafka-transactions.sh abort --topic {topic} --partition {partition} --start-offset "
            f"{self.offset}` ends it"
        )


async def limit_ms(client: Client) -> int:
    """How long a transaction may be open before it hangs."""
    try:
        async with client.admin() as admin:
            longest = await admin.broker_setting("transaction.max.timeout.ms")
    except BrokerError:
        longest = None
    return GRACE_MS + (DEFAULT_LIMIT_MS if longest is None else int(longest))


async def open_transactions(
    committed: Reader, everything: Reader, places: Collection[Place], clocks: Mapping[Place, int], now_ms: int
) -> list[OpenTransaction]:
    """The first open one of each partition that has any. `clocks`: when each door last passed a tick, by the wall
    clock; `everything`: a reader of what is not committed too.
    """
    if not places:
        return []
    ends = await everything.bounds(places)  # after them, so that none is taken for open that has just ended
    stable = await committed.bounds(places)
    found = []
    for place in sorted(places):
        offset = stable[place][1]
        if offset < ends[place][1]:
            written = [got.time_ms async for got in everything.between(place, offset, offset + 1)]
            since = [time for time in (*written, clocks.get(place, 0)) if time <= now_ms]
            found.append(OpenTransaction(place, offset, max(since, default=now_ms)))
    return found
