"""Publish: opens rounds, counts their tallies to Q, lets the method decide, and releases. The only stage that asks.

Logs: its tallies partition, `rounds` (for the `start` of its streams), `clock` (the ticks of its own timer), and where
a recording is fed `feed` (the recording's time).  A round that is open although its patience has ended is given up:
the shuffle then says who counts.  Patience begins when the round could be answered: at its period's end plus lateness,
or at the first tick after it was asked, whichever is later.  A shuffle that has seen nobody does not answer, so that a
door that was down delays and drops nothing; a round that stays open is given up again after each further patience.
Its state is small and whole in every transaction, but for counts that stand in blocks: of those it says where they are
announced, and a recovery folds the log again from there, for these blocks alone.  Source: ARCHITECTURE rules 13, 15, 16
and 22.  Not here: what to ask (aggregators/methods).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final

import numpy as np

from murmurate.agents.stages.agreed import AgreedConfig
from murmurate.agents.stages.asked import question_of
from murmurate.agents.stages.closing import MAX_UNSETTLED
from murmurate.agents.stages.course import Asked, Course, release_of
from murmurate.agents.stages.errors import StageError, StateError
from murmurate.agents.stages.reading import read
from murmurate.agents.stages.release import release, revised
from murmurate.agents.stages.stage import NOWHERE, Log, Out, Outbox, Record
from murmurate.agents.stages.tallies import tallies_of
from murmurate.aggregators.methods.method import Answer, Decision, Purpose, Request
from murmurate.aggregators.methods.registry import method
from murmurate.aggregators.methods.standing import packed, unpacked
from murmurate.config.plan import Plan, StreamPlan
from murmurate.randomizers import Question, ReportError
from murmurate.randomizers.state import Form, dump, load
from murmurate.topics.block import TallyBlock
from murmurate.topics.codec import encode
from murmurate.topics.messages import Config, Dead, GiveUp, Progress, Round, Settled, Start, Tally, TallyInBlocks
from murmurate.topics.names import stream_partition
from murmurate.topics.slots import Slots

FORM: Final = Form("publish", 1)
"""The form of the stage's state."""
ROUNDS = Log("rounds", 0)
TALLIES = "tallies"
AHEAD = MAX_UNSETTLED - 1
"""Periods beyond the open one that are asked beforehand, where a method knows its question."""
FEED = "feed"
"""The log with the recording's own time, where `murmurate feed` is the clock of periods."""


class Publish:
    """The stage of one tallies partition."""

    large: ClassVar[bool] = False

    def __init__(self, plan: Plan, partition: int = 0, *, fed: bool = False) -> None:
        self._plan, self._fed = plan, fed
        self._reached: int | None = None  # the feed's clock, where periods go by it
        self._mine = {s.name: s for s in plan.streams if stream_partition(s.name, plan.tallies) == partition}
        self._partition = partition
        self._courses: dict[str, Course] = {}
        self._agreed = AgreedConfig()  # of which the first instance takes care for all
        self._tallied = 0  # the offset in its tallies partition below which all but blocks has been folded
        self._out: list[Out] = []
        self._urgent = False

    def fold(self, record: Record) -> None:
        """A tally, the start of a stream, or a tick of the clock."""
        if record.log.topic == TALLIES:
            if record.offset < self._tallied:
                self._fold_again(record)
                return
            self._tallied = record.offset + 1
        named = self._partition == 0 or record.log != ROUNDS  # every publish reads `rounds`, and one names what is dead
        found = read(record, "analysis", self._out if named else [])
        match found:
            case Start() if found.stream in self._mine and found.stream not in self._courses:
                plan = self._mine[found.stream]
                course = self._begun(plan, found.t, found.t)
                self._courses[found.stream] = course
                self._open(course)
            case Config() if self._partition == 0 and record.log == ROUNDS and not self._agreed.fold(found):
                dead = Dead(reason="config", topic=ROUNDS.topic, partition=ROUNDS.partition, offset=record.offset)
                self._out.append(Out(Log("dead.analysis", 0), encode(dead)))
            case Tally() | TallyInBlocks() if record.log.topic == TALLIES and found.stream in self._mine:
                self._tally(found, record.offset)
            case TallyBlock() if record.log.topic == TALLIES:
                self._block(found, record)
            case Progress() if record.log.topic == FEED:
                self._reached = max(found.time, self._reached or 0)
            case Progress():
                self._tick(found.time)
            case _:
                pass  # rounds: its own, and what others tell each other

    def ready(self, log: Log) -> bool:
        """Always."""
        return True

    def drain(self) -> Outbox:
        """Rounds and releases, all of them decisive."""
        out, self._out, urgent, self._urgent = tuple(self._out), [], self._urgent, False
        return Outbox(out, urgent)

    @property
    def open_rounds(self) -> Mapping[str, int]:
        """Of each stream that has begun here how many rounds wait for their tallies."""
        return {name: int(course.open is not None) + len(course.ahead) for name, course in self._courses.items()}

    def _tally(self, tally: Tally | TallyInBlocks, at: int) -> None:
        course = self._courses.get(tally.stream)
        asked = course.asked(tally.round) if course else None
        if course is None or asked is None:
            raise StageError(
                f"publish: stream {tally.stream!r}: a tally of a round that is not open (period {tally.t})"
            )
        if tally.q in asked.tallies.got:
            raise StageError(
                f"publish: stream {tally.stream!r}: a second tally of sub-batch {tally.q} (period {tally.t})"
            )
        asked.tallies.add(tally, at)
        self._check(asked, tally.q)
        self._count(course)

    def _check(self, asked: Asked, q: int) -> None:
        """Whether these counts can be, once they are here: announced ones by their number before that."""
        tally, counts = asked.tallies.got[q], asked.tallies.counts(q)
        question = question_of(asked.round)
        try:
            if counts is not None:
                question.check(counts, tally.counted)
            elif isinstance(tally, TallyInBlocks) and tally.cells != question.outcomes:
                raise ReportError(f"counts: found {tally.cells} in blocks; allowed: {question.outcomes}")
        except ReportError as error:
            raise StageError(f"publish: stream {tally.stream!r}: a tally of period {tally.t}: {error}") from None

    def _block(self, block: TallyBlock, record: Record) -> None:
        """Counts that were announced. A block that nobody announced, or that is here already, is named and changes
        nothing.
        """
        course, asked = self._waiting(block)
        fate = "foreign" if asked is None else asked.tallies.take(block, record.value, record.offset)
        if course is not None and asked is not None and fate == "taken":
            self._check(asked, block.q)
            self._count(course)
        else:
            dead = Dead(reason=fate, topic=TALLIES, partition=record.log.partition, offset=record.offset)
            self._out.append(Out(Log("dead.analysis", 0), encode(dead)))

    def _fold_again(self, record: Record) -> None:
        """What a predecessor folded: of it only blocks are not in its state, and of no round that is complete."""
        found = read(record, "analysis", [])
        if isinstance(found, TallyBlock) and (asked := self._waiting(found)[1]) is not None:
            asked.tallies.take(found, record.value, record.offset)

    def _waiting(self, block: TallyBlock) -> tuple[Course, Asked] | tuple[None, None]:
        """The round that a block is of, if that waits for its tallies."""
        digest = block.round.hex()
        found = ((course, course.asked(digest)) for course in self._courses.values())
        return next(((course, asked) for course, asked in found if asked is not None), (None, None))

    def _count(self, course: Course) -> None:
        """Go on while rounds are complete: those asked ahead may be so before their turn."""
        while (heard := course.hear()) is not None:
            step = course.method.tally(heard) if isinstance(heard, Answer) else heard
            if isinstance(step, Request):
                self._next(course, step)
            else:
                self._release(course, step)
                self._open(course)

    def _release(self, course: Course, decision: Decision) -> None:
        """Release, and settle the period."""
        releases = Log("releases", self._partition)
        record = release(self._plan, course.plan, decision, course.slots, course.tallies)
        self._out.append(Out(releases, encode(record)))
        if decision.revised is not None and (before := course.past.pop(decision.revised.t, None)) is not None:
            self._out.append(Out(releases, encode(revised(course.plan, decision, before))))
        if lag := course.plan.method.revise:
            course.past[record.t] = record
            course.past.pop(record.t - lag, None)  # of which nothing is known, so that it was not revised above
        self._out.append(Out(ROUNDS, encode(Settled(stream=course.plan.name, t=course.t))))
        course.end()

    def _open(self, course: Course) -> None:
        """Begin a period. Where the method asks nothing, a round that asks nobody says when the period is over."""
        step = course.method.open(course.t)
        if isinstance(step, Request):
            self._next(course, step)
            return
        ends = self._ask(course, course.t, step.question, Slots.none(course.plan.slots), "publication")
        course.pass_by(ends, step)
        self._ahead(course)

    def _next(self, course: Course, request: Request) -> None:
        """Ask what the method wants to know next, unless it was asked ahead."""
        asked = course.ahead.pop(course.t) if course.t in course.ahead else self._put(course, course.t, request)
        course.ask(asked)
        self._ahead(course)

    def _ahead(self, course: Course) -> None:
        """Ask what is known of the next periods."""
        for t in range(course.t + 1, course.t + 1 + AHEAD):
            if t not in course.ahead and (known := course.method.later(t)) is not None:
                course.ahead[t] = self._put(course, t, known)

    def _put(self, course: Course, t: int, request: Request) -> Asked:
        """What a method wants to know, as a round."""
        slots = Slots.every(course.plan.slots) if request.asked is None else Slots.chosen(request.asked)
        return self._ask(course, t, request.question, slots, request.purpose)

    def _ask(self, course: Course, t: int, question: Question, slots: Slots, purpose: Purpose) -> Asked:
        asked = Round(
            stream=course.plan.name,
            t=t,
            slots=slots,
            mechanism=question.spec(),
            purpose=purpose,
            contributors=self._plan.partitions,
            targets=self._plan.targets,
            patience_ms=self._plan.patience_ms,
            config=course.plan.config,
            revision=course.plan.revision,
        )
        self._out.append(Out(ROUNDS, encode(asked)))
        self._urgent = True
        return Asked(asked)

    def _begun(self, plan: StreamPlan, first_t: int, t: int) -> Course:
        """A stream that stands at the beginning of a period, its method at its own."""
        return Course(plan, method(plan.method, plan.setting(self._plan, first_t)), first_t, t)

    def _tick(self, time_ms: int) -> None:
        """Give up rounds whose patience is over; it begins anew, for those that nobody could answer yet. And write the
        config record again, before the log forgets it.
        """
        if (again := self._agreed.tick(time_ms)) is not None:
            self._out.append(Out(ROUNDS, encode(again)))
        for course in self._courses.values():
            if course.open is None:
                continue
            if course.since is None:
                end = (course.t + 1) * course.plan.every_ms + self._plan.lateness_ms
                if self._fed and (self._reached is None or self._reached < end):
                    continue  # the recording has not come so far
                course.since = time_ms if self._fed else max(time_ms, end)
            if time_ms >= course.since + course.open.round.patience_ms:
                course.since = time_ms
                self._out.append(Out(ROUNDS, encode(GiveUp(round=course.open.round.digest.hex()))))
                self._urgent = True

    # ---- state: all of it, in every transaction ----

    def replay_from(self, marks: Mapping[Log, int]) -> Mapping[Log, int]:
        """From here; of tallies from the first announcement whose blocks wait with the others of their round."""
        first = [asked.tallies.first for course in self._courses.values() for asked in course.waiting]
        again = min((at for at in first if at is not None), default=None)
        if again is None:
            return marks
        return {log: min(mark, again) if log.topic == TALLIES else mark for log, mark in marks.items()}

    def small(self) -> bytes:
        """Every course. Blocks of tallies stand in the log only."""
        arrays = {f"{name}/method": np.frombuffer(c.method.state(), np.uint8) for name, c in self._courses.items()}
        unasked = {name: course.unasked for name, course in self._courses.items() if course.unasked is not None}
        arrays |= {f"{name}/unasked": np.frombuffer(packed(decision), np.uint8) for name, decision in unasked.items()}
        courses: dict[str, Any] = {
            name: {
                "first_t": course.first_t,
                "t": course.t,
                "slots": course.slots,
                "since": course.since,
                "open": course.open.kept() if course.open else None,
                "ahead": [asked.kept() for asked in course.ahead.values()],
                "tallies": [encode(tally).decode() for tally in course.tallies],
                "past": [encode(record).decode() for record in course.past.values()],
                "turn": course.turn.now.value,
                "config": course.plan.config,
                "revision": course.plan.revision,
            }
            for name, course in self._courses.items()
        }
        facts = {"courses": courses, "reached": self._reached, "agreed": self._agreed.kept()}
        if any("at" in kept for course in courses.values() for kept in (course["open"] or {}, *course["ahead"])):
            facts["tallied"] = self._tallied
        return dump(FORM, facts, arrays)

    def snapshot(self, marks: Mapping[Log, int] = NOWHERE) -> Iterable[bytes]:
        """None: `small` says it all."""
        return ()

    def restore(self, small: bytes, snapshot: Iterable[bytes], marks: Mapping[Log, int] = NOWHERE) -> None:
        """Every course as it was."""
        state, arrays = load(FORM, small)
        self._reached, self._tallied = state["reached"], state.get("tallied", 0)
        self._agreed.restore(state["agreed"])
        for name, kept in state["courses"].items():
            plan = self._mine.get(name)
            if plan is None or (plan.config, plan.revision) != (kept["config"], kept["revision"]):
                found = "no such stream" if plan is None else f"config {plan.config}, revision {plan.revision}"
                raise StateError(
                    f"publish: stream {name!r}: the state was written under config {kept['config']}, revision "
                    f"{kept['revision']}; found {found} (see `murmurate check --against`)"
                )
            course = self._begun(plan, kept["first_t"], kept["t"])
            course.turn.load(kept["turn"])
            course.method.load(arrays[f"{name}/method"].tobytes())
            course.slots, course.since = kept["slots"], kept["since"]
            unasked = arrays.get(f"{name}/unasked")
            course.unasked = None if unasked is None else unpacked(unasked.tobytes())
            course.open = Asked.of(kept["open"]) if kept["open"] else None
            course.ahead = {asked.round.t: asked for asked in map(Asked.of, kept["ahead"])}
            course.tallies = list(tallies_of(kept["tallies"]))
            course.past = {record.t: record for record in map(release_of, kept["past"])}
            self._courses[name] = course
