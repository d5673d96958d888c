# SPDX-License-Identifier: Apache-2.0
"""A method whose questions use up one resource, users or epsilon, and the error that an answer would have.

Contract: `price` is R.var(x) of ARCHITECTURE section 5.2, the mean squared error of an estimate from an amount; it is
infinite where fewer than min_batch users are expected behind it.  One implementation serves budget division and
population division; only under the latter are answers a sample, and is there a choice of variance (dissimilarity.py).
Not here: how amounts become questions (asking.py), what is asked when.
"""

from __future__ import annotations

from math import inf

from murmurate.aggregators.filters.outside import OutsideEstimate
from murmurate.aggregators.methods.asking import Asking
from murmurate.aggregators.methods.dissimilarity import Rule, checked_rule, publication_error
from murmurate.aggregators.methods.last_estimate import LastEstimate
from murmurate.aggregators.methods.method import Answer, Floats, Purpose, Request, Setting
from murmurate.aggregators.methods.method_base import MethodBase
from murmurate.randomizers import ParameterError
from murmurate.randomizers.state import Arrays


class Drawing(MethodBase):
    """The common part of methods over any resource."""

    def __init__(self, setting: Setting, asking: Asking, *, usual: int, variance: str | None, **options: str) -> None:
        """usual: the amount whose mechanism counts before anything was asked; variance: None if everybody answers."""
        mechanism = asking.mechanism(usual)
        shown = {} if variance is None else {"variance": variance}
        super().__init__(setting, would_use=mechanism, **shown, **options)
        self.asking = asking
        # Where everybody answers nothing is sampled, and the paper's variance is exact.
        self.rule: Rule = "paper" if variance is None else checked_rule(variance, setting.measure, mechanism)

    def price(self, amount: int, profile: Floats) -> float:
        """err: the mean squared error expected of a release from this amount; infinite where it is not worth asking."""
        users = self.crowd.users
        if amount < 1 or not users or not self._enough(amount):
            return inf
        n = self.crowd.behind(self.asking.slots(amount)) or 0.0
        return publication_error(self.asking.mechanism(amount), n, users, profile, self.rule)

    def _enough(self, amount: int) -> bool:
        """Whether min_batch users are expected behind this amount: yes while their number is not known."""
        expected = self.crowd.behind(self.asking.slots(amount))
        return expected is None or expected >= max(1, self.setting.min_batch)

    def _ask(self, amount: int, purpose: Purpose) -> Request:
        self.waiting = purpose, amount
        return self.asking.request(self.t, amount, purpose)

    def _measured(self, amount: int, answer: Answer) -> LastEstimate:
        """The estimate from an answer that counts."""
        return self._estimate(self.asking.mechanism(amount), answer)

    def _error(self, amount: int, answer: Answer) -> float:
        """R.var of this answer: its mean squared error, by the rule."""
        mechanism, n = self.asking.mechanism(amount), answer.counted
        return publication_error(mechanism, n, self.crowd.users or n, mechanism.profile(answer.support, n), self.rule)

    def _error_of(self, amount: int, known: OutsideEstimate) -> float:
        """R.var of an answer of this amount, from an estimate that was known before the first answer."""
        n = known.users * self.asking.slots(amount) / self.setting.slots
        return publication_error(self.asking.mechanism(amount), n, known.users, known.known, self.rule)

    def _slots(self, amount: int) -> int:
        return self.asking.slots(amount)

    def _arrays(self) -> Arrays:
        return self.asking.arrays(self.t)


def too_little(name: str, asking: Asking, w: int, least: str) -> ParameterError:
    """The error for a resource too small to be divided."""
    return ParameterError(f"{name}: found {asking.total} to divide, w = {w}; allowed: at least {least}")
