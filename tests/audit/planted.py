# SPDX-License-Identifier: Apache-2.0
"""Pipelines that break the promise over a window, one way each, and servers that would profit: what the audit must see.

A server alone breaks nothing: its devices refuse.  Each fault here is in the devices, and each has a server that asks
for what the fault gives away.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from murmurate.aggregators.methods.absorption import Absorption
from murmurate.aggregators.methods.slots import Pool
from murmurate.aggregators.methods.uniform import LBU, LPU
from murmurate.randomizers import DeviceArray, Grant, Key
from murmurate.randomizers.devices import Answers
from murmurate.randomizers.ledger import Ledger, Mask, Verdict
from murmurate.randomizers.state import Arrays

Plant = Callable[[pytest.MonkeyPatch], None]


# ---- servers that ask too much ----


def asks_groups_again_early(patch: pytest.MonkeyPatch) -> None:
    """LPU with w - 1 groups instead of w."""

    def turn(self: LPU, t: int) -> np.ndarray:
        gap = self.setting.w - 1
        return np.asarray(self._group % gap == (t - self.setting.first_t) % gap)

    patch.setattr(LPU, "_turn", turn)


def recycles_slots_early(patch: pytest.MonkeyPatch) -> None:
    """Every method that draws slots: they count as free again after w - 1 periods."""
    patch.setattr(Pool, "eligible", lambda self, t: np.asarray(self.last_used <= t - self.w + 1))


def asks_for_half_each_period(patch: pytest.MonkeyPatch) -> None:
    """LBU with half of epsilon a period instead of a w-th."""

    def begin(self: LBU) -> Any:
        share = self.setting.epsilon_micro // 2
        self.waiting = "publication", share
        return self._asking.request(self.t, share, "publication")

    patch.setattr(LBU, "_begin", begin)


def publishes_with_all_that_is_left(patch: pytest.MonkeyPatch) -> None:
    """LBA, whose second round takes in each period all that the first has left."""
    patch.setattr(Absorption, "offer", lambda self, step: (2 * self.w - 1) * self.unit)


# ---- devices with a fault ----


def ledger_lets_slots_go_early(patch: pytest.MonkeyPatch) -> None:
    """A slot may answer again after w - 1 periods."""
    verdicts = Ledger.verdicts

    def early(self: Ledger, t: int, *charge: Any) -> np.ndarray:
        self.w -= 1
        try:
            return verdicts(self, t, *charge)
        finally:
            self.w += 1

    patch.setattr(Ledger, "verdicts", early)


def every_phase_is_a_period_of_its_own(patch: pytest.MonkeyPatch) -> None:
    """A slot may answer several rounds about one period."""
    verdicts = Ledger.verdicts

    def forgetful(self: Ledger, t: int, *charge: Any) -> np.ndarray:
        told = verdicts(self, t, *charge)
        told[(told != Verdict.SILENT) & (self.newest() == t)] = Verdict.CHARGED
        return told

    patch.setattr(Ledger, "verdicts", forgetful)


def charge_is_forgotten_in_a_crash(patch: pytest.MonkeyPatch) -> None:
    """Who recovers from a snapshot has spent nothing."""
    load = Ledger.load

    def forgetful(self: Ledger, arrays: Arrays) -> None:
        load(self, arrays)
        self._spent[:] = 0

    patch.setattr(Ledger, "load", forgetful)


def second_charge_replaces_the_first(patch: pytest.MonkeyPatch) -> None:
    """Of two rounds about one period only the last is booked."""
    charge = Ledger.charge

    def replacing(self: Ledger, t: int, charge_micro: int, digest: bytes, asked: Mask) -> np.ndarray:
        verdicts = charge(self, t, charge_micro, digest, asked)
        self._spent[t % self.w] = np.where(verdicts == 1, charge_micro, self._spent[t % self.w])
        return verdicts

    patch.setattr(Ledger, "charge", replacing)


def fresh_coins_after_a_crash(patch: pytest.MonkeyPatch) -> None:
    """The same question is answered with new coins each time."""
    answer, tries = DeviceArray.answer, [0]

    def fresh(self: DeviceArray, grant: Grant, values: np.ndarray, members: Mask | None = None) -> Answers:
        tries[0] += 1
        other = grant.ask.digest[:28] + tries[0].to_bytes(4, "little")
        rows, users, _ = answer(self, grant, values, members)
        draw = self._secrets.randomness.draw(users, round=other)
        return Answers(rows, users, grant.ask.question.perturb(values[rows].astype(np.int32), draw))

    patch.setattr(DeviceArray, "answer", fresh)


def who_has_no_value_is_silent(patch: pytest.MonkeyPatch) -> None:
    """None, the last value of the domain, is told by sending nothing."""
    answer = DeviceArray.answer

    def answered(self: DeviceArray, grant: Grant, values: np.ndarray, members: Mask | None = None) -> Answers:
        talks = values != grant.ask.question.layout[1] - 1
        return answer(self, grant, values, talks if members is None else talks & members)

    patch.setattr(DeviceArray, "answer", answered)


def second_round_repeats_the_coins_of_the_first(patch: pytest.MonkeyPatch) -> None:
    """One key a period, whatever the round and its mechanism: M2 is drawn by the words that drew M1."""
    answer, derive, period = DeviceArray.answer, Key._derive, [0]

    def answered(self: DeviceArray, grant: Grant, values: np.ndarray, members: Mask | None = None) -> Answers:
        period[0] = grant.ask.t
        return answer(self, grant, values, members)

    def derived(self: Key, round: bytes, mechanism: bytes, purpose: str) -> bytes:
        if purpose != "report":
            return derive(self, round, mechanism, purpose)
        return derive(self, period[0].to_bytes(32, "little"), bytes(32), purpose)

    patch.setattr(DeviceArray, "answer", answered)
    patch.setattr(Key, "_derive", derived)
