# SPDX-License-Identifier: Apache-2.0
"""Schedules that look at no answer: a w-th of epsilon from everybody (LBU) or all of it from a w-th of the slots (LPU)
in every period; or all of it from everybody in every w-th (LSP).

Contract: a period with a question releases its answer.  A period without one, or with an answer below min_batch,
repeats the last release with a variance that grows with its age.  Source: LDP-IDS sections 4.1 and 5.1.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.accounting.schedules import Often, WindowRounds
from murmurate.aggregators.methods.asking import Everybody, oracle
from murmurate.aggregators.methods.drift import Drift
from murmurate.aggregators.methods.method import Answer, Decision, Purpose, Request, Setting
from murmurate.aggregators.methods.method_base import MethodBase
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.aggregators.methods.slots import groups
from murmurate.randomizers import Question
from murmurate.randomizers.state import Arrays


class Uniform(MethodBase):
    """What LBU, LPU and LSP share: releases of fresh answers, and drift where one is missing."""

    fixed = True

    def __init__(self, setting: Setting, *, mechanism: Question) -> None:
        super().__init__(setting, would_use=mechanism)
        self._mechanism = mechanism
        self._drift = Drift()

    @classmethod
    def smallest(cls, w: int, options: MethodOptions) -> Fraction:
        """A w-th."""
        return Fraction(1, w)

    def _answered(self, purpose: Purpose, amount: int, answer: Answer) -> Decision:
        old = self.standing
        if not answer.counted:
            return self._last_release()
        self.standing = self._estimate(self._mechanism, answer)
        self._drift.note(old, self.standing)
        return self.standing.decision(self.t)

    def _last_release(self) -> Decision:
        """Release the last estimate again."""
        return self.standing.decision(self.t, mean_square=self._drift.bound(self.standing, self.t))

    def _facts(self) -> dict[str, Any]:
        return {"moved": self._drift.facts()}

    def _load(self, facts: dict[str, Any], arrays: Arrays) -> None:
        self._drift.load(facts["moved"])


class LBU(Uniform):
    """LDP-IDS budget uniform: everybody answers every period with epsilon // w micro-nats."""

    name = "lbu"
    division = Everybody.division
    simplicity = 9

    def __init__(self, setting: Setting) -> None:
        self._asking = Everybody(setting)
        self._share = setting.epsilon_micro // setting.w
        super().__init__(setting, mechanism=self._asking.mechanism(self._share))

    def most_rounds(self) -> WindowRounds:
        """One round in every period."""
        return self._rounds(Often(self._share, self.setting.w))

    def _begin(self) -> Request:
        self.waiting = "publication", self._share
        return self._asking.request(self.t, self._share, "publication")

    def _slots(self, amount: int) -> int:
        return self.setting.slots


class LPU(Uniform):
    """LDP-IDS population uniform: the slots in w groups, one group a period with the whole epsilon."""

    name = "lpu"
    division = "population"
    simplicity = 1

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting, mechanism=oracle(setting, setting.epsilon_micro))
        self._group = groups(slots=setting.slots, w=setting.w, seed=setting.seed)

    def later(self, t: int) -> Request | None:
        """The request to the group of this period."""
        return self._request(t)

    def _begin(self) -> Request | Decision:
        self.waiting = "publication", int(self._turn(self.t).sum())
        return self._request(self.t)

    def _request(self, t: int) -> Request:
        return Request(self._mechanism, self._turn(t), "publication")

    def _turn(self, t: int) -> NDArray[np.bool_]:
        return np.asarray(self._group == (t - self.setting.first_t) % self.setting.w)

    def _slots(self, amount: int) -> int:
        return amount


class LSP(Uniform):
    """LDP-IDS sampling: everybody answers every w-th period, the first one first, with the whole epsilon."""

    name = "lsp"
    division = "population"
    simplicity = 2

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting, mechanism=oracle(setting, setting.epsilon_micro))

    @classmethod
    def smallest(cls, w: int, options: MethodOptions) -> Fraction:
        """All of it."""
        return Fraction(1)

    @classmethod
    def usual(cls, w: int) -> Fraction:
        """All of it."""
        return Fraction(1)

    def later(self, t: int) -> Request | None:
        """The request to everybody, in every w-th period; None in the others."""
        return None if self._off(t) else Request(self._mechanism, None, "publication")

    def _begin(self) -> Request | Decision:
        if self._off(self.t):
            return self._last_release()
        self.waiting = "publication", self.setting.slots
        return Request(self._mechanism, None, "publication")

    def _off(self, t: int) -> int:
        """The number of periods since everybody was asked."""
        return (t - self.setting.first_t) % self.setting.w

    @property
    def sample(self) -> None:
        """None: a question of this method goes to everybody."""
        return None

    def _slots(self, amount: int) -> int:
        return amount
