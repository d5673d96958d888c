# SPDX-License-Identifier: Apache-2.0
"""The variance that a method states of an estimate: taken at the estimate itself, and right on average all the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmurate.aggregators.methods.dissimilarity import finite_population_factor
from murmurate.aggregators.methods.last_estimate import measured
from murmurate.aggregators.methods.method import Answer
from murmurate.randomizers import GRR, OUE, Branches, Question, Viewed, Whole
from murmurate.randomizers.mechanism import PureOracle, nearest_of_sum
from tests.cases import every

BRANCHES, USERS, ROUNDS = 3, 30_000, 400


def supports(oracle: PureOracle, reports: int, true: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Counts of a branch with so many reports, by the law of its oracle."""
    p, q = float(oracle.p), float(oracle.q)
    if oracle.sums:
        return rng.multinomial(reports, q + true * (p - q))
    held = rng.multinomial(reports, true)
    return np.asarray(rng.binomial(held, p) + rng.binomial(reports - held, q))


@every("oracle", [GRR(d=11, epsilon=1.0), GRR(d=11, epsilon=2.0), GRR(d=2, epsilon=1.0), OUE(d=32, epsilon=2.0)])
@every("size", [27, 100, 1_000])
def test_the_variance_that_is_stated_has_the_true_one_as_its_mean_however_small_branches_are(
    size: int, oracle: PureOracle
) -> None:
    """The mean of 400 rounds has a standard error below .6 %: 5 % are more than eight of them, a false alarm in 10^14
    runs.  At shares that are cut off at 0 it would be 13 % too large for `grr` of 11 values with 27 reports a branch.
    """
    rng, true = np.random.default_rng(size), 1 / np.arange(1.0, oracle.d + 1)
    true /= true.sum()
    asked: Question = Branches([(1, Viewed(Whole(("code", oracle.d)), oracle))] * BRANCHES)
    n, everywhere = BRANCHES * size, np.tile(true, BRANCHES)
    noise = asked.noise(everywhere) + asked.sampling(everywhere) * finite_population_factor(n, USERS)
    exact = noise / n + asked.added_variance(n, everywhere)
    stated = []
    for _ in range(ROUNDS):
        parts = rng.multinomial(n, [1 / BRANCHES] * BRANCHES).tolist()
        support = np.concatenate([np.append(m, supports(oracle, m, true, rng)) for m in parts])
        stated.append(measured(0, asked, Answer(support, n), USERS).variance)
    assert (np.array(stated) > 0).all()
    assert np.mean(stated) == pytest.approx(exact.mean(), rel=0.05)


@given(st.lists(st.floats(-3, 1), min_size=2, max_size=40))
def test_likely_shares_are_possible_in_the_order_of_the_estimates_and_of_no_larger_sum_than_those_cut_off(
    raw: list[float],
) -> None:
    found = nearest_of_sum(np.array(raw))
    assert ((found >= 0) & (found <= 1)).all()
    assert (np.diff(found[np.argsort(raw)]) >= -1e-12).all()
    assert (found <= np.clip(raw, 0, 1) + 1e-12).all()
    assert found.sum() == pytest.approx(max(sum(raw), 0), abs=1e-9)


def test_shares_that_a_population_can_have_are_likely_as_they_are() -> None:
    shares = np.array([0.5, 0.3, 0.2, 0.0])
    for asked in (GRR(d=4, epsilon=1.0), OUE(d=4, epsilon=1.0), Viewed(Whole(("code", 4)), GRR(d=4, epsilon=1.0))):
        np.testing.assert_allclose(asked.likely(shares), shares, atol=1e-12)
