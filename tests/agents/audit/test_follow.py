# SPDX-License-Identifier: Apache-2.0
"""The auditor while logs grow: whatever the order of reading, and wherever it is stopped, it finds the same."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmurate.agents.audit import checkpoint
from murmurate.agents.audit.auditor import Audit, Auditor, audit
from murmurate.agents.audit.checkpoint import NAME, CheckpointError, Checkpoints
from murmurate.agents.audit.findings import ALL, VIOLATIONS
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.config.plan import Plan
from murmurate.randomizers.ledger import Ledger
from murmurate.randomizers.state import StateForm
from murmurate.topics.block import BatchBlock, ReportBlock, encode_reports
from murmurate.topics.codec import decode_record, encode
from murmurate.topics.messages import Done, Progress, Round, Seal, Tally
from tests.agents.audit.test_auditor import END, PLAN, Tape, eager, greedy, honest, planted, whole
from tests.agents.central import beside
from tests.agents.world import FIRST, KEYS, SECOND, TOPIC, arrivals, crowd, deployment, played, stream

SESSIONS = deployment(
    stream(
        "screen", "sao2", share_micro=700_000,
        method=MethodOptions("sao2", horizon="4", changes="4", fanout="2", goal="mean", users="0"),
    ),
    stream("mood", "lbu", share_micro=300_000, carry_ms=None),
)  # fmt: skip
SECRET = bytes(range(32))


@cache
def sessions() -> Tape:
    return Tape(played(SESSIONS, arrivals(crowd(SESSIONS, users=60, periods=7), until=END), step=200))


def copied(tape: Tape) -> Tape:
    """The same logs, to be written to."""
    other = Tape.__new__(Tape)
    other.records = {log: list(held) for log, held in tape.records.items()}
    return other


@cache
def central() -> Tape:
    from tests.agents.audit.test_summed import honest as honest_sums

    return Tape(honest_sums())


def fed(of: Plan, tape: Tape, rng: random.Random, restarted: Callable[[Auditor], Auditor] | None = None) -> Audit:
    """Logs in pieces, in any order of pieces, with restarts in between."""
    auditor = begun(of)
    left = dict.fromkeys(tape.records, 0)
    while left:
        log = rng.choice(sorted(left))
        start, stop = left[log], left[log] + rng.choice([1, 3, 20, 500])
        for number, record in enumerate(tape.records[log][start:stop], start):
            auditor.take(*log, number, record)
        left[log] = stop
        if stop >= len(tape.records[log]):
            del left[log]
        if rng.random() < 0.3:
            auditor.judge()
        if restarted is not None and rng.random() < 0.06:
            auditor = restarted(auditor)
    auditor.settle(ALL)
    return auditor.found


def begun(of: Plan) -> Auditor:
    return Auditor(of, KEYS.edge.devices, {TOPIC: 2})


def seen(found: Audit) -> dict[str, Any]:
    return {name: getattr(found, name) for name in (*VIOLATIONS, "users", "rounds", "reports", "sums", "leaves")}


def tampered() -> Tape:
    """Every kind of violation of local streams that logs alone can have."""
    tape = Tape(honest())
    records, at, block = tape.find("reports", ReportBlock)
    records.insert(at, records[at])
    records, at, _ = tape.find("batches", Seal)
    records.insert(at, records[at])
    records, at, tally = tape.find("tallies", Tally)
    records[at] = encode(tally.model_copy(update={"counts": tuple(reversed(tally.counts))}))
    reports = [(log, i) for log, held in tape.records.items() if log[0] == "reports" for i in range(len(held))]
    log, at = next((log, i) for log, i in reports if tape.records[log][i] == encode(_done(tape)))
    tape.records[log].append(next(iter(encode_reports(bytes(32), 0, block.reports))))
    del tape.records[log][at]
    here = tape.records["reports", 0]
    blocks = [(i, found) for i, record in enumerate(here) if isinstance(found := decode_record(record), ReportBlock)]
    here[blocks[0][0]] = whole(blocks[0][1], blocks[0][1].reports[:-1])
    return tape


def _done(tape: Tape) -> Done:
    found: Done = tape.find("reports", Done)[2]
    return found


def overspent() -> Tape:
    """Devices whose ledger frees a slot too early, asked too often."""
    with planted(patches={(Ledger, "verdicts"): eager(2), **greedy(2)}) as runtime:
        return Tape(runtime)


CASES: dict[str, tuple[Plan, Callable[[], Tape]]] = {
    "honest": (PLAN, lambda: Tape(honest())),
    "tampered": (PLAN, tampered),
    "over budget": (PLAN, overspent),
    "sessions": (SESSIONS, sessions),
    "central": (beside(), central),
}


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        case
        if case[1] == 1 and case[0] not in ("honest", "over budget")
        else pytest.param(*case, marks=pytest.mark.audit)
        for case in product(CASES, range(1, 12))
    ],
)
def test_whatever_the_order_of_reading_and_wherever_it_stops_it_finds_the_same(
    name: str, seed: int, tmp_path: Path
) -> None:
    of, made = CASES[name]
    tape = made()
    right = seen(audit(of, KEYS.edge.devices, tape.read, {TOPIC: 2}))
    assert (sum(right[kind] for kind in VIOLATIONS) > 5) == (name in ("tampered", "over budget")), right
    assert right["reports"] > 20

    def restarted(auditor: Auditor) -> Auditor:
        checkpoints = Checkpoints(tmp_path, of.name, SECRET, {"plan": "this"})
        checkpoints.save(auditor.state())
        state = checkpoints.load()
        assert state is not None
        other = begun(of)
        other.load(state)
        return other

    assert seen(fed(of, tape, random.Random(seed), restarted)) == right


def followed() -> tuple[Auditor, Tape]:
    """An auditor that has judged all there is."""
    auditor, tape = begun(PLAN), Tape(honest())
    for log in sorted(tape.records, key=lambda log: log[0] != "rounds"):
        for number, record in enumerate(tape.records[log]):
            auditor.take(*log, number, record)
    auditor.settle(ALL)
    assert auditor.found.holds, auditor.found.where
    return auditor, tape


def write(auditor: Auditor, tape: Tape, log: tuple[str, int], record: bytes) -> dict[str, int]:
    """What is found at the next pass after this was written."""
    before = auditor.found
    auditor.take(*log, len(tape.records[log]), record)
    tape.records[log].append(record)
    auditor.settle(ALL)
    after = auditor.found
    return {kind: n for kind in VIOLATIONS if (n := getattr(after, kind) - getattr(before, kind))}


def test_what_is_written_later_is_found_at_the_next_pass_under_its_name() -> None:
    auditor, tape = followed()
    records, at, block = tape.find("reports", ReportBlock)
    log = next(place for place, held in tape.records.items() if held is records)
    twice = write(auditor, tape, log, records[at])
    assert twice.pop("twice") == len(block.reports)
    assert twice.keys() == {"miscounted"}
    strange = whole(block, np.full((3, block.reports.shape[1]), 255, np.uint8))
    assert write(auditor, tape, log, strange) == {"foreign": 3}  # its counts are wrong already
    unasked = next(iter(encode_reports(bytes(32), 0, block.reports)))
    assert write(auditor, tape, log, unasked) == {"foreign": len(block.reports)}
    nobody = next(iter(encode_reports(block.round, 17, block.reports)))
    assert write(auditor, tape, log, nobody) == {"foreign": len(block.reports)}


def test_another_answer_a_second_done_seal_tally_and_batch_are_found_at_the_next_pass() -> None:
    auditor, tape = followed()
    with planted(Answering=True) as spoilt:
        other = Tape(spoilt)
    for log, held in other.records.items():
        if log[0] == "reports":
            number, block = next((i, b) for i, r in enumerate(held) if isinstance(b := decode_record(r), ReportBlock))
            found = write(auditor, tape, log, held[number])
            assert found.pop("conflicting") == len(block.reports)
            assert found.keys() <= {"miscounted"}
    for topic, kind in (("reports", Done), ("batches", Seal), ("tallies", Tally)):
        records, at, _ = tape.find(topic, kind)
        log = next(place for place, held in tape.records.items() if held is records)
        assert write(auditor, tape, log, records[at]) == {"miscounted": 1}, topic
    assert tape.find("batches", BatchBlock)[0]


def test_a_checkpoint_of_another_form_key_or_plan_is_refused_in_one_line_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = Checkpoints(tmp_path, "shop", SECRET, {"plan": "this"})
    assert mine.load() is None
    mine.save({"a": 1})
    assert mine.load() == {"a": 1}
    assert (tmp_path / NAME).stat().st_mode & 0o77 == 0
    for theirs in (
        Checkpoints(tmp_path, "shop", bytes(32), {"plan": "this"}),
        Checkpoints(tmp_path, "mall", SECRET, {}),
    ):
        with pytest.raises(CheckpointError, match=r"this deployment's key does not open.*Remedy: empty it"):
            theirs.load()
    with pytest.raises(CheckpointError, match=r"of another plan; allowed.*Remedy: empty it"):
        Checkpoints(tmp_path, "shop", SECRET, {"plan": "that"}).load()
    monkeypatch.setattr(checkpoint, "FORM", StateForm(checkpoint.FORM.kind, checkpoint.FORM.number + 1))
    with pytest.raises(CheckpointError, match=r"form 1; allowed: auditor's checkpoint, form 2.*Remedy") as refused:
        mine.load()
    assert len(str(refused.value).splitlines()) == 1
    held = (tmp_path / NAME).read_bytes()
    (tmp_path / NAME).write_bytes(held[:-1])
    with pytest.raises(CheckpointError, match="does not open"):
        mine.load()


def test_a_round_of_another_config_is_answered_by_nobody() -> None:
    auditor, tape = followed()
    _, _, asked = tape.find("rounds", Round)
    rounds = [one for record in tape.records["rounds", 0] if isinstance(one := decode_record(record), Round)]
    newest = max(rounds, key=lambda one: one.t)
    foreign = newest.model_copy(update={"config": "f" * 16})
    assert asked.config != foreign.config
    assert write(auditor, tape, ("rounds", 0), encode(foreign)) == {}
    for p in range(2):  # what devices say that refuse it
        for q in range(2):
            none = Done(round=foreign.digest.hex(), contributor=p, sent=0, total=0)
            assert write(auditor, tape, ("reports", q), encode(none)) == {}
    _, _, block = tape.find("reports", ReportBlock)
    (answered,) = encode_reports(foreign.digest, 0, block.reports)
    found = write(auditor, tape, ("reports", 0), answered)
    assert found.pop("foreign") == len(block.reports)
    assert found.keys() <= {"miscounted"}


def test_an_altered_report_and_one_that_is_missing_are_found() -> None:
    for kinds, change in (
        ({"lost", "conflicting", "foreign"}, lambda rows: np.concatenate((rows[:-1], rows[-1:] ^ 1))),
        ({"lost", "miscounted"}, lambda rows: rows[:-1]),
    ):
        tape = Tape(honest())
        records, at, block = tape.find("reports", ReportBlock)
        records[at] = whole(block, change(block.reports))
        found = audit(PLAN, KEYS.edge.devices, tape.read, {TOPIC: 2})
        assert found.lost == 1
        assert found.conflicting + found.foreign == (1 if "foreign" in kinds else 0)
        assert {kind for kind in VIOLATIONS if getattr(found, kind)} <= kinds | {"miscounted"}


def test_a_second_transcript_is_found() -> None:
    tape = sessions()
    auditor = begun(SESSIONS)
    for log in sorted(tape.records, key=lambda log: log[0] != "rounds"):
        for number, record in enumerate(tape.records[log]):
            auditor.take(*log, number, record)
    auditor.settle(ALL)
    nodes = [
        found.digest for record in tape.records["rounds", 0]
        if isinstance(found := decode_record(record), Round) and found.mechanism["name"] == "node"
    ]  # fmt: skip
    blocks = [found for record in tape.records["reports", 0] if isinstance(found := decode_record(record), ReportBlock)]
    told = next(block for block in blocks if block.round in nodes)
    other = copied(tape)
    again = write(auditor, other, ("reports", 0), whole(told, told.reports))
    assert again.pop("twice") == len(told.reports)
    assert again.keys() == {"miscounted"}
    assert write(auditor, other, ("reports", 0), whole(told, told.reports ^ 1)).keys() <= {"foreign", "twice"}


def test_where_the_logs_have_forgotten_their_beginnings_it_judges_from_the_first_period_that_it_knows() -> None:
    of = replace(PLAN, forget_after_ms=4 * SECOND)
    periods = 34
    until = (FIRST + periods + 2) * SECOND
    tape = Tape(played(of, arrivals(crowd(of, users=24, periods=periods, seed=5), until=until), step=500))
    from_t = FIRST + 6
    auditor = Auditor(of, KEYS.edge.devices, {TOPIC: 2}, short=True)
    for log in sorted(tape.records, key=lambda log: log[0] != "rounds"):
        for number, record in enumerate(tape.records[log]):
            if log[0] in ("raw", "rounds") and number < forgotten(tape, log, from_t):
                continue
            auditor.take(*log, number, record)
    auditor.settle(ALL)
    found = auditor.found
    assert found.holds, found.where
    (since,) = auditor.local.known.since.values()
    assert since is not None
    assert from_t + 8 + 2 * of.streams[0].w < since < FIRST + periods
    judged = [one for one in auditor.local.asked.values() if auditor.local.known.judges(one)]
    assert len(judged) > 5
    answered = {one.digest for one in judged}
    log, block = next(
        (log, block) for log, held in tape.records.items() if log[0] == "reports" for record in held
        if isinstance(block := decode_record(record), ReportBlock) and block.round.hex() in answered
    )  # fmt: skip
    assert write(auditor, tape, log, whole(block, block.reports))["twice"] == len(block.reports)


def forgotten(tape: Tape, log: tuple[str, int], t: int) -> int:
    """How many records of a log came before those about a period."""
    for number, record in enumerate(tape.records[log]):
        found = decode_record(record)
        if (isinstance(found, Round) and found.t >= t) or (isinstance(found, Progress) and found.time >= t * SECOND):
            return number
    raise AssertionError("nothing is about it")
