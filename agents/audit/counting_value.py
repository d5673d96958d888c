# SPDX-License-Identifier: Apache-2.0
"""Which of a user's events counts in a period, and how long its value stands: a second derivation, by arrays.

Contract: shares no code with the stages.  Of several events of a period the last (or first) counts by (time, value); a
value stands for later periods as the stream's carry says; a user without one has what stands for none, or the initial
value where values stand for ever.  Values that are none of the stream's never count.  Not here: who is in a period's
population (people.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.config.plan import StreamPlan
from murmurate.randomizers.layouts import layout

Rows = NDArray[np.int64]
NEVER = -(1 << 62)


class CountingValue:
    """The values of one stream's users by row."""

    def __init__(self, stream: StreamPlan) -> None:
        self._stream, self._words, self._last = stream, stream.domain.words, stream.several == "last"
        small = stream.domain.coded and stream.d <= 1 << 15
        self._kind = np.dtype(np.uint32 if self._words > 1 else np.int16 if small else np.int64)
        self._shape = (self._words,) if self._words > 1 else ()
        if stream.carry_ms is not None:
            empty = stream.domain.nothing
        else:
            empty = (stream.initial_code,) if stream.domain.coded else stream.domain.initial
        self._empty = np.array(empty if self._words > 1 else empty[0]).astype(self._kind)
        self._rows_of = None if stream.domain.coded else layout(stream.domain.layout(none=False))
        # Per open period with values of one word: of each row the event that counts, its time and value in one number.
        self._keys: dict[int, NDArray[np.int64]] = {}
        # With wider values the events as they came: rows, times, values.
        self._events: dict[int, list[tuple[Rows, NDArray[np.int64], NDArray[np.uint32]]]] = {}
        self._time = np.zeros(0, np.int64)  # of the newest value in a closed period, or NEVER
        self._held = np.zeros((0, *self._shape), self._kind)  # and the value

    def take(self, t: int, rows: Rows, times: NDArray[np.int64], values: NDArray[np.uint32]) -> None:
        """Events of an open period."""
        good = values < self._stream.d if self._rows_of is None else ~self._rows_of.wrong(values)
        if not good.all():
            rows, times, values = rows[good], times[good], values[good]
        if not len(rows):
            return
        if self._words > 1:
            self._events.setdefault(t, []).append((rows, times.copy(), values.copy()))
            return
        held, size = self._keys.get(t), int(rows.max()) + 1
        if held is None or len(held) < size:
            wider = np.full(max(size * 9 // 8, len(self._time)), self._no_key, np.int64)
            if held is not None:
                wider[: len(held)] = held
            held = self._keys[t] = wider
        keys = ((times - t * self._stream.every_ms) << 32) | values
        (np.maximum if self._last else np.minimum).at(held, rows, keys)

    @property
    def _no_key(self) -> int:
        """What every event beats."""
        return -1 if self._last else np.iinfo(np.int64).max

    def close(self, t: int, n: int) -> NDArray[Any]:
        """Every row's value in period t, of the first n rows, who are all: int[n], or uint32[n, words]."""
        if n > len(self._time):
            size = max(n, len(self._time) * 9 // 8)
            for name, empty in (("_time", NEVER), ("_held", 0)):
                held = getattr(self, name)
                wider = np.full((size, *held.shape[1:]), empty, held.dtype)
                wider[: len(held)] = held
                setattr(self, name, wider)
        for old in sorted(at for at in {*self._keys, *self._events} if at < t):
            self._move(old)
        own = self._move(t)
        carry, start = self._stream.carry_ms, t * self._stream.every_ms
        time = self._time[:n]
        stands = time > NEVER
        if carry is not None:
            stands &= time >= (start - carry if carry else start)
            if carry == 0:
                stands &= own[:n]
        values = self._held[:n].copy()
        values[~stands] = self._empty
        return values

    def _move(self, t: int) -> NDArray[np.bool_]:
        """Make the values of period t the newest ones. Gives who has one there."""
        has = np.zeros(len(self._time), np.bool_)
        keys = self._keys.pop(t, None)
        if keys is not None:
            keys = keys[: len(has)]
            own = np.not_equal(keys, self._no_key, out=has[: len(keys)])
            np.copyto(self._time[: len(keys)], t * self._stream.every_ms + (keys >> 32), where=own)
            np.copyto(self._held[: len(keys)], (keys & 0xFFFFFFFF).astype(self._kind), where=own)
        events = self._events.pop(t, None)
        if events:
            rows, times, values = (np.concatenate(part) for part in zip(*events, strict=True))
            order = np.lexsort((*values.T[::-1], times, rows))
            ends = np.flatnonzero(np.diff(rows[order], append=-1))
            starts = np.concatenate((np.zeros(1, np.int64), ends[:-1] + 1))
            chosen = order[ends if self._last else starts]
            self._time[rows[chosen]], self._held[rows[chosen]] = times[chosen], values[chosen]
            has[rows[chosen]] = True
        return has

    def state(self, n: int) -> dict[str, Any]:
        """Everything about the first n rows, who are all."""
        events = {t: tuple(np.concatenate(part) for part in zip(*one, strict=True)) for t, one in self._events.items()}
        keys = {t: held[:n] for t, held in self._keys.items()}
        return {"keys": keys, "events": events, "time": self._time[:n], "held": self._held[:n]}

    def load(self, state: dict[str, Any], size: int) -> None:
        """Take over a state, with room for so many rows."""
        for t, keys in state["keys"].items():
            self._keys[t] = np.full(size, self._no_key, np.int64)
            self._keys[t][: len(keys)] = keys
        self._events = {t: [tuple(one)] for t, one in state["events"].items()}
        n = len(state["time"])
        self._time, self._held = np.full(size, NEVER, np.int64), np.zeros((size, *self._shape), self._kind)
        self._time[:n], self._held[:n] = state["time"], state["held"]
