# SPDX-License-Identifier: Apache-2.0
"""Value and presence in one report against the population split in two: who pays less, in exact variances.

The split: one half of the users tells by randomized response (two values) whether it holds a value, the other half
sends HM's report, silence as 0.  Either half is a random sample, which adds share (1 - share) to a presence estimate;
the comparison of means leaves the split that sampling error out, which only helps it.
"""

from __future__ import annotations

import numpy as np
import pytest

from murmurate.randomizers import GRR, ReportError
from murmurate.randomizers.errors import ParameterError
from murmurate.randomizers.numeric import HM, ValueAndPresence
from tests.cases import every
from tests.randomizers.numeric.instances import draw

CLAIMS = [0.1, 0.5, 1, 2, 3, 4, 6, 9, 12, 20]
SHARES = [0.01, 0.05, 0.2, 0.5, 0.9, 1.0]
MEANS = [-1.0, -0.5, 0.0, 0.3, 1.0]


@every("epsilon", CLAIMS)
@every("share", SHARES)
def test_one_report_for_both_is_at_least_as_good_as_half_the_users_for_each(epsilon: float, share: float) -> None:
    both, hm, rr = ValueAndPresence(epsilon=epsilon), HM(epsilon=epsilon), GRR(d=2, epsilon=epsilon)
    n = 1000
    split_share = float(rr.variance(n // 2, share)) + share * (1 - share) / n
    assert float(both.variance(n, share)) < split_share
    for mean in MEANS:  # of the holders, who all say the same: the largest variance of the split's estimate
        split_total = (share * float(hm.variance(1, mean)) + (1 - share) * float(hm.variance(1, 0))) / (n // 2)
        assert both.total_variance(n, share, mean**2) < split_total
        noise = float(rr.variance(n // 2, share))
        assert both.mean_variance(n, share, mean, mean**2) < (split_total + mean**2 * noise) / share**2


@every("epsilon", [epsilon for epsilon in CLAIMS if epsilon <= 2])
def test_up_to_two_nats_even_a_share_of_nobody_is_no_worse_without_sampling_error(epsilon: float) -> None:
    both, rr = ValueAndPresence(epsilon=epsilon), GRR(d=2, epsilon=epsilon)
    shares = np.linspace(0, 1, 11)
    assert (both.variance(1000, shares) <= rr.variance(500, shares) * (1 + 1e-4)).all()


def test_the_mean_of_holders_is_found_and_varies_as_its_linear_part_says() -> None:
    # 400 runs of 5 000 users, one in four of whom holds -1, 0 or 1; 5 standard errors, below 1e-6.
    made, runs, n = ValueAndPresence(d=4, epsilon=2), 400, 5000
    values = np.full(n, 3)
    values[: n // 4] = np.arange(n // 4) % 5 % 3  # of five: two -1, two 0, one 1
    reports = made.perturb(np.tile(values, runs), draw(runs * n)).reshape(runs, n, made.wire_size)
    means = np.array([made.mean(made.support(run), n) for run in reports])
    exact = made.mean_variance(n, 0.25, -0.2, 0.6)
    assert abs(means.mean() + 0.2) < 5 * (exact / runs) ** 0.5
    assert abs(means.var() / exact - 1) < 5 * (2 / runs) ** 0.5


def test_without_holders_there_is_no_mean() -> None:
    made = ValueAndPresence(d=4, epsilon=2)
    support = made.support(np.full((10, 1), made.silence, np.uint8))
    with pytest.raises(ReportError, match="no share of holders above 0"):
        made.mean(support, 10)
    with pytest.raises(ParameterError, match="found a share of 0"):
        made.mean_variance(10, 0, 0, 0)


def test_the_last_value_is_none() -> None:
    made = ValueAndPresence(d=4, epsilon=2)
    assert [made.value(cell) for cell in range(4)] == [-1, 0, 1, None]
