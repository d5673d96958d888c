# SPDX-License-Identifier: Apache-2.0
"""Sample some periods, filter the answers, and release predictions for the others: what FAST and RescueDP share.

Contract: a period is sampled when one is due and its amount is worth asking: fewer users than min_batch are not, unless
the window has had no sample (our own: else a method would never learn that there are more users).  Otherwise the
filter's level is released.  A sample's answer moves the level and sets after how many periods, at most w, the next one
is due.  After a lost answer the level stays and the next period is sampled; its amount is used all the same.  A
release's variance is the filter's own P, and grows by its Q from period to period: as good as the model, which assumes
that all statistics drift alike.  Where numbers are measured the newest answer is kept with the level.
Source: ARCHITECTURE section 5.2.  Not here: how much a sample takes and how long the next one waits (fast.py,
rescuedp.py).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np

from murmurate.aggregators.filters.outside import OutsideEstimate
from murmurate.aggregators.methods.asking import Asking
from murmurate.aggregators.methods.drawing import Drawing
from murmurate.aggregators.methods.kalman import Kalman
from murmurate.aggregators.methods.method import Answer, Decision, Floats, Purpose, Request, Setting
from murmurate.aggregators.methods.pid import Pid
from murmurate.aggregators.methods.recent import Recent
from murmurate.randomizers.state import Arrays


class Filtered(Drawing):
    """A sampling method over any resource; subclasses choose amounts and intervals."""

    averages = True

    def __init__(self, setting: Setting, asking: Asking, *, usual: int, variance: str | None, memory: int) -> None:
        """memory: how many errors the controller remembers."""
        super().__init__(setting, asking, usual=usual, variance=variance)
        self._usual = usual
        self.kalman = Kalman()
        self.pid = Pid(memory)
        self.interval = 1.0
        """I: after how many periods the next sample is due, before rounding down."""
        self.due = 1
        """The step of the next sample."""
        self.used: Recent[float] = Recent(setting.w)
        """The share of the resource, from 0 to 1, that each sample took."""
        self.profile: Floats = np.zeros(0)
        """The raw profile of the newest answer, from which errors to come are priced."""

    def remember(self, known: OutsideEstimate) -> None:
        """Begin with an estimate from before the first period, and the drift that follows a usual first answer."""
        noise = self._error_of(self._usual, known)
        self.kalman.begin(known.known[: known.statistics], float(known.variance.mean()), noise, self.t)
        self.profile = known.known

    @abstractmethod
    def share(self) -> float:
        """x: the share of the resource that a sample of this period takes; 0 for none."""

    @abstractmethod
    def adapt(self, prior: Floats) -> None:
        """Set the interval after an answer. prior: the level before it."""

    def amount(self, share: float) -> int:
        """The amount of a share of the resource, in whole units."""
        return int(share * self.asking.total)

    def _begin(self) -> Request | Decision:
        share = self.share() if self.step >= self.due else 0.0
        amount = self.amount(share)
        if amount < 1 or (self.used.before(self.step) and not self._enough(amount)):
            return self._predicted()
        self.used.note(self.step, share)
        return self._ask(amount, "publication")

    def _answered(self, purpose: Purpose, amount: int, answer: Answer) -> Decision:
        if not answer.counted:
            self.due = self.step + 1
            return self._predicted()
        fresh, mechanism = self._measured(amount, answer), self.asking.mechanism(amount)
        profile = mechanism.profile(answer.support, answer.counted)
        gain = self.take(fresh.unbiased, self._error(amount, answer), profile)
        self.standing = replace(fresh, unbiased=self.kalman.level, variance=fresh.variance * gain)
        return self._predicted()

    def take(self, measured: Floats, variance: float, profile: Floats) -> float:
        """Filter an answer of this period, with its variance and its raw profile, and choose when the next one is due.
        Returns the filter's gain.
        """
        prior, self.profile = self.kalman.level, profile
        gain = self.kalman.correct(measured, variance, self.t)
        if len(prior):
            self.adapt(prior)
        self.due = self.step + int(self.interval)
        return gain

    def _predicted(self) -> Decision:
        known = len(self.kalman.level) > 0
        return self.standing.decision(self.t, mean_square=self.kalman.error_at(self.t) if known else None)

    def _facts(self) -> dict[str, Any]:
        control = {"interval": self.interval, "due": self.due, "errors": self.pid.facts()}
        return {**control, "used": self.used.facts(), "kalman": self.kalman.facts()}

    def _arrays(self) -> Arrays:
        return {**super()._arrays(), "level": self.kalman.level, "profile": self.profile}

    def _load(self, facts: dict[str, Any], arrays: Arrays) -> None:
        self.interval, self.due = facts["interval"], facts["due"]
        self.pid.load(facts["errors"])
        self.used.load(facts["used"])
        self.kalman.load(facts["kalman"], arrays["level"])
        self.profile = arrays["profile"].copy()
        self.asking.load(self.t, arrays)
