# SPDX-License-Identifier: Apache-2.0
"""What the auditor makes of `closings` and of rounds below min_batch, of whose reports nothing is said."""

from __future__ import annotations

from dataclasses import replace

from murmurate.topics.codec import decode_record, encode
from murmurate.topics.messages import Close, Rejected, Seal, Tally
from tests.agents.audit.test_auditor import PLAN, Tape, audited, honest, run, seen


def test_a_close_counts_where_shuffle_alone_writes_and_nowhere_else() -> None:
    tape = Tape(honest())
    _, _, tally = tape.find("tallies", Tally)
    nobody = encode(Close(round=tally.round, contributors=()))
    tape.records["rounds", 0].append(nobody)
    assert audited(tape).holds
    tape.records["closings", 0].insert(0, nobody)
    assert seen(audited(tape)) == {"miscounted": PLAN.targets}


def test_a_round_below_min_batch_of_which_nothing_is_said_holds_and_a_larger_one_does_not() -> None:
    of = replace(PLAN, min_batch=10_000)
    tape = Tape(run(of))
    found = audited(tape, of)
    assert found.holds, found.where
    assert found.reports > 100
    small = [
        one for b in range(2) for value in tape.read("batches", b) if isinstance(one := decode_record(value), Seal)
    ]
    assert {(one.received, one.rejected.undersized) for one in small if one.descriptor.slots.count()} == {(0, True)}
    assert seen(audited(tape, PLAN)).keys() == {"miscounted"}  # held back although enough came
    records, at, seal = tape.find("batches", Seal)
    records[at] = encode(seal.model_copy(update={"rejected": Rejected(malformed=0)}))
    assert seen(audited(tape, of)) == {"miscounted": 1}
