# SPDX-License-Identifier: Apache-2.0
"""Measure, decide, publish: what the adaptive methods of LDP-IDS share (LBD, LBA, LPD, LPA; DSATw's frame as well).

Contract, for each period t:
  1. first round, always paid, in nullified periods too: `unit` of the resource gives dis;
  2. the allotment offers an amount, 0 where t is nullified; err is the error of a release from that amount, infinite
     where fewer than min_batch users are expected behind it;
  3. dis > err: second round, and its estimate is the release; else (a tie, no first answer) the last one is repeated.
After a second round below min_batch the last release is repeated, and its amount is used all the same.  r_0 = 0; since
a mean may be near 0 for ever, its first publication does not wait for dis (ARCHITECTURE section 5.1).  First rounds
take `first_share` of the resource of a window (the paper's half, beta), publications the rest.
Source: LDP-IDS section 5.2, ARCHITECTURE section 5.1.  Not here: how amounts become questions (asking.py), how much is
offered (absorption.py, halving.py), dis and err (dissimilarity.py, drawing.py).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from fractions import Fraction
from math import ceil, inf
from typing import Any, Protocol

from murmurate.aggregators.accounting.schedules import Absorbed, Often, SharedOut, WindowRounds
from murmurate.aggregators.methods.asking import Asking, Everybody, FreshSlots
from murmurate.aggregators.methods.dissimilarity import dissimilarity
from murmurate.aggregators.methods.drawing import Drawing, too_little
from murmurate.aggregators.methods.errors import TurnError
from murmurate.aggregators.methods.method import Answer, Decision, Floats, Purpose, Request, Setting
from murmurate.aggregators.methods.options import HALF, MethodOptions
from murmurate.randomizers import ParameterError
from murmurate.randomizers.errors import shown
from murmurate.randomizers.state import Arrays


class Allotment(Protocol):
    """How the resource of publications is spread over time."""

    def offer(self, step: int) -> int:
        """The amount for a publication now; 0 in a nullified period."""
        ...

    def uses(self) -> Often | Absorbed | SharedOut:
        """What publications may use in any w periods."""
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


class Adaptive(Drawing):
    """An adaptive method over any resource (`asking`) and any schedule of publications (`allotment`)."""

    def __init__(
        self,
        setting: Setting,
        asking: Asking,
        allotment: Callable[[int], Allotment],
        *,
        variance: str | None = None,
        first_share: str = HALF,
    ) -> None:
        """allotment: a function from what publications may use in a window to their schedule."""
        share, w = part(first_share), setting.w
        self.unit = int(share * asking.total) // w
        rest = int((1 - share) * asking.total)
        if not self.unit or not rest // w:
            least = ceil(w / min(share, 1 - share))
            shares = f"2 w = {least}" if share == Fraction(1, 2) else f"{least}, by first_share = {first_share}"
            raise too_little(self.name, asking, w, shares)
        super().__init__(setting, asking, usual=self.unit, variance=variance, first_share=first_share)
        self.allotment = allotment(rest)
        self.dis: float | None = None
        """The last mean squared distance measured."""

    @classmethod
    def smallest(cls, w: int, options: MethodOptions) -> Fraction:
        """The part that a period's first round uses."""
        return part(options.first_share or HALF) / w

    def most_rounds(self) -> WindowRounds:
        """Under budget division a first round in every period, and what the schedule may publish."""
        if self.division == "population":
            return super().most_rounds()
        first, most = Often(self.unit, self.setting.w), self.allotment.uses()
        if isinstance(most, Often):
            return self._rounds(first, most, chosen=True)
        return self._rounds(first, chosen=True, publications=most)

    def _begin(self) -> Request | Decision:
        return self._ask(self.unit, "dissimilarity")

    def _answered(self, purpose: Purpose, amount: int, answer: Answer) -> Request | Decision:
        if purpose == "publication":
            if answer.counted:
                self.standing = self._measured(amount, answer)
            return self._release()
        mechanism = self.asking.mechanism(amount)
        dis = dissimilarity(mechanism, answer, self.standing.unbiased, self.rule) if answer.counted else None
        if dis is None:
            return self._release()
        return self._decide(dis, mechanism.profile(answer.support, answer.counted))

    def decide(self, dis: float, profile: Floats) -> Request | Decision:
        """Go on as if the first round, which is open, had shown this dissimilarity and this raw profile."""
        if not self.waiting or self.waiting[0] != "dissimilarity":
            raise TurnError(f"{self.name}: found a dissimilarity at t = {self.t} while no first round is open")
        self.waiting = None
        return self._decide(dis, profile)

    def _decide(self, dis: float, profile: Floats) -> Request | Decision:
        self.dis = dis
        amount = self.allotment.offer(self.step)
        price = self.price(amount, profile)
        if price == inf or not self._pays(dis, price):
            return self._release()
        self.allotment.spend(self.step, amount)
        return self._ask(amount, "publication")

    def _pays(self, dis: float, price: float) -> bool:
        """Whether to publish, at this finite price."""
        first = self.standing.measured_t is None and not self.setting.measure.zero_stands
        return first or dis > price

    def _release(self) -> Decision:
        """Release the last estimate. An older one has the last measured distance as its error."""
        fresh = self.standing.measured_t == self.t
        return self.standing.decision(self.t, mean_square=None if fresh else self.dis)

    def _facts(self) -> dict[str, Any]:
        return {"dis": self.dis, "allotment": self.allotment.facts()}

    def _load(self, facts: dict[str, Any], arrays: Arrays) -> None:
        self.dis = facts["dis"]
        self.allotment.load(facts["allotment"])
        self.asking.load(self.t, arrays)


def part(share: str) -> Fraction:
    """The exact share that a text denotes.

    >>> part("0.3")
    Fraction(3, 10)
    """
    try:
        found = Fraction(share)
    except (ValueError, TypeError, ZeroDivisionError):
        found = Fraction(0)
    if not isinstance(share, str) or not 0 < found < 1:
        raise ParameterError(f'first_share: found {shown(share)}; allowed: a text between "0" and "1", such as "0.5"')
    return found


class ByBudget(Adaptive):
    """Budget division: everybody answers, with a part of epsilon."""

    division = Everybody.division

    def __init__(self, setting: Setting, *, first_share: str = HALF) -> None:
        super().__init__(setting, Everybody(setting), self.schedule(setting), first_share=first_share)

    @classmethod
    @abstractmethod
    def schedule(cls, setting: Setting) -> Callable[[int], Allotment]:
        """From what publications may use in a window to their schedule."""


class ByPopulation(Adaptive):
    """Population division: fresh slots answer, with the whole epsilon."""

    division = FreshSlots.division

    def __init__(self, setting: Setting, *, variance: str = "sampling", first_share: str = HALF) -> None:
        asking = FreshSlots(setting)
        super().__init__(setting, asking, self.schedule(setting), variance=variance, first_share=first_share)

    @classmethod
    @abstractmethod
    def schedule(cls, setting: Setting) -> Callable[[int], Allotment]:
        """From what publications may use in a window to their schedule."""
