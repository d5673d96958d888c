# SPDX-License-Identifier: Apache-2.0
"""The values of a stream's users where each is one code: a number of time and code decides which event counts.

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
        self._default = plan.d - 1 if plan.says_none else plan.initial_code  # the code of users without a value
        self._kind = np.dtype(np.int16 if plan.d <= 1 << 15 else np.int32)  # of a code
        # Per open period, per row: the event that counts, as (milliseconds into the period << 32 | code).
        self._open: dict[int, Ints] = {}
        self._time = np.zeros(0, np.int64)  # The time of the newest value in a closed period, or NEVER,
        self._code = np.zeros(0, self._kind)  # and the value, or -1: each only where `carry` asks for it

    @property
    def initial(self) -> int:
        """With `carry = "always"` the number of users who have been seen but have no value yet; 0 otherwise."""
        return int(np.count_nonzero(self._code[self._shown != LATEST] < 0)) if self._carry is None else 0

    def _value_arrays(self) -> dict[str, NDArray[Any]]:
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

    def _carry_over(self, t: int) -> Codes:
        """Take over period t into the carried values. Gives the code of each row in it, -1 without one."""
        own = np.full(len(self._shown), -1, self._kind)
        self._close_presence(t)
        keys = self._open.pop(t, None)
        if keys is None:
            return own
        keys = keys[: len(own)]
        present = keys != self._empty
        self.second += self._taken.pop(t, 0) - int(np.count_nonzero(present))
        np.copyto(own[: len(keys)], keys & 0xFFFFFFFF, where=present, casting="unsafe")
        if self._carry != 0:
            np.copyto(self._code[: len(keys)], own[: len(keys)], where=present)
        if self._carry:
            np.copyto(self._time[: len(keys)], t * self._every + (keys >> 32), where=present)
        return own

    def _with_carried(self, own: Codes, start: int, users: int) -> Codes:
        values = own[:users]
        if self._carry is None:
            values = self._code[:users].copy()
        elif self._carry:
            values = np.where(self._time[:users] >= start - self._carry, self._code[:users], self._kind.type(-1))
        np.copyto(values, self._default, where=values < 0)
        return values

    def _grow_values(self, users: int) -> None:
        if self._carry != 0:
            self._code = wider(self._code, users, -1, self._kind)
        if self._carry:
            self._time = wider(self._time, users, NEVER, self._time.dtype)
