# SPDX-License-Identifier: Apache-2.0
"""Sources that are arrays: a value for each user and period (synthetic, .npy), and recordings of events (.npz).

Contract: users are numbers, and all of them are enrolled before the first period, but for streams whose values stand
for ever: there users join with their first event.  Periods of a source without times of its own begin at ORIGIN; within
one, events come in the order of users' numbers, spread evenly over the period or over `future`, whichever is shorter.
`.npy`: [periods, users], or [users] for one period; of a frequency integers, a category's position in the plan (`other`
included), -1 no event; of numbers floats, NaN no event.  `.npz`: see tools/make_recording.py, which writes them.
"""

from __future__ import annotations

import zipfile
from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.replay.clock import Ticks, cut_sorted
from murmurate.agents.replay.source import BATCH_ROWS, Batch, Ints, Source, SourceError
from murmurate.config.plan import Plan
from murmurate.topics.block import REFUSED

ORIGIN: Final = 1_767_225_600_000
"""The time at which a source without times begins, 2026-01-01T00:00:00Z."""
NO_EVENT: Final = -1
RECORDING: Final = Path(__file__).with_name("recordings") / "demo.npz"
"""The bundled recording: the screens of a shopping app over a day."""
RECORDING_CONFIG: Final = RECORDING.with_name("demo.toml")
"""The deployment file that goes with it."""
_CHECKED_ROWS: Final = 1 << 22
_RECORDED: Final = ("changes", "moves", "names", "periods", "remind", "start_ms", "every_ms")


class PeriodSource(Source):
    """A source with a value for every user in every period."""

    enrolled = True

    def __init__(self, plan: Plan, stream: str, users: int, periods: int) -> None:
        super().__init__(plan, (stream,))
        (self._stream,) = self._plans()
        every = self._stream.every_ms
        self._users = users
        self.periods = self._periods = periods
        self._t = -(-ORIGIN // every)
        self._ticks = Ticks((every,), plan.lateness_ms, plan.future_ms)
        self.total_rows: int | None = users * periods
        self._done = 0
        span = min(every, max(1, plan.future_ms))
        self._offsets = np.arange(users, dtype=np.int64) * span // max(1, users)

    def users(self) -> int | None:
        """The number of users, each of whom has a value or *none* in every period."""
        return self._users

    def first_t(self, stream: str) -> int:
        """The period that begins at ORIGIN, or the next one after it."""
        return self._t

    def fraction(self) -> float | None:
        """The part of the periods that has been read."""
        return self._done / max(1, self._periods)

    @abstractmethod
    def values(self) -> Iterator[NDArray[Any]]:
        """The codes of each period, integers[users], NO_EVENT for no event; or rows of words, uint32[users, words],
        REFUSED throughout for no event.
        """

    def batches(self) -> Iterator[Batch]:
        """The events, period by period."""
        every, self._end, self._done = self._stream.every_ms, None, 0
        everybody = np.arange(self._users, dtype=np.int64)
        for t, values in enumerate(self.values(), self._t):
            ids, times, codes = everybody, self._offsets + t * every, values
            if values.ndim == 2:
                present = values[:, 0] != REFUSED
                ids, times, codes = ids[present], times[present], codes[present]
                codes = codes[:, 0] if codes.shape[1] == 1 else codes
            elif values.dtype.kind != "u" and values.min(initial=0) < 0:
                present = values >= 0
                ids, times, codes = ids[present], times[present], codes[present]
            yield from _batches(self._stream.name, ids, times, codes.astype(np.uint32, copy=False), self._ticks)
            self._done += 1
        self._end = (self._t + self._periods) * every + self.plan.lateness_ms


def mapped(path: Path) -> Any:
    """The array in a .npy file, mapped into memory; a SourceError if it holds none."""
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        found = error.strerror if isinstance(error, OSError) and error.strerror else "no NumPy array of numbers"
        raise SourceError(f"{path.name}: found {found}; allowed: an array saved by numpy.save") from None


class NpySource(PeriodSource):
    """A .npy file as a source, mapped into memory and never loaded whole."""

    def __init__(self, path: Path, plan: Plan, stream: str) -> None:
        array = mapped(path)
        kinds, words = plan.any_stream(stream).measure.recorded_as
        if (
            not isinstance(array, np.ndarray)
            or array.dtype.kind not in kinds
            or array.ndim not in (1, 2)
            or not array.size
        ):
            found = f"{array.dtype}{list(array.shape)}" if isinstance(array, np.ndarray) else "several arrays"
            raise SourceError(f"{path.name}: found {found}; allowed: {words} [periods, users] or [users], not empty")
        self._array = array if array.ndim == 2 else array[np.newaxis]
        super().__init__(plan, stream, self._array.shape[1], self._array.shape[0])
        if "f" not in kinds:
            self._check(path, plan.any_stream(stream).domain.none)

    def _check(self, path: Path, codes: int) -> None:
        step = max(1, _CHECKED_ROWS // self._users)
        for start in range(0, self._periods, step):
            part = self._array[start : start + step]
            if part.min() < NO_EVENT or part.max() >= codes:
                row = start + int(np.flatnonzero((part.min(axis=1) < NO_EVENT) | (part.max(axis=1) >= codes))[0])
                raise SourceError(
                    f"{path.name}: row {row}: found a number that is no category; "
                    f"allowed: 0 to {codes - 1} for stream {self._stream.name!r}, {NO_EVENT} for no event"
                )

    def values(self) -> Iterator[NDArray[Any]]:
        """The rows of the array."""
        for row in self._array:
            yield self._stream.measure.codes_of(np.asarray(row))


class Recording(Source):
    """A recording of which screen numbered users were on, packed by tools/make_recording.py: an app reports its screen
    when it changes, and again every `remind` periods while it is open.

    Arrays: `changes` (uint8[users]: how many moves a user has), `moves` (uint8[m], by user, then time), `names`,
    `periods`, `remind`, `start_ms`, `every_ms`.  With k = len(names) + 1 a move is k * (periods since the move before,
    or since the beginning) + (an index into `names`, or k - 1 for left); k * (255 // k) means only that 255 // k
    periods pass.  Within a period of the recording events come in the order of users' numbers, evenly spread.
    """

    enrolled = True

    def __init__(self, path: Path, plan: Plan, stream: str) -> None:
        super().__init__(plan, (stream,))
        (self._stream,) = self._plans()
        try:
            with np.load(path, allow_pickle=False) as file:
                held = {name: file[name] for name in _RECORDED}
        except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile):
            raise SourceError(f"{path.name}: found no recording; allowed: one by tools/make_recording.py") from None
        if not 0 < len(held["moves"]) == int(held["changes"].sum()) or held["moves"].dtype != np.uint8:
            raise SourceError(f"{path.name}: found arrays that do not fit together; allowed: a whole recording")
        self._users = len(held["changes"])
        self._ids, self._times, self._codes = self._unpacked(held)
        self.total_rows = len(self._times)
        self._ticks = Ticks((self._stream.every_ms,), plan.lateness_ms, plan.future_ms)
        self._done = 0
        every = self._stream.every_ms
        self.periods = int(self._times[-1]) // every - int(self._times[0]) // every + 1

    def users(self) -> int | None:
        """The number of all users, those included who were never there."""
        return self._users

    def first_t(self, stream: str) -> int:
        """The period of its first event."""
        return int(self._times[0]) // self._stream.every_ms

    def fraction(self) -> float | None:
        """The part of the events that has been read."""
        return self._done / len(self._times)

    def batches(self) -> Iterator[Batch]:
        """The events, in order of time."""
        self._end, self._done = None, 0
        for batch in _batches(self._stream.name, self._ids, self._times, self._codes, self._ticks):
            yield batch
            self._done += len(batch)
        every = self._stream.every_ms
        self._end = (int(self._times[-1]) // every + 1) * every + self.plan.lateness_ms

    def _unpacked(self, held: dict[str, NDArray[Any]]) -> tuple[Ints, Ints, NDArray[np.uint32]]:
        """The users, times and codes of all events, in order of time."""
        changes, left, remind = held["changes"], len(held["names"]), int(held["remind"])
        steps, screens = np.divmod(held["moves"], np.uint8(left + 1))
        total = np.cumsum(steps, dtype=np.int32)
        before = np.concatenate((np.zeros(1, np.int32), total))[np.cumsum(changes, dtype=np.int64) - changes]
        moved = steps < 255 // (left + 1)  # the others only let time pass
        users = np.repeat(np.arange(len(changes), dtype=np.int32), changes)[moved]
        periods, screens = total[moved] - before[users], screens[moved]
        last = np.append(users[1:] != users[:-1], True)
        stays = np.where(last, int(held["periods"]), np.append(periods[1:], 0)) - periods
        reports = np.where(screens == left, 0, (stays + remind - 1) // remind)  # reports during a stay
        place = np.arange(reports.sum(), dtype=np.int32) - np.repeat(np.cumsum(reports) - reports, reports).astype(
            np.int32
        )
        when = (np.repeat(periods, reports) + place * remind).astype(np.int16)
        order = np.argsort(when, kind="stable")
        in_each = np.bincount(when)
        place = np.arange(len(order)) - np.repeat(np.cumsum(in_each) - in_each, in_each)
        period, every = when[order].astype(np.int64), int(held["every_ms"])
        times = int(held["start_ms"]) + period * every + place * every // in_each[period]
        known, texts = self._stream.domain.codes(), held["names"].tolist()
        wrong = [known.wrong(text) for text in texts]
        if "type" in wrong:
            raise SourceError(f"stream {self._stream.name!r}: found a recording of texts; allowed: measure = frequency")
        table = [REFUSED if no else known[text] for text, no in zip(texts, wrong, strict=True)]
        codes = np.array([*table, REFUSED], np.uint32)[
            np.repeat(screens, reports)[order]
        ]  # a closed app reports nothing
        return np.repeat(users, reports)[order].astype(np.int64), times, codes


def _batches(stream: str, ids: Ints, times: Ints, codes: NDArray[np.uint32], ticks: Ticks) -> Iterator[Batch]:
    for rows, clock in cut_sorted(times, ticks, BATCH_ROWS):
        yield Batch(stream, clock, None, ids[rows], times[rows], codes[rows], {}, rows.stop - rows.start)
