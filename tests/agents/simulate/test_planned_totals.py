# SPDX-License-Identifier: Apache-2.0
"""What `plan` says of a local total: the errors of runs that it knows nothing of, and the words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from murmurate.agents.simulate.prediction import Assumed, Prospect, jobs, prospect
from murmurate.agents.simulate.simulated_answers import run
from murmurate.agents.simulate.synthetic_counts import apportioned
from murmurate.aggregators.measures.total import Total
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.config.plan import Plan
from tests.cases import every
from tests.config.deployments import planned

USERS, PERIODS = 3_000, 400


def deployment(ends: tuple[float, float], w: int, **table: Any) -> Plan:
    total = {"measure": "total", "range": list(ends), "every": "1m", **table}
    return planned(privacy={"epsilon": 2.0, "window": {"periods": w}, "min_batch": 20}, streams={"spent": total})


def squared_errors(plan: Plan, method: str, shares: np.ndarray, seed: int) -> tuple[float, float]:
    """Of the series and of the filter, on the coarse grid; of a truth that stands still."""
    stream = plan.streams[0]
    of = stream.measure.tried()
    setting = replace(stream.setting(plan, first_t=0), measure=of, seed=bytes([seed]) * 32)
    held = np.tile(apportioned(shares[np.newaxis], USERS), (PERIODS, 1))
    true = of.true_figures(held)[0, 0]
    off = list[tuple[float, float]]()
    for t, period in enumerate(run(held, MethodOptions(method, filter="adaptive"), setting, seed=seed)):
        if t >= stream.w:
            figures = of.result(period.decision).named
            off.append((figures.unbiased[0] - true, figures.estimate[0] - true))
    own, filtered = (np.array(off) ** 2).mean(axis=0).tolist()
    return own, filtered


@every(
    ("ends", "w", "method"),
    [((0.0, 250.0), 1, "lbu"), ((-30.0, -10.0), 4, "lpu")],
    long=[((0.0, 250.0), 4, "lpu"), ((100.0, 110.0), 4, "lbu")],
)
def test_the_error_of_a_totals_series_is_as_planned_wherever_its_range_lies(
    ends: tuple[float, float], w: int, method: str
) -> None:
    plan = deployment(ends, w)
    of = plan.streams[0].measure.tried()
    (shares,) = of.made_up(drift=0, presence=0.6, periods=1, seed=1)
    still = Assumed(like=np.tile(apportioned(shares[np.newaxis], USERS), (20, 1)))
    found = prospect(next(job for job in jobs(plan, plan.streams[0], USERS, still, within=1) if job.method == method))
    assert isinstance(found, Prospect)
    assert found.best.series_by == "closed form"
    own, filtered = squared_errors(plan, method, shares, seed=9)
    # The mean of 396 squares, of which those of one round of drawing hang together, is known to 8 %: 4.9 of these.
    assert 0.6 < own / found.best.series**2 < 1.4
    assert filtered < own / 4
    assert found.best.filtered < found.best.series


def test_words_say_that_the_numbers_move_and_the_share_of_those_who_have_one_does_not() -> None:
    far, everybody = Total.of_size(9), Total.of_size(8, says_none=False)
    assert f"{far.moving} moves by 0.1 {far.drifts}" == "the mean of those with a value moves by 0.1 of the range "
    assert f"{everybody.moving} moves by 0.1 {everybody.drifts}" == "the total moves by 0.1 of the range "
    shares = far.made_up(drift=0.01, presence=0.3, periods=30, seed=1)
    assert np.allclose(shares[:, -1], 0.7)
    means = shares[:, :-1] @ np.linspace(-1, 1, 8) / 0.3
    assert np.ptp(means) > 0.01
