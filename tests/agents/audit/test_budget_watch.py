# SPDX-License-Identifier: Apache-2.0
"""The second opinion on a run: nothing over budget where the ledger holds, and every report where it does not."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from numpy.typing import NDArray

from murmurate.agents.cli.replay import known_secrets
from murmurate.agents.replay.run import Outcome, Replay, keys
from murmurate.agents.replay.sources import open_source
from murmurate.aggregators.methods.method import Request
from murmurate.aggregators.methods.uniform import LBU, LPU
from murmurate.config.plan import Plan
from murmurate.randomizers.ledger import Ledger, Mask, Verdict
from tests.agents.replay.plans import MINUTE, START, plan, stream

USERS, PERIODS, W = 300, 14, 4


def deployment(method: str) -> Plan:
    one = dataclasses.replace(stream(method=method, values=("0", "1"), w=W, carry_ms=None), share_micro=1_000_000)
    return plan(one, partitions=2, targets=2)


def replayed(of: Plan, text: str = f"synthetic:lns,n={USERS},periods={PERIODS}") -> Outcome:
    return Replay(of, open_source(text, of), keys(known_secrets(of.name), of.name)).run()


@pytest.fixture
def greedy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that asks for more than was promised: everybody, every period, with the whole epsilon."""

    def everybody(method: LPU, t: int) -> NDArray[np.bool_]:
        return np.ones(method.setting.slots, np.bool_)

    def everything(method: LBU) -> Request:
        method.waiting = "publication", method.setting.epsilon_micro
        return Request(method._asking.mechanism(method.setting.epsilon_micro), None, "publication")

    monkeypatch.setattr(LPU, "_turn", everybody)
    monkeypatch.setattr(LBU, "_begin", everything)


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger that lets everything pass."""

    def all_charged(
        ledger: Ledger, t: int, charge_micro: int, digest: bytes, asked: Mask, *rest: object
    ) -> NDArray[np.uint8]:
        return np.where(asked, Verdict.CHARGED, Verdict.SILENT).astype(np.uint8)

    monkeypatch.setattr(Ledger, "verdicts", all_charged)


@pytest.mark.parametrize("method", ["lbu", *(pytest.param(name, marks=pytest.mark.audit) for name in ("lpu", "lpa"))])
def test_an_honest_run_has_nothing_over_budget(method: str) -> None:
    assert replayed(deployment(method)).over_budget == 0


@pytest.mark.parametrize("method", ["lpa", *(pytest.param(name, marks=pytest.mark.audit) for name in ("lpu", "lbu"))])
def test_users_who_come_while_a_round_waits_are_not_over_budget(
    method: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    # Values stand for ever, so users answer from the period of their first event on, which was asked before it.
    path = tmp_path_factory.mktemp("source") / "new.csv"
    rows = (f"u-{i},{START + i * 800},{i % 2}\n" for i in range(900))  # twelve minutes, somebody new in every line
    path.write_text("user,time,value\n" + "".join(rows), encoding="utf-8")
    outcome = replayed(deployment(method), str(path))
    assert [period.users for period in outcome.truth] == [min(900, 75 * t) for t in range(1, 13)]
    assert outcome.truth[0].t == START // MINUTE
    assert outcome.over_budget == 0


@pytest.mark.usefixtures("greedy")
@pytest.mark.parametrize("method", ["lbu", "lpu"])
def test_a_greedy_server_gets_nothing_over_budget_from_an_honest_ledger(method: str) -> None:
    assert replayed(deployment(method)).over_budget == 0


@pytest.mark.usefixtures("greedy", "broken")
@pytest.mark.parametrize("method", ["lbu", "lpu"])
def test_a_greedy_server_and_a_broken_ledger_are_seen_report_by_report(method: str) -> None:
    # Everybody answers every period. The first answer in w periods is paid for, the others are over budget.
    outcome = replayed(deployment(method))
    paid = -(-PERIODS // W)
    assert outcome.over_budget == USERS * (PERIODS - paid)


def test_answers_of_slots_that_were_not_asked_are_over_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    def all_charged(ledger: Ledger, *asked: object, **more: object) -> NDArray[np.uint8]:
        return np.full(len(ledger), Verdict.CHARGED, np.uint8)

    monkeypatch.setattr(Ledger, "verdicts", all_charged)
    for method in ("lpu", "lpa"):
        assert replayed(deployment(method)).over_budget > USERS * PERIODS // 2
