# SPDX-License-Identifier: Apache-2.0
"""Publish: writes rounds, waits for their Q tallies, lets the method decide, and releases. No other stage asks.

Logs: its tallies partition, `rounds` (for the `start` of its streams), `clock` (the ticks of its own timer), and where
a recording is fed `feed` (the recording's time).  A round that is open although its patience has ended is given up:
the shuffle then decides which contributors count.  Patience begins when the round could be answered: at its period's
end plus lateness, or at the first tick after it was written, whichever is later.  A shuffle without any contributor
closes nothing, so that a door that was down delays and drops nothing; a round that stays open is given up again after
each further patience.  Each transaction holds the whole state, except counts in blocks: of those it holds where they
are announced, and a recovery folds the log again from there, for these blocks alone.  Source: ARCHITECTURE rules 13,
15, 16 and 22.  Not here: what to ask (aggregators/methods).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final

import numpy as np

from murmurate.agents.stages.agreed import AgreedConfig
from murmurate.agents.stages.central_release import CentralCourse
from murmurate.agents.stages.closing import MAX_UNSETTLED
from murmurate.agents.stages.errors import StageError
from murmurate.agents.stages.open_period import OpenPeriod, OutstandingRound, begun, release_of, switch
from murmurate.agents.stages.plan_by_time import PlanByTime
from murmurate.agents.stages.publish_state import announces_blocks, kept, kept_arrays, restored, written_under
from murmurate.agents.stages.reading import read
from murmurate.agents.stages.release import Came, release, revised
from murmurate.agents.stages.released import ReleasedRecords
from murmurate.agents.stages.round_question import question_of, round_of
from murmurate.agents.stages.stage import NOWHERE, Log, Out, Outbox, Record
from murmurate.aggregators.methods.method import Answer, Decision, Request
from murmurate.config.plan import Plan
from murmurate.randomizers import ReportError
from murmurate.randomizers.state import StateForm, dump, load
from murmurate.topics.block import TallyBlock
from murmurate.topics.codec import encode
from murmurate.topics.curated import Curated
from murmurate.topics.messages import Config, Dead, GiveUp, Progress, Settled, Start, Tally, TallyInBlocks
from murmurate.topics.names import stream_partition

FORM: Final = StateForm("publish", 2)
"""The form of the stage's state."""
ROUNDS = Log("rounds", 0)
TALLIES = "tallies"
AHEAD = MAX_UNSETTLED - 1
"""How many periods after the open one are asked about ahead, if a method knows its question by now."""
FEED = "feed"
"""The log with the recording's own time, where `murmurate feed` is the clock of periods."""


class Publish:
    """The stage of one tallies partition."""

    large: ClassVar[bool] = False

    def __init__(self, plan: Plan, partition: int = 0, *, fed: bool = False, agreed: Config | None = None) -> None:
        self._plan, self._fed, self._values = plan, fed, PlanByTime(plan, agreed)
        self._reached: int | None = None  # the feed's clock, where periods go by it
        self._mine = {s.name: s for s in plan.streams if stream_partition(s.name, plan.tallies) == partition}
        self._central = {s.name: s for s in plan.central if stream_partition(s.name, plan.tallies) == partition}
        self._courses: dict[str, CentralCourse] = {}
        self._partition, self._released = partition, ReleasedRecords(partition, latest=plan.latest)
        self._periods: dict[str, OpenPeriod] = {}
        self._agreed = AgreedConfig()  # used by the first instance alone
        self._tallied = 0  # the offset in its tallies partition below which all but blocks has been folded
        self._out: list[Out] = []
        self._urgent = False
        self.given_up: Counter[str] = Counter()
        """For each stream, how often a round was given up."""

    def fold(self, record: Record) -> None:
        """Take a tally, a record of `rounds`, or a tick of the clock."""
        if record.log.topic == TALLIES:
            if record.offset < self._tallied:
                self._fold_again(record)
                return
            self._tallied = record.offset + 1
        named = self._partition == 0 or record.log != ROUNDS  # every instance reads `rounds`; one writes dead letters
        found = read(record, "analysis", self._out if named else [])
        match found:
            case Start() if found.stream in self._mine and found.stream not in self._periods:
                plan = self._mine[found.stream]
                period = begun(self._values.at(found.t * plan.every_ms), plan, found.t, found.t)
                self._periods[found.stream] = period
                self._open(period)
            case Curated() if record.log.topic == TALLIES and found.stream in self._central:
                self._curated(found)
            case Config() if record.log == ROUNDS and self._is_nobodys(found):
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
                pass  # the other records of `rounds`: its own, and those for other stages

    def ready(self, log: Log) -> bool:
        """Always."""
        return True

    def drain(self) -> Outbox:
        """Rounds and releases, which are urgent."""
        out, self._out, urgent, self._urgent = tuple(self._out), [], self._urgent, False
        return Outbox(out, urgent)

    @property
    def open_rounds(self) -> Mapping[str, int]:
        """For each stream that has begun here, how many rounds wait for their tallies."""
        return {name: int(period.open is not None) + len(period.ahead) for name, period in self._periods.items()}

    @property
    def begun(self) -> tuple[str, ...]:
        """The streams that release here and have begun, central ones too."""
        return (*self._periods, *self._courses)

    def _is_nobodys(self, found: Config) -> bool:
        """Take a config record. Whether it gets a dead letter: one instance looks at their numbers, and keeps the
        newest.
        """
        self._values.fold(found)
        return self._partition == 0 and not self._agreed.fold(found)

    def _tally(self, tally: Tally | TallyInBlocks, at: int) -> None:
        period = self._periods.get(tally.stream)
        outstanding = period.outstanding(tally.round) if period else None
        if period is None or outstanding is None:
            raise StageError(
                f"publish: stream {tally.stream!r}: a tally of a round that is not open (period {tally.t})"
            )
        if tally.q in outstanding.tallies.got:
            raise StageError(
                f"publish: stream {tally.stream!r}: a second tally of sub-batch {tally.q} (period {tally.t})"
            )
        outstanding.tallies.add(tally, at)
        self._check(outstanding, tally.q)
        self._count(period)

    def _curated(self, curated: Curated) -> None:
        """Release a period of a central stream, and settle it: there is one record for each, in order, from the first
        period of the stream on. Nothing is asked about it.
        """
        course = self._courses.get(curated.stream)
        if course is None:
            course = CentralCourse(self._plan, self._central[curated.stream], curated.t, curated.t)
            self._courses[curated.stream] = course
        self._out += self._released.records(course.release(curated))
        self._out.append(Out(ROUNDS, encode(Settled(stream=curated.stream, t=curated.t))))
        self._urgent = True

    def _check(self, outstanding: OutstandingRound, q: int) -> None:
        """Raise StageError if these counts cannot be right; of counts that are still to come, only their number."""
        tally, counts = outstanding.tallies.got[q], outstanding.tallies.counts(q)
        question = question_of(outstanding.round)
        try:
            if counts is not None:
                question.check(counts, tally.counted)
            elif isinstance(tally, TallyInBlocks) and tally.cells != question.outcomes:
                raise ReportError(f"counts: found {tally.cells} in blocks; allowed: {question.outcomes}")
        except ReportError as error:
            raise StageError(f"publish: stream {tally.stream!r}: a tally of period {tally.t}: {error}") from None

    def _block(self, block: TallyBlock, record: Record) -> None:
        """Take a block of announced counts. One that was not announced, or comes twice, gets a dead letter and changes
        nothing.
        """
        period, outstanding = self._waiting(block)
        fate = "foreign" if outstanding is None else outstanding.tallies.take(block, record.value, record.offset)
        if period is not None and outstanding is not None and fate == "taken":
            self._check(outstanding, block.q)
            self._count(period)
        else:
            dead = Dead(reason=fate, topic=TALLIES, partition=record.log.partition, offset=record.offset)
            self._out.append(Out(Log("dead.analysis", 0), encode(dead)))

    def _fold_again(self, record: Record) -> None:
        """Take a record from before the state was written: of those only blocks of open rounds are not in the state."""
        found = read(record, "analysis", [])
        if isinstance(found, TallyBlock) and (outstanding := self._waiting(found)[1]) is not None:
            outstanding.tallies.take(found, record.value, record.offset)

    def _waiting(self, block: TallyBlock) -> tuple[OpenPeriod, OutstandingRound] | tuple[None, None]:
        """The round of a block, with its period, if the round waits for its tallies."""
        digest = block.round.hex()
        found = ((period, period.outstanding(digest)) for period in self._periods.values())
        return next(((period, outstanding) for period, outstanding in found if outstanding is not None), (None, None))

    def _count(self, period: OpenPeriod) -> None:
        """Go on while the open round is complete: one asked ahead may be so when its period opens."""
        while (ended := period.finish_round()) is not None:
            step = period.method.tally(ended) if isinstance(ended, Answer) else ended
            if isinstance(step, Request):
                self._next(period, step)
            else:
                self._release(period, step)
                self._open(period)

    def _release(self, period: OpenPeriod, decision: Decision) -> None:
        """Release, and settle the period."""
        mixed, most = period.mixed, period.method.most_rounds()
        claims = mixed.claim(period.t, most), mixed.against_users(period.t, most)
        came = Came(period.slots, period.tallies, *claims, period.fakes)
        record = release(self._plan, period.plan, decision, came)
        self._out += self._released.records(record)
        if decision.revised is not None and (before := period.past.pop(decision.revised.t, None)) is not None:
            self._out += self._released.records(revised(period.plan, decision, release_of(before)), newest=False)
        if lag := period.plan.method.revise:
            period.past[record.t] = encode(record).decode()
            period.past.pop(record.t - lag, None)  # still there if it was not revised above, as without any answer
        self._out.append(Out(ROUNDS, encode(Settled(stream=period.plan.name, t=period.t))))
        period.end()

    def _open(self, period: OpenPeriod) -> None:
        """Begin a period. Where the method asks nothing, the tallies of a round of no slots show when it is over."""
        switch(period, self._values)
        step = period.method.open(period.t)
        if isinstance(step, Request):
            self._next(period, step)
            return
        nobody = np.zeros(period.plan.slots, np.bool_)
        ends = self._ask(period, period.t, Request(step.question, nobody, "publication"))
        period.decide_unasked(ends, step)
        self._ahead(period)

    def _next(self, period: OpenPeriod, request: Request) -> None:
        """Write the round of the method's next request, unless it was written ahead."""
        outstanding = period.ahead.pop(period.t) if period.t in period.ahead else self._ask(period, period.t, request)
        period.ask(outstanding)
        self._ahead(period)

    def _ahead(self, period: OpenPeriod) -> None:
        """Write the rounds of the next periods that the method knows by now."""
        for t in range(period.t + 1, period.t + 1 + AHEAD):
            if not self._values.known(t * period.plan.every_ms):
                return
            if t not in period.ahead and (known := period.method.later(t)) is not None:
                period.ahead[t] = self._ask(period, t, known)

    def _ask(self, period: OpenPeriod, t: int, request: Request) -> OutstandingRound:
        """Write a method's request as a round."""
        round_ = round_of(self._values.at(t * period.plan.every_ms), period.plan, t, request)
        self._out.append(Out(ROUNDS, encode(round_)))
        self._urgent = True
        return OutstandingRound(round_)

    def _tick(self, time_ms: int) -> None:
        """Give up the open rounds whose patience is over, and let it begin anew. Write the config record again before
        the log drops it.
        """
        if (again := self._agreed.tick(time_ms)) is not None:
            self._out.append(Out(ROUNDS, encode(again)))
        for period in self._periods.values():
            if period.open is None:
                continue
            if period.since is None:
                end = (period.t + 1) * period.plan.every_ms + self._plan.lateness_ms
                if self._fed and (self._reached is None or self._reached < end):
                    continue  # the recording has not reached the end of the period
                period.since = time_ms if self._fed else max(time_ms, end)
            if time_ms >= period.since + period.open.round.patience_ms:
                period.since = time_ms
                self._out.append(Out(ROUNDS, encode(GiveUp(round=period.open.round.digest.hex()))))
                period.given_up += 1
                self.given_up[period.plan.name] += 1
                self._urgent = True

    @property
    def given_up_now(self) -> dict[str, int]:
        """For each stream that waits for a round, how often that one was given up."""
        return {name: period.given_up for name, period in self._periods.items() if period.open is not None}

    # ---- state: all of it, in every transaction ----

    def replay_from(self, marks: Mapping[Log, int]) -> Mapping[Log, int]:
        """From the marks; of tallies from the first announcement of blocks whose round is still open."""
        first = [outstanding.tallies.first for period in self._periods.values() for outstanding in period.waiting]
        again = min((at for at in first if at is not None), default=None)
        if again is None:
            return marks
        return {log: min(mark, again) if log.topic == TALLIES else mark for log, mark in marks.items()}

    def small(self) -> bytes:
        """Every stream's open period, and where central streams stand. The blocks of tallies are in the log only."""
        courses = {name: kept(period) for name, period in self._periods.items()}
        facts: dict[str, Any] = {"courses": courses, "reached": self._reached, "agreed": self._agreed.kept()}
        if self._plan.latest:
            facts["latest"] = self._released.kept()
        if self._central:
            facts["central"] = {name: course.facts() for name, course in self._courses.items()}
        if any(map(announces_blocks, courses.values())):
            facts["tallied"] = self._tallied
        return dump(FORM, facts, kept_arrays(self._periods))

    def snapshot(self, marks: Mapping[Log, int] = NOWHERE) -> Iterable[bytes]:
        """None: `small` holds everything."""
        return ()

    def restore(self, small: bytes, snapshot: Iterable[bytes], marks: Mapping[Log, int] = NOWHERE) -> None:
        """Take over every stream's open period."""
        state, arrays = load(FORM, small)
        self._reached, self._tallied = state["reached"], state.get("tallied", 0)
        self._agreed.restore(state["agreed"])
        self._released.restore(state.get("latest", {}))
        for name, stored in state.get("central", {}).items():
            stream = written_under(name, stored, self._central.get(name))
            self._courses[name] = CentralCourse(self._plan, stream, stored["first_t"], stored["t"])
            self._courses[name].load(stored)
        for name, stored in state["courses"].items():
            plan = written_under(name, stored, self._mine.get(name))
            self._periods[name] = restored(
                begun(self._plan.at(stored["t"] * plan.every_ms), plan, stored["first_t"], stored["t"]), stored, arrays
            )
