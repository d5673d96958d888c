# SPDX-License-Identifier: Apache-2.0
"""Packed reports through aggregate and through shuffle, beside a loop of bare aiokafka that copies the same blocks.

Both are one process with one transactional producer; the stages are bare Tasks.  The copy reads a block and writes it,
in a transaction a poll: no checksum, no order, no count.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import numpy as np

from benchmarks.kafka.site import T0, Site
from benchmarks.measure import Row, at_least, short
from murmurate.agents.kafka.client import Described
from murmurate.agents.stages.stage import Log, Out
from murmurate.randomizers import GRR, OUE
from murmurate.randomizers.mechanism import PureOracle
from murmurate.topics.block import encode_batch, encode_reports
from murmurate.topics.codec import encode
from murmurate.topics.messages import Done, Rejected, Round, Seal
from murmurate.topics.slots import Slots

ROUNDS = 6
SIZES: tuple[tuple[PureOracle, int], ...] = (
    (GRR(d=16, epsilon=1), 8_000_000), (OUE(d=128, epsilon=1), 1_000_000), (OUE(d=1024, epsilon=1), 200_000),
)  # fmt: skip
"""A mechanism whose reports take 1, 16 and 128 bytes, and reports a round."""


class Rates(NamedTuple):
    """Reports a second: by the clock, and by CPU time."""

    wall: float
    cpu: float


async def rows(bootstrap: str, runs: int) -> AsyncIterator[Row]:
    for stage in ("aggregate", "shuffle"):
        for oracle, count in SIZES:
            tried = [await run(bootstrap, stage, oracle, count) for _ in range(runs)]
            ours, peer = max(mine for mine, _ in tried), max(copied for _, copied in tried)
            share = sorted(100 * mine.wall / copied.wall for mine, copied in tried)
            by_cpu = max(mine.cpu for mine, _ in tried) / max(copied.cpu for _, copied in tried)
            size = oracle.wire_size
            least = 8e6 if stage == "shuffle" and size < 128 else 0
            name = f"{stage}, {size} B a report"
            yield at_least(name, ours.wall, least) if least else Row(name, short(ours.wall) + "/s", "", True)
            yield Row("  a second of CPU", f"{short(ours.cpu)}/s", "", True)
            yield Row("  bare copy loop", f"{short(peer.wall)}/s", "", True)
            best = at_least("  of the copy loop's rate", share[-1], 60, " %")
            yield best if not least else Row(best.what, best.ours, "", True)
            yield Row("  the middle run", f"{share[len(share) // 2]:.0f} %", f"of {runs}", True)
            yield Row("  by CPU time", f"{100 * by_cpu:.0f} %", "", True)


async def run(bootstrap: str, stage: str, oracle: PureOracle, count: int) -> tuple[Rates, Rates]:
    """Ours and the peer's, one after the other, over the same records."""
    async with Site(bootstrap, partitions=1, targets=1) as site:
        source = Log("batches" if stage == "aggregate" else "reports", 0)
        await site.write(record for t in range(ROUNDS) for record in packed(site, source, oracle, count, t))
        into = f"{site.name}.copy"
        async with site.client.admin() as admin:
            await admin.create({into: Described(1, 1, {})})
        total = ROUNDS * count
        zone = "mixing" if stage == "shuffle" else "analysis"
        # a shuffle writes a `close` and a seal for each round, an aggregate a tally
        until = stage, ROUNDS * (2 if stage == "shuffle" else 1)
        worker = site.worker(zone, how="tasks", only=[stage], until=until)
        await worker.ready()
        mine = (await worker.said())[stage]
        end = await site.end(source)
        copied = await site.process("copy", topic=site.place(source).topic, into=into, end=end).said()
        return (
            Rates(total / (mine["last"] - mine["live"]), total / mine["cpu_s"]),
            Rates(total / copied["seconds"], total / copied["cpu_s"]),
        )


def packed(site: Site, source: Log, oracle: PureOracle, count: int, t: int) -> list[Out]:
    """A round: asked, answered by one contributor; or sealed, for aggregate."""
    chance = np.random.default_rng(t)
    reports = chance.integers(0, oracle.d if oracle.wire_size == 1 else 256, (count, oracle.wire_size), np.uint8)
    round_ = Round(
        stream=site.stream.name, t=T0 + t, slots=Slots.every(site.stream.slots), mechanism=oracle.spec(),
        purpose="publication", contributors=1, targets=1, patience_ms=60_000, config=site.stream.config,
        revision=site.stream.revision,
    )  # fmt: skip
    digest = round_.digest
    last: Any
    if source.topic == "batches":
        blocks = list(encode_batch(digest, 0, reports))
        last = Seal(
            round=digest.hex(), q=0, received=count, counted=count, missing=(),
            rejected=Rejected(malformed=0), blocks=len(blocks), descriptor=round_,
        )  # fmt: skip
        return [*(Out(source, block) for block in blocks), Out(source, encode(last))]
    last = Done(round=digest.hex(), contributor=0, sent=count, total=count)
    blocks = list(encode_reports(digest, 0, reports))
    return [Out(Log("rounds", 0), encode(round_)), *(Out(source, block) for block in blocks), Out(source, encode(last))]
