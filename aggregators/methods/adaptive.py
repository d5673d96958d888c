"""Measure, decide, publish: what the adaptive methods of LDP-IDS share (LPA; LBA, LBD, LPD fit the same frame).

Contract, for each period t:
  1. first round, always paid, in nullified periods too: `unit` of the resource gives dis;
  2. the allotment offers an amount, 0 where t is nullified; err is the error of a release from that amount, infinite
     where fewer than min_batch users are expected behind it;
  3. dis > err: second round, and its estimate is the release; else (a tie, no first answer) the last one stands.
A second round below min_batch leaves the last release standing, and its amount is used all the same.  r_0 = 0.
Source: LDP-IDS section 5.2, spec streams.md 2.1.  Not here: how amounts become questions (asking.py), how much is
offered (absorption.py), dis and err (dissimilarity.py).
"""

from __future__ import annotations

from math import inf
from typing import Any, Protocol

from murmurate.aggregators.methods.asking import Asking, sample_of
from murmurate.aggregators.methods.dissimilarity import Rule, checked_rule, dissimilarity, publication_error
from murmurate.aggregators.methods.errors import TurnError
from murmurate.aggregators.methods.method import Answer, Decision, Floats, Purpose, Question, Setting
from murmurate.aggregators.methods.standing import measured
from murmurate.aggregators.methods.turns import Turns
from murmurate.randomizers import ParameterError
from murmurate.randomizers.state import Arrays


class Allotment(Protocol):
    """How the resource of publications is spread over time."""

    def offer(self, step: int) -> int:
        """The amount for a publication now; 0 in a nullified period."""
        ...

    def spend(self, step: int, amount: int) -> None:
        """Note that this amount is asked for a publication now."""
        ...

    def facts(self) -> dict[str, Any]:
        """The whole state."""
        ...

    def load(self, facts: dict[str, Any]) -> None:
        """Take over `facts`."""
        ...


class Adaptive(Turns):
    """An adaptive method over any resource (`asking`) and any schedule of publications (`allotment`)."""

    def __init__(self, setting: Setting, asking: Asking, unit: int, allotment: Allotment, variance: str) -> None:
        if unit < 1:
            raise ParameterError(
                f"{self.name}: found {asking.total} to divide, w = {setting.w}; allowed: at least 2 w = {2 * setting.w}"
            )
        mechanism = asking.mechanism(unit)
        super().__init__(setting, would_use=mechanism, variance=variance)
        self.asking, self.allotment, self.unit = asking, allotment, unit
        self.rule: Rule = checked_rule(variance, mechanism)
        self.dis: float | None = None
        """The last mean squared distance measured."""

    def _begin(self) -> Question:
        return self._ask(self.unit, "dissimilarity")

    def _answered(self, purpose: Purpose, amount: int, answer: Answer) -> Question | Decision:
        mechanism = self.asking.mechanism(amount)
        if purpose == "publication":
            if answer.counted:
                self.standing = measured(self.t, mechanism, answer, sample_of(self.division, self.crowd))
            return self._release()
        dis = dissimilarity(mechanism, answer, self.standing.unbiased, self.rule) if answer.counted else None
        if dis is None:
            return self._release()
        return self._decide(dis, mechanism.profile(answer.support, answer.counted))

    def decide(self, dis: float, profile: Floats) -> Question | Decision:
        """Go on as if the first round, which is open, had shown this dissimilarity and this raw profile."""
        if not self.waiting or self.waiting[0] != "dissimilarity":
            raise TurnError(f"{self.name}: found a dissimilarity at t = {self.t} while no first round is open")
        self.waiting = None
        return self._decide(dis, profile)

    def price(self, amount: int, profile: Floats) -> float:
        """err: the mean squared error expected of a release from this amount; infinite where it is not worth asking."""
        slots = self.asking.slots(amount)
        n, users = self.crowd.behind(slots), self.crowd.users
        if amount < 1 or not n or not users or n < max(1, self.setting.min_batch):
            return inf
        return publication_error(self.asking.mechanism(amount), n, users, profile, self.rule)

    def _decide(self, dis: float, profile: Floats) -> Question | Decision:
        self.dis = dis
        amount = self.allotment.offer(self.step)
        if not dis > self.price(amount, profile):
            return self._release()
        self.allotment.spend(self.step, amount)
        return self._ask(amount, "publication")

    def _ask(self, amount: int, purpose: Purpose) -> Question:
        self.waiting = purpose, amount
        return self.asking.question(self.t, amount, purpose)

    def _release(self) -> Decision:
        """What stands now. Where this period could not measure its distance, the last one measured speaks for it."""
        fresh = self.standing.measured_t == self.t
        return self.standing.decision(self.t, mean_square=None if fresh else self.dis)

    def _slots(self, amount: int) -> int:
        return self.asking.slots(amount)

    def _facts(self) -> dict[str, Any]:
        return {"dis": self.dis, "allotment": self.allotment.facts()}

    def _arrays(self) -> Arrays:
        return self.asking.arrays(self.t)

    def _load(self, facts: dict[str, Any], arrays: Arrays) -> None:
        self.dis = facts["dis"]
        self.allotment.load(facts["allotment"])
        self.asking.load(self.t, arrays)
