# SPDX-License-Identifier: Apache-2.0
"""A task that recovers: from all of its snapshot or not at all, and in an order that its stage would take."""

from __future__ import annotations

from dataclasses import replace

import pytest

from murmurate.agents.embedded.log import Logs
from murmurate.agents.embedded.task import Task
from murmurate.agents.stages.closing import MAX_UNSETTLED
from murmurate.agents.stages.code_values import CodeValues
from murmurate.agents.stages.errors import StateError
from murmurate.agents.stages.perturb import Perturb
from murmurate.agents.stages.stage import Log, Out
from murmurate.topics.codec import encode
from tests.agents.stages.hands import RAW, ROUNDS, progress, pseudonyms, question, rows, settled, start
from tests.agents.world import FIRST, KEYS, SECOND, TOPIC, deployment, stream

PLAN = deployment(stream("screen"), partitions=1, targets=1)
SCREEN = PLAN.streams[0]


def task(periods: int, monkeypatch: pytest.MonkeyPatch, snapshot_bytes: int = 1) -> Task:
    monkeypatch.setattr("murmurate.agents.embedded.task.SNAPSHOT_BYTES", snapshot_bytes)
    logs = Logs()
    made = Task("perturb 0", lambda: Perturb(PLAN, KEYS.edge, 0, {TOPIC: 1}), [RAW, ROUNDS], logs, {})
    logs.append([Out(RAW, encode(progress((FIRST - 1) * SECOND))), Out(ROUNDS, encode(start(SCREEN)))])
    for t in range(FIRST, FIRST + periods):
        blocks = rows(PLAN, SCREEN, pseudonyms(20), [t * SECOND] * 20, [1] * 20)
        logs.append([*(Out(RAW, block) for block in blocks), Out(RAW, encode(progress((t + 1) * SECOND + 500)))])
        logs.append([Out(ROUNDS, encode(question(PLAN, SCREEN, t))), Out(ROUNDS, encode(settled(SCREEN, t)))])
    while made.step():
        pass
    return made


def test_a_snapshot_that_is_lost_or_torn_is_not_taken_for_one_that_was_never_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = task(3, monkeypatch)
    last = one.state[-1]
    assert last.chunks == len(last.snapshot) > 0
    for left in ((), last.snapshot[:-1], (*last.snapshot, last.snapshot[-1])):
        one.state.append(replace(last, snapshot=left))
        with pytest.raises(StateError, match=r"perturb 0: the state is torn: found \d+ chunks"):
            one.recover()
    one.state.append(last)
    one.recover()


def test_a_recovery_never_holds_more_periods_than_the_live_run_may(monkeypatch: pytest.MonkeyPatch) -> None:
    one = task(30, monkeypatch, snapshot_bytes=1 << 40)
    most = 0

    class Watch:
        def at(self, point: str, task: str) -> None:
            nonlocal most
            assert isinstance(one.stage, Perturb)
            values = one.stage._streams["screen"].values
            assert isinstance(values, CodeValues)
            most = max(most, len(values.frozen) + len(values._open))

    before = b"".join(one.stage.snapshot())
    one._faults = Watch()
    one.recover()
    assert one.marks == {log: one._logs.end(log) for log in (RAW, ROUNDS)}
    assert b"".join(one.stage.snapshot()) == before
    assert 0 < most <= MAX_UNSETTLED + 1
    assert Log("reports", 0) in one._logs.topics()
