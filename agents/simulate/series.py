# SPDX-License-Identifier: Apache-2.0
"""A run over synthetic users as series: the method's estimates, its filter's, the truth, and the cost.

Contract: a function of its arguments, as simulated_answers.py is.  For numbers truth and estimates are their mean, on
the scale of the mechanism, -1 to 1.  Not here: drawing users (simulated_answers.py), errors
(replay/error_measures.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.replay.error_measures import bits, mean_relative_error, report_bits
from murmurate.agents.simulate.simulated_answers import Holders, run
from murmurate.aggregators.methods.method import Setting
from murmurate.aggregators.methods.options import MethodOptions

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Series:
    """The series of one run; arrays are [periods, statistics]."""

    said: Floats
    """The raw estimates of the method itself."""
    true: Floats
    bits: float
    """Bits sent per user and period."""
    published: float
    """The share of periods whose release is measured from reports of their own."""
    best: Floats | None = None
    """The filter's estimates, where there is a filter."""
    variance: Floats | None = None
    """The variances of the filter's estimates."""
    course: Floats | None = None
    """Mean and variance of the filter's estimates so far: [periods, 2, statistics]."""

    def relative_error(self, estimates: Floats | None = None) -> float:
        """The MRE of the method's own series or of another one; numbers are taken on a scale from 0 to 1."""
        mine = self.said if estimates is None else estimates
        if mine.shape[1] == 1:
            return mean_relative_error((mine + 1) / 2, (self.true + 1) / 2, second=False)
        return mean_relative_error(mine, self.true, second=mine.shape[1] == 2)


def series(holders: Holders, options: MethodOptions, setting: Setting, *, seed: int) -> Series:
    """Run a method over a stream and collect its series."""
    true = setting.measure.true_statistics(holders)
    raw, best, variance = np.empty_like(true), np.empty_like(true), np.empty_like(true)
    course = np.empty((len(true), 2, true.shape[1]))
    answers, published, filtered = list[tuple[int, int]](), 0, False
    for i, period in enumerate(run(holders, options, setting, seed=seed)):
        decision = period.decision
        raw[i], published = decision.vector.unbiased, published + decision.published
        if filtered := (estimate := decision.vector.best) is not None:
            best[i], variance[i], course[i] = estimate.statistics, estimate.variance, estimate.course
        for one in period.rounds:
            answers.append((report_bits(one.request.question.spec(), setting.d), one.answer.counted))
    share = published / len(holders)
    cost = bits(answers, int(holders.sum()), method=options.name, published=share)
    return Series(raw, true, cost, share, *((best, variance, course) if filtered else ()))
