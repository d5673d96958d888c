"""What users say where a value is one code: a number that holds time and code decides which event counts.

Memory is what `carry` needs (8 to 20 bytes a user), 9 bytes for each open period, 3 or 5 for each frozen one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.stages.values import LATEST, NEVER, Ints, Values, wider
from murmurate.config.plan import StreamPlan

Codes = NDArray[np.signedinteger[Any]]


class CodeValues(Values):
    """The codes of one stream's users, by row."""

    def __init__(self, plan: StreamPlan, forget_after_ms: int) -> None:
        super().__init__(plan, forget_after_ms)
        self._else = plan.d - 1 if plan.says_none else plan.initial_code  # what users say who have no value
        self._kind = np.dtype(np.int16 if plan.d <= 1 << 15 else np.int32)  # of a code
        # Per open period, per row: the event that counts, as (milliseconds into the period << 32 | code).
        self._open: dict[int, Ints] = {}
        self._time = np.zeros(0, np.int64)  # When the newest value in a closed period was said, or NEVER,
        self._code = np.zeros(0, self._kind)  # and the value, or -1: each only where `carry` asks for it

    @property
    def initial(self) -> int:
        """Where values stand for ever, how many users have shown themselves of whom no value counts yet."""
        return int(np.count_nonzero(self._code[self._shown != LATEST] < 0)) if self._carry is None else 0

    def _said_arrays(self) -> dict[str, NDArray[Any]]:
        return {"time": self._time, "code": self._code, **{f"open/{t}": keys for t, keys in self._open.items()}}

    def load(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take over a state: the arrays are this one's from now on."""
        super().load(arrays)
        self._time, self._code = arrays["time"], arrays["code"]
        self._open = {int(name[5:]): array for name, array in arrays.items() if name.startswith("open/")}

    def _periods(self) -> set[int]:
        return set(self._open)

    def _take(self, t: int, rows: Ints, times: Ints, values: NDArray[np.uint32]) -> None:
        keys = ((times - t * self._every) << 32) | values
        held = self._open.get(t)
        if held is None or len(held) <= rows.max():
            held = self._open[t] = wider(held, int(rows.max()) + 1, self._empty, np.dtype(np.int64))
        (np.maximum if self._last else np.minimum).at(held, rows, keys)
        self._taken[t] = self._taken.get(t, 0) + len(rows)

    def _pass(self, t: int) -> Codes:
        """Take period t over into what is carried: what each row said in it, -1 for nothing."""
        said = np.full(len(self._shown), -1, self._kind)
        self._show(t)
        keys = self._open.pop(t, None)
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

    def _standing(self, said: Codes, start: int, users: int) -> Codes:
        values = said[:users]
        if self._carry is None:
            values = self._code[:users].copy()
        elif self._carry:
            values = np.where(self._time[:users] >= start - self._carry, self._code[:users], self._kind.type(-1))
        np.copyto(values, self._else, where=values < 0)
        return values

    def _grow_values(self, users: int) -> None:
        if self._carry != 0:
            self._code = wider(self._code, users, -1, self._kind)
        if self._carry:
            self._time = wider(self._time, users, NEVER, self._time.dtype)
