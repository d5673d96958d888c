"""What each user of one stream says in each period: the event that counts, the value that is carried, or none.

Contract: of several events in a period the last (or first) counts by (time, code), never by arrival, so that
reordering within a period changes nothing.  A value stands for later periods while carry allows it.  Closing a period
freezes its values until it is settled.  Vectorized over users; memory is a few bytes a user for each open and frozen
period.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.config.plan import StreamPlan

Ints = NDArray[np.int64]
_LAST, _FIRST = -1, np.iinfo(np.int64).max  # "no event yet", below or above every key and time
NEVER = -(1 << 62)


@dataclass(frozen=True, eq=False)
class Frozen:
    """A closed period's population and what each of them says."""

    values: NDArray[np.int32]
    """int32[users known when it closed]"""
    members: NDArray[np.bool_]
    """Who of them is asked about this period."""


class Values:
    """The values of one stream's users, by row."""

    def __init__(self, plan: StreamPlan, forget_after_ms: int) -> None:
        self._every, self._carry, self._forget = plan.every_ms, plan.carry_ms, forget_after_ms
        self._none = plan.d - 1 if plan.says_none else 0
        self._last = plan.several == "last"
        # Per open period, per row: the event that counts, as (milliseconds into the period << 32 | code),
        self._open: dict[int, Ints] = {}
        self._active: dict[int, NDArray[np.bool_]] = {}  # and whether there was any event, valid or not.
        self._seen = np.zeros(0, np.int64)  # Of each row: the time of the earliest event that showed its user,
        self._shown = np.zeros(0, np.int64)  # the start of the newest closed period with any event,
        self._time = np.zeros(0, np.int64)  # that of the newest value in a closed period, NEVER before the first,
        self._code = np.zeros(0, np.int32)  # and the value
        self.frozen: dict[int, Frozen] = {}

    def saw(self, rows: Ints, times: Ints) -> None:
        """Events that show these rows' users, whatever they say."""
        if not len(rows):
            return
        users = int(rows.max()) + 1
        self._grow(users)
        earlier = times < self._seen[rows]
        if earlier.any():
            np.minimum.at(self._seen, rows[earlier], times[earlier])
        periods = times // self._every
        first, last = int(periods.min()), int(periods.max())
        for t in range(first, last + 1) if last - first < 8 else np.unique(periods).tolist():
            held = self._active.get(t)
            if held is None or len(held) < users:
                wider = np.zeros(max(users, len(self._time)), np.bool_)
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
        keys = self._room(t, users)[:users]
        del self._open[t]
        spoken = keys != (_LAST if self._last else _FIRST)
        seen, time, code = self._seen[:users], self._time[:users], self._code[:users]
        start = t * self._every
        members = (seen < start) & (np.maximum(seen, self._shown[:users]) >= start - self._forget)
        active = self._active.pop(t, None)
        if active is not None:
            np.copyto(self._shown[: len(active)][:users], start, where=active[:users])
        np.copyto(time, start + (keys >> 32), where=spoken)
        np.copyto(code, (keys & 0xFFFFFFFF).astype(np.int32), where=spoken)
        if self._carry is None:  # users join with their first event, and their value stands for ever
            members, standing = time > NEVER, spoken
            values = code.copy()
        else:
            standing = spoken if self._carry == 0 else spoken | (start - time <= self._carry)
            values = np.where(standing, code, np.int32(self._none))
        self.frozen[t] = Frozen(values, members)
        return self.frozen[t]

    def settle(self, t: int) -> None:
        """Forget the frozen values up to period t."""
        for old in [old for old in self.frozen if old <= t]:
            del self.frozen[old]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The whole state."""
        arrays: dict[str, NDArray[Any]] = {
            "seen": self._seen,
            "shown": self._shown,
            "time": self._time,
            "code": self._code,
        }
        arrays |= {f"open/{t}": keys for t, keys in self._open.items()}
        arrays |= {f"active/{t}": active for t, active in self._active.items()}
        for t, frozen in self.frozen.items():
            arrays |= {f"frozen/{t}/values": frozen.values, f"frozen/{t}/members": frozen.members}
        return arrays

    def load(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take over a state."""
        self._seen, self._shown = arrays["seen"].copy(), arrays["shown"].copy()
        self._time, self._code = arrays["time"].copy(), arrays["code"].copy()
        self._active = {int(name[7:]): a.copy() for name, a in arrays.items() if name.startswith("active/")}
        self._open = {int(name[5:]): a.copy() for name, a in arrays.items() if name.startswith("open/")}
        periods = [int(name.split("/")[1]) for name in arrays if name.startswith("frozen/") and name.endswith("values")]
        self.frozen = {t: Frozen(arrays[f"frozen/{t}/values"], arrays[f"frozen/{t}/members"]) for t in periods}

    def _take(self, t: int, rows: Ints, times: Ints, codes: NDArray[np.uint32]) -> None:
        keys = ((times - t * self._every) << 32) | codes
        held = self._room(t, int(rows.max()) + 1)
        (np.maximum if self._last else np.minimum).at(held, rows, keys)

    def _room(self, t: int, users: int) -> Ints:
        """The keys of an open period, for so many rows at least."""
        held = self._open.get(t)
        if held is None or len(held) < users:
            wider = np.full(
                max(users, len(held) * 3 // 2 if held is not None else 0), _LAST if self._last else _FIRST, np.int64
            )
            if held is not None:
                wider[: len(held)] = held
            self._open[t] = held = wider
        return held

    def _grow(self, users: int) -> None:
        if users > len(self._time):
            more = max(users, len(self._time) * 3 // 2) - len(self._time)
            self._seen = np.concatenate((self._seen, np.full(more, _FIRST)))
            self._shown = np.concatenate((self._shown, np.full(more, NEVER)))
            self._time = np.concatenate((self._time, np.full(more, NEVER)))
            self._code = np.concatenate((self._code, np.zeros(more, np.int32)))
