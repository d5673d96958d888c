# SPDX-License-Identifier: Apache-2.0
"""The true figures of each stream in each period, computed from the source alone.

Contract: the same rules as the stages, in code of its own (nothing of agents/stages is imported), fed with the same
batches and clocks.
1. A period closes when T passes its end plus lateness; an event for a closed period, or further ahead of T than
   `future`, never came.
2. Any other event shows its user to its stream, also one refused for its value. Who was shown before a period began
   is asked about it.
3. A user's value in a period is the last (or first) event by (time, code); else the value before, while the period's
   start is at most `carry` after its event; else none. When values stand for ever, users are asked from the period of
   their first event on, and have the stream's initial value until one of theirs counts.
This is raw data: it stays with the replay that computes it (ARCHITECTURE rule 9).  Memory is a few numbers a user and
open period. Not here: `forget_after`, who serves which stream under split = "users": the truth is everybody's; what is
true of central streams (true_sums.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.replay.source import Batch, Ints, Source
from murmurate.agents.replay.true_period import TruePeriod
from murmurate.agents.replay.true_sums import TrueSums
from murmurate.config.plan import CentralPlan, Plan, StreamPlan
from murmurate.topics.block import REFUSED

SPARE_ROWS = 1 << 20  # events of an open period beyond four a user; then each user's event that counts is kept
_LONG_AGO, _NEVER = np.iinfo(np.int64).min, np.iinfo(np.int64).max
Figures = Callable[[NDArray[Any]], NDArray[np.float64]]
"""A function from counts of users by code, or everybody's rows of words, to the true figures."""
_CODE_BITS = 24  # as many as the largest domain; a period may have 2^39 milliseconds


class Truth:
    """The truth of each period that closes, from the batches of a source in order."""

    def __init__(self, plan: Plan, source: Source, counted: Mapping[str, Figures] | None = None) -> None:
        """counted: by stream, a function to use in place of the measure's own truth."""
        self._future = plan.future_ms
        self._rows: dict[bytes, int] = {}  # names to users, in the order in which they came
        enrolled = np.full((source.users() or 0) if source.enrolled else 0, _LONG_AGO)
        self._streams: dict[str, _Stream] = {}
        self._sums: dict[str, TrueSums] = {}
        for name in source.streams:
            one, first_t = plan.any_stream(name), source.first_t(name)
            if isinstance(one, CentralPlan):
                self._sums[name] = TrueSums(one, plan.lateness_ms, first_t)
            else:
                self._streams[name] = _stream(one, plan.lateness_ms, first_t, enrolled.copy())
        for name, figures in (counted or {}).items():
            self._streams[name].figures = figures
        self.refused: Counter[str] = Counter()
        """The numbers of events that do not count: `late`, `future`; and `value`, which only enrol."""

    def fold(self, batch: Batch) -> Iterator[TruePeriod]:
        """Take a batch, and yield first the periods that its clock closes. Nothing happens until they are taken."""
        yield from self.close(batch.clock)
        if (central := self._sums.get(batch.stream)) is not None:
            here = self._here(batch, central)
            counts = here & central.plan.measure.counting(batch.codes)
            self.refused["value"] += int((here & ~counts).sum())
            central.take(batch.times[counts], batch.codes[counts])
            return
        stream = self._streams[batch.stream]
        here = self._here(batch, stream)
        if batch.names is not None:
            users = self._numbered(batch.names, here)
        elif batch.ids is not None:
            users = batch.ids[here]
        else:
            raise TypeError("a batch has names or ids")
        stream.saw(users, batch.times[here])
        good = _first(batch.codes)[here] != REFUSED
        self.refused["value"] += int((~good).sum())
        stream.take(users[good], batch.times[here][good], batch.codes[here][good])

    def _here(self, batch: Batch, stream: _Stream | TrueSums) -> NDArray[np.bool_]:
        """Which events of a batch come neither too late nor from too far ahead; the others are counted."""
        late = batch.times < stream.open_t * stream.every
        ahead = ~late & (batch.times > batch.clock + self._future)
        known = _first(batch.codes) != REFUSED  # the others are counted by what is wrong with their values
        self.refused.update({"late": int((late & known).sum()), "future": int((ahead & known).sum())})
        return np.asarray(~(late | ahead))

    def close(self, clock: int) -> Iterator[TruePeriod]:
        """The periods that this T closes: batches call it with their clock, the end of a source with `end_clock`."""
        for stream in self._streams.values():
            yield from stream.close(clock)
        for sums in self._sums.values():
            yield from sums.close(clock)

    def _numbered(self, names: list[bytes], here: NDArray[np.bool_]) -> Ints:
        rows = self._rows
        return np.array([rows.setdefault(names[i], len(rows)) for i in np.flatnonzero(here).tolist()], np.int64)


@dataclass(eq=False)
class _Stream:
    """The state of one stream."""

    plan: StreamPlan
    lateness: int
    first_t: int
    seen: Ints
    """For each user the time when an event of this stream first enrolled them."""
    open_t: int = -1
    """The first period that has not closed; -1 before the first clock."""
    events: dict[int, list[tuple[Ints, Ints]]] = field(default_factory=dict)
    """For each open period users, and their events as milliseconds into the period << 24 | code."""
    code: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    """The newest value of each user; -1 before the first."""
    time: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    """The time of each user's newest value."""

    def __post_init__(self) -> None:
        self.figures: Figures = self.plan.measure.truth
        if not self.plan.says_none:  # users join with their first event, whoever was enrolled
            self.seen = np.zeros(0, np.int64)

    @property
    def every(self) -> int:
        return self.plan.every_ms

    def take(self, users: Ints, times: Ints, codes: NDArray[np.uint32]) -> None:
        periods = times // self.every
        keys = (times - periods * self.every << _CODE_BITS) | codes
        alone = len(periods) > 0 and bool((periods == periods[0]).all())
        for t in [int(periods[0])] if alone else np.unique(periods).tolist():
            mine = slice(None) if alone else periods == t
            held = self.events.setdefault(t, [])
            held.append((users[mine], keys[mine]))
            if sum(len(some) for some, _ in held) > 4 * len(self.code) + SPARE_ROWS:
                self.events[t] = [self._winners(held)]

    def saw(self, users: Ints, times: Ints) -> None:
        more = int(users.max(initial=-1)) + 1 - len(self.seen)
        if more > 0:
            self.seen = np.concatenate((self.seen, np.full(more, _NEVER)))
        np.minimum.at(self.seen, users, times)

    def close(self, clock: int) -> Iterator[TruePeriod]:
        opened = max(0, clock - self.lateness) // self.every
        if self.open_t < 0:
            self.open_t = opened
        while self.open_t < opened:
            t = self.open_t
            self.open_t += 1
            self._keep(t)
            if t >= self.first_t:
                yield self._true(t)

    def _keep(self, t: int) -> None:
        """Take over the values of a period that closes."""
        if len(self.code) < len(self.seen):
            more = len(self.seen) - len(self.code)
            self.code = np.concatenate((self.code, np.full(more, -1, np.int64)))
            self.time = np.concatenate((self.time, np.zeros(more, np.int64)))
        if t in self.events:
            users, keys = self._winners(self.events.pop(t))
            self.code[users] = keys & ((1 << _CODE_BITS) - 1)
            self.time[users] = t * self.every + (keys >> _CODE_BITS)

    def _true(self, t: int) -> TruePeriod:
        """The number of users who are asked about a period, and the true figures."""
        counts = self._counts(t)
        return TruePeriod(self.plan.name, t, int(counts.sum()), self.figures(counts))

    def _counts(self, t: int) -> Ints:
        carry, d = self.plan.carry_ms, self.plan.d
        if carry is None:
            code = self.code[self.seen < (t + 1) * self.every]
            return np.bincount(np.where(code >= 0, code, self.plan.initial_code), minlength=d)
        members = self.seen < t * self.every
        code, time = self.code[members], self.time[members]
        standing = (code >= 0) & (t * self.every - time <= carry)
        counts = np.bincount(code[standing], minlength=d)
        counts[d - 1] += len(code) - counts.sum()
        return counts

    def _winners(self, held: list[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
        """Each user once, with the event that counts."""
        users = np.concatenate([some for some, _ in held])
        keys = np.concatenate([some for _, some in held])
        last = self.plan.several == "last"
        best = np.full(int(users.max(initial=-1)) + 1, -1 if last else np.iinfo(np.int64).max, np.int64)
        (np.maximum if last else np.minimum).at(best, users, keys)
        spoke = np.zeros(len(best), np.bool_)
        spoke[users] = True
        return np.flatnonzero(spoke), best[spoke]


class _Rows(_Stream):
    """The state of a stream whose values are rows of words; among events of one time the tuple of words decides."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._said: dict[int, list[tuple[Ints, Ints, NDArray[np.uint32]]]] = {}  # per open period: users, offsets, rows
        self._row: NDArray[np.uint32] = np.zeros((0, self.plan.domain.words), np.uint32)

    def take(self, users: Ints, times: Ints, codes: NDArray[np.uint32]) -> None:
        rows, periods = codes.reshape(-1, self.plan.domain.words), times // self.every
        for t in np.unique(periods).tolist():
            mine = periods == t
            held = self._said.setdefault(t, [])
            held.append((users[mine], times[mine] - t * self.every, rows[mine]))
            if sum(len(some) for some, _, _ in held) > 4 * len(self.seen) + SPARE_ROWS:
                self._said[t] = [self._chosen(held)]

    def _keep(self, t: int) -> None:
        more = len(self.seen) - len(self._row)
        if more > 0:
            self._row = np.concatenate((self._row, np.zeros((more, self._row.shape[1]), np.uint32)))
            self.time = np.concatenate((self.time, np.full(more, _LONG_AGO)))
        if t in self._said:
            users, offsets, rows = self._chosen(self._said.pop(t))
            self._row[users], self.time[users] = rows, t * self.every + offsets

    def _chosen(
        self, held: list[tuple[Ints, Ints, NDArray[np.uint32]]]
    ) -> tuple[Ints, Ints, NDArray[np.uint32]]:  # fmt: skip
        """Each user once, with the event that counts."""
        users, offsets, rows = (np.concatenate(column) for column in zip(*held, strict=True))
        order = np.lexsort((*rows.T[::-1], offsets, users))
        if self.plan.several == "last":
            order = order[::-1]
        _, firsts = np.unique(users[order], return_index=True)
        chosen = order[firsts]
        return users[chosen], offsets[chosen], rows[chosen]

    def _true(self, t: int) -> TruePeriod:
        carry, start, domain = self.plan.carry_ms, t * self.every, self.plan.domain
        members = self.seen < (start + self.every if carry is None else start)
        rows, time = self._row[members], self.time[members]
        stands = time != _LONG_AGO if carry is None else time >= start - carry
        rows[~stands] = domain.initial if carry is None else domain.nothing
        if self.plan.measure.is_searched:
            different, counts = np.unique(rows, axis=0, return_counts=True)
            return TruePeriod(self.plan.name, t, len(rows), counts.astype(np.float64), rows=different)
        return TruePeriod(self.plan.name, t, len(rows), self.figures(rows))


def _stream(plan: StreamPlan, lateness: int, first_t: int, seen: Ints) -> _Stream:
    return (_Stream if plan.domain.coded else _Rows)(plan, lateness, first_t, seen)


def _first(codes: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The first word of each value."""
    return codes if codes.ndim == 1 else codes[:, 0]


def true_periods(plan: Plan, source: Source) -> Iterator[TruePeriod]:
    """The truth of a whole source at once."""
    truth = Truth(plan, source)
    for batch in source.batches():
        yield from truth.fold(batch)
    yield from truth.close(source.end_clock)


def by_period(truth: Iterator[TruePeriod]) -> Mapping[tuple[str, int], TruePeriod]:
    """The truths by stream and period."""
    return {(period.stream, period.t): period for period in truth}
