# SPDX-License-Identifier: Apache-2.0
"""The chooser takes what is best, and can be asked for the paper's rule."""

import math

import numpy as np
import pytest

from murmurate.aggregators.chooser import choose
from murmurate.randomizers import GRR, OUE, ParameterError

# T. Wang 2021, section 3.4.1: GRR while d < 3 e^eps + 2
PAPER = [
    (1, 10, "grr"),
    (1, 11, "oue"),
    (2, 24, "grr"),
    (2, 25, "oue"),
    (4, 165, "grr"),
    (4, 166, "oue"),
    (0.5, 6, "grr"),
]


@pytest.mark.parametrize(("epsilon", "d", "name"), [*PAPER, (0.5, 7, "oue")])
def test_the_papers_rule_is_the_papers(epsilon: float, d: int, name: str) -> None:
    assert choose(d=d, epsilon=epsilon, rule="paper").name == name


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("d", [2, 3, 5, 8, 9, 10, 11, 24, 25, 100, 166, 1000])
def test_the_accurate_choice_is_within_a_hundredth_of_the_smallest_mean_variance(epsilon: float, d: int) -> None:
    e, k = math.exp(epsilon), max(1, round(d / (math.exp(epsilon) + 1)))
    p = k * e / (k * e + d - k)
    q = (k - p) / (d - 1)
    smallest = min(  # closed forms of the mean over all cells
        (d - 2 + e) / (e - 1) ** 2 + (d - 2) / (d * (e - 1)),
        4 * e / (e - 1) ** 2 + 1 / d,
        q * (1 - q) / (p - q) ** 2 + (1 - p - q) / (p - q) / d,
    )
    chosen = choose(d=d, epsilon=epsilon)
    assert float(chosen.variance(1, 1 / d)) <= 1.0101 * smallest
    assert chosen.name in ("grr", "oue", "subset")


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("d", [2, 10, 100, 1000, 20_000])
def test_who_prefers_bytes_gets_no_longer_reports_and_at_most_half_as_much_variance_again(
    epsilon: float, d: int
) -> None:
    accurate, short = (choose(d=d, epsilon=epsilon, prefer=prefer) for prefer in ("accuracy", "bytes"))
    assert short.wire_size <= accurate.wire_size
    assert short.wire_size <= 3
    assert float(short.variance(1, 1 / d)) <= 1.5 * float(accurate.variance(1, 1 / d))


def test_the_mean_over_cells_is_the_variance_at_one_over_d() -> None:
    for mechanism in (GRR(d=6, epsilon=1.0), OUE(d=6, epsilon=1.0)):
        cells = mechanism.variance(1000, 1 / 6 * np.array([3, 1.5, 0.5, 0.5, 0.3, 0.2]))
        assert cells.mean() == pytest.approx(float(mechanism.variance(1000, 1 / 6)), rel=1e-12)


def test_an_unknown_rule_lists_the_known_ones() -> None:
    with pytest.raises(ParameterError, match="exact, paper"):
        choose(d=4, epsilon=1.0, rule="ada")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="accuracy, bytes"):
        choose(d=4, epsilon=1.0, prefer="speed")  # type: ignore[arg-type]
