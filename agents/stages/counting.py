# SPDX-License-Identifier: Apache-2.0
"""Which events of a user count, where a central stream protects users: the first c in any window, by (time, value).

Contract: of one user's events those count, in the order of (time, value), of which fewer than c that count lie within
the window before: so no window of this length holds more than c that count.  What counts depends on a user's own events
alone.  Periods close in order, and an event belongs to the period that holds its time.  Vectorized over users.  Not
here: sums (central_at_partition.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.stages.user_index import UserIndex
from murmurate.randomizers.state import Arrays

Ints = NDArray[np.int64]
NEVER = -(1 << 62)  # long before every event
KEPT = 8192
"""Up to this many users are kept without looking whether they matter."""


class CountedEvents:
    """The events of open periods, and when the newest c of each user that counted were."""

    def __init__(self, most: int, window_ms: int) -> None:
        self._most, self._window = most, window_ms
        self._index = UserIndex()
        self._recent = np.full((0, most), NEVER, np.int64)  # of each user, times of the newest c, the oldest first
        self._waiting: list[tuple[Ints, Ints, NDArray[np.uint32]]] = []  # rows, times and values of open periods
        self.left_out = 0
        """How many events did not count."""

    def take(self, users: NDArray[np.uint8], times: Ints, values: NDArray[np.uint32]) -> None:
        """Take events of open periods."""
        if not len(users):
            return
        rows = self._index.find(users)
        new = rows < 0
        if new.any():
            rows[new] = self._index.add(users[new])
            more = len(self._index) - len(self._recent)
            self._recent = np.concatenate((self._recent, np.full((more, self._most), NEVER, np.int64)))
        self._waiting.append((rows.astype(np.int64), times.copy(), values.copy()))

    def drop_before(self, time_ms: int) -> None:
        """Forget events before this time, as if they had never come."""
        self._waiting = [
            (rows[times >= time_ms], times[times >= time_ms], values[times >= time_ms])
            for rows, times, values in self._waiting
        ]

    def close(self, end_ms: int) -> NDArray[np.uint32]:
        """The values that count of the events before this time, all that came since the last close."""
        if not self._waiting:
            return np.zeros(0, np.uint32)
        rows, times, values = (np.concatenate(column) for column in zip(*self._waiting, strict=True))
        later = times >= end_ms
        self._waiting = [(rows[later], times[later], values[later])] if later.any() else []
        rows, times, values = rows[~later], times[~later], values[~later]
        order = np.lexsort((values, times, rows))
        rows, times, values = rows[order], times[order], values[order]
        counts = self._counting(rows, times)
        self.left_out += int(len(counts) - counts.sum())
        self._forget(end_ms)
        return values[counts]

    def _forget(self, now_ms: int) -> None:
        """Drop users of whom nothing can matter any more, once most are such: no later event is before this time."""
        matters = self._recent[:, -1] > now_ms - self._window
        for rows, _, _ in self._waiting:
            matters[rows] = True
        if len(matters) <= KEPT or 2 * int(matters.sum()) > len(matters):
            return
        place = np.cumsum(matters) - 1
        users, self._recent = self._index.users[matters], self._recent[matters]
        self._index = UserIndex()
        if len(users):
            self._index.add(users)
        self._waiting = [(place[rows], times, values) for rows, times, values in self._waiting]

    def _counting(self, rows: Ints, times: Ints) -> NDArray[np.bool_]:
        """Which of these events count, ordered by user and time.

        Step k looks at one event of each user: the first that is at least a window after the c-th last that counted.
        So there are at most as many steps as any user has events that count.
        """
        counts = np.zeros(len(rows), np.bool_)
        users, first = np.unique(rows, return_index=True)
        last = np.append(first[1:], len(rows))
        at, recent = first.copy(), self._recent[users]
        base = int(times.min()) if len(times) else 0
        reach = int(times.max()) - base + 2 if len(times) else 1
        key = (np.searchsorted(users, rows) * reach) + (times - base)  # rises over all events
        while True:
            free = np.clip(recent[:, 0] + self._window - base, 0, reach - 1)
            at = np.maximum(at, np.searchsorted(key, np.arange(len(users)) * reach + free))
            going = at < last
            if not going.any():
                break
            users_at, here = np.flatnonzero(going), at[going]
            counts[here] = True
            recent[users_at, :-1] = recent[users_at, 1:]
            recent[users_at, -1] = times[here]
            at[users_at] += 1
        self._recent[users] = recent
        return counts

    # ---- state ----

    def arrays(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """The arrays of a snapshot."""
        yield "users", self._index.users
        yield "recent", self._recent
        for name, column in zip(("rows", "times", "values"), zip(*self._waiting, strict=True), strict=False):
            yield name, np.concatenate(column)

    def load(self, arrays: Arrays, left_out: int) -> None:
        """Take over a state."""
        if len(arrays["users"]):
            self._index.add(arrays["users"])
        self._recent, self.left_out = arrays["recent"].reshape(-1, self._most).copy(), left_out
        if "rows" in arrays:
            self._waiting = [(arrays["rows"].copy(), arrays["times"].copy(), arrays["values"].copy())]
