# SPDX-License-Identifier: Apache-2.0
"""The door: single JSON events in, blocks of pseudonyms, times and codes out, with the door's clock between them.

Logs: a partition of a source topic, and that partition's ticks.  A tick says which events had come when the clock
showed a time: exactly those go before its progress record, which every raw partition gets, and those after it wait
for the next tick.  So what is written follows from the logs, not from how they interleave.  Events with an error are
counted by reason.  Those without a readable user, stream or time, and those that are not JSON or too large, are named
in dead.edge by their offset alone; an event whose value alone is wrong enrols its user.  A record without a value is no
event: it is counted (`tombstone`) and skipped.  Keys, headers and a record's own time mean nothing.
Source: ARCHITECTURE rules 6, 15 and 19.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Final

from murmurate.agents.stages.admission import Admission
from murmurate.agents.stages.reading import read
from murmurate.agents.stages.stage import NOWHERE, Log, NoValue, Out, Outbox, Record
from murmurate.config.plan import AnyStreamPlan, Plan
from murmurate.randomizers import Pepper
from murmurate.randomizers.identity import PseudonymCache
from murmurate.randomizers.state import StateForm, dump, load
from murmurate.topics.codec import encode
from murmurate.topics.events import EventReader, Fields, Reason
from murmurate.topics.messages import Dead, Progress, Tick

FORM: Final = StateForm("door", 1)
"""The form of the stage's state."""
TICKS = "ticks"
BATCH = 10_000  # events read at once
UNREAD = frozenset({Reason.JSON, Reason.SIZE})
"""Errors of a record as a whole: its offset is named in a dead letter even if its user can be read."""
NOTHING = Outbox((), urgent=False)


class Door:
    """The stage of one source partition."""

    large: ClassVar[bool] = False

    def __init__(self, plan: Plan, pepper: Pepper, topic: str, partition: int) -> None:
        self._plan, self._known, self._topic, self._partition = plan, PseudonymCache(pepper), topic, partition
        self._admission = Admission(plan, pepper)
        self._readers = _readers([stream for stream in plan.everything if stream.topic == topic])
        self._events: list[tuple[int, bytes]] = []  # (offset, record), in order, that no tick has covered yet
        self._ticks: list[tuple[int, Tick]] = []
        self._next = 0  # the offset of the next event
        self._clock: int | None = None  # the newest time that was passed on
        self._out: list[Out] = []
        self._urgent = False
        self.lost = 0
        """How many offsets of the source were gone before they were read, and skipped by whoever runs the edge."""
        self.read = 0
        """The number of events looked at."""
        self.counts = self._admission.counts
        """(stream, reason) -> how many events were refused, or cut; the stream is empty where it could not be read.
        These are facts about raw events, for the edge's own metrics.
        """
        self.judged = self._admission.judged
        """For each stream, how many events were late, from the future, or neither."""

    def fold(self, record: Record) -> None:
        """Take an event or a tick."""
        self.fold_run(record.log, [(record.offset, record.value)])

    def fold_run(self, log: Log, records: Sequence[tuple[int, bytes]]) -> None:
        """Take events, or ticks, in their order."""
        if log.topic == TICKS:
            for offset, value in records:
                self._await(Record(log, offset, value))
                self._go_on()
        else:
            self._events += records
            self._next = records[-1][0] + 1
            self._go_on()

    def _go_on(self) -> None:
        """Pass the ticks whose events are all here."""
        while self._ticks:
            tick = self._ticks[0][1]
            if tick.end <= self._next:
                self._pass(self._ticks.pop(0)[1])
            elif len(self._events) >= BATCH:  # they are covered, however many more are
                self._cover(self._events[:BATCH], tick.time)
                del self._events[:BATCH]
            else:
                return

    def _await(self, record: Record) -> None:
        """Put a tick behind those that wait for their events; it replaces one of the same time and a higher end."""
        tick, offset = read(record, "edge", self._out if self._partition == 0 else []), record.offset
        if not isinstance(tick, Tick) or (tick.topic, tick.partition) != (self._topic, self._partition):
            return
        for at in (0, -1) if self._ticks else ():
            first, waiting = self._ticks[at]
            if waiting.time == tick.time and tick.end < waiting.end:
                self._ticks[at] = (first, tick)
                return
        self._ticks.append((offset, tick))

    def ready(self, log: Log) -> bool:
        """Always."""
        return True

    @property
    def clock(self) -> int | None:
        """The newest time that was passed on."""
        return self._clock

    @property
    def waits_for(self) -> Tick | None:
        """The tick that has not passed yet, if there is one."""
        return self._ticks[0][1] if self._ticks else None

    @property
    def holds(self) -> bool:
        """Whether there are events that no tick has covered yet."""
        return bool(self._events)

    def stood_still(self, time_ms: int) -> None:
        """By this time nothing had come that is not in `raw`, and whoever runs the doors says so (`Quiet`). A successor
        does not know it, and begins with the time of the newest tick.
        """
        self._clock = time_ms if self._clock is None else max(time_ms, self._clock)

    def drain(self) -> Outbox:
        """Raw blocks and progress."""
        if not self._out:
            return NOTHING  # after most events
        out, self._out, urgent, self._urgent = tuple(self._out), [], self._urgent, False
        return Outbox(out, urgent)

    def _pass(self, tick: Tick) -> None:
        """1. Read the events that the tick covers. 2. Send its time behind them. The clock never goes back."""
        now = tick.time if self._clock is None else max(tick.time, self._clock)
        covered = next((i for i, (offset, _) in enumerate(self._events) if offset >= tick.end), len(self._events))
        self._cover(self._events[:covered], tick.time)
        del self._events[:covered]
        self._clock = now
        progress = encode(Progress(topic=self._topic, partition=self._partition, time=now))
        self._out += [Out(Log("raw", p), progress) for p in range(self._plan.partitions)]
        self._urgent = True

    def _cover(self, events: Sequence[tuple[int, bytes]], time_ms: int) -> None:
        """Read the events that had come when the clock showed this time."""
        now = time_ms if self._clock is None else max(time_ms, self._clock)
        for start in range(0, len(events), BATCH):
            self._read(events[start : start + BATCH], now)

    def _read(self, events: Sequence[tuple[int, bytes]], now: int) -> None:
        values = [value for _, value in events]
        if b"" in values:  # some may be no events: whoever compacts a topic deletes by them
            events = [event for event in events if not isinstance(event[1], NoValue)]
            self.counts["", "tombstone"] += len(values) - len(events)
            values = [value for _, value in events]
        self.read += len(events)
        for streams, reader in self._readers:
            own = None if streams[0].fields.time is not None else [now] * len(events)
            columns = reader.read(values, own)
            rows = dict(zip(columns.index.tolist(), columns.stream.tolist(), strict=True)) if columns.refusals else {}
            alone = streams[0].name if streams[0].fields.stream is None else ""
            for index, reason in columns.refusals:
                self.counts[streams[rows[index]].name if index in rows else alone, reason.value] += 1
                if index not in rows or reason in UNREAD:
                    offset = events[index][0]
                    dead = Dead(reason=reason.value, topic=self._topic, partition=self._partition, offset=offset)
                    self._out.append(Out(Log("dead.edge", 0), encode(dead)))
            users = self._known.pseudonyms(columns.users)
            for position, stream in enumerate(streams):
                part = columns.of(position, stream.domain.words)
                if len(part.rows):
                    self._out += self._admission.admit(
                        stream, users[part.rows], part.times, part.values, part.long, before=self._clock, now=now
                    )

    # ---- state: the logs from the first event and tick that wait ----

    def replay_from(self, marks: Mapping[Log, int]) -> Mapping[Log, int]:
        """From the first event and the first tick that still wait."""
        first = {TICKS: [offset for offset, _ in self._ticks], self._topic: [offset for offset, _ in self._events]}
        return {log: min([mark, *first[log.topic]]) for log, mark in marks.items()}

    def small(self) -> bytes:
        """The offset of the next event, the clock, and what was lost, if anything was."""
        following = self._events[0][0] if self._events else self._next
        return dump(FORM, {"next": following, "clock": self._clock, **_lost(self.lost)}, {})

    def snapshot(self, marks: Mapping[Log, int] = NOWHERE) -> Iterable[bytes]:
        """None: the logs hold everything."""
        return ()

    def restore(self, small: bytes, snapshot: Iterable[bytes], marks: Mapping[Log, int] = NOWHERE) -> None:
        """Take over the offset of the next event, the clock, and what was lost."""
        facts, _ = load(FORM, small)
        self._next, self._clock, self.lost = facts["next"], facts["clock"], facts.get("lost", 0)


def clock_of(small: bytes) -> int | None:
    """The newest time that was passed on, from the bytes of `small`."""
    clock = load(FORM, small)[0]["clock"]
    return None if clock is None else int(clock)


def lost_of(small: bytes) -> int:
    """How many offsets were skipped so far, from the bytes of `small`."""
    return int(load(FORM, small)[0].get("lost", 0))


def skipped(small: bytes, offset: int, lost: int) -> bytes:
    """The state of a door that goes on at a later offset, since so many were gone before it read them."""
    facts, _ = load(FORM, small)
    return dump(FORM, {"next": offset, "clock": facts["clock"], **_lost(facts.get("lost", 0) + lost)}, {})


def _lost(count: int) -> dict[str, int]:
    return {"lost": count} if count else {}


def set_back(small: bytes, clock: int) -> bytes:
    """The state of a door that goes on at an earlier time, from the bytes of `small`."""
    facts, _ = load(FORM, small)
    return dump(FORM, {**facts, "clock": clock}, {})


def _readers(streams: Sequence[AnyStreamPlan]) -> list[tuple[list[AnyStreamPlan], EventReader]]:
    """One reader for the streams that a field tells apart, one for each of the others."""
    groups: dict[Fields | str, list[AnyStreamPlan]] = {}
    for stream in streams:
        groups.setdefault(stream.name if stream.fields.stream is None else stream.fields, []).append(stream)
    return [(group, EventReader({s.name: s.domain for s in group}, group[0].fields)) for group in groups.values()]
