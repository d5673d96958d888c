# SPDX-License-Identifier: Apache-2.0
"""The auditor sees what it must, each violation under its own name, and nothing where there is nothing.

The planted runs send unary reports of 40 bits at an epsilon of 0.2, of which two are the same about once in 2^39: with
one-byte reports one user's stray report often equals another's right one, and a violation is seen under another name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from murmurate.agents.audit.auditor import Audit, audit
from murmurate.agents.embedded.runtime import Runtime
from murmurate.agents.stages.stage import Log
from murmurate.agents.stages.values import Frozen, Values
from murmurate.config.plan import Plan
from murmurate.randomizers import DeviceArray, Grant, Key
from murmurate.randomizers.ledger import Ledger, Mask
from murmurate.topics.block import BatchBlock, ReportBlock, encode_reports
from murmurate.topics.codec import decode_record, encode
from murmurate.topics.domains import Categories
from murmurate.topics.messages import Done, Seal, Tally
from tests.agents.world import FIRST, KEYS, SECOND, TOPIC, arrivals, crowd, deployment, played, stream

END = (FIRST + 8) * SECOND
WIDE = Categories(("home", "basket", "help", *(f"page {i}" for i in range(35))), other=True)
VIOLATIONS = ("lost", "twice", "over_budget", "conflicting", "foreign", "miscounted")


def plan(method: str = "lpu") -> Plan:
    screen = stream("screen", method, domain=WIDE, mechanism="oue", w=3, slots=96, carry_ms=1000)
    return deployment(screen, partitions=2, targets=2, min_batch=2, epsilon_micro=200_000)


PLAN = plan()


class Tape:
    """What the logs of a run hold, to be tampered with."""

    def __init__(self, runtime: Runtime) -> None:
        self.records: dict[tuple[str, int], list[bytes]] = defaultdict(list)
        for log in runtime.logs.topics():
            self.records[log.topic, log.partition] = [
                runtime.logs.read(log, offset).value for offset in range(runtime.logs.end(log))
            ]

    def read(self, topic: str, partition: int) -> Sequence[bytes]:
        return self.records[topic, partition]

    def find(self, topic: str, kind: type) -> tuple[list[bytes], int, Any]:
        """A log, a position in its middle, and the record of this kind that stands there."""
        for (name, _), records in sorted(self.records.items()):
            if name == topic:
                places = [i for i, record in enumerate(records) if isinstance(decode_record(record), kind)]
                if places:
                    at = places[len(places) // 2]
                    return records, at, decode_record(records[at])
        raise AssertionError(f"no {kind.__name__} in {topic}")


def audited(tape: Tape, of: Plan = PLAN) -> Audit:
    return audit(of, KEYS.edge.devices, tape.read, {TOPIC: 2})


def run(of: Plan = PLAN, seed: int = 1) -> Runtime:
    return played(of, arrivals(crowd(of, users=80, periods=6, seed=seed), until=END), step=200)


@cache
def honest() -> Runtime:
    return run()


def seen(found: Audit) -> dict[str, int]:
    return {name: getattr(found, name) for name in VIOLATIONS if getattr(found, name)}


def whole(block: ReportBlock, reports: np.ndarray) -> bytes:
    (record,) = encode_reports(block.round, block.contributor, reports)
    return record


# ---- nothing where there is nothing ----


HONEST = list(product([2, 3], ["users", "budget"], [0, 2000, None], ["first", "last"]))
"""Seeds, splits, how long values are carried, and which of several counts."""


@pytest.mark.parametrize(
    ("seed", "split", "carry", "several"),
    [case if at % 5 < 2 else pytest.param(*case, marks=pytest.mark.audit) for at, case in enumerate(HONEST)],
)
def test_an_honest_run_has_no_violation(seed: int, split: Any, carry: int | None, several: Any) -> None:
    of = deployment(
        stream("screen", "lpa" if seed == 2 else "lpu", carry_ms=carry, several=several, share_micro=600_000),
        stream("mood", "lbu", carry_ms=carry, several=several, share_micro=400_000, every_ms=2 * SECOND),
        split=split,
        forget_after_ms=4000 if seed == 3 else 10**12,
    )
    runtime = played(of, arrivals(crowd(of, users=50, periods=5, seed=seed), until=END), step=500)
    found = audited(Tape(runtime), of)
    assert found.holds, found.where
    assert found.reports > 50
    assert found.rounds >= 9


def test_the_planted_runs_begin_with_one_that_holds() -> None:
    found = audited(Tape(honest()))
    assert found.holds, found.where
    assert found.reports > 100


# ---- planted in the logs ----


def test_a_block_that_is_gone_is_lost() -> None:
    tape = Tape(honest())
    records, at, block = tape.find("reports", ReportBlock)
    del records[at]
    found = seen(audited(tape))
    assert found["lost"] == len(block.reports)
    assert found.keys() == {"lost", "miscounted"}


def test_a_block_that_stands_there_twice_is_twice() -> None:
    tape = Tape(honest())
    records, at, block = tape.find("reports", ReportBlock)
    records.insert(at, records[at])
    found = seen(audited(tape))
    assert found["twice"] == len(block.reports)
    assert found.keys() == {"twice", "miscounted"}


def test_another_answer_of_the_same_user_to_the_same_round_is_conflicting() -> None:
    tape = Tape(honest())
    with planted(Answering=True) as spoilt:
        other = Tape(spoilt)
    # the run in which users answered with the next value: its block is added to the honest one's
    records, at, block = tape.find("reports", ReportBlock)
    here = next(place for place, log in tape.records.items() if log is records)
    for record in other.records[here]:
        found = decode_record(record)
        if isinstance(found, ReportBlock) and (found.round, found.contributor) == (block.round, block.contributor):
            records.insert(at, record)
    found_here = seen(audited(tape))
    assert found_here["conflicting"] == len(block.reports)
    assert found_here.keys() == {"conflicting", "miscounted"}


def test_a_report_that_nobody_could_have_sent_is_foreign() -> None:
    tape = Tape(honest())
    records, at, block = tape.find("reports", ReportBlock)
    records[at] = whole(block, np.concatenate((block.reports, np.full((3, block.reports.shape[1]), 255, np.uint8))))
    found = seen(audited(tape))
    assert found["foreign"] == 3
    assert found.keys() == {"foreign", "miscounted"}


def test_a_block_of_a_round_that_nobody_asked_is_foreign() -> None:
    tape = Tape(honest())
    records, at, block = tape.find("reports", ReportBlock)
    records.insert(at, next(iter(encode_reports(bytes(32), block.contributor, block.reports))))
    assert seen(audited(tape)) == {"foreign": len(block.reports)}


def test_a_report_at_the_wrong_target_is_lost_there_and_foreign_here() -> None:
    tape = Tape(honest())
    _, _, block = tape.find("reports", ReportBlock)
    logs = tape.records["reports", 0], tape.records["reports", 1]
    blocks = []
    for records in logs:
        (at,) = [
            i
            for i, record in enumerate(records)
            if isinstance(found := decode_record(record), ReportBlock)
            and (found.round, found.contributor) == (block.round, block.contributor)
        ]
        blocks.append((records, at, decode_record(records[at])))
    (here, i, mine), (there, j, theirs) = blocks
    assert isinstance(mine, ReportBlock)
    assert isinstance(theirs, ReportBlock)
    here[i] = whole(mine, np.concatenate((mine.reports[1:], theirs.reports[:1])))
    there[j] = whole(theirs, np.concatenate((theirs.reports[1:], mine.reports[:1])))
    found_here = seen(audited(tape))  # counts are as they were; only who is where has changed
    assert {name: n for name, n in found_here.items() if name != "miscounted"} == {"lost": 2, "foreign": 2}


@pytest.mark.parametrize("change", [{"sent": 0}, {"total": 10**6}])
def test_a_done_with_a_wrong_count_is_miscounted(change: dict[str, int]) -> None:
    tape = Tape(honest())
    records, at, done = tape.find("reports", Done)
    records[at] = encode(done.model_copy(update=change))
    assert seen(audited(tape)) == {"miscounted": 1}


@pytest.mark.parametrize("what", ["gone", "twice"])
def test_a_done_that_is_gone_or_stands_there_twice_is_miscounted(what: str) -> None:
    tape = Tape(honest())
    records, at, _ = tape.find("reports", Done)
    records[at : at + 1] = [] if what == "gone" else [records[at]] * 2
    assert seen(audited(tape)) == {"miscounted": 1}


def test_a_tally_with_a_wrong_cell_is_miscounted() -> None:
    tape = Tape(honest())
    records, at, tally = tape.find("tallies", Tally)
    cells = list(tally.counts)
    cell = cells.index(max(cells))
    cells[cell] -= 1
    records[at] = encode(tally.model_copy(update={"counts": tuple(cells)}))
    assert seen(audited(tape)) == {"miscounted": 1}


@pytest.mark.parametrize(("topic", "kind"), [("batches", Seal), ("tallies", Tally), ("batches", BatchBlock)])
@pytest.mark.parametrize("what", ["gone", "twice"])
def test_a_seal_tally_or_batch_that_is_gone_or_stands_there_twice_is_miscounted(
    topic: str, kind: type, what: str
) -> None:
    tape = Tape(honest())
    records, at, _ = tape.find(topic, kind)
    records[at : at + 1] = [] if what == "gone" else [records[at]] * 2
    found = seen(audited(tape))
    assert found.keys() == {"miscounted"}
    assert 1 <= found["miscounted"] <= 2


# ---- planted in the stages ----


class planted:  # noqa: N801 - reads as a word
    """A run in which something is wrong with a stage."""

    def __init__(self, of: Plan = PLAN, **faults: Any) -> None:
        self.of, self.faults, self.patch = of, faults, pytest.MonkeyPatch()

    def __enter__(self) -> Runtime:
        if "Answering" in self.faults:
            answer = DeviceArray.answer

            def others(self: DeviceArray, grant: Grant, values: np.ndarray, members: Mask | None = None) -> Any:
                return answer(self, grant, (values + 1) % grant.ask.question.layout[1], members)

            self.patch.setattr(DeviceArray, "answer", others)
        for (owner, name), replacement in self.faults.get("patches", {}).items():
            self.patch.setattr(owner, name, replacement)
        return run(self.of)

    def __exit__(self, *_: object) -> None:
        self.patch.undo()


def test_answers_with_another_value_are_lost_and_conflicting() -> None:
    with planted(Answering=True) as runtime:
        found = seen(audited(Tape(runtime)))
    assert found.keys() == {"lost", "conflicting"}
    assert found["lost"] == found["conflicting"] > 100


def eager(period: int) -> Callable[..., Any]:
    """A ledger that frees a slot after `period` instead of w; 0: that forgets."""
    verdicts = Ledger.verdicts

    def wrong(self: Ledger, t: int, *charge: Any) -> np.ndarray:
        w, self.w = self.w, period
        try:
            return verdicts(self, t, *charge)
        finally:
            self.w = w

    return wrong


def greedy(gap: int) -> dict[Any, Any]:
    """A schedule that asks each slot again after `gap` periods."""
    from murmurate.aggregators.methods.uniform import LPU

    return {(LPU, "_turn"): lambda self, t: np.asarray(self._group % gap == (t - self.setting.first_t) % gap)}


def test_a_server_that_asks_too_often_gets_no_answer_and_the_audit_holds() -> None:
    with planted(patches=greedy(2)) as runtime:
        found = audited(Tape(runtime))
    assert found.holds, found.where


@pytest.mark.parametrize(("recycles", "gap"), [(2, 2), (0, 1)], ids=["at w - 1", "at once"])
def test_a_ledger_that_recycles_too_early_or_forgets_is_over_budget(recycles: int, gap: int) -> None:
    patches = {(Ledger, "verdicts"): eager(recycles), **greedy(gap)}
    with planted(patches=patches) as runtime:
        found = seen(audited(Tape(runtime)))
    assert found.keys() == {"over_budget"}
    assert found["over_budget"] > 50


def test_a_second_charge_in_a_window_is_over_budget_under_budget_division_too() -> None:
    of = plan("lbu")

    def spend_all(self: Ledger, t: int, micro: int, digest: bytes, asked: Mask, covers: object = None) -> np.ndarray:
        return np.where(asked, 1, 0).astype(np.uint8)

    from murmurate.aggregators.methods.uniform import LBU

    def doubled(self: LBU) -> Any:
        self.waiting = "publication", 2 * self._share
        return self._asking.request(self.t, 2 * self._share, "publication")

    with planted(of, patches={(LBU, "_begin"): doubled}) as runtime:
        assert audited(Tape(runtime), of).holds
    with planted(of, patches={(LBU, "_begin"): doubled, (Ledger, "verdicts"): spend_all}) as runtime:
        found = seen(audited(Tape(runtime), of))
    assert found.keys() == {"over_budget"}
    assert found["over_budget"] > 50


def test_answers_for_people_outside_the_population_are_foreign() -> None:
    close = Values.close

    def everybody(self: Values, t: int, users: int) -> Frozen:
        frozen = close(self, t, users)
        self.frozen[t] = Frozen(frozen.values, np.ones_like(frozen.members))
        return self.frozen[t]

    of = replace(PLAN, forget_after_ms=1000)
    with planted(of) as runtime:
        assert audited(Tape(runtime), of).holds
    with planted(of, patches={(Values, "close"): everybody}) as runtime:
        found = seen(audited(Tape(runtime), of))
    assert found.keys() == {"foreign"}


def test_scatter_that_is_not_the_keyed_one_is_lost_and_foreign() -> None:
    words = Key.words

    def alike(self: Key, purpose: Any, contexts: np.ndarray, **options: Any) -> Any:
        return words(self, purpose, contexts, **options) // (np.uint64(1) if purpose != "scatter" else np.uint64(2))

    with planted(patches={(Key, "words"): alike}) as runtime:
        tape = Tape(runtime)
    found = seen(audited(tape))
    assert found.keys() == {"lost", "foreign"}


def test_a_violation_is_named_by_place_and_never_by_user() -> None:
    tape = Tape(honest())
    records, at, block = tape.find("reports", ReportBlock)
    del records[at]
    found = audited(tape)
    text = "".join(found.where)
    assert block.round.hex()[:16] in text
    assert not any(word in text for word in users_and_values())


def users_and_values() -> Iterator[str]:
    for i in range(80):
        yield f"user-{i}"
        yield KEYS.edge.pepper.pseudonym(f"user-{i}".encode()).hex()
    yield from ("home", "basket", "help", "other")


def test_logs_are_read_from_the_beginning() -> None:
    tape, asked = Tape(honest()), list[tuple[str, int]]()

    def reading(topic: str, partition: int) -> Sequence[bytes]:
        asked.append((topic, partition))
        return tape.read(topic, partition)

    audit(PLAN, KEYS.edge.devices, reading, {TOPIC: 2})
    assert {("raw", 0), ("raw", 1), ("rounds", 0), ("reports", 0), ("reports", 1), ("tallies", 0)} <= set(asked)
    assert Log("raw", 0) in honest().logs.topics()
