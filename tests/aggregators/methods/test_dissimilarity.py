# SPDX-License-Identifier: Apache-2.0
"""dis and err: golden values, and that both mean what they say."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmurate.aggregators.methods.dissimilarity import (
    RULES,
    Rule,
    checked_rule,
    dissimilarity,
    finite_population_factor,
    publication_error,
    total_variance,
)
from murmurate.aggregators.methods.last_estimate import measured
from murmurate.aggregators.methods.method import Answer
from murmurate.randomizers import GRR, OUE, ParameterError
from tests.measured import sized

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[2] / "data" / "methods.json").read_text(encoding="ascii")
)


def test_dis_has_the_golden_values_by_both_rules() -> None:
    row = GOLDEN["dis"]
    grr, answer, release = GRR(d=row["d"], epsilon=row["eps"]), Answer(np.array(row["C"]), row["n"]), np.array(row["r"])
    np.testing.assert_allclose(grr.estimate(answer.support, row["n"]), row["c1"], rtol=1e-6)
    np.testing.assert_allclose(grr.mean_noise(np.array([0.5, 0.5])) / row["n"], row["V"], rtol=1e-6)
    np.testing.assert_allclose(
        total_variance(grr, grr.profile(answer.support, row["n"]), row["n"]), row["V_total_empirical"], rtol=1e-6
    )
    assert dissimilarity(grr, answer, release, "paper") == pytest.approx(row["dis_text"], rel=1e-6)
    assert dissimilarity(grr, answer, release, "sampling") == pytest.approx(row["dis_corrected"], rel=1e-6)


def test_err_has_the_golden_parts_by_both_rules() -> None:
    row = GOLDEN["sampling_variance"]
    c, n, users = np.array(row["c"]), row["n_s"], row["N"]
    grr = GRR(d=5, epsilon=row["eps"])
    np.testing.assert_allclose(publication_error(grr, n, users, c, "paper"), row["V_ldp"], rtol=1e-6)
    both = row["V_ldp"] + row["V_sampling"]
    np.testing.assert_allclose(publication_error(grr, n, users, c, "sampling"), both, rtol=1e-6)
    np.testing.assert_allclose(
        grr.mean_sampling(c) / n * finite_population_factor(n, users), row["V_sampling"], rtol=1e-6
    )


def test_an_estimate_divides_by_the_reports_received() -> None:
    row = GOLDEN["fo_est_received_n"]
    answer = Answer(np.array(row["C"]), row["received"])
    found = measured(7, GRR(d=row["d"], epsilon=row["eps"]), answer, row["requested"])
    np.testing.assert_allclose(found.unbiased, row["est"], rtol=1e-6)
    assert found.measured_t == 7


@pytest.mark.parametrize("kind", [GRR, pytest.param(OUE, marks=pytest.mark.audit)])
@pytest.mark.parametrize("rule", RULES)
def test_dis_is_unbiased_by_sampling_and_too_large_by_the_papers_rule(kind: type[GRR | OUE], rule: Rule) -> None:
    rng = np.random.default_rng(1)
    c, release, n, runs = np.array([0.5, 0.3, 0.2]), np.array([0.45, 0.25, 0.3]), 400, 20_000
    oracle = kind(d=3, epsilon=2)
    p, q = float(oracle.p), float(oracle.q)
    holders = rng.multinomial(n, c, runs)
    if kind is GRR:
        table = np.full((3, 3), q) + np.eye(3) * (p - q)
        support = np.sum([rng.multinomial(holders[:, k], table[k]) for k in range(3)], axis=0)
    else:
        support = rng.binomial(holders, p) + rng.binomial(n - holders, q)
    found = np.array([dissimilarity(oracle, Answer(row, n), release, rule) for row in support])
    truth = float(((c - release) ** 2).mean())
    if rule == "paper":
        truth += float((c * (1 - c)).mean()) / n
    # False alarm 1e-6: 4.9 standard errors.
    assert abs(found.mean() - truth) < 4.9 * found.std() / np.sqrt(runs)


def test_one_report_does_not_know_its_own_variance() -> None:
    grr, answer = GRR(d=2, epsilon=1), Answer(np.array([1, 0]), 1)
    assert dissimilarity(grr, answer, np.zeros(2), "sampling") is None
    assert dissimilarity(grr, answer, np.zeros(2), "paper") is not None


def test_wild_estimates_never_make_sampling_negative() -> None:
    wild = np.array([1.9, -0.9])
    grr = GRR(d=2, epsilon=1)
    assert publication_error(grr, 10, 100, wild, "sampling") == publication_error(grr, 10, 100, wild, "paper")
    assert (
        publication_error(grr, 200, 100, np.array([0.5, 0.5]), "sampling") == grr.mean_noise(np.array([0.5, 0.5])) / 200
    )


def test_an_unknown_rule_lists_the_known_ones() -> None:
    with pytest.raises(ParameterError, match="variance: found 'exact'; allowed: sampling, paper"):
        checked_rule("exact", sized(2), GRR(d=2, epsilon=1))
