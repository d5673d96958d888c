# SPDX-License-Identifier: Apache-2.0
"""A source of records with times of their own: pieces of it become batches, whatever the records are written in.

Contract: streams that a field tells apart have one reader, every other stream one of its own, as at the door: so a
record may give an event to several streams, and each is judged by itself.  All of them take the time from one field,
which moves the clock (clock.py).  A record that gives no event is counted by reason and named by number; of one that
several readers refuse for one reason it is counted once.  A source without one good event is an error.  Not here: what
a record is (tables.py, columns.py).
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.replay.clock import REACH, Clock, Ticks, first_period, last_closing
from murmurate.agents.replay.source import BATCH_ROWS, NAMED_LINES, SECONDS_MS, TIMES, Batch, Ints, Source, SourceError
from murmurate.config.plan import AnyStreamPlan, Plan
from murmurate.topics.block import REFUSED
from murmurate.topics.events import Columns, Fields, Reason

_STRETCH = 2 * REACH + 1


@dataclass(frozen=True)
class StreamsOfReader:
    """The streams that one reader reads."""

    names: tuple[str, ...]
    fields: Fields


@dataclass(frozen=True, slots=True, eq=False)
class EventsFound:
    """The events of one reader. `columns.index` counts the good records of the piece: those that any reader takes."""

    columns: Columns
    ids: Ints | None = None
    """The users as numbers, where the source numbers them."""


@dataclass(eq=False)
class Piece:
    """Some records of a source."""

    times: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    """The time of each good record."""
    found: list[list[EventsFound]] = field(default_factory=list)
    """For each reader its events, in parts that follow each other."""
    records: list[bytes] = field(default_factory=list)
    """Each good record as JSON, where somebody wants them."""
    dropped: Counter[str] = field(default_factory=Counter)
    """The numbers of records that gave no event, by reason."""
    lines: int = 0

    def __len__(self) -> int:
        return len(self.times)

    def add(self, other: Piece) -> None:
        """Append another piece."""
        before = len(self.times)
        for place, parts in enumerate(other.found):
            if place == len(self.found):
                self.found.append([])
            self.found[place] += [_moved(part, before) for part in parts]
        self.times = np.concatenate((self.times, other.times))
        self.records += other.records
        self.dropped += other.dropped
        self.lines += other.lines

    def joined(self) -> list[EventsFound]:
        """For each reader all of its events."""
        self.found = [[_joined(parts)] for parts in self.found]
        return [parts[0] for parts in self.found]


class RecordSource(Source):
    """A source of records. What they are written in differs."""

    def __init__(self, name: str, plan: Plan, streams: tuple[str, ...]) -> None:
        super().__init__(plan, streams)
        self._name, self._part = name, 0.0
        self._readers = readers_of(self._plans())
        times = sorted({one.fields.time or "/time" for one in self._readers})
        if len(times) > 1:
            raise SourceError(
                f"{name}: found streams whose times stand in different fields ({', '.join(times)}); allowed: name one "
                "stream, since a recording has one clock"
            )
        every = tuple(sorted({stream.every_ms for stream in self._plans()}))
        self._ticks = Ticks(every, plan.lateness_ms, plan.future_ms // 2)
        self._first: dict[str, int] = {}
        self._with_records = False
        self.shared = len(self._readers) > 1

    def keep_records(self) -> None:
        """From now on batches hold their records as JSON, for whoever writes them elsewhere."""
        self._with_records = True

    @abstractmethod
    def _pieces(self, *, keep: bool) -> Iterator[Piece]:
        """The source in pieces. keep: whether faults count."""

    def fraction(self) -> float | None:
        """The part of the source that has been read."""
        return self._part

    def first_t(self, stream: str) -> int:
        """The first period of the stream, from the first 1 001 records, as the clock's rule demands."""
        if not self._first:
            pieces = self._pieces(keep=False)
            piece, ends = next(pieces, Piece()), False
            while len(piece) < _STRETCH and not ends:
                more = next(pieces, None)
                ends = more is None
                piece.add(more or Piece())
            if not len(piece):
                self._refuse_all(piece.dropped)
            for plan in self._plans():
                self._first[plan.name] = first_period(
                    piece.times[:_STRETCH], self._ticks, plan.every_ms, ends=len(piece) <= _STRETCH and ends
                )
        return self._first[stream]

    def batches(self) -> Iterator[Batch]:
        """The events, from the beginning."""
        self.counts.clear()
        self.complaints.clear()
        self.remarks.clear()
        self._end = None
        clock = Clock(self._ticks, BATCH_ROWS)
        end, usable = 0, False
        for piece, after, ends in self._stretches():
            for at, stretch in enumerate(clock.cut(piece.times, after, ends=ends)):
                rows, now = stretch
                end = max(end, last_closing(piece.times[rows], now, self.plan.future_ms, self._ticks))
                for batch in self._batches_of(piece, rows, now, first=at == 0):
                    usable = usable or bool((batch.codes != REFUSED).any())
                    yield batch
        if not usable:
            self._refuse_all(self.counts)
        if 0 < (clock.clock or 0) < SECONDS_MS:
            self.remarks.append(f"{self._name}: all times lie in 1970: are they seconds? {TIMES}")
        self._end = max(end, clock.clock or 0)
        self._part = 1.0

    def _batches_of(self, piece: Piece, rows: slice, clock: int, *, first: bool) -> Iterator[Batch]:
        """One batch for each stream among these records, whose events all readers found. Faults are reported with the
        first batch of a piece, and each record stands in the first batch of its stretch.
        """
        refused, lines = (dict(piece.dropped), piece.lines) if first else ({}, 0)
        found = piece.joined()
        records = self._named(found, piece.records, rows) if self._with_records else None
        for reader, events in zip(self._readers, found, strict=True):
            columns = events.columns
            low, high = np.searchsorted(columns.index, (rows.start, rows.stop)).tolist()
            part = slice(low, high)
            present: list[int] = [0] * (high > low)
            if len(reader.names) > 1:
                present = np.unique(columns.stream[part]).tolist()
            for position in present:
                name = reader.names[position]
                mine = columns.of(position, self.plan.any_stream(name).domain.words, part)
                names = None if events.ids is not None else [columns.users[row] for row in mine.rows.tolist()]
                ids = None if events.ids is None else events.ids[mine.rows]
                yield Batch(
                    name, clock, names, ids, mine.times, mine.values, refused, lines, mine.long, records
                )  # fmt: skip
                refused, lines, records = {}, 0, None if records is None else []

    def _named(self, found: Sequence[EventsFound], records: Sequence[bytes], rows: slice) -> list[tuple[bytes, bytes]]:
        """These records, each with its user: that of the first reader that has one."""
        user: dict[int, bytes] = {}
        for events in reversed(found):
            low, high = np.searchsorted(events.columns.index, (rows.start, rows.stop)).tolist()
            names = events.columns.users[low:high] if events.ids is None else self.names(events.ids[low:high])
            user.update(zip(events.columns.index[low:high].tolist(), names, strict=True))
        return [(user[place], records[place]) for place in range(rows.start, rows.stop)]

    def _stretches(self) -> Iterator[tuple[Piece, Ints, bool]]:
        """Pieces of at least 1 001 good records, each with the times of the 500 after it, and whether those are all."""
        held = Piece()
        waiting: Piece | None = None
        for piece in self._pieces(keep=True):
            held.add(piece)
            if len(held) < _STRETCH:
                continue
            if waiting is not None:
                yield waiting, held.times, False
            waiting, held = held, Piece()
        if waiting is not None and not len(held):
            waiting.add(held)  # nothing but refused records: they still have to be counted with some batch
        if waiting is not None:
            yield waiting, held.times, True
        yield held, np.zeros(0, np.int64), True

    def _complain(self, wrong: Iterable[tuple[int, str]]) -> None:
        """Count faults, each a record's number and a reason, in order."""
        for number, reason in wrong:
            self.counts[reason] += 1
            if len(named := self.complaints.setdefault(reason, [])) < NAMED_LINES:
                named.append(number)

    def _refuse_all(self, reasons: Counter[str]) -> None:
        found = ", ".join(f"{reason} {count}" for reason, count in sorted(reasons.items())) or f"no {self.unit}"
        hint = f"; {TIMES}" if Reason.TIME.value in reasons else ""
        raise SourceError(f"{self._name}: found no good event ({found}{hint}); allowed: at least one")


def readers_of(streams: Sequence[AnyStreamPlan]) -> list[StreamsOfReader]:
    """One reader for the streams that a field tells apart, one for each of the others: as at the door."""
    groups: dict[Fields | str, list[AnyStreamPlan]] = {}
    for stream in streams:
        groups.setdefault(stream.name if stream.fields.stream is None else stream.fields, []).append(stream)
    return [
        StreamsOfReader(
            tuple(stream.name for stream in group),
            group[0].fields if group[0].fields.time is not None else replace(group[0].fields, time="/time"),
        )
        for group in groups.values()
    ]


def gathered(found: Sequence[Columns]) -> tuple[Ints, Ints, list[Columns]]:
    """The records in which any reader found an event, their times, and what each found, with its index among them."""
    if len(found) == 1:
        (only,) = found
        whole = not len(only.index) or only.index[-1] == len(only.index) - 1
        return only.index, only.time, [only if whole else replace(only, index=np.arange(len(only.index)))]
    good: Ints = np.unique(np.concatenate([columns.index for columns in found]))
    times = np.zeros(len(good), np.int64)
    placed = [np.searchsorted(good, columns.index) for columns in found]
    for columns, places in zip(reversed(found), reversed(placed), strict=True):
        times[places] = columns.time
    return good, times, [replace(columns, index=places) for columns, places in zip(found, placed, strict=True)]


def _moved(part: EventsFound, by: int) -> EventsFound:
    return part if not by else EventsFound(replace(part.columns, index=part.columns.index + by), part.ids)


def _joined(parts: Sequence[EventsFound]) -> EventsFound:
    """The concatenation of several parts."""
    if len(parts) == 1:
        return parts[0]
    columns = [part.columns for part in parts]
    stream: NDArray[np.uint16] = np.concatenate([part.stream for part in columns])
    time, code = np.concatenate([part.time for part in columns]), np.concatenate([part.code for part in columns])
    index = np.concatenate([part.index for part in columns])
    users = [user for part in columns for user in part.users]
    before = np.cumsum([0, *(len(part.time) for part in columns)]).tolist()
    long = {
        first + row: words for first, part in zip(before, columns, strict=False) for row, words in part.long.items()
    }
    ids = None if parts[0].ids is None else np.concatenate([part.ids for part in parts if part.ids is not None])
    return EventsFound(Columns(stream, time, code, users, index, (), long), ids)
