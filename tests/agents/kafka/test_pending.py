# SPDX-License-Identifier: Apache-2.0
"""How long what is folded waits for a transaction."""

from __future__ import annotations

from murmurate.agents.kafka.pending import FEW_BYTES, FEW_MARKS_S, MARKS_S, OUTPUT_S, Pending
from murmurate.agents.stages.stage import Log, Out, Outbox


def test_decisions_go_at_once_and_marks_alone_wait_for_them_unless_much_would_be_folded_again() -> None:
    pending = Pending(folded=1, input=10)
    assert pending.due_s == FEW_MARKS_S
    pending.input = FEW_BYTES
    assert pending.due_s == MARKS_S
    pending.add(Outbox((Out(Log("raw", 0), b"block"),), urgent=False))
    assert pending.due_s == OUTPUT_S
    pending.add(Outbox((), urgent=True))
    assert pending.due_s == 0
