# SPDX-License-Identifier: Apache-2.0
"""Perturb: raw events and rounds in, randomized reports out. One instance is the guard of all users of a raw partition.

Logs: its raw partition (blocks of events, progress and quiet records) and `rounds`.  A round is charged when its
descriptor is folded, and answered once its period has closed as well: every member answers, a user without a value with
*none*.  The reports are permuted, each draws its own target, and a `done` record gives every target the number of
reports sent to it and to all.  Source: ARCHITECTURE rules 4 to 8 and 14.  Not here: deciding (Device).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import ClassVar, Final

import numpy as np

from murmurate.agents.stages.answering import answer
from murmurate.agents.stages.central_streams import CentralStreams, taken_out
from murmurate.agents.stages.edge_secrets import EdgeSecrets
from murmurate.agents.stages.errors import WAY_ON, StateError
from murmurate.agents.stages.frozen import closing_facts, facts_of, first_sources, frozen, refuse_others
from murmurate.agents.stages.ordering import by_target, permutation
from murmurate.agents.stages.reading import dead, read
from murmurate.agents.stages.sealing import SnapshotSeal
from murmurate.agents.stages.stage import NOWHERE, Log, Out, Outbox, Record
from murmurate.agents.stages.stream_at_partition import StreamAtPartition, stream_at_partition
from murmurate.agents.stages.user_index import UNKNOWN, UserIndex
from murmurate.config.plan import Plan
from murmurate.randomizers import Grant, Refusal
from murmurate.randomizers.identity import NO_STREAM, partitions, streams
from murmurate.randomizers.state import Arrays, StateForm, collect, pieces
from murmurate.randomizers.terms import Facts
from murmurate.topics.block import RawBlock
from murmurate.topics.messages import Progress, Round, Settled, Start
from murmurate.topics.names import stream_id
from murmurate.topics.quiet import Quiet

FORM: Final = StateForm("perturb snapshot", 1)


class Perturb:
    """The stage of one raw partition. `sources`: the first number of partitions of each source topic."""

    large: ClassVar[bool] = True

    def __init__(self, plan: Plan, secrets: EdgeSecrets, partition: int, sources: Mapping[str, int]) -> None:
        self._plan, self._secrets, self._partition = plan, secrets, partition
        self._sources = dict(sources)
        self.edge_counts: Counter[tuple[str, str]] = Counter()
        """(stream, accepted | late | foreign | second | width | over) -> raw events, for the edge's own metrics."""
        self._terms = plan.terms(secrets.fingerprints())
        self._seal = SnapshotSeal(secrets.state, f"{plan.name}/perturb/{partition}")
        self.proof = self._seal.proof  # of its state records
        self._user_index = UserIndex()
        self._placed = 0  # users of the index who have their places in the streams
        self._home = np.full(1, NO_STREAM, np.int16)  # per user: position of the stream served (split = "users"),
        self._row = np.zeros(1, np.int32)  # and the row there; the last entry of both is what UNKNOWN points to
        built = partial(stream_at_partition, plan, self._terms, secrets.devices, partition)
        self._streams = {stream.name: built(stream, sources[stream.topic]) for stream in plan.streams}
        self._central = CentralStreams(plan, partition, sources, self.edge_counts)
        self._in_order = [self._streams[terms.name] for terms in self._terms.streams]
        self._by_id = {stream_id(name): stream for name, stream in self._streams.items()}
        self._out: list[Out] = []
        self._urgent = False
        self.refusals: Counter[tuple[str, str]] = Counter()
        """(stream, reason) -> users for whom a round was refused."""

    # ---- folding ----

    def fold(self, record: Record) -> None:
        """Take one record of the raw partition or of `rounds`."""
        match read(record, "edge", self._out), record.log.topic:  # in `rounds`, which others write, nothing is an event
            case RawBlock() as block, "raw":
                self._events(block, record)
            case (Progress() | Quiet()) as clock, "raw":
                self._clock(clock)
            case Start() as begun, "rounds" if begun.stream in self._streams:
                self._start(self._streams[begun.stream], begun.t)
            case Round() as round_, "rounds" if round_.stream in self._streams:
                self._round(round_)
            case Settled() as settled, "rounds" if settled.stream in self._streams:
                self._settle(self._streams[settled.stream], settled.t)

    def ready(self, log: Log) -> bool:
        """Whether this log may be folded now: raw waits while as many periods as allowed wait for their decision."""
        return log.topic != "raw" or not any(each.waits for each in self._streams.values())

    def drain(self) -> Outbox:
        """Reports and `done` records, which are urgent."""
        out, self._out, urgent, self._urgent = tuple(self._out), [], self._urgent, False
        return Outbox(out, urgent)

    # ---- raw ----

    def _events(self, block: RawBlock, record: Record) -> None:
        stream = self._by_id.get(block.stream)
        if stream is None:
            self._out += self._central.events(block, record)
            return
        if block.words != stream.plan.domain.words:  # written under another config
            self.edge_counts[stream.plan.name, "width"] += len(block.users)
            self._out.append(dead("width", record, "edge"))
            return
        users, times, codes = block.users, block.times, block.values
        # By the times in raw, never by `open_t`: how long a close is put off depends on `rounds`.
        past = times < (stream.closing.reached_t or 0) * stream.plan.every_ms
        if past.any():  # a door refuses late events, so these come from something else, or from a door's beginning
            self.edge_counts[stream.plan.name, "late"] += int(past.sum())
            users, times, codes = users[~past], times[~past], codes[~past]
        found = self._find(users)
        rows = self._rows(found, stream)
        mine = rows != UNKNOWN
        if not mine.all():
            self.edge_counts[stream.plan.name, "foreign"] += int((found == UNKNOWN).sum())
            rows, times, codes = rows[mine], times[mine], codes[mine]
        stream.values.mark_seen(rows, times)  # an event marks its user in its own stream only, whose clock accepted it
        good = stream.valid(codes)  # not REFUSED, nor a value of another config
        accepted = int(good.sum())
        self.edge_counts[stream.plan.name, "accepted"] += accepted
        if accepted < len(good):
            rows, times, codes = rows[good], times[good], codes[good]
        stream.values.take(rows, times, codes)

    def _rows(self, everybody: np.ndarray, stream: StreamAtPartition) -> np.ndarray:
        """Rows of the index as rows of a stream; UNKNOWN for users of other streams."""
        if self._plan.split == "budget":
            return everybody
        return np.where(self._home[everybody] == stream.position, self._row[everybody], UNKNOWN)

    def _find(self, users: np.ndarray) -> np.ndarray:
        """Each user's row in the index. New users are enrolled; those of another partition are not, and get UNKNOWN."""
        found = self._user_index.find(users)
        new = found == UNKNOWN
        if new.any():
            new[new] = partitions(users[new], self._plan.partitions) == self._partition
            found[new] = self._user_index.add(users[new])
            self._enrol()
        return found

    def _enrol(self) -> None:
        """Enrol the new users of the index in the streams they serve."""
        new, self._placed = self._user_index.since(self._placed), len(self._user_index)
        if self._plan.split == "budget":
            for stream in self._in_order:
                stream.devices.enrol(new)
            return
        home, row = self._places(new, [len(stream.devices) for stream in self._in_order])
        for position, stream in enumerate(self._in_order):
            stream.devices.enrol(new[home == position])
        self._home, self._row = (np.concatenate((a[:-1], b, a[-1:])) for a, b in ((self._home, home), (self._row, row)))

    def _places(self, users: np.ndarray, taken: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """The stream that each of them serves by the split key, and their row there. taken: rows of each stream."""
        shares = [terms.share_micro for terms in self._terms.streams]
        home = streams(self._secrets.devices.split, users, shares).astype(np.int16)
        row = np.zeros(len(users), np.int32)
        for position, first in enumerate(taken):
            row[home == position] = first + np.arange(np.count_nonzero(home == position))
        return home, row

    def _clock(self, clock: Progress | Quiet) -> None:
        partitions = clock.partitions if isinstance(clock, Quiet) else (clock.partition,)
        for stream in self._streams.values():
            if stream.plan.topic == clock.topic:
                stream.closing.shown(partitions, clock.time)
                self._advance(stream)
        self._out += (sums := self._central.shown(clock.topic, partitions, clock.time))
        self._urgent |= bool(sums)

    def _advance(self, stream: StreamAtPartition) -> None:
        """1. Answer rounds about closed periods. 2. Close what is due, while not too many periods are unsettled."""
        self._answer_closed(stream)
        while stream.closing.due and not stream.full:
            t = stream.closing.close()
            stream.values.close(t, len(stream.devices))
            self.edge_counts[stream.plan.name, "second"] = stream.values.second
            self._answer_closed(stream)
            if stream.over(t):
                stream.settle(t)

    def _answer_closed(self, stream: StreamAtPartition) -> None:
        for digest in [digest for digest, (round_, _) in stream.pending.items() if stream.closed(round_.t)]:
            self._answer(stream, *stream.pending.pop(digest))

    # ---- rounds ----

    def _start(self, stream: StreamAtPartition, t: int) -> None:
        """Begin with period t; of several `start` records of a stream the first counts."""
        if stream.first_t is None:
            stream.first_t = t
            stream.settle(t - 1)
            self._advance(stream)

    def _settle(self, stream: StreamAtPartition, t: int) -> None:
        """Forget the rounds and values of period t and those before it."""
        stream.settled_t = max(t, stream.settled_t)
        stream.unsettled_rounds = {digest: at for digest, at in stream.unsettled_rounds.items() if at > t}
        stream.settle(t)
        self._advance(stream)

    def _round(self, round_: Round) -> None:
        """1. Decide and charge. 2. Answer, if the period has closed or nobody may answer; else wait for it."""
        stream, digest = self._streams[round_.stream], round_.digest.hex()
        if stream.first_t is None or digest in stream.unsettled_rounds:
            return  # before the start, or twice in the log: it was answered once, or never will be
        if stream.over(round_.t):  # no honest publish asks about it, and no stage waits for its end
            self.refusals[round_.stream, "closed"] += len(stream.devices)
            return
        stream.unsettled_rounds[digest] = round_.t
        grant = stream.charge(round_, self._plan)
        if isinstance(grant, Refusal):
            self.refusals[round_.stream, grant.reason] += len(stream.devices)
            self._send(round_, {})
            return
        self.refusals.update({(round_.stream, reason): n for reason, n in grant.refused.items()})
        if stream.closed(round_.t):
            self._answer(stream, round_, grant)
        else:
            stream.pending[digest] = round_, grant

    def _answer(self, stream: StreamAtPartition, round_: Round, grant: Grant) -> None:
        """1. Perturb. 2. Permute. 3. Scatter."""
        frozen = stream.frozen(round_.t)
        if frozen is None:  # the period was over before this partition's clock began
            self._send(round_, {})
            return
        _, users, reports = stream.answer(grant, frozen)
        key = self._secrets.devices.randomness
        parts = [order := permutation(key, users, round=round_.digest)]
        if round_.targets > 1:
            targets = key.words("scatter", users, round=round_.digest)[:, 0] % np.uint64(round_.targets)
            parts = [order[to] for to in by_target(targets[order], round_.targets)]
        self._send(round_, {q: reports.take(part, axis=0) for q, part in enumerate(parts)})

    def _send(self, round_: Round, sent: Mapping[int, np.ndarray]) -> None:
        self._out += answer(round_, self._partition, self._plan.targets, sent)
        self._urgent = True

    # ---- for metrics ----

    @property
    def users(self) -> int:
        """The number of users that this partition knows."""
        return len(self._user_index)

    @property
    def most_spent_micro(self) -> dict[str, int]:
        """For each stream, the most that this instance has seen any user spend in one window."""
        return {name: stream.devices.ledger.most_spent_micro for name, stream in self._streams.items()}

    @property
    def initial(self) -> dict[str, int]:
        """For each stream with `carry = "always"`, how many users count as its initial value."""
        return {name: each.values.initial for name, each in self._streams.items() if not each.plan.says_none}

    # ---- state ----

    def small(self) -> bytes:
        """The frozen facts, the fingerprint of the randomness key, and the settings that decide when periods close."""
        return frozen(self._facts())

    def _facts(self) -> Facts:
        key = self._secrets.devices.randomness.fingerprint
        closing = closing_facts(self._plan.lateness_ms, self._sources)
        return {**self._terms.facts(), **closing, **self._central.frozen, "keys.randomness": key}

    def replay_from(self, marks: Mapping[Log, int]) -> Mapping[Log, int]:
        """From these marks, given a snapshot taken at them."""
        return marks

    def snapshot(self, marks: Mapping[Log, int] = NOWHERE) -> Iterable[bytes]:
        """Users, values, ledgers and rounds that wait, sealed with these marks: to be read before the next fold."""
        facts = {name: stream.facts() for name, stream in self._streams.items()} | self._central.facts()
        return self._seal.chunks(pieces(FORM, facts, self._arrays()), marks)

    def _arrays(self) -> Iterator[tuple[str, np.ndarray]]:
        """The large state. Of the index only users without a stream: the devices hold the others."""
        if self._plan.split == "users":
            yield "roll", self._user_index.users[self._home[:-1] == NO_STREAM]
        for name, stream in self._streams.items():
            for key, array in stream.arrays():
                yield f"{name}/{key}", array
        yield from self._central.arrays()

    def restore(self, small: bytes, snapshot: Iterable[bytes], marks: Mapping[Log, int] = NOWHERE) -> None:
        """Take over a snapshot of these marks; without one the state is that before the first record."""
        held, since = facts_of(small), "users spent epsilon, and events were summed, under those"
        self._sources = first_sources(held, self._sources)
        for each in (*self._streams.values(), *self._central):
            each.closing.sources = self._sources[each.plan.topic]
        refuse_others(f"perturb {self._partition}", held, self._facts(), since)
        chunks = iter(snapshot)
        first = next(chunks, None)
        if first is None:
            return
        facts, arrays = collect(FORM, self._seal.open(chain([first], chunks), marks))
        known = self._streams.keys() | self._central.names
        if facts.keys() != known:
            raise StateError(
                f"perturb {self._partition}: the state holds the streams {', '.join(sorted(facts))}; "
                f"the config {', '.join(sorted(known))}; {WAY_ON}"
            )
        for name, stream in self._streams.items():
            stream.load(facts[name], taken_out(name, arrays), self._terms, self._secrets.devices, self._partition)
        self._central.load(facts, arrays)
        self._rebuild_index(arrays)

    def _rebuild_index(self, arrays: Arrays) -> None:
        """Fill the index and each user's place from the devices. Only the order within a stream matters."""
        if self._plan.split == "budget":
            known = self._in_order[0].devices.users if self._in_order else self._user_index.users
        else:
            known = np.concatenate([*(stream.devices.users for stream in self._in_order), arrays["roll"]])
            home, row = self._places(known, [0] * len(self._in_order))
            self._home, self._row = np.append(home, self._home[-1:]), np.append(row, self._row[-1:])
        if len(known):
            self._user_index.add(known)
        self._placed = len(known)
