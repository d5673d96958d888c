# SPDX-License-Identifier: Apache-2.0
"""How often two standard errors hold the truth, over truths that wander, by the stream's own method and filter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.simulate.simulated_answers import run
from murmurate.agents.simulate.trial_truths import made_up
from murmurate.aggregators.measures.measure import stands
from tests.config.deployments import planned

PERIODS, SETTLED = 120, 20


def within(table: Mapping[str, Any], *, filtered: str, truths: int = 4) -> NDArray[Any]:
    """Of each statistic of a stream with this table and 20 000 users, as a share: of its raw estimates, from the
    twentieth period on. Behind a filter those of a truth err together: one truth says little.
    """
    stream = {**table, "every": "1m", "method": {"name": "lpu", "filter": filtered}}
    plan = planned(streams={"it": stream}, privacy={"epsilon": 2.0, "window": "4m", "min_batch": 20})
    of, held_within = plan.stream("it"), []
    for seed in range(truths):
        held = made_up(of, 20_000, drift=0.002, presence=0.9, periods=PERIODS, seed=seed)
        true = of.measure.true_statistics(held)
        for t, period in enumerate(run(held, of.method, of.setting(plan, first_t=0), seed=seed)):
            if t >= SETTLED and period.decision.measured_t is not None:
                said = stands(period.decision)
                held_within.append(np.abs(said.statistics - true[t]) <= 2 * np.sqrt(said.variance))
    return np.asarray(np.mean(held_within, axis=0))
