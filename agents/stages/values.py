"""What each user of one stream says in each period: the event that counts, the value that is carried, or none.

Contract: of several events in a period the last (or first) counts by (time, value), never by arrival, so that
reordering within a period changes nothing.  A value stands for later periods while carry allows it.  Closing a period
freezes its values until it is settled.  An event belongs to a period that is not closed: what is late was refused.
Here is what all values have in common: who is there.  Codes, of which each takes a number, are in code_values.py;
values of several words in row_values.py.
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
    """A closed period's population and what each of them says."""

    values: NDArray[Any]
    """One for each user known when it closed: codes, int[n], or rows, uint32[n, words]."""
    members: Mask
    """Who of them is asked about this period."""


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

    def saw(self, rows: Ints, times: Ints) -> None:
        """Events that show these rows' users, whatever they say."""
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
        """Events of open periods, with their users' rows."""
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
            self._pass(old)  # from before the first period that closes at all
        start = t * self._every
        shown = self._shown[:users]
        members = (shown < start) & (shown >= start - self._forget)
        said = self._pass(t)
        if self._carry is None:  # users join with their first event, whatever it says, and a value stands for ever
            members = shown < start + self._every
        self.frozen[t] = Frozen(self._standing(said, start, users), members)
        return self.frozen[t]

    @property
    @abstractmethod
    def initial(self) -> int:
        """Where values stand for ever, how many users have shown themselves of whom no value counts yet."""

    def settle(self, t: int) -> None:
        """Forget the frozen values up to period t."""
        for old in [old for old in self.frozen if old <= t]:
            del self.frozen[old]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The whole state."""
        arrays = {"shown": self._shown, **self._said_arrays()}
        arrays |= {f"active/{t}": active for t, active in self._active.items()}
        arrays |= {f"taken/{t}": np.array([taken]) for t, taken in self._taken.items()}
        for t, frozen in self.frozen.items():
            arrays |= {f"frozen/{t}/values": frozen.values, f"frozen/{t}/members": frozen.members}
        return arrays

    @abstractmethod
    def _said_arrays(self) -> dict[str, NDArray[Any]]:
        """What was said, of the state: in open periods, and what is carried."""

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
        """Events of one open period."""

    @abstractmethod
    def _pass(self, t: int) -> Any:
        """Take period t over into what is carried: what each row said in it."""

    @abstractmethod
    def _standing(self, said: Any, start: int, users: int) -> NDArray[Any]:
        """What each of so many users says in the period that starts then, given what they said in it."""

    def _show(self, t: int) -> None:
        """Take over who was there in period t."""
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
        """Room for the values of so many users."""


def wider(
    array: NDArray[Any] | None, size: int, empty: int, kind: np.dtype[Any], words: tuple[int, ...] = ()
) -> NDArray[Any]:
    """A longer copy, with an eighth to spare; `empty` where there was nothing."""
    held = 0 if array is None else len(array)
    longer = np.full((max(size, held * 9 // 8), *words), empty, kind)
    if array is not None:
        longer[:held] = array
    return longer
