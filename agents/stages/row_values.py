# SPDX-License-Identifier: Apache-2.0
"""The values of a stream's users where each is a row of words: sets, vectors, rows of attributes, strings.

Contract: of several events of a user in a period the last (or first) counts by time, then by the words as a tuple.
A user without a value has the domain's row for *none* or, with `carry = "always"`, its initial value.
Memory is what `carry` needs (8 to 24 bytes and 4 a word for each user), 9 bytes and 4 a word for each open period, 1
byte and 4 a word for each frozen one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.stages.values import LATEST, NEVER, Ints, Mask, Values, wider
from murmurate.config.plan import StreamPlan

Rows = NDArray[np.uint32]
_WORD, _TIME = np.dtype(np.uint32), np.dtype(np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class _OwnValues:
    """The values of one period, by row, and which rows have one."""

    rows: Rows
    present: Mask


class RowValues(Values):
    """The rows of words of one stream's users."""

    def __init__(self, plan: StreamPlan, forget_after_ms: int) -> None:
        super().__init__(plan, forget_after_ms)
        self._words = plan.domain.words
        self._default = np.array(plan.domain.nothing if plan.says_none else plan.domain.initial, np.uint32)
        # Per open period, per row: milliseconds into it of the event that counts, and its words.
        self._open: dict[int, Ints] = {}
        self._open_words: dict[int, Rows] = {}
        self._time = np.zeros(0, np.int64)  # The time of the newest value in a closed period, or NEVER,
        self._kept = np.zeros((0, self._words), np.uint32)  # and the value: each only where `carry` asks for it

    @property
    def initial(self) -> int:
        """With `carry = "always"` the number of users who have been seen but have no value yet; 0 otherwise."""
        return int(np.count_nonzero(self._time[self._shown != LATEST] == NEVER)) if self._carry is None else 0

    def _value_arrays(self) -> dict[str, NDArray[Any]]:
        arrays: dict[str, NDArray[Any]] = {"time": self._time, "kept": self._kept}
        arrays |= {f"open/{t}": offsets for t, offsets in self._open.items()}
        return arrays | {f"said/{t}": rows for t, rows in self._open_words.items()}

    def load(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take over a state: the arrays are this one's from now on."""
        super().load(arrays)
        self._time, self._kept = arrays["time"], arrays["kept"]
        self._open = {int(name[5:]): array for name, array in arrays.items() if name.startswith("open/")}
        self._open_words = {int(name[5:]): array for name, array in arrays.items() if name.startswith("said/")}

    def _periods(self) -> set[int]:
        return set(self._open)

    def _take(self, t: int, rows: Ints, times: Ints, values: Rows) -> None:
        """1. Find the time that counts for each row. 2. Of its events at that time, find the one that counts; where
        there is just one, at a better time than before, no words need be compared.
        """
        offsets, users, values = times - t * self._every, int(rows.max()) + 1, values.reshape(-1, self._words)
        held = self._open.get(t)
        if held is None or len(held) < users:
            held = self._open[t] = wider(held, users, self._empty, _TIME)
            self._open_words[t] = wider(self._open_words.get(t), users, 0, _WORD, (self._words,))
        words = self._open_words[t]
        before = held[rows]
        (np.maximum if self._last else np.minimum).at(held, rows, offsets)
        best = held[rows]
        at = np.flatnonzero(offsets == best)
        mine, better = rows[at], before[at] != best[at]
        place = np.empty(len(held), np.int64)
        place[mine] = np.arange(len(mine))
        several = np.zeros(len(held), np.bool_)
        several[mine[place[mine] != np.arange(len(mine))]] = True
        contested = several[mine] | ~better
        words[mine[~contested]] = values[at[~contested]]
        if contested.any():
            self._decide(words, mine[contested], values[at[contested]], better[contested])
        self._taken[t] = self._taken.get(t, 0) + len(rows)

    def _decide(self, words: Rows, rows: Ints, values: Rows, better: Mask) -> None:
        """Keep, of several events at one time, the one with the greatest (or smallest) words. What is held already
        is compared as well, unless the new ones are at a better time.
        """
        old = np.unique(rows[~better])
        rows, values = np.concatenate((rows, old)), np.concatenate((values, words[old]))
        order = np.lexsort((*values.T[::-1], rows))
        edge = np.ones(len(order), np.bool_)
        changes = rows[order[1:]] != rows[order[:-1]]
        edge[slice(None, -1) if self._last else slice(1, None)] = changes
        chosen = order[edge]
        words[rows[chosen]] = values[chosen]

    def _carry_over(self, t: int) -> _OwnValues | None:
        """Take over period t into the carried values. Gives its own ones, if there are any."""
        self._close_presence(t)
        offsets = self._open.pop(t, None)
        if offsets is None:
            return None
        offsets, rows = offsets[: len(self._shown)], self._open_words.pop(t)[: len(self._shown)]
        present = offsets != self._empty
        self.second += self._taken.pop(t, 0) - int(np.count_nonzero(present))
        if self._carry != 0:
            np.copyto(self._kept[: len(rows)], rows, where=present[:, None])
            np.copyto(self._time[: len(rows)], t * self._every + offsets, where=present)
        return _OwnValues(rows, present)

    def _with_carried(self, own: _OwnValues | None, start: int, users: int) -> Rows:
        values = np.empty((users, self._words), np.uint32)
        values[:] = self._default
        if self._carry == 0:
            if own is not None:
                rows, present = own.rows[:users], own.present[:users]
                np.copyto(values[: len(rows)], rows, where=present[:, None])
            return values
        oldest = NEVER + 1 if self._carry is None else start - self._carry
        np.copyto(values, self._kept[:users], where=(self._time[:users] >= oldest)[:, None])
        return values

    def _grow_values(self, users: int) -> None:
        if self._carry != 0:
            self._kept = wider(self._kept, users, 0, _WORD, (self._words,))
            self._time = wider(self._time, users, NEVER, _TIME)
