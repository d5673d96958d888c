# SPDX-License-Identifier: Apache-2.0
"""A method with the adaptive filter behind it: asks what the method asks, and adds the best estimate to its decisions.

Contract: the requests, and the method's own estimates, are those of the method alone, to the bit: the filter is given
the answers and changes nothing that is asked.  In a gap (a period that asks nothing, a round that does not count) the
filter's variances grow.  With revisions of lag k, a decision on t also holds the present estimate of t - k.  The same
history gives the same state.  Not here: the filter (adaptive.py), what a release makes of it (figures.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from murmurate.aggregators.accounting.schedules import WindowRounds
from murmurate.aggregators.filters.adaptive import AdaptiveFilter
from murmurate.aggregators.filters.many import ManyFilter
from murmurate.aggregators.filters.observed import ReportShares
from murmurate.aggregators.filters.outside import OutsideEstimate
from murmurate.aggregators.methods.method import Answer, Decision, Estimate, Request
from murmurate.aggregators.methods.method_base import MethodBase
from murmurate.randomizers import ParameterError, Question, SnapshotError, question
from murmurate.randomizers.state import StateForm, dump, load

FORM: Final = StateForm("following", 1)


class Following:
    """One stream's method and filter."""

    def __init__(self, method: MethodBase, *, revise: int = 0) -> None:
        """revise: the lag of revisions in periods; 0 for none."""
        measure, followed = method.setting.measure, method.standing.mechanism
        self._reports = measure.follows_reports(method.division)
        statistics = followed.outcomes if self._reports else followed.statistics
        self.method = method
        self.revise = revise
        self.filter: AdaptiveFilter | ManyFilter
        if (many := measure.many(followed)) is not None:
            if revise or method.setting.season:
                raise ParameterError("filter: found a season or revisions; allowed: where a release has every name")
            self.filter = ManyFilter(statistics, many)
        else:
            ranges, season = measure.ranges(followed), method.setting.season
            self.filter = AdaptiveFilter(
                statistics, ranges=ranges, wholes=measure.wholes(followed), ordered=measure.ordered, revisable=revise,
                season=season,
            )  # fmt: skip
        self._question: Question | None = None  # of the round that waits for its answer

    def remember(self, known: Iterable[OutsideEstimate | None]) -> None:
        """Give the filter estimates from before the first period: one, or None, for each period up to that one."""
        for of_period in known:
            if of_period is not None:
                self.filter.learn(of_period, Answer(np.zeros(0, np.int64), of_period.users), None)
            self.filter.advance()

    def open(self, t: int) -> Request | Decision:
        """Begin period t."""
        before = self.method.t
        step = self.method.open(t)
        if before >= self.method.setting.first_t:
            self.filter.advance(t - before)
        return self._seen(step)

    def tally(self, answer: Answer) -> Request | Decision:
        """Take the whole answer to the question that is open."""
        step, question_ = self.method.tally(answer), self._question
        assert question_ is not None  # noqa: S101 - the method has had a question open
        self.filter.learn(ReportShares(question_.outcomes) if self._reports else question_, answer, self.method.sample)
        return self._seen(step)

    def later(self, t: int) -> Request | None:
        """What `open` will ask of a period that has not been opened, where that is known by now."""
        return self.method.later(t)

    def most_rounds(self) -> WindowRounds:
        """What the method may ask."""
        return self.method.most_rounds()

    def go_on(self, min_batch: int) -> None:
        """From the next question on, another number of reports is the fewest that are released."""
        self.method.go_on(min_batch)

    def state(self) -> bytes:
        """All that must survive a crash."""
        spec = self._question.spec() if self._question else None
        facts = {"asked": spec, "revise": self.revise, "filter": self.filter.facts()}
        inner = np.frombuffer(self.method.state(), np.uint8)
        return dump(FORM, facts, {"method": inner, **{f"filter {k}": v for k, v in self.filter.arrays().items()}})

    def load(self, state: bytes) -> None:
        """Go on from `state()`, given the same setting."""
        facts, arrays = load(FORM, state)
        if facts["revise"] != self.revise:
            raise SnapshotError(f"{FORM.kind}: found the state of another lag; allowed: of {self.revise} periods")
        self.method.load(arrays.pop("method").tobytes())
        self.filter.load(facts["filter"], {name.removeprefix("filter "): array for name, array in arrays.items()})
        self._question = question(facts["asked"]) if facts["asked"] else None

    def _seen(self, step: Request | Decision) -> Request | Decision:
        if isinstance(step, Request):
            self._question = step.question
            return step
        self._question = None
        if not self.filter.informed:
            return step
        estimate, variance = self.filter.release()
        past, of_noise = np.stack(self.filter.past()), self.filter.of_noise()
        best = Estimate(step.t, estimate, variance, self._reports, past, of_noise)
        return step.with_vector(best=best, revised=self._revised(step.t))

    def _revised(self, t: int) -> Estimate | None:
        """The present estimate of period t - revise; None if there is none."""
        if not self.revise or t - self.revise < self.method.setting.first_t:
            return None
        estimates, variances = self.filter.smoothed(self.revise)
        if len(estimates) < self.revise:
            return None
        return Estimate(t - self.revise, estimates[0], variances[0], self._reports, np.stack(self.filter.past()))
