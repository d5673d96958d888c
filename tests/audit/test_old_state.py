# SPDX-License-Identifier: Apache-2.0
"""Old state under new marks: an administrator and a server who work together hear nobody twice in a window.

Perturb's snapshots are sealed, but whoever may write its state topic may put an old one, from before a round was
charged, under a record whose marks say that the round has been folded.  Each part of the record and each snapshot is
tried, on the embedded runtime (on a broker: tests/faults/test_old_state_on_kafka.py).  Not here: a whole older state
with logs that were rewritten (docs/THREATS.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from murmurate.agents.embedded.log import Logs
from murmurate.agents.embedded.task import StateRecord, Task
from murmurate.agents.stages.errors import StateError
from murmurate.agents.stages.perturb import Perturb
from murmurate.agents.stages.stage import Log, Out
from murmurate.randomizers import FrozenFactsError
from murmurate.topics.codec import encode
from tests.agents.stages.hands import RAW, ROUNDS, progress, pseudonyms, question, reports, rows, start
from tests.agents.world import FIRST, KEYS, SECOND, TOPIC, deployment, secret, stream

PLAN = deployment(stream("screen", "lba", w=4), partitions=1, targets=1)
SCREEN, USERS = PLAN.streams[0], 30


class Forged:
    """A perturb whose users have paid everything for one round; and its state before that."""

    def __init__(self) -> None:
        self.logs = Logs()
        self.task = Task("perturb 0", lambda: Perturb(PLAN, KEYS.edge, 0, {TOPIC: 1}), [RAW, ROUNDS], self.logs, {})
        blocks = rows(PLAN, SCREEN, pseudonyms(USERS), [(FIRST - 1) * SECOND + 1] * USERS, [1] * USERS)
        self.give(RAW, encode(progress((FIRST - 1) * SECOND)), *blocks, encode(progress((FIRST + 2) * SECOND)))
        self.give(ROUNDS, encode(start(SCREEN)))
        self.before = self.keep()
        self.give(ROUNDS, encode(question(PLAN, SCREEN, FIRST)))
        assert self.spent_micro == PLAN.epsilon_micro
        self.after = self.keep()

    def give(self, log: Log, *records: bytes) -> None:
        self.logs.append(Out(log, record) for record in records)
        while self.task.step():
            pass

    def keep(self) -> StateRecord:
        """A snapshot as it is taken when one is due, in a state record."""
        snapshot, marks = self.task.snapshot()
        self.task.state.append(self.task.record(marks, snapshot))
        return self.task.state[-1]

    def recover(self, record: StateRecord) -> None:
        """The process has died, and this is the newest state record that its successor finds."""
        self.task.state.append(record)
        self.task.recover()

    def ask_again(self, record: StateRecord) -> None:
        """The server asks the same once more."""
        self.recover(record)
        self.give(ROUNDS, encode(question(PLAN, SCREEN, FIRST, patience_ms=7)))
        pytest.fail(f"the record was taken, and {self.spent_micro} spent of {PLAN.epsilon_micro}")

    @property
    def spent_micro(self) -> int:
        """What a user has paid within the window: each round that was answered, everybody has answered in full."""
        return len(reports([Out(Log("reports", 0), value) for value in self.logs.all("reports")])) * PLAN.epsilon_micro


Forge = Callable[[StateRecord, StateRecord], StateRecord]
"""Of the records before and after the round."""
FORGED: dict[str, Forge] = {
    "the old snapshot under the new record": lambda old, new: replace(new, snapshot=old.snapshot),
    "the new marks and `from` in the old record": lambda old, new: replace(old, marks=new.marks, start=new.start),
    "the new marks in the old record": lambda old, new: replace(old, marks=new.marks),
    "another `from`": lambda old, new: replace(new, start=old.start),
    "marks before what was folded": lambda old, new: replace(new, marks=old.marks),
    "no snapshot": lambda old, new: replace(new, snapshot=(), chunks=0),
    "no snapshot, and nothing to fold": lambda old, new: replace(new, snapshot=(), chunks=0, start=new.marks),
    "a `small` state with other facts": lambda old, new: replace(new, small=new.small.replace(b"4", b"5")),
    "another revision": lambda old, new: replace(new, revisions={"screen": ("0" * 16, 1)}),
    "no proof": lambda old, new: replace(new, proof=b""),
    "the proof of the older record": lambda old, new: replace(new, proof=old.proof),
}


@pytest.mark.parametrize("name", FORGED)
def test_no_forged_record_lets_a_server_ask_twice(name: str) -> None:
    forged = Forged()
    record = FORGED[name](forged.before, forged.after)
    assert record != forged.after
    with pytest.raises(StateError) as caught:
        forged.ask_again(record)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(("perturb 0: ", "shop/perturb/0: "))


def test_the_records_that_it_wrote_bring_it_back_whole_and_pay_nobody_twice() -> None:
    for kept in ("before", "after"):
        forged = Forged()
        said = forged.logs.all("reports")
        forged.recover(getattr(forged, kept))
        forged.give(ROUNDS, encode(question(PLAN, SCREEN, FIRST, patience_ms=7)))
        came = forged.logs.all("reports")[len(said) :]
        # a whole older state folds the same round again: the very same records, for the same price
        again = said if kept == "before" else []
        assert came[: len(again)] == again
        assert len(came) == len(again) + 1  # and `done` of the second round, which nobody answers
        assert forged.spent_micro == PLAN.epsilon_micro


def test_a_record_of_another_partition_or_another_state_key_is_refused() -> None:
    forged = Forged()
    two = deployment(*PLAN.streams, partitions=2, targets=1)
    for plan, partition, edge, error in (
        (PLAN, 0, KEYS.edge._replace(state=secret("another")), StateError),
        (two, 1, KEYS.edge, StateError),
        (two, 0, KEYS.edge, FrozenFactsError),
    ):
        name = f"perturb {partition}"
        build = lambda p=plan, e=edge, at=partition: Perturb(p, e, at, {TOPIC: 1})  # noqa: E731
        other = Task(name, build, [RAW, ROUNDS], forged.logs, {})
        other.state.append(forged.after)
        with pytest.raises(error, match=name):
            other.recover()
