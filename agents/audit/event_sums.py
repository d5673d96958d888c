# SPDX-License-Identifier: Apache-2.0
"""The exact sums that a raw partition must have said of a central stream, period by period, from its events anew.

Contract: shares no code with stages.  An event counts if it was in time, has a value, and is among the first so many of
its user in any window, by time and code; a period's sums are due with the record of the clock that closes it.  Arrays
over events; memory is that of users and of open periods.  Not here: what was said (central_audit.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.audit.people import widened
from murmurate.agents.audit.user_table import Rows, UserTable
from murmurate.config.plan import CentralPlan, Plan
from murmurate.topics.block import RawBlock
from murmurate.topics.messages import Progress
from murmurate.topics.names import stream_id
from murmurate.topics.quiet import Quiet

Sums = tuple[int, ...]
Ints = NDArray[np.int64]
LONG_AGO = -(1 << 62)


class EventSums:
    """One central stream at one raw partition."""

    def __init__(self, plan: Plan, stream: CentralPlan, p: int, sources: Mapping[str, int]) -> None:
        self._plan, self._stream, self._p = plan, stream, p
        self._all = frozenset(range(sources[stream.topic]))
        self._mine = stream_id(stream.name)
        self._clocks: dict[int, int] = {}
        self._open_t: int | None = None
        self._waiting: list[tuple[NDArray[np.uint64], Ints, NDArray[np.uint32]]] = []
        self._bounded = stream.events is not None and stream.window_ms is not None
        self._table = UserTable()
        # Per user the times of the newest events that count, as many as may count in a window; the oldest comes next.
        self._counted = np.full((0, stream.events or 1), LONG_AGO, np.int64)
        self._next = np.zeros(0, np.int64)

    def take(self, block: RawBlock) -> None:
        """Events of this stream."""
        if (block.stream, block.words) != (self._mine, 1):
            return
        halves = np.ascontiguousarray(block.users).view(np.uint64)
        good = halves[:, 0] % np.uint64(self._plan.partitions) == self._p
        good &= block.times >= (self._open_t or 0) * self._stream.every_ms
        good &= self._stream.measure.counting(block.values)
        if good.any():
            self._waiting.append((halves[good], block.times[good], block.values[good]))

    def tick(self, progress: Progress | Quiet, number: int) -> Iterator[tuple[int, int, Sums]]:
        """The door's clock: gives the record, the period and its sums for each that closes with it."""
        if progress.topic != self._stream.topic:
            return
        named = progress.partitions if isinstance(progress, Quiet) else (progress.partition,)
        for source in named:
            self._clocks[source] = progress.time
        if not self._all <= self._clocks.keys():
            return
        every = self._stream.every_ms
        now = max(0, min(self._clocks.values()) - self._plan.lateness_ms) // every
        first = self._open_t is None
        self._open_t = now if self._open_t is None else self._open_t
        if now <= self._open_t and not first:
            return
        users, times, codes = self._joined()
        if first:
            late = times < now * every
            users, times, codes = users[~late], times[~late], codes[~late]
        for t in range(self._open_t, now):
            mine = times < (t + 1) * every
            yield number, t, self._sums(users[mine], times[mine], codes[mine])
            users, times, codes = users[~mine], times[~mine], codes[~mine]
        self._waiting, self._open_t = [(users, times, codes)], max(self._open_t, now)

    def _joined(self) -> tuple[NDArray[np.uint64], Ints, NDArray[np.uint32]]:
        if not self._waiting:
            return np.zeros((0, 2), np.uint64), np.zeros(0, np.int64), np.zeros(0, np.uint32)
        users, times, codes = (np.concatenate(part) for part in zip(*self._waiting, strict=True))
        return users, times, codes

    def _sums(self, users: NDArray[np.uint64], times: Ints, codes: NDArray[np.uint32]) -> Sums:
        if self._bounded and len(users):
            codes = codes[self._counts(self._table.add(users.view(np.uint8)), times, codes)]
        return tuple(self._stream.measure.sums(codes).tolist())

    def _counts(self, rows: Rows, times: Ints, codes: NDArray[np.uint32]) -> NDArray[np.bool_]:
        """Which events count: of every user the first one, then the second, and so on."""
        stream = self._stream
        assert stream.window_ms is not None  # noqa: S101 - else nothing is bounded
        if len(self._table) > len(self._next):
            room = max(len(self._table) * 5 // 4, 1024)
            self._counted = widened(self._counted, room, LONG_AGO)
            self._next = widened(self._next, room, 0)
        order = np.lexsort((codes, times, rows))
        ordered = rows[order]
        begins = np.flatnonzero(np.diff(ordered, prepend=-1))
        lengths = np.diff(begins, append=len(ordered))
        count = np.zeros(len(rows), np.bool_)
        for rank in range(int(lengths.max())):
            begins, lengths = begins[lengths > rank], lengths[lengths > rank]
            events = order[begins + rank]
            who, when = rows[events], times[events]
            fits = self._counted[who, self._next[who]] <= when - stream.window_ms
            who, when, events = who[fits], when[fits], events[fits]
            self._counted[who, self._next[who]] = when
            self._next[who] = (self._next[who] + 1) % self._counted.shape[1]
            count[events] = True
        return count

    def state(self) -> dict[str, Any]:
        """Everything, for a checkpoint."""
        n = len(self._table)
        return {
            "clocks": self._clocks, "open_t": self._open_t, "waiting": self._joined(), "users": self._table.users,
            "counted": self._counted[:n], "next": self._next[:n],
        }  # fmt: skip

    def load(self, state: dict[str, Any]) -> None:
        """Take over a state."""
        self._clocks, self._open_t, self._waiting = state["clocks"], state["open_t"], [state["waiting"]]
        self._table.add(state["users"])
        self._counted, self._next = state["counted"], state["next"]
