"""`done` records, seals and tallies, counted again from the reports that are there.

Contract: shares no code with stages.  Rounds that are not covered any more are not judged; a seal or a `done` that
may still come is not missing.  Of fake reports only the mixing zone knows which they are: a round has to have as many
reports that nobody sent as the plan says.  Reports that show their values have to leave as a sum, and nothing beside
it.  Not here: who had to answer what (auditor.py).
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.audit.findings import Audit, Extent, Place, Reader
from murmurate.config.plan import Plan
from murmurate.randomizers import Question, question
from murmurate.topics.block import BatchBlock, TallyBlock
from murmurate.topics.messages import Close, Done, Round, Seal, Tally, TallyInBlocks

Reports = Mapping[Place, Counter[bytes]]


def recount(
    plan: Plan, read: Reader, rounds: Sequence[Round], places: Iterable[Place], actual: Reports,
    dones: Mapping[Place, Sequence[Done]], found: Audit, extent: Extent,
) -> None:  # fmt: skip
    """Compare every count with what it counts. places: where a `done` has to be.

    1. Each `done` with the reports of its place. 2. Each tally with its seal, the rows between them, and the reports
    of those who count. 3. Of each whole round how many reports nobody sent. 4. Seals without a tally.
    """
    for place in places:
        digest, p, _ = place
        total = sum(sum(actual.get((digest, p, q), Counter()).values()) for q in range(plan.targets))
        here = sum(actual.get(place, Counter()).values())
        claimed = [(done.sent, done.total) for done in dones.get(place, [])]
        found.note("miscounted", int(claimed != [(here, total)]), place)
    oracles = {r.digest.hex(): question(r.mechanism).of_round(r.digest) for r in rounds}
    closes: dict[str, tuple[int, ...]] = {}
    for _, record in found.decoded(read, "closings", 0):
        if isinstance(record, Close):
            closes.setdefault(record.round, record.contributors)  # the first one counts
    sealed = dict(_sealed(plan, read, found, extent))
    fakes: dict[str, dict[int, int]] = defaultdict(dict)  # of each round, how many reports of a target nobody sent
    for tally, counts in _tallies(plan, read, found):
        if tally.round not in oracles or not extent.covers(tally.round):
            sealed.pop((tally.round, tally.q), None)
            continue
        seal, rows, _ = sealed.pop((tally.round, tally.q), (None, Counter(), True))
        came, of_all = Counter[bytes](), Counter[int]()
        for p in closes.get(tally.round, tuple(range(plan.partitions))):
            came += actual.get((tally.round, p, tally.q), Counter())
            of_all.update({q: sum(actual.get((tally.round, p, q), Counter()).values()) for q in range(plan.targets)})
        oracle = oracles[tally.round]
        if oracle.summed_when_mixed:
            right = _right_sum(plan, oracle, seal, rows, came, tally, counts)
            found.note("miscounted", int(not right), (tally.round, -1, tally.q))
            continue
        least = plan.at(tally.t * plan.stream(tally.stream).every_ms).min_batch
        support = np.zeros(oracle.outcomes, np.int64)
        for report, n in rows.items():
            support += n * oracle.support(np.frombuffer(report, np.uint8)[None])
        small = seal is not None and seal.rejected.undersized
        withheld = not rows and small and (sum(of_all.values()) < least or oracle.fakes != plan.fakes)
        nobodys = rows - came
        if seal is not None and not small and sum(of_all.values()) >= least:
            fakes[tally.round][tally.q] = sum(nobodys.values())
        right = (
            seal is not None
            and seal.received == tally.received == (0 if small else sum((came + nobodys).values()))
            and seal.counted + seal.rejected.malformed == seal.received
            and (withheld or (rows == came + nobodys and (not nobodys or oracle.fakes == plan.fakes > 0)))
            and np.array_equal(support, counts)
        )
        found.note("miscounted", int(not right), (tally.round, -1, tally.q))
    for digest, by_target in fakes.items():
        if len(by_target) == plan.targets:
            found.note("miscounted", int(sum(by_target.values()) != oracles[digest].fakes), (digest, -1, -1))
    for (digest, q), (_, _, must) in sealed.items():
        found.note("miscounted", int(must and extent.covers(digest)), (digest, -1, q))


def _right_sum(
    plan: Plan, oracle: Question, seal: Seal | None, rows: Counter[bytes], came: Counter[bytes],
    tally: Tally | TallyInBlocks, counts: NDArray[np.int64],
) -> bool:  # fmt: skip
    """Whether a round of reports that show their values left the mixing zone as their sum and nothing else. rows: what
    stands before the seal: no report, and one row of sums; none where the round was held back.
    """
    if seal is None:
        return False
    total, support, good = sum(came.values()), np.zeros(oracle.outcomes, np.int64), 0
    for report, n in came.items():
        row = np.frombuffer(report, np.uint8)[None]
        if len(report) == oracle.wire_size and not oracle.malformed(row)[0]:
            support, good = support + n * oracle.support(row), good + n
    stream, round_ = plan.stream(tally.stream), seal.descriptor
    agreed = stream.mixed is not None and stream.mixed.question == oracle.digest.hex() and round_.targets == 1
    due = agreed and total >= plan.at(tally.t * stream.every_ms).min_batch
    judged = (round_.config, round_.revision) == (stream.config, stream.revision)  # else by a file that is not here
    if seal.rejected.undersized:
        return not rows and not seal.received and not counts.any() and not (judged and due)
    if not round_.slots.count():
        return not rows and not seal.received and not counts.any()
    sums = Counter([support.astype("<i8").tobytes()] if good else [])
    said = seal.received, seal.counted, tally.received, tally.counted
    right = rows == sums and said == (total, good, total, good) and np.array_equal(support, counts)
    return right and (due or not judged)


def _tallies(plan: Plan, read: Reader, found: Audit) -> Iterator[tuple[Tally | TallyInBlocks, NDArray[np.int64]]]:
    """Each tally with its counts; where they stand in blocks, with those of its blocks that are there."""
    for partition in range(plan.tallies):
        records = read("tallies", partition)
        blocks: dict[str, TallyBlock] = {}
        tallies: list[Tally | TallyInBlocks] = []
        for number, record in found.decoded(read, "tallies", partition):
            if isinstance(record, TallyBlock):
                blocks[hashlib.sha256(records[number]).hexdigest()] = record
            elif isinstance(record, Tally | TallyInBlocks):
                tallies.append(record)
        for tally in tallies:
            if isinstance(tally, Tally):
                yield tally, np.array(tally.counts, np.int64)
            else:
                there = [blocks[digest].counts for digest in tally.blocks if digest in blocks]
                yield tally, np.concatenate([np.zeros(0, np.int64), *there])


def _sealed(
    plan: Plan, read: Reader, found: Audit, extent: Extent
) -> Iterator[tuple[tuple[str, int], tuple[Seal, Counter[bytes], bool]]]:
    """Each sealed sub-batch with the reports it holds, and whether its tally must be there."""
    for b in range(plan.targets):
        rows: dict[tuple[str, int], Counter[bytes]] = defaultdict(Counter)
        for number, record in found.decoded(read, "batches", b):
            if isinstance(record, BatchBlock):
                rows[record.round.hex(), record.q].update(row.tobytes() for row in record.reports)
            elif isinstance(record, TallyBlock):  # of reports that were added up: all blocks as one row
                (before,) = rows[record.round.hex(), record.q] or (b"",)
                rows[record.round.hex(), record.q] = Counter([before + record.counts.astype("<i8").tobytes()])
            elif isinstance(record, Seal):
                at = record.round, record.q
                yield at, (record, rows.pop(at, Counter()), extent.counted(b, number))
