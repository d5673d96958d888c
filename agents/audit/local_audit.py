# SPDX-License-Identifier: Apache-2.0
"""The audit of local streams as their logs grow: who had to answer what, and what they sent.

Contract: findings follow from what the logs hold, not from how reading them was interleaved.  An answer is judged when
it has come and its period has closed, and again when more of it comes; what may still come is missing only once the
marks say so (`settle`).  Memory is that of users, of the rounds that are not settled, and of the KEPT newest periods
that are: of older ones a late report is foreign.  Not here: what the mixing zone made of answers (mixed_audit.py),
where logs come from (auditor.py).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from murmurate.agents.audit.answers import ContributorAnswer, count_only, judge
from murmurate.agents.audit.asked import AskedRound, AskedSlots
from murmurate.agents.audit.expected import ExpectedReports, targets_of
from murmurate.agents.audit.findings import Audit, Extent, Verdict
from murmurate.agents.audit.known_rounds import KnownRounds
from murmurate.agents.audit.local_state import load_state, state_of
from murmurate.agents.audit.mixed_audit import Finding, MixedAudit
from murmurate.agents.audit.people import KEPT, PeopleAtPartition
from murmurate.agents.audit.prints import Printer
from murmurate.agents.audit.transcripts import Transcripts
from murmurate.config.plan import Plan
from murmurate.randomizers import Secrets
from murmurate.randomizers.sessions.node import Node
from murmurate.topics.block import Block, RawBlock, ReportBlock
from murmurate.topics.message import Message
from murmurate.topics.messages import Done, Progress, Round, Settled, Start
from murmurate.topics.quiet import Quiet

AnswerAt = tuple[str, int]
"""A round's digest and a contributor."""


class LocalAudit:
    """Everything about local streams. people: whether it will be known who had to answer; short: only from some period
    on, since the logs do not go back to the beginning. covers: whether everything of a round is still there.
    """

    def __init__(
        self, plan: Plan, secrets: Secrets, sources: Mapping[str, int], *, people: bool = True, short: bool = False,
        covers: Callable[[str], bool] = lambda digest: True,
    ) -> None:  # fmt: skip
        self.plan, self._key, self._knows_people = plan, secrets.randomness, people
        self._printer = Printer(secrets.randomness)
        self.slots = {one.name: AskedSlots(plan, one, short=short or not people) for one in plan.streams}
        self.people = {
            (stream.name, p): PeopleAtPartition(plan, stream, secrets, p, sources)
            for stream in plan.streams
            for p in range(plan.partitions)
        }
        self.transcripts = {at: Transcripts(secrets.randomness, people) for at, people in self.people.items()}
        self.asked: dict[str, AskedRound] = {}
        self.of_period: dict[str, dict[int, list[str]]] = {stream.name: defaultdict(list) for stream in plan.streams}
        """Per stream and period the digests of the rounds about it, in the order of the log."""
        self.answers: dict[AnswerAt, ContributorAnswer] = {}
        self.mixed = MixedAudit(plan, self._printer, lambda digest, p: self.answers.get((digest, p)))
        self.touched: set[AnswerAt] = set()
        self.before = Audit()
        """What was found of rounds that were let go."""
        self.known = KnownRounds(self.people, self.slots, all_people=people, short=short, covers=covers)
        self._settled = False

    # ---- folding ----

    def take(self, topic: str, partition: int, number: int, record: Block | Message, data: bytes) -> None:
        """One record of a log."""
        match topic, record:
            case "raw", RawBlock() if self._knows_people:
                for stream in self.plan.streams:
                    self.people[stream.name, partition].take(record)
            case "raw", (Progress() | Quiet()) if self._knows_people:
                for stream in self.plan.streams:
                    for t in self.people[stream.name, partition].tick(record, number):
                        self._settled = True  # what is settled may be known long before it closes
                        for digest in self.of_period[stream.name].get(t, ()):
                            self._due(digest, partition)
            case "rounds", Start() if record.stream in self.slots:
                self.slots[record.stream].start(record)
            case "rounds", Settled() if record.stream in self.slots:
                self.slots[record.stream].settle(record.t)
                self._settled = True
            case "rounds", Round() if record.stream in self.slots:
                self._round(record, number)
            case "reports", ReportBlock():
                at = record.round.hex(), record.contributor
                answer = self._answer(at)
                answer.take(partition, record.reports)
                self.mixed.came(*at, partition, late=answer.judged)
                self.touched.add(at)
            case "reports", Done():
                at = record.round, record.contributor
                self._answer(at).done(partition, record.sent, record.total)
                self.touched.add(at)
            case (("closings" | "batches" | "tallies"), _):
                self.mixed.take(topic, partition, number, record, data)

    def aborted(self, q: int, record: Block | Message) -> int:
        """A record of `reports` that was never committed. Gives how many reports it holds."""
        if not isinstance(record, ReportBlock):
            return 0
        at = record.round.hex(), record.contributor
        self._answer(at).attempt(q, record.sequence, record.reports)
        self.touched.add(at)
        return len(record.reports)

    def _round(self, round_: Round, number: int) -> None:
        digest = round_.digest.hex()
        if digest in self.asked or digest in self.known.skipped:
            return  # twice in the log: it is answered once
        asked = self.slots[round_.stream].ask(round_, number)
        if self.known.skips(asked):
            return
        self.asked[digest] = asked
        self.of_period[round_.stream][round_.t].append(digest)
        for p in range(self.plan.partitions):
            if round_.t in self.people[round_.stream, p].closed:
                self._due(digest, p)
            if (digest, p) in self.answers:
                self.touched.add((digest, p))

    def _due(self, digest: str, p: int) -> None:
        """The period of a round has closed at a contributor: a session tells its node now, in its turn."""
        asked, answer = self.asked[digest], self._answer((digest, p))
        fits = (asked.allowed | asked.refused).any()
        if isinstance(asked.question, Node) and fits and self.known.judges(asked):
            stream, t = asked.round.stream, asked.round.t
            rows, reports = self.transcripts[stream, p].told(asked.question, t, asked.round.digest, asked.allowed)
            answer.told = ExpectedReports(
                rows, targets_of(asked, self._key, self.people[stream, p].users(rows)), reports
            )
        self.touched.add((digest, p))

    # ---- judging ----

    def judge(self) -> None:
        """Judge what has come whole, and let go of what is settled."""
        for at in list(self.touched):
            asked, answer = self.asked.get(at[0]), self.answers[at]
            if asked is not None and self._contributes(at[1]) and answer.answered(asked):
                self._judge(at, asked, answer, whole=True)
        self.mixed.judge(self.asked)
        if self._settled:
            self._settled = False
            self._forget(over=False)

    def settle(self, extent: Extent) -> int:
        """Judge what is missing too. extent: what must have been answered and tallied of all that was taken. Gives how
        many answers may still come.

        1. Answers, of which none may come. 2. Reports that nobody awaits. 3. Sub-batches. 4. Let go.
        """
        self.judge()
        pending = 0
        for digest, asked in self.asked.items():
            for p in range(self.plan.partitions):
                answer = self.answers.get((digest, p))
                if answer is not None and answer.judged and not answer.changed:
                    continue
                closed = self.people[asked.round.stream, p].closed.get(asked.round.t)
                if closed is None or not self.known.judges(asked):
                    continue
                answer = self._answer((digest, p))
                whole = extent.answered(p, asked.number, closed.number) or answer.answered(asked)
                pending += not whole
                if whole or answer.changed:
                    self._judge((digest, p), asked, answer, whole=whole)
        for at in list(self.touched):
            self._judge_stranger(at)
        self.mixed.settle(self.asked, extent)
        for place, kind, n in self.mixed.drop_unknown({**self.asked, **self.known.skipped}):
            if self.known.begun:
                self.before.note(kind, n, place)
        self.known.begun = True
        self._forget(over=True)
        return pending

    def _judge(self, at: AnswerAt, asked: AskedRound, answer: ContributorAnswer, *, whole: bool) -> None:
        people = self.people[asked.round.stream, at[1]]
        closed = people.closed.get(asked.round.t)
        if not self.known.judges(asked):
            count_only(answer, asked, self._printer)
        elif closed is None:
            return  # its period has not closed here, or never will
        else:
            judge(answer, asked, people, closed, self._key, self._printer, whole)
        self.touched.discard(at)
        if whole:
            for q in range(asked.targets):
                self.mixed.came(*at, q, late=False)

    def _judge_stranger(self, at: AnswerAt) -> None:
        """Reports of rounds that nobody asked, of periods that have not closed, of contributors that there are not."""
        digest, p = at
        asked, answer = self.asked.get(digest), self.answers[at]
        if asked is not None and self._contributes(p) and asked.round.t in self.people[asked.round.stream, p].closed:
            return
        self.touched.discard(at)
        if digest in self.known.skipped or (asked is None and not self.known.begun):
            del self.answers[at]
            return
        if not self._knows_people or (asked is not None and not self.known.judges(asked)):
            return
        found: Verdict = Counter({("foreign", q): sum(map(len, blocks)) for q, blocks in answer.blocks.items()})
        if asked is None:
            for q, rows in answer.attempts:
                found["foreign", q] += sum(map(len, rows))
            for (kind, q), n in found.items():
                self.before.note(kind, n, (digest, p, q))
            del self.answers[at]
        else:
            answer.verdict = +found

    # ---- what is known ----

    @property
    def awaited(self) -> int:
        """The most periods of a stream that have closed at a contributor and are not answered there."""
        return max((len(self._unanswered(stream.name, p)) for stream in self.plan.streams
                    for p in range(self.plan.partitions)), default=0)  # fmt: skip

    def _unanswered(self, stream: str, p: int) -> list[int]:
        closed = self.people[stream, p].closed
        return [
            t for t, digests in self.of_period[stream].items() if t in closed
            and not all((answer := self.answers.get((digest, p))) is not None and answer.judged for digest in digests)
        ]  # fmt: skip

    @property
    def early(self) -> int:
        """The bytes of reports that cannot be judged yet."""
        return sum(
            block.nbytes for at in self.touched if at in self.answers
            for blocks in self.answers[at].blocks.values() for block in blocks
        )  # fmt: skip

    def _answer(self, at: AnswerAt) -> ContributorAnswer:
        return self.answers.setdefault(at, ContributorAnswer())

    def _contributes(self, p: int) -> bool:
        return 0 <= p < self.plan.partitions

    # ---- letting go ----

    def _forget(self, *, over: bool) -> None:
        """Rounds of settled periods but for the newest, once nothing of them is missing; then the periods. over:
        nothing of what was found missing may still come.
        """
        for stream in self.plan.streams:
            settled, periods = self.slots[stream.name].settled_t, self.of_period[stream.name]
            for t in sorted(t for t in periods if t <= settled - KEPT):
                if all(self._finished(digest, over=over) for digest in periods[t]):
                    for digest in periods.pop(t):
                        self._drop(digest)
            oldest = min([settled - KEPT, *periods]) - 1
            for p in range(self.plan.partitions):
                at = stream.name, p
                self.transcripts[at].forget(oldest)
                self.people[at].forget(settled, {*periods, *self.transcripts[at].needed(oldest)})

    def _finished(self, digest: str, *, over: bool) -> bool:
        asked = self.asked[digest]
        if not asked.allowed.any() and not asked.refused.any():
            return over  # nobody had to answer, and whatever comes is foreign
        for p in range(self.plan.partitions):
            answer, people = self.answers.get((digest, p)), self.people[asked.round.stream, p]
            never = people.first_t is not None and asked.round.t < people.first_t
            if not never and (answer is None or not answer.judged or answer.changed):
                return False
        return self.mixed.finished(digest, asked.targets, over=over)

    def _drop(self, digest: str) -> None:
        for place, kind, n in self._findings(digest):
            self.before.note(kind, n, place)
        for at in [at for at in self.answers if at[0] == digest]:
            answer = self.answers.pop(at)
            self.before.reports += sum(answer.received.values()) if answer.judged else 0
            self.touched.discard(at)
        self.mixed.drop(digest)
        self.before.rounds += 1
        del self.asked[digest]

    # ---- findings ----

    def _findings(self, digest: str | None = None) -> Iterator[Finding]:
        for (of, p), answer in self.answers.items():
            for verdict in (answer.verdict, answer.tried) if digest in (None, of) else ():
                yield from (((of, p, q), kind, n) for (kind, q), n in sorted(verdict.items()))
        yield from self.mixed.findings(digest)

    def add_to(self, found: Audit) -> None:
        """Add everything that was found to an audit."""
        found.add(self.before)
        for place, kind, n in self._findings():
            found.note(kind, n, place)
        found.reports += sum(sum(one.received.values()) for one in self.answers.values() if one.judged)
        found.rounds += len(self.asked)
        found.users += sum(map(len, self.people.values()))

    def state(self) -> dict[str, Any]:
        """Everything, for a checkpoint."""
        return state_of(self)

    def load(self, state: dict[str, Any]) -> None:
        """Take over a state."""
        load_state(self, state)
