# SPDX-License-Identifier: Apache-2.0
"""Who was there and what they said, as far as `raw` shows: users of a stream at one raw partition, and their values.

Contract: shares no code with the door, the devices and the stages.  Arrays over users, in the order in which they came;
a period closes with the record of the door's clock that says so, and what comes after that for it never was.  A closed
period is kept until it is settled and KEPT newer ones have closed.  Not here: which of several events counts and how
long it stands (counting_value.py), what users had to answer (expected.py).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.audit.counting_value import CountingValue
from murmurate.agents.audit.user_table import NOBODY, Rows, UserTable
from murmurate.config.plan import Plan, StreamPlan
from murmurate.randomizers import Key, Secrets
from murmurate.randomizers.thresholds import MICRO
from murmurate.topics.block import RawBlock
from murmurate.topics.messages import Progress
from murmurate.topics.names import stream_id
from murmurate.topics.quiet import Quiet

Users = NDArray[np.uint8]
Mask = NDArray[np.bool_]
KEPT = 16
"""Closed periods that are kept after they have been settled: of older ones no second look is possible."""
LATER = 1 << 62
"""Where no event has been: after every time."""


class PeriodValues(NamedTuple):
    """A closed period."""

    values: NDArray[Any]
    """One for each user known when it closed: int[n], or uint32[n, words]."""
    members: Mask
    """Which of them are in its population."""
    number: int
    """The record of `raw` that closed it."""


class PeopleAtPartition:
    """The users of one stream at one raw partition. sources: how many partitions each source had at first."""

    def __init__(self, plan: Plan, stream: StreamPlan, secrets: Secrets, p: int, sources: Mapping[str, int]) -> None:
        self._plan, self._stream, self._secrets, self._p = plan, stream, secrets, p
        self._all = frozenset(range(sources[stream.topic]))
        self._mine = stream_id(stream.name), stream.domain.words  # blocks of another width are another config's
        self._table = UserTable()
        self._clocks: dict[int, int] = {}
        self._slot = np.zeros(0, np.uint16)
        # Per row: the time of the first event, or the start of the newest closed period with an event if that is later.
        self._shown = np.zeros(0, np.int64)
        self._newest_shown = 0  # none of them is later
        self._active: dict[int, Mask] = {}  # per open period: who had an event, valid or not
        self._value = CountingValue(stream)
        self.open_t: int | None = None
        """The first period that has not closed; None before every source has shown a time."""
        self.first_t: int | None = None
        """The first period that could close here."""
        self.closed: dict[int, PeriodValues] = {}
        """Closed periods that are kept."""
        self.known_from: int | None = None
        """The first period whose population is known even if `raw` has forgotten what came before its first record;
        None where that is not known yet, or never is since values stand for ever.
        """

    def __len__(self) -> int:
        return len(self._table)

    def users(self, rows: Rows) -> Users:
        """The pseudonyms of these rows: uint8[n, 16]."""
        return self._table.of(rows)

    @property
    def slots(self) -> NDArray[np.uint16]:
        """The slot of each row."""
        return self._slot[: len(self)]

    # ---- raw ----

    def take(self, block: RawBlock) -> None:
        """Events of this stream."""
        if (block.stream, block.words) != self._mine:
            return
        users, times, values = block.users, block.times, block.values
        in_time = times >= (self.open_t or 0) * self._stream.every_ms
        if not in_time.all():
            users, times, values = users[in_time], times[in_time], values[in_time]
        rows, known = self._table.find(users), len(self)
        new = rows == NOBODY
        if new.any():
            new[new] = self._serves(users[new])
            rows[new] = self._enrol(users[new])
            here = rows != NOBODY
            if not here.all():
                rows, times, values = rows[here], times[here], values[here]
        if not len(rows):
            return
        if len(self) > known or int(times.min()) < self._newest_shown:
            earlier = times < self._shown[rows]
            if earlier.any():
                np.minimum.at(self._shown, rows[earlier], times[earlier])
            self._newest_shown = max(self._newest_shown, int(times.max()))
        periods = times // self._stream.every_ms
        several = apart(periods)
        for t in several:
            at = rows if len(several) == 1 else rows[periods == t]
            active = self._active.get(t)
            if active is None or len(active) < len(self._shown):
                wider = np.zeros(len(self._shown), np.bool_)
                wider[: 0 if active is None else len(active)] = False if active is None else active
                active = self._active[t] = wider
            active[at] = True
        for t in several:
            mine = slice(None) if len(several) == 1 else periods == t
            self._value.take(t, rows[mine], times[mine], values[mine])

    def tick(self, progress: Progress | Quiet, number: int) -> list[int]:
        """The door's clock: gives the periods that close with it."""
        if progress.topic != self._stream.topic:
            return []
        named = progress.partitions if isinstance(progress, Quiet) else (progress.partition,)
        for source in named:  # a partition that was added counts from its first time on
            self._clocks[source] = progress.time
        if not self._all <= self._clocks.keys():
            return []
        now = max(0, min(self._clocks.values()) - self._plan.lateness_ms) // self._stream.every_ms
        if self.open_t is None:
            self.first_t = self.open_t = now
            if self._stream.carry_ms is not None:  # whoever was here before is forgotten by then, or has come again
                newest = max(self._clocks.values()) + self._plan.future_ms
                stands = max(self._plan.forget_after_ms, self._stream.carry_ms)
                self.known_from = (newest + stands) // self._stream.every_ms + 2
        closing = list(range(self.open_t, now))
        for t in closing:
            self.closed[t] = self._close(t, number)
        self.open_t = max(now, self.open_t)
        return closing

    def forget(self, settled_t: int, needed: set[int]) -> None:
        """Let go of settled periods but for the newest ones, and of none that is still needed."""
        settled = sorted(t for t in self.closed if t <= settled_t and t not in needed)
        for t in settled[:-KEPT]:
            del self.closed[t]

    def _close(self, t: int, number: int) -> PeriodValues:
        """1. Who is in its population, by what was shown before it. 2. The values. 3. Who was shown in it."""
        n, start, every = len(self), t * self._stream.every_ms, self._stream.every_ms
        for old in sorted(at for at in self._active if at < t):  # from before the first period that closes
            self._show(old)
        shown = self._shown[:n]
        if self._stream.carry_ms is None:
            members = shown < start + every
        else:
            members = (shown < start) & (shown >= start - self._plan.forget_after_ms)
        self._show(t)
        return PeriodValues(self._value.close(t, n), members, number)

    def _show(self, t: int) -> None:
        active = self._active.pop(t, None)
        if active is not None:
            shown = self._shown[: len(active)]
            np.maximum(shown, t * self._stream.every_ms, out=shown, where=active)
            self._newest_shown = max(self._newest_shown, t * self._stream.every_ms)

    # ---- users ----

    def _serves(self, users: Users) -> Mask:
        """Who belongs to this partition and stream."""
        first = np.ascontiguousarray(users[:, :8]).view("<u8").reshape(-1)
        mine = np.asarray(first % np.uint64(self._plan.partitions) == self._p)
        if self._plan.split == "budget":
            return mine
        words = first_words(self._secrets.split, "split", users, bytes(32)) % np.uint64(MICRO)
        low = sum(one.share_micro for one in self._plan.streams if one.name < self._stream.name)
        high = low + self._stream.share_micro
        return mine & (words >= low) & (words < high)

    def _enrol(self, users: Users) -> Rows:
        before = len(self)
        rows = self._table.add(users)
        new = self._table.of(slice(before, None))
        if len(new):
            size = len(self._table)
            if size > len(self._shown):
                room = max(size * 5 // 4, 1024)
                self._shown = widened(self._shown, room, LATER)
                self._slot = widened(self._slot, room, 0)
            context = hashlib.sha256(f"murmurate slots 2\n{self._stream.name}".encode()).digest()
            words = first_words(self._secrets.slots, "slot", new, context)
            self._slot[before:size] = words % np.uint64(self._stream.slots)
        return rows

    # ---- state ----

    def state(self) -> dict[str, Any]:
        """Everything, for a checkpoint."""
        n = len(self)
        return {
            "users": self._table.users, "shown": self._shown[:n], "clocks": dict(self._clocks), "open_t": self.open_t,
            "first_t": self.first_t, "known_from": self.known_from,
            "active": {t: np.flatnonzero(mask) for t, mask in self._active.items()},
            "value": self._value.state(n), "closed": {t: tuple(one) for t, one in self.closed.items()},
        }  # fmt: skip

    def load(self, state: dict[str, Any]) -> None:
        """Take over a state."""
        self._enrol(state["users"])
        n, room = len(self), len(self._shown)
        self._shown[:n] = state["shown"]
        self._newest_shown = int(self._shown[:n].max(initial=0))
        self._clocks, self.open_t, self.first_t = state["clocks"], state["open_t"], state["first_t"]
        self.known_from = state["known_from"]
        for t, rows in state["active"].items():
            self._active[t] = np.zeros(room, np.bool_)
            self._active[t][rows] = True
        self._value.load(state["value"], room)
        self.closed = {t: PeriodValues(*one) for t, one in state["closed"].items()}


def apart(numbers: NDArray[np.int64]) -> list[int]:
    """The different ones of these numbers, rising: seldom more than two, next to each other."""
    first, last = int(numbers.min()), int(numbers.max())
    if last - first < 2:
        return list(range(first, last + 1))
    return [int(one) for one in np.unique(numbers)]


def first_words(key: Key, purpose: Any, users: Users, digest: bytes) -> NDArray[np.uint64]:
    """The first word of a key for each user, in a context."""
    return np.asarray(key.words(purpose, users, round=digest)[:, 0])


def widened(array: NDArray[Any], size: int, empty: int) -> NDArray[Any]:
    """A longer copy."""
    longer = np.full((size, *array.shape[1:]), empty, array.dtype)
    longer[: len(array)] = array
    return longer
