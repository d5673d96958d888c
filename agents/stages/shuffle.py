# SPDX-License-Identifier: Apache-2.0
"""Shuffle: permutes one target's reports of a round and seals them as a sub-batch, so that their order reveals nothing.

Logs: its reports partition, `rounds` and `closings`.  Target 0 alone decides who counts and writes it to `closings`,
which nobody else writes, as a `close`: all contributors as soon as all have sent `done`, or, when publish gives the
round up, those that have.  Every target, 0 too, seals by the round's first `close` and by nothing else, once it has
folded the round itself: so the sub-batches of a round always have the same contributors and the same total, and all of
them are held back below min_batch, or none.  (If a target could seal once all have come, target 0 might still answer a
`give_up` with fewer: two sub-batches of different crowds.)  Only when a `close` is written, and whom it names, depend
on interleaving: all state follows the record.  Of a round that stays below min_batch nothing leaves but that it did: no
count of reports.  A round that is released has as many fakes as this zone's own config says (faking.py), and seals and
blocks do not tell them from reports; one whose question says another number is held back.  Reports that show their
values are not permuted but added up (summing.py).  A round that has fewer targets than there are is over at the others
once it is closed, and nothing is written.  Source: ARCHITECTURE rules 8, 15, 16 and 28.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import ClassVar, Final

import numpy as np

from murmurate.agents.stages.closing import MAX_UNSETTLED
from murmurate.agents.stages.errors import StageError
from murmurate.agents.stages.faking import fakes_of
from murmurate.agents.stages.ordering import permutation_of_rows
from murmurate.agents.stages.plan_by_time import PlanByTime
from murmurate.agents.stages.reading import read
from murmurate.agents.stages.round_in_progress import WAITING, Contribution, RoundInProgress, RoundState
from murmurate.agents.stages.round_question import question_of
from murmurate.agents.stages.stage import NOWHERE, Log, Out, Outbox, Record
from murmurate.agents.stages.summing import added_up, as_agreed, well_formed
from murmurate.config.plan import Plan
from murmurate.randomizers import Faked, Key
from murmurate.randomizers.state import StateForm, dump, load
from murmurate.topics.block import ReportBlock, encode_batch
from murmurate.topics.codec import encode
from murmurate.topics.messages import Close, Config, Done, GiveUp, Rejected, Round, Seal
from murmurate.topics.names import batch_partition

FORM: Final = StateForm("shuffle", 2)
"""The form of the stage's state."""
CLOSINGS: Final = Log("closings", 0)
"""The log that says who counts: shuffle alone writes it."""
SLACK = 64
"""How many rounds more than can be open are remembered, or awaited."""


class Shuffle:
    """The stage of one reports partition."""

    large: ClassVar[bool] = False

    def __init__(self, plan: Plan, key: Key, partition: int, agreed: Config | None = None) -> None:
        self._plan, self._key, self._q, self._values = plan, key, partition, PlanByTime(plan, agreed)
        self._open: dict[str, RoundInProgress] = {}
        self._sealed: dict[str, dict[str, int]] = {}  # sealed rounds, with their newest offset in each log
        self._missing: dict[str, list[int]] = {}  # of the newest of them, contributors left out that may still send
        self._folded = 0  # rounds
        self._streams = {stream.name for stream in plan.streams}
        self._lag = len(plan.streams) * MAX_UNSETTLED + SLACK
        self._out: list[Out] = []
        self._urgent = False
        self.counts: Counter[str] = Counter()
        """Sub-batches sealed | too_small | deadline; and wrong_round, rounds that are not known here any more, of which
        records came. How many reports came with them, or from a contributor that a `close` left out, is counted
        nowhere: they may be below min_batch.
        """

    def fold(self, record: Record) -> None:
        """Take a block or `done` from reports, a record of `rounds`, or a `close`.

        1. Read it. 2. Find its round. 3. Note it there. 4. Close the round, decide or seal, where it is time.
        """
        named = self._q == 0 or record.log != CLOSINGS  # every instance reads `closings`; one writes dead letters
        found = read(record, "mixing", self._out if named else [])
        match found, record.log.topic:  # whoever writes one log has nothing to say in another one
            case ReportBlock() as about, "reports":
                digest = about.round.hex()
            case Round() as about, "rounds":
                if about.stream not in self._streams or about.contributors > self._plan.partitions:
                    return  # nobody will answer: it would hold back the log for ever
                digest = about.digest.hex()
            case Done() as about, "reports":
                digest = about.round
            case GiveUp() as about, "rounds":
                digest = about.round
            case Close() as about, "closings":
                digest = about.round
            case Config() as told, "rounds":
                self._values.fold(told)
                return
            case _:
                return
        if digest in self._sealed:
            self._after(digest, record, found)
            return
        if digest not in self._open and isinstance(found, GiveUp):
            return  # its round is before it in this log, so it has been sealed and forgotten
        current = self._open.get(digest) or self._begun(digest)
        current.first.setdefault(record.log.topic, record.offset)
        current.last[record.log.topic] = record.offset
        match found:
            case ReportBlock():
                current.contributions.setdefault(found.contributor, Contribution()).reports.append(found.reports)
            case Done():
                current.contributions.setdefault(found.contributor, Contribution()).done = found
            case Round():
                if current.state.now is RoundState.UNKNOWN:
                    current.state.to(RoundState.ASKED)
                    current.round = found
                self._forget_unknown_rounds()
            case Close():
                current.closes.append(found)
        if current.state.now in WAITING:
            self._close(current)
        if self._q == 0 and current.state.now in WAITING and not isinstance(found, ReportBlock):
            self._decide(digest, current, isinstance(found, GiveUp))
        if current.state.now is RoundState.CLOSED:
            self._try_to_seal(digest, current)

    def ready(self, log: Log) -> bool:
        """Always: what comes too early waits here."""
        return True

    def drain(self) -> Outbox:
        """Sealed sub-batches and `close` records: both are urgent."""
        out, self._out, urgent, self._urgent = tuple(self._out), [], self._urgent, False
        return Outbox(out, urgent)

    def _close(self, current: RoundInProgress) -> None:
        """Close a known round by the first `close` that names contributors of the round only: any other one would be
        awaited for ever. It may have come before the round, in a log of its own.
        """
        assert current.round is not None  # noqa: S101 - it is known from `asked` on
        contributors = range(current.round.contributors)
        named = next((one for one in current.closes if all(c in contributors for c in one.contributors)), None)
        current.closes.clear()
        if named is not None:
            current.state.to(RoundState.CLOSED)
            current.closed = named.contributors

    def _decide(self, digest: str, current: RoundInProgress, give_up: bool) -> None:
        """Target 0 only: write a `close` if it is time for one. A second one has no effect: the first in the log holds.

        Once all contributors are done it names them all. At a `give_up` it names those that are done. If none is, the
        cause is not a late contributor but a door that was down, whose period must not be lost: there is no `close`.
        The first `give_up` after that with somebody done writes none either, so that the others have one more whole
        patience.
        """
        assert current.round is not None  # noqa: S101 - it is known from `asked` on
        contributors = range(current.round.contributors)
        here = tuple(c for c in contributors if (one := current.contributions.get(c)) and one.done is not None)
        if give_up == (len(here) == len(contributors)):
            return  # too early; or the `close` was written when the last of them came
        if give_up:
            before = current.state.now
            if (before is RoundState.EMPTY) == bool(here):
                current.state.to(RoundState.ASKED if here else RoundState.EMPTY)
            if before is RoundState.EMPTY or not here:
                return
        self._out.append(Out(CLOSINGS, encode(Close(round=digest, contributors=here))))
        self._urgent = True

    def _begun(self, digest: str) -> RoundInProgress:
        """Begin a round whose first record has come."""
        self._open[digest] = RoundInProgress.begun(f"shuffle {self._q}: round {digest[:16]}", self._folded)
        return self._open[digest]

    def _after(self, digest: str, record: Record, found: object) -> None:
        """Note a record of a sealed round: it only changes how long the round is remembered."""
        self._sealed[digest][record.log.topic] = record.offset
        late = self._missing.get(digest, [])
        if isinstance(found, Done) and found.contributor in late:
            late.remove(found.contributor)
            if not late:
                del self._missing[digest]

    def _forget_unknown_rounds(self) -> None:
        """Drop the records of rounds whose descriptor can no longer follow: they were sealed and forgotten long ago.

        Publish has at most MAX_UNSETTLED rounds of a stream open, and writes the next one after this target's
        sub-batch of the first.  So if a record comes before its round's descriptor, the descriptor is among the next
        `_lag` in the log, or it never comes.
        """
        self._folded += 1
        for digest, one in list(self._open.items()):
            if one.state.now is RoundState.UNKNOWN and self._folded - one.since > self._lag:
                one.state.to(RoundState.FORGOTTEN)
                del self._open[digest]
                self.counts["wrong_round"] += 1

    def _try_to_seal(self, digest: str, current: RoundInProgress) -> None:
        round_, named = current.round, current.closed
        assert round_ is not None  # noqa: S101 - as above
        if self._q >= round_.targets:  # no report of it comes here
            current.state.to(RoundState.SEALED)
            del self._open[digest]
            self._sealed[digest] = current.last
            return
        sent = [current.contributions.get(contributor) for contributor in named]
        if any(one is None or one.done is None for one in sent):
            return
        current.state.to(RoundState.SEALED)
        del self._open[digest]
        missing = sorted(set(range(round_.contributors)) - set(named))
        late = [c for c in missing if (one := current.contributions.get(c)) is None or one.done is None]
        self._sealed[digest] = current.last
        if late:
            self._missing[digest] = late
            if len(self._missing) > self._lag:  # a record that comes even later is of an unknown round
                del self._missing[next(iter(self._missing))]
        self._seal(round_, [one for one in sent if one is not None], tuple(missing))

    def _seal(self, round_: Round, sent: list[Contribution], missing: tuple[int, ...]) -> None:
        """1. Count. 2. Decide by the round's total. 3. Add fakes. 4. Permute, or add up. 5. Blocks, then their seal.

        The question has to say how many fakes there are, since whoever estimates takes so many out: a round of another
        number would be one that a server made up to have fewer.
        """
        question = question_of(round_)
        width, total, here = question.wire_size, 0, 0
        fitting: list[np.ndarray] = []
        for one in sent:
            assert one.done is not None  # noqa: S101 - what `_try_to_seal` made sure of
            came = sum(len(reports) for reports in one.reports)
            if came != one.done.sent:
                raise StageError(
                    f"shuffle {self._q}: contributor {one.done.contributor} sent {one.done.sent}, {came} came"
                )
            total, here = total + one.done.total, here + came
            fitting += [reports for reports in one.reports if reports.shape[1] == width]
        reports = np.concatenate(fitting) if fitting else np.zeros((0, width), np.uint8)
        agreed = question.fakes == self._plan.fakes and as_agreed(self._plan, round_, question)
        made = self._values.at(round_.t * self._plan.stream(round_.stream).every_ms)
        small = total < made.min_batch or not agreed
        if small:  # nothing is said of how many came, nor of how
            reports, here = reports[:0], 0
        elif isinstance(question, Faked):
            fakes = fakes_of(self._key, question, self._q, self._plan.targets, round=round_.digest)
            reports, here = np.concatenate((reports, fakes)), here + len(fakes)
        elif question.summed_when_mixed:
            reports = well_formed(question, reports)
        self.counts["too_small" if small else "deadline" if missing else "sealed"] += 1
        blocks: list[bytes] = []
        if len(reports) and question.summed_when_mixed:  # they show their values, and only their sums leave
            blocks = list(added_up(round_, self._q, question, reports))
        elif len(reports):
            order = permutation_of_rows(self._key, len(reports), self._q, round=round_.digest)
            blocks = list(encode_batch(round_.digest, self._q, reports, order))
        seal = Seal(
            round=round_.digest.hex(), q=self._q, received=here, counted=len(reports), missing=missing,
            rejected=Rejected(malformed=here - len(reports), undersized=small and round_.slots.count() > 0),
            blocks=len(blocks), descriptor=round_,
        )  # fmt: skip
        log = Log("batches", batch_partition(round_.stream, self._q, self._plan.targets))
        self._out += [Out(log, block) for block in blocks]
        self._out.append(Out(log, encode(seal)))
        self._urgent = True

    # ---- state: the logs from the first record of any open round, and which rounds after that are sealed ----

    def replay_from(self, marks: Mapping[Log, int]) -> Mapping[Log, int]:
        """From the first record of a round that is not sealed."""
        starts = {
            log: min([mark, *(one.first[log.topic] for one in self._open.values() if log.topic in one.first)])
            for log, mark in marks.items()
        }
        by_topic = {log.topic: start for log, start in starts.items()}
        self._sealed = {
            digest: last
            for digest, last in self._sealed.items()
            if digest in self._missing or any(offset >= by_topic.get(topic, 0) for topic, offset in last.items())
        }
        return starts

    def small(self) -> bytes:
        """The sealed rounds of which a replay would read records again."""
        facts = {"sealed": list(self._sealed.items()), "missing": list(self._missing.items())}  # the oldest goes first
        return dump(FORM, facts, {})

    def snapshot(self, marks: Mapping[Log, int] = NOWHERE) -> Iterable[bytes]:
        """None: the logs hold everything."""
        return ()

    def restore(self, small: bytes, snapshot: Iterable[bytes], marks: Mapping[Log, int] = NOWHERE) -> None:
        """Take over which rounds are sealed; the others come from the logs."""
        kept, _ = load(FORM, small)
        self._sealed, self._missing = dict(kept["sealed"]), dict(kept["missing"])
