# SPDX-License-Identifier: Apache-2.0
"""How a method asks: everybody for a part of epsilon, or some slots for all of it.

Contract: a method counts its resource in whole amounts: micro-nats under budget division, slots under population
division.  Any amount gives a question and the slots to ask; the code that methods share does not depend on which of the
two it is (ARCHITECTURE section 5.2).  Not here: how much is asked, and when.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Protocol

from murmurate.aggregators.faked_questions import question_with_fakes
from murmurate.aggregators.methods.method import Purpose, Request, Setting
from murmurate.aggregators.methods.slots import Crowd, Pool
from murmurate.randomizers import ParameterError, Question, clipped
from murmurate.randomizers.state import Arrays
from murmurate.randomizers.terms import Division
from murmurate.randomizers.thresholds import MICRO


class Asking(Protocol):
    """Amounts turned into questions."""

    division: ClassVar[Division]
    """What the promise is divided into: population or budget."""
    total: int
    """The amount that any w periods may use."""

    def mechanism(self, amount: int) -> Question:
        """The mechanism of a question of this amount."""
        ...

    def slots(self, amount: int) -> int:
        """How many slots this amount asks."""
        ...

    def request(self, t: int, amount: int, purpose: Purpose) -> Request:
        """The request of this amount. Its slots count as used from then on."""
        ...

    def arrays(self, t: int) -> Arrays:
        """What must survive a crash, as of t."""
        ...

    def load(self, t: int, arrays: Arrays) -> None:
        """Go on from `arrays`."""
        ...


class Everybody:
    """Budget division: every slot answers, and an amount is the micro-nats of epsilon that it answers with."""

    division: ClassVar[Division] = "budget"

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self.total = setting.epsilon_micro

    def mechanism(self, amount: int) -> Question:
        """The stream's mechanism at this epsilon: "auto" chooses again for each."""
        return oracle(self._setting, amount)

    def slots(self, amount: int) -> int:
        """All slots."""
        return self._setting.slots

    def request(self, t: int, amount: int, purpose: Purpose) -> Request:
        """A request to everybody."""
        return Request(self.mechanism(amount), None, purpose)

    def arrays(self, t: int) -> Arrays:
        """Nothing: the ledger of the devices remembers charges, the method its amounts."""
        return {}

    def load(self, t: int, arrays: Arrays) -> None:
        """Nothing to take over."""


class FreshSlots:
    """Population division: an amount is the number of slots to ask, all with the whole epsilon, once in w periods."""

    division: ClassVar[Division] = "population"

    def __init__(self, setting: Setting) -> None:
        self.total = setting.slots
        self.pool = Pool(slots=setting.slots, w=setting.w, seed=setting.seed)
        self._mechanism = oracle(setting, setting.epsilon_micro)

    def mechanism(self, amount: int) -> Question:
        """The stream's mechanism at the whole epsilon, for every amount."""
        return self._mechanism

    def slots(self, amount: int) -> int:
        """The amount itself."""
        return amount

    def request(self, t: int, amount: int, purpose: Purpose) -> Request:
        """A request to slots drawn from those that are free."""
        return Request(self._mechanism, self.pool.draw(t, amount, purpose), purpose)

    def arrays(self, t: int) -> Arrays:
        """When each slot was last used."""
        return {"ages": self.pool.ages(t)}

    def load(self, t: int, arrays: Arrays) -> None:
        """Take over when each slot was last used."""
        self.pool.load(t, arrays["ages"])


def sample_of(division: Division, crowd: Crowd) -> float | None:
    """The number of users of whom the reports of a question are a sample; None where everybody answers."""
    return crowd.users if division == "population" else None


@dataclass(frozen=True)
class QuestionAt:
    """The setting's question at so many micro-nats, as a value: two of one setting are equal."""

    setting: Setting

    def __call__(self, epsilon_micro: int) -> Question:
        """The question."""
        return oracle(self.setting, epsilon_micro)


@lru_cache(maxsize=256)  # a schedule by distribution asks at a new epsilon in nearly every period
def oracle(setting: Setting, epsilon_micro: int) -> Question:
    """The setting's mechanism at an epsilon: the chooser's for "auto"."""
    if epsilon_micro < 1:
        raise ParameterError(
            f"epsilon: found {setting.epsilon_micro} micro-nats for w = {setting.w} periods; allowed: at least one each"
        )
    epsilon = Fraction(epsilon_micro, MICRO)
    if setting.clip is None:
        return question_with_fakes(
            setting.measure, setting.mechanism, epsilon, setting.prefer, setting.fakes, setting.min_batch
        )
    name = setting.mechanism
    if name == "auto":
        name = setting.measure.choose(epsilon, setting.prefer).name
    return clipped(d=setting.d, epsilon=epsilon, inner=name, clip=setting.clip, group=setting.group)
