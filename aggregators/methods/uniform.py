"""The same for every period: everybody with a w-th of epsilon (LBU), or a w-th of the slots with all of it (LPU).

Contract: every period asks one question and releases its answer.  Where an answer stays below min_batch the last
release stands, and its variance grows with its age.  Source: LDP-IDS sections 4.1 and 5.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.methods.asking import Everybody, oracle, sample_of
from murmurate.aggregators.methods.method import Answer, Decision, Purpose, Question, Setting
from murmurate.aggregators.methods.slots import groups
from murmurate.aggregators.methods.standing import measured
from murmurate.aggregators.methods.turns import Turns
from murmurate.randomizers import Mechanism
from murmurate.randomizers.state import Arrays


class Uniform(Turns):
    """What LBU and LPU share: a release a period, and drift where one is missing."""

    def __init__(self, setting: Setting, *, mechanism: Mechanism) -> None:
        super().__init__(setting, would_use=mechanism)
        self._mechanism = mechanism
        self._moved: tuple[float, int] | None = None
        """Mean square difference of the last two estimates, and the periods between them."""

    def _answered(self, purpose: Purpose, amount: int, answer: Answer) -> Decision:
        old = self.standing
        if not answer.counted:
            return old.decision(self.t, mean_square=self._drift())
        self.standing = measured(self.t, self._mechanism, answer, sample_of(self.division, self.crowd))
        if old.measured_t is not None:
            moved = float(((self.standing.unbiased - old.unbiased) ** 2).mean())
            self._moved = moved, self.t - old.measured_t
        return self.standing.decision(self.t)

    def _drift(self) -> float:
        """How far the last release may be off by now: the step between the last two, stretched to its age.

        A random walk's mean square grows with the time, a trend's with its square; the larger is taken, and the noise
        of the two estimates is left in: rather too much than too little. Before there were two: 1, nothing is known.
        """
        measured_t = self.standing.measured_t
        if measured_t is None or self._moved is None:
            return 1.0
        step, gap = self._moved
        ratio = (self.t - measured_t) / gap
        return min(1.0, float(self.standing.variance.mean()) + step * max(ratio, ratio**2))

    def _facts(self) -> dict[str, Any]:
        return {"moved": self._moved}

    def _load(self, facts: dict[str, Any], arrays: Arrays) -> None:
        self._moved = (facts["moved"][0], facts["moved"][1]) if facts["moved"] else None


class LBU(Uniform):
    """LDP-IDS budget uniform: everybody answers every period with epsilon // w micro-nats."""

    name = "lbu"
    division = Everybody.division

    def __init__(self, setting: Setting) -> None:
        self._asking = Everybody(setting)
        self._share = setting.epsilon_micro // setting.w
        super().__init__(setting, mechanism=self._asking.mechanism(self._share))

    def _begin(self) -> Question:
        self.waiting = "publication", self._share
        return self._asking.question(self.t, self._share, "publication")

    def _slots(self, amount: int) -> int:
        return self.setting.slots


class LPU(Uniform):
    """LDP-IDS population uniform: the slots in w groups, one group a period with the whole epsilon."""

    name = "lpu"
    division = "population"

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting, mechanism=oracle(setting, setting.epsilon_micro))
        self._group = groups(slots=setting.slots, w=setting.w, seed=setting.seed)

    def later(self, t: int) -> Question:
        """The turn of a group is known beforehand."""
        return Question(self._mechanism, self._turn(t), "publication")

    def _begin(self) -> Question:
        self.waiting = "publication", int(self._turn(self.t).sum())
        return self.later(self.t)

    def _turn(self, t: int) -> NDArray[np.bool_]:
        return np.asarray(self._group == (t - self.setting.first_t) % self.setting.w)

    def _slots(self, amount: int) -> int:
        return amount
