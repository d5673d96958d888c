# SPDX-License-Identifier: Apache-2.0
"""What a reader of `batches` sees besides the reports: nothing that differs between them (ARCHITECTURE section 5.12).

The broker's own files are read, batch by batch: there stands everything that any consumer could ever be given, and
what usual ones do not show: producers, transactions, aborted records.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from aiokafka.record.memory_records import MemoryRecords

from murmurate.topics.block import BATCH, HEADER_BYTES, BatchBlock, rows_per_block
from murmurate.topics.block import decode as decode_block
from murmurate.topics.codec import decode, kind_of
from murmurate.topics.messages import Seal
from tests.faults.broker import NEEDS_OWN, Broker
from tests.faults.deployed import Deployed
from tests.faults.recordings import deployment, recording

DEPLOYMENT = deployment(periods=4, method="lbu")

LOG_APPEND_TIME = 1


class Partition:
    """One partition of `batches` as the broker keeps it."""

    def __init__(self, folder: Path) -> None:
        self.producers: Counter[int] = Counter()
        """Record batches by producer, the markers of its transactions included."""
        self.times: Counter[int] = Counter()
        """Record batches by type of timestamp."""
        self.blocks: list[BatchBlock] = []
        self.seals: list[Seal] = []
        self.keys = self.headers = self.reports = self.codecs = 0
        for path in sorted(folder.glob("*.log")):
            self._segment(path.read_bytes())

    def _segment(self, data: bytes) -> None:
        batches: Any = MemoryRecords(data)
        while (batch := batches.next_batch()) is not None:
            self.producers[batch.producer_id] += 1
            if batch.is_control_batch:
                continue
            self.times[batch.timestamp_type] += 1
            self.codecs += batch.compression_type != 0
            seen = set()
            for record in batch:
                seen.add(record.timestamp)
                self.keys += record.key is not None
                self.headers += len(record.headers)
                self._record(record.value or b"")
            assert len(seen) == 1  # when the broker got it: the same for all that came together

    def _record(self, value: bytes) -> None:
        if kind_of(value) == "message":
            message = decode(value)
            assert isinstance(message, Seal)
            self.seals.append(message)
            return
        block = decode_block(value)
        assert isinstance(block, BatchBlock)
        count, width = block.reports.shape
        assert (value[5], len(value)) == (BATCH, HEADER_BYTES + count * width)
        self.blocks.append(block)
        self.reports += count

    def check(self) -> None:
        """Nothing tells reports apart but what they say."""
        assert len(self.producers) == 1
        assert min(self.producers) >= 0  # one that has an identity, hence transactions
        assert set(self.times) == {LOG_APPEND_TIME}
        assert (self.keys, self.headers, self.codecs) == (0, 0, 0)
        assert len({block.reports.shape[1] for block in self.blocks}) == 1
        of_round = {(seal.round, seal.q): list[BatchBlock]() for seal in self.seals}
        for block in self.blocks:
            of_round[block.round.hex(), block.q].append(block)
        assert len(of_round) == len(self.seals)
        for seal in self.seals:
            mine = of_round[seal.round, seal.q]
            assert [block.sequence for block in mine] == list(range(seal.blocks))
            assert sum(len(block.reports) for block in mine) == seal.counted
            for block in mine[:-1]:  # all blocks are full but the last: their sizes say nothing of who sent what
                assert len(block.reports) == rows_per_block(block.reports.shape[1])


@pytest.mark.parametrize(
    ("users", "periods", "least"),
    [(6_000, 12, 50_000), pytest.param(24_000, 60, 1_000_000, marks=pytest.mark.faults)],
)
def test_shuffled_records_have_no_key_no_header_one_clock_one_producer_and_one_length(
    deployed: Deployed, broker: Broker, tmp_path: Path, users: int, periods: int, least: int
) -> None:
    assert not broker.external, NEEDS_OWN
    source = str(recording(tmp_path / "clicks.jsonl", users=users, periods=periods, each=0.5))
    deployed.worker()
    feed = deployed.feed(source)
    assert len(deployed.releases(periods - 1)) == periods - 1
    assert feed.wait() == 0
    folders = sorted((broker.data / "0").glob(f"{deployed.plan.name}.batches-*"))
    assert len(folders) == deployed.plan.targets
    found = [Partition(folder) for folder in folders]
    for partition in found:
        partition.check()
    assert sum(partition.reports for partition in found) >= least
    assert len({producer for partition in found for producer in partition.producers}) == len(found)
