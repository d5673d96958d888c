# SPDX-License-Identifier: Apache-2.0
"""The value of each user of one stream in each period: of the event that counts, a carried one, or none.

Contract: of several events in a period the last (or first) counts by (time, value), never by arrival, so that
reordering within a period changes nothing.  A value counts in later periods as long as `carry` allows.  Closing a
period freezes its values until it is settled.  Every event that comes here is of an open period: late ones were
refused.  This module keeps which users have been seen and when; values of one code are in code_values.py, those of
several words in row_values.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.config.plan import StreamPlan

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
EARLIEST, LATEST = -1, np.iinfo(np.int64).max  # "no event yet", below or above every key and time
NEVER = -(1 << 62)


@dataclass(frozen=True, eq=False)
class Frozen:
    """A closed period's population and the value of each user."""

    values: NDArray[Any]
    """One for each user known when it closed: codes, int[n], or rows, uint32[n, words]."""
    members: Mask
    """Which users belong to this period's population."""


class Values(ABC):
    """The values of one stream's users, by row. Vectorized over users; 1 byte a user for each open period."""

    def __init__(self, plan: StreamPlan, forget_after_ms: int) -> None:
        self._every, self._carry, self._forget = plan.every_ms, plan.carry_ms, forget_after_ms
        self._last = plan.several == "last"
        self._empty = EARLIEST if self._last else LATEST
        # Per open period, per row: whether there was any event, valid or not;
        self._active: dict[int, Mask] = {}
        self._taken: dict[int, int] = {}  # and how many valid ones there were, of all rows.
        # Of each row: the start of the newest closed period with any event; or, where that is later or there is none
        # yet, the time of the earliest event.  So a user has been seen before an open period if this lies before it.
        self._shown = np.zeros(0, np.int64)
        self.frozen: dict[int, Frozen] = {}
        self.second = 0
        """Valid events of closed periods that gave way to another of the same user and period."""

    def mark_seen(self, rows: Ints, times: Ints) -> None:
        """Note that these rows' users were seen at these times, whatever the values of the events."""
        if not len(rows):
            return
        users = int(rows.max()) + 1
        self._grow(users)
        earlier = times < self._shown[rows]
        if earlier.any():
            np.minimum.at(self._shown, rows[earlier], times[earlier])
        periods = times // self._every
        first, last = int(periods.min()), int(periods.max())
        for t in range(first, last + 1) if last - first < 8 else np.unique(periods).tolist():
            held = self._active.get(t)
            if held is None or len(held) < users:
                wider = np.zeros(max(users, len(self._shown)), np.bool_)
                if held is not None:
                    wider[: len(held)] = held
                self._active[t] = held = wider
            held[rows if first == last else rows[periods == t]] = True

    def take(self, rows: Ints, times: Ints, values: NDArray[np.uint32]) -> None:
        """Take valid events of open periods. rows: those of their users."""
        if not len(rows):
            return
        periods = times // self._every
        first = int(periods[0])
        if (periods == first).all():
            self._take(first, rows, times, values)
            return
        for t in np.unique(periods).tolist():
            mine = periods == t
            self._take(t, rows[mine], times[mine], values[mine])

    def close(self, t: int, users: int) -> Frozen:
        """Freeze period t, now that `users` rows are known."""
        self._grow(users)
        for old in sorted(period for period in self._periods() | self._active.keys() if period < t):
            self._carry_over(old)  # from before the first period that closes at all
        start = t * self._every
        shown = self._shown[:users]
        members = (shown < start) & (shown >= start - self._forget)
        own = self._carry_over(t)
        if self._carry is None:  # users join with their first event, whatever its value, and values are always carried
            members = shown < start + self._every
        self.frozen[t] = Frozen(self._with_carried(own, start, users), members)
        return self.frozen[t]

    @property
    @abstractmethod
    def initial(self) -> int:
        """With `carry = "always"` the number of users who have been seen but have no value yet; 0 otherwise."""

    def settle(self, t: int) -> None:
        """Forget the frozen values up to period t."""
        for old in [old for old in self.frozen if old <= t]:
            del self.frozen[old]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The whole state."""
        arrays = {"shown": self._shown, **self._value_arrays()}
        arrays |= {f"active/{t}": active for t, active in self._active.items()}
        arrays |= {f"taken/{t}": np.array([taken]) for t, taken in self._taken.items()}
        for t, frozen in self.frozen.items():
            arrays |= {f"frozen/{t}/values": frozen.values, f"frozen/{t}/members": frozen.members}
        return arrays

    @abstractmethod
    def _value_arrays(self) -> dict[str, NDArray[Any]]:
        """The values of open periods and the carried ones, as parts of the state."""

    def load(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take over a state: the arrays are this one's from now on."""
        self._shown = arrays["shown"]
        self._active = {int(name[7:]): array for name, array in arrays.items() if name.startswith("active/")}
        self._taken = {int(name[6:]): int(array[0]) for name, array in arrays.items() if name.startswith("taken/")}
        periods = [int(name.split("/")[1]) for name in arrays if name.startswith("frozen/") and name.endswith("values")]
        self.frozen = {t: Frozen(arrays[f"frozen/{t}/values"], arrays[f"frozen/{t}/members"]) for t in periods}

    @abstractmethod
    def _periods(self) -> set[int]:
        """The open periods with values."""

    @abstractmethod
    def _take(self, t: int, rows: Ints, times: Ints, values: NDArray[np.uint32]) -> None:
        """Take valid events of one open period."""

    @abstractmethod
    def _carry_over(self, t: int) -> Any:
        """Take over period t into the carried values. Gives the period's own value of each row."""

    @abstractmethod
    def _with_carried(self, own: Any, start: int, users: int) -> NDArray[Any]:
        """The values of the first `users` rows in the period that begins at `start`: own, carried, or the default."""

    def _close_presence(self, t: int) -> None:
        """Note in `_shown` who had an event in period t, and forget the period's own mask."""
        active = self._active.pop(t, None)
        if active is not None:
            shown = self._shown[: len(active)]
            np.maximum(shown, t * self._every, out=shown, where=active[: len(shown)])

    def _grow(self, users: int) -> None:
        if users > len(self._shown):
            self._shown = wider(self._shown, users, LATEST, self._shown.dtype)
            self._grow_values(users)

    @abstractmethod
    def _grow_values(self, users: int) -> None:
        """Make room for the values of so many users."""


def wider(
    array: NDArray[Any] | None, size: int, empty: int, kind: np.dtype[Any], words: tuple[int, ...] = ()
) -> NDArray[Any]:
    """A longer copy, with an eighth to spare; `empty` where there was nothing."""
    held = 0 if array is None else len(array)
    longer = np.full((max(size, held * 9 // 8), *words), empty, kind)
    if array is not None:
        longer[:held] = array
    return longer
