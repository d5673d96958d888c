# SPDX-License-Identifier: Apache-2.0
"""All central streams at one raw partition: which events are theirs, and what of them goes into a snapshot.

Contract: an event is taken if its period is open, its user belongs to the partition and its value is one; the others
are counted.  Not here: the sums of one stream (central_at_partition.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.stages.central_at_partition import CentralAtPartition
from murmurate.agents.stages.reading import dead
from murmurate.agents.stages.stage import Out, Record
from murmurate.config.plan import Plan
from murmurate.randomizers.identity import partitions
from murmurate.randomizers.state import Arrays
from murmurate.randomizers.terms import Facts
from murmurate.topics.block import RawBlock
from murmurate.topics.names import stream_id


class CentralStreams:
    """The central streams of a raw partition. `counts`: (stream, reason) -> raw events, for the edge's metrics."""

    def __init__(
        self, plan: Plan, partition: int, sources: Mapping[str, int], counts: Counter[tuple[str, str]]
    ) -> None:
        self._partition, self._partitions, self._counts = partition, plan.partitions, counts
        self._streams = {
            stream.name: CentralAtPartition(plan, stream, partition, sources[stream.topic]) for stream in plan.central
        }
        self._by_id = {stream_id(name): stream for name, stream in self._streams.items()}

    def __iter__(self) -> Iterator[CentralAtPartition]:
        return iter(self._streams.values())

    @property
    def names(self) -> frozenset[str]:
        """The names of the streams."""
        return frozenset(self._streams)

    @property
    def frozen(self) -> Facts:
        """The facts that a state is written under: whatever shapes the sums of a stream."""
        return {f"central.{name}": stream.plan.config for name, stream in self._streams.items()}

    def events(self, block: RawBlock, record: Record) -> Sequence[Out]:
        """Take events of one stream. They enrol nobody: nobody is asked about it."""
        stream = self._by_id.get(block.stream)
        if stream is None:
            return ()
        name = stream.plan.name
        if block.words != 1:  # written under another config
            self._counts[name, "width"] += len(block.users)
            return (dead("width", record, "edge"),)
        late = block.times < (stream.closing.reached_t or 0) * stream.plan.every_ms
        foreign = ~late & (partitions(block.users, self._partitions) != self._partition)
        good = ~late & ~foreign & stream.plan.measure.counting(block.values)
        for reason, rows in (("late", late), ("foreign", foreign), ("accepted", good)):
            self._counts[name, reason] += int(rows.sum())
        if good.all():
            stream.take(block.users, block.times, block.values)
        else:
            stream.take(block.users[good], block.times[good], block.values[good])
        return ()

    def shown(self, topic: str, partitions: Sequence[int], time_ms: int) -> list[Out]:
        """The sums of the periods that close since these source partitions have shown this time."""
        out: list[Out] = []
        for name, stream in self._streams.items():
            if stream.plan.topic == topic:
                out += stream.shown(partitions, time_ms)
                self._counts[name, "over"] = stream.left_out
        return out

    # ---- state ----

    def facts(self) -> dict[str, dict[str, Any]]:
        """The part of a snapshot that is no array, by stream."""
        return {name: stream.facts() for name, stream in self._streams.items()}

    def arrays(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """The arrays of a snapshot."""
        for name, stream in self._streams.items():
            for key, array in stream.arrays():
                yield f"{name}/{key}", np.ascontiguousarray(array)

    def load(self, facts: Mapping[str, dict[str, Any]], arrays: Arrays) -> None:
        """Take over a state."""
        for name, stream in self._streams.items():
            stream.load(facts[name], taken_out(name, arrays))


def taken_out(name: str, arrays: Arrays) -> Arrays:
    """The arrays of one stream, taken out of those of all."""
    keys = [key for key in arrays if key.startswith(f"{name}/")]
    return {key.removeprefix(f"{name}/"): arrays.pop(key) for key in keys}
