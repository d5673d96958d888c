"""What each user of one stream says in each period: the event that counts, the value that is carried, or none.

Contract: of several events in a period the last (or first) counts by (time, code), never by arrival, so that
reordering within a period changes nothing.  A value stands for later periods while carry allows it.  Closing a period
freezes its values until it is settled.  An event belongs to a period that is not closed: what is late was refused.
Vectorized over users; memory is what `carry` needs (8 to 20 bytes a user), 9 bytes for each open period, 3 or 5 for
each frozen one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.config.plan import StreamPlan

Ints = NDArray[np.int64]
Codes = NDArray[np.signedinteger[Any]]
_LAST, _FIRST = -1, np.iinfo(np.int64).max  # "no event yet", below or above every key and time
NEVER = -(1 << 62)


@dataclass(frozen=True, eq=False)
class Frozen:
    """A closed period's population and what each of them says."""

    values: Codes
    """One for each user known when it closed."""
    members: NDArray[np.bool_]
    """Who of them is asked about this period."""


class Values:
    """The values of one stream's users, by row."""

    def __init__(self, plan: StreamPlan, forget_after_ms: int) -> None:
        self._every, self._carry, self._forget = plan.every_ms, plan.carry_ms, forget_after_ms
        self._else = plan.d - 1 if plan.says_none else plan.initial_code  # what users say who have no value
        self._last = plan.several == "last"
        self._empty = _LAST if self._last else _FIRST
        self._kind = np.dtype(np.int16 if plan.d <= 1 << 15 else np.int32)  # of a code
        # Per open period, per row: the event that counts, as (milliseconds into the period << 32 | code),
        self._open: dict[int, Ints] = {}
        self._active: dict[int, NDArray[np.bool_]] = {}  # and whether there was any event, valid or not;
        self._taken: dict[int, int] = {}  # and how many valid ones there were, of all rows.
        # Of each row: the start of the newest closed period with any event; or, where that is later or there is none
        # yet, the time of the earliest event.  So a user has been seen before an open period if this lies before it.
        self._shown = np.zeros(0, np.int64)
        self._time = np.zeros(0, np.int64)  # When the newest value in a closed period was said, or NEVER,
        self._code = np.zeros(0, self._kind)  # and the value, or -1: each only where `carry` asks for it
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

    def take(self, rows: Ints, times: Ints, codes: NDArray[np.uint32]) -> None:
        """Events of open periods, with their users' rows."""
        if not len(rows):
            return
        periods = times // self._every
        first = int(periods[0])
        if (periods == first).all():
            self._take(first, rows, times, codes)
            return
        for t in np.unique(periods).tolist():
            mine = periods == t
            self._take(t, rows[mine], times[mine], codes[mine])

    def close(self, t: int, users: int) -> Frozen:
        """Freeze period t, now that `users` rows are known."""
        self._grow(users)
        for old in sorted(period for period in self._open.keys() | self._active.keys() if period < t):
            self._pass(old)  # from before the first period that closes at all
        start = t * self._every
        shown = self._shown[:users]
        members = (shown < start) & (shown >= start - self._forget)
        values = self._pass(t)[:users]
        if self._carry is None:  # users join with their first event, whatever it says, and a value stands for ever
            values = self._code[:users].copy()
            members = shown < start + self._every
        elif self._carry:
            values = np.where(self._time[:users] >= start - self._carry, self._code[:users], self._kind.type(-1))
        np.copyto(values, self._else, where=values < 0)
        self.frozen[t] = Frozen(values, members)
        return self.frozen[t]

    @property
    def initial(self) -> int:
        """Where values stand for ever, how many users have shown themselves of whom no value counts yet."""
        return int(np.count_nonzero(self._code[self._shown != _FIRST] < 0)) if self._carry is None else 0

    def settle(self, t: int) -> None:
        """Forget the frozen values up to period t."""
        for old in [old for old in self.frozen if old <= t]:
            del self.frozen[old]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The whole state."""
        arrays: dict[str, NDArray[Any]] = {"shown": self._shown, "time": self._time, "code": self._code}
        arrays |= {f"open/{t}": keys for t, keys in self._open.items()}
        arrays |= {f"active/{t}": active for t, active in self._active.items()}
        arrays |= {f"taken/{t}": np.array([taken]) for t, taken in self._taken.items()}
        for t, frozen in self.frozen.items():
            arrays |= {f"frozen/{t}/values": frozen.values, f"frozen/{t}/members": frozen.members}
        return arrays

    def load(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take over a state: the arrays are this one's from now on."""
        self._shown, self._time, self._code = arrays["shown"], arrays["time"], arrays["code"]
        self._active = {int(name[7:]): array for name, array in arrays.items() if name.startswith("active/")}
        self._open = {int(name[5:]): array for name, array in arrays.items() if name.startswith("open/")}
        self._taken = {int(name[6:]): int(array[0]) for name, array in arrays.items() if name.startswith("taken/")}
        periods = [int(name.split("/")[1]) for name in arrays if name.startswith("frozen/") and name.endswith("values")]
        self.frozen = {t: Frozen(arrays[f"frozen/{t}/values"], arrays[f"frozen/{t}/members"]) for t in periods}

    def _take(self, t: int, rows: Ints, times: Ints, codes: NDArray[np.uint32]) -> None:
        keys = ((times - t * self._every) << 32) | codes
        held = self._open.get(t)
        if held is None or len(held) <= rows.max():
            held = self._open[t] = _wider(held, int(rows.max()) + 1, self._empty, np.dtype(np.int64))
        (np.maximum if self._last else np.minimum).at(held, rows, keys)
        self._taken[t] = self._taken.get(t, 0) + len(rows)

    def _pass(self, t: int) -> Codes:
        """Take period t over into what is carried: what each row said in it, -1 for nothing."""
        said = np.full(len(self._shown), -1, self._kind)
        active, keys = self._active.pop(t, None), self._open.pop(t, None)
        if active is not None:
            shown = self._shown[: len(active)]
            np.maximum(shown, t * self._every, out=shown, where=active[: len(shown)])
        if keys is None:
            return said
        keys = keys[: len(said)]
        spoken = keys != self._empty
        self.second += self._taken.pop(t, 0) - int(np.count_nonzero(spoken))
        np.copyto(said[: len(keys)], keys & 0xFFFFFFFF, where=spoken, casting="unsafe")
        if self._carry != 0:
            np.copyto(self._code[: len(keys)], said[: len(keys)], where=spoken)
        if self._carry:
            np.copyto(self._time[: len(keys)], t * self._every + (keys >> 32), where=spoken)
        return said

    def _grow(self, users: int) -> None:
        if users > len(self._shown):
            self._shown = _wider(self._shown, users, _FIRST, self._shown.dtype)
            if self._carry != 0:
                self._code = _wider(self._code, users, -1, self._kind)
            if self._carry:
                self._time = _wider(self._time, users, NEVER, self._time.dtype)


def _wider(array: NDArray[Any] | None, size: int, empty: int, kind: np.dtype[Any]) -> NDArray[Any]:
    """A longer copy, with an eighth to spare; `empty` where there was nothing."""
    held = 0 if array is None else len(array)
    wider = np.full(max(size, held * 9 // 8), empty, kind)
    if array is not None:
        wider[:held] = array
    return wider
