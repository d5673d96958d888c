"""Shuffle: one target's reports of a round, sealed as one permuted sub-batch. It sees arrival, and mixes it.

Logs: its reports partition and `rounds`.  Target 0 alone decides who counts and writes it to `rounds` as a `close`:
all contributors as soon as all have said `done`, or, when publish gives the round up, those that have.  Everyone,
target 0 too, seals by the first `close` in the log and by nothing else: so the sub-batches of a round always have the
same contributors and the same total, and all of them are held back below min_batch, or none.  (If a target could seal
because all are in, target 0 might still answer a `give_up` with fewer: two sub-batches of different crowds.)  Only
moment and content of a `close` depend on interleaving: all state follows the record.  Source: ARCHITECTURE rules 8, 15,
16.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import ClassVar, Final

import numpy as np

from murmurate.agents.stages.closing import MAX_UNSETTLED
from murmurate.agents.stages.errors import StageError
from murmurate.agents.stages.ordering import permutation_of_rows
from murmurate.agents.stages.reading import read
from murmurate.agents.stages.round_in_progress import WAITING, Contribution, RoundInProgress, RoundState
from murmurate.agents.stages.round_question import question_of
from murmurate.agents.stages.stage import NOWHERE, Log, Out, Outbox, Record
from murmurate.config.plan import Plan
from murmurate.randomizers import Key
from murmurate.randomizers.state import StateForm, dump, load
from murmurate.topics.block import ReportBlock, encode_batch
from murmurate.topics.codec import encode
from murmurate.topics.messages import Close, Done, GiveUp, Rejected, Round, Seal
from murmurate.topics.names import batch_partition

FORM: Final = StateForm("shuffle", 1)
"""The form of the stage's state."""
SLACK = 64
"""How many rounds may be met late, or missed, beyond those that may be open."""


class Shuffle:
    """The stage of one reports partition."""

    large: ClassVar[bool] = False

    def __init__(self, plan: Plan, key: Key, partition: int) -> None:
        self._plan, self._key, self._q = plan, key, partition
        self._open: dict[str, RoundInProgress] = {}
        self._sealed: dict[str, dict[str, int]] = {}  # rounds that may be met again, and where they were met last
        self._missing: dict[str, list[int]] = {}  # of the newest, who was closed out and may still come
        self._met = 0  # rounds
        self._streams = {stream.name for stream in plan.streams}
        self._lag = len(plan.streams) * MAX_UNSETTLED + SLACK
        self._out: list[Out] = []
        self._urgent = False
        self.counts: Counter[str] = Counter()
        """Sub-batches sealed | too_small | deadline; and reports that no sub-batch counts, wrong_round: those of
        contributors that were closed out, before and after, and of rounds that are forgotten.
        """

    def fold(self, record: Record) -> None:
        """A block or `done` from reports, or a record of `rounds`."""
        found = read(record, "mixing", self._out)
        match found:
            case ReportBlock():
                digest = found.round.hex()
            case Round():
                if found.stream not in self._streams or found.contributors > self._plan.partitions:
                    return  # nobody will answer: it would hold back the log for ever
                digest = found.digest.hex()
            case Done() | GiveUp() | Close():
                digest = found.round
            case _:
                return
        if digest in self._sealed:
            self._after(digest, record, found)
            return
        if digest not in self._open and isinstance(found, GiveUp | Close):
            return  # its round stands before it in this log, so it has been sealed and forgotten
        current = self._open.get(digest) or self._begun(digest)
        current.first.setdefault(record.log.topic, record.offset)
        current.last[record.log.topic] = record.offset
        match found:
            case ReportBlock():
                current.contributions.setdefault(found.contributor, Contribution()).reports.append(found.reports)
            case Done():
                current.contributions.setdefault(found.contributor, Contribution()).done = found
            case Round():
                if current.state.now is RoundState.STRANGE:
                    current.state.to(RoundState.ASKED)
                    current.round = found
                self._forget_strangers()
            case Close() if current.state.now in WAITING and _answers(current.round, found):  # the first one holds
                current.state.to(RoundState.CLOSED)
                current.closed = found.contributors
        if self._q == 0 and current.state.now in WAITING and not isinstance(found, ReportBlock):
            self._decide(digest, current, isinstance(found, GiveUp))
        if current.state.now is RoundState.CLOSED:
            self._try_to_seal(digest, current)

    def ready(self, log: Log) -> bool:
        """Always: what comes too early waits here."""
        return True

    def drain(self) -> Outbox:
        """Sealed sub-batches, and who counts: all of it decisive."""
        out, self._out, urgent, self._urgent = tuple(self._out), [], self._urgent, False
        return Outbox(out, urgent)

    def _decide(self, digest: str, current: RoundInProgress, give_up: bool) -> None:
        """Target 0 only: say who counts, if that may be said now. Whatever is said twice is said in vain: the first
        `close` in the log holds.

        All are in: say so. A `give_up` with somebody here: name them. With nobody here it is no contributor that is
        late but the door that was down, and its period must not be lost: no answer. The next `give_up` finds those
        who came first and leaves the others the time to its successor, a whole patience.
        """
        assert current.round is not None  # noqa: S101 - it is known from `asked` on
        contributors = range(current.round.contributors)
        here = tuple(c for c in contributors if (one := current.contributions.get(c)) and one.done is not None)
        if give_up == (len(here) == len(contributors)):
            return  # nothing to say yet; or it was said when the last of them came
        if give_up:
            before = current.state.now
            if (before is RoundState.EMPTY) == bool(here):
                current.state.to(RoundState.ASKED if here else RoundState.EMPTY)
            if before is RoundState.EMPTY or not here:
                return
        self._out.append(Out(Log("rounds", 0), encode(Close(round=digest, contributors=here))))
        self._urgent = True

    def _begun(self, digest: str) -> RoundInProgress:
        """A round of which this is the first record here."""
        self._open[digest] = RoundInProgress.begun(f"shuffle {self._q}: round {digest[:16]}", self._met)
        return self._open[digest]

    def _after(self, digest: str, record: Record, found: object) -> None:
        """A record of a round that is sealed: it changes nothing but how long the round is remembered."""
        self._sealed[digest][record.log.topic] = record.offset
        late = self._missing.get(digest, [])
        if isinstance(found, ReportBlock):
            self.counts["wrong_round"] += len(found.reports)
        if isinstance(found, Done) and found.contributor in late:
            late.remove(found.contributor)
            if not late:
                del self._missing[digest]

    def _forget_strangers(self) -> None:
        """Drop what came for rounds that were closed long ago: nobody will ask for it again.

        Publish asks at most MAX_UNSETTLED rounds of a stream at a time, and the next after this target's sub-batch of
        the first.  So where a record comes before its round is known here, that round is one of the next so many of
        all streams in the log, or gone.
        """
        self._met += 1
        for digest, one in list(self._open.items()):
            if one.state.now is RoundState.STRANGE and self._met - one.since > self._lag:
                one.state.to(RoundState.FORGOTTEN)
                del self._open[digest]
                self.counts["wrong_round"] += sum(len(r) for sent in one.contributions.values() for r in sent.reports)

    def _try_to_seal(self, digest: str, current: RoundInProgress) -> None:
        round_, named = current.round, current.closed
        assert round_ is not None  # noqa: S101 - as above
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
            if len(self._missing) > self._lag:  # whoever comes later still is a stranger
                del self._missing[next(iter(self._missing))]
        dropped = [one for contributor, one in current.contributions.items() if contributor not in named]
        self.counts["wrong_round"] += sum(len(reports) for one in dropped for reports in one.reports)
        self._seal(round_, [one for one in sent if one is not None], tuple(missing))

    def _seal(self, round_: Round, sent: list[Contribution], missing: tuple[int, ...]) -> None:
        """1. Count. 2. Decide by the round's total. 3. Permute. 4. Blocks, then the seal that counts them."""
        width = question_of(round_).wire_size
        total = here = 0
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
        malformed = here - len(reports)
        undersized = 0
        if total < self._plan.min_batch:
            undersized, reports = len(reports), reports[:0]
        self.counts["too_small" if total < self._plan.min_batch else "deadline" if missing else "sealed"] += 1
        order = permutation_of_rows(self._key, len(reports), self._q, round=round_.digest)
        blocks = list(encode_batch(round_.digest, self._q, reports, order)) if len(reports) else []
        seal = Seal(
            round=round_.digest.hex(), q=self._q, received=here, counted=len(reports), missing=missing,
            rejected=Rejected(malformed=malformed, undersized=undersized),
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
        """Rounds that a replay would meet again although they are sealed."""
        facts = {"sealed": list(self._sealed.items()), "missing": list(self._missing.items())}  # the oldest goes first
        return dump(FORM, facts, {})

    def snapshot(self, marks: Mapping[Log, int] = NOWHERE) -> Iterable[bytes]:
        """None: the logs hold everything."""
        return ()

    def restore(self, small: bytes, snapshot: Iterable[bytes], marks: Mapping[Log, int] = NOWHERE) -> None:
        """Know which rounds are sealed; the others come from the logs."""
        kept, _ = load(FORM, small)
        self._sealed, self._missing = dict(kept["sealed"]), dict(kept["missing"])


def _answers(round_: Round | None, close: Close) -> bool:
    """Whether a `close` names contributors of its round only: one that does not exist would be waited for for ever."""
    return round_ is not None and all(contributor < round_.contributors for contributor in close.contributors)
