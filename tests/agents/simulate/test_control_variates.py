# SPDX-License-Identifier: Apache-2.0
"""Control variates: nothing is expected of luck, whatever decides what is asked, and an error that is luck is known."""

import numpy as np
import pytest

from murmurate.agents.simulate.control_variates import DRIFTS, ControlVariates, adjusted


def play(rng: np.random.Generator, periods: int) -> tuple[np.ndarray, np.ndarray]:
    """A walk that is measured better after a bad measurement, and not at all after two good ones; squared errors of
    the last measurement, and luck.
    """
    luck, truth, variance, rows, squares, last, good = ControlVariates(), np.zeros(2), 1.0, [], [], np.zeros(2), 0
    for _ in range(periods):
        truth = truth + rng.normal(0, 0.3, 2)
        luck.advance()
        if good < 2:
            last = truth + rng.normal(0, np.sqrt(variance), 2)
            luck.hear(last, truth, variance, published=True)
            off = float(((last - truth) ** 2).mean()) > variance
            variance, good = (0.5, 0) if off else (2.0, good + 1)
        else:
            good = 0
        rows.append(luck.row)
        squares.append(float(((last - truth) ** 2).mean()))
    return np.array(squares), np.array(rows)


def test_luck_is_nothing_on_average_though_what_is_asked_depends_on_it() -> None:
    rng = np.random.default_rng(1)
    means = np.array([play(rng, 30)[1].mean(axis=0) for _ in range(800)])
    # 7 normal numbers beyond 5.2 of their standard errors: 1.4e-6
    z = means.mean(axis=0) / (means.std(axis=0, ddof=1) / np.sqrt(len(means)))
    assert z.shape == (len(DRIFTS) + 1,)
    assert np.abs(z).max() < 5.2
    assert means.std(axis=0).min() > 0.001


def test_with_luck_taken_off_few_runs_agree_better_and_on_the_same_figure() -> None:
    rng = np.random.default_rng(2)
    runs = [play(rng, 400) for _ in range(40)]
    truth = np.mean([squares.mean() for squares, _ in runs])
    found = [adjusted([a[0], b[0]], [a[1], b[1]])[0] for a, b in zip(runs[::2], runs[1::2], strict=True)]
    raw = [(a[0].mean() + b[0].mean()) / 2 for a, b in zip(runs[::2], runs[1::2], strict=True)]
    assert np.std(found) < 0.7 * np.std(raw)
    assert np.mean(found) == pytest.approx(truth, rel=0.05)


def test_errors_of_one_period_out_of_each_part_agree_on_the_same_figure() -> None:
    rng = np.random.default_rng(4)
    runs = [play(rng, 400) for _ in range(80)]
    truth = np.mean([squares.mean() for squares, _ in runs])
    at = np.arange(0, 400, 5) + np.arange(80) * 3 % 5
    found = [
        adjusted([squares[at] for squares, _ in runs[k : k + 5]], [luck for _, luck in runs[k : k + 5]])[0]
        for k in range(0, 80, 5)
    ]
    assert np.mean(found) == pytest.approx(truth, rel=0.05)


def test_of_a_part_all_luck_is_taken_off_though_one_error_of_it_is_known() -> None:
    rng = np.random.default_rng(5)
    lucks = [np.repeat(rng.normal(0, 1, (40, 7)), 5, axis=0) + rng.normal(0, 1, 7) / 10 for _ in range(3)]
    squares = [10 + luck[::5] @ np.arange(7.0) for luck in lucks]
    noise = rng.normal(0, 1, (3, 40, 5, 7))
    mixed = [
        luck + (one - one.mean(axis=1, keepdims=True)).reshape(200, 7) for luck, one in zip(lucks, noise, strict=True)
    ]
    assert adjusted(squares, mixed)[0] == pytest.approx(10, abs=0.05)


def test_an_error_that_is_luck_and_a_constant_is_the_constant() -> None:
    rng = np.random.default_rng(3)
    lucks = [rng.normal(0, 1, (100, 7)) for _ in range(3)]
    lucks = [luck - luck.mean(axis=0) * (1 - 0.01) for luck in lucks]
    squares = [10 + luck @ np.arange(7.0) for luck in lucks]
    assert adjusted(squares, lucks)[0] == pytest.approx(10, abs=1e-3)
    flat = [np.full(100, 4.0)] * 3
    assert adjusted(flat, lucks)[0] == pytest.approx(4)
    assert adjusted([np.zeros(100)] * 3, lucks) == (0.0, 0.0)


def test_how_far_off_shrinks_with_runs_and_grows_as_they_differ() -> None:
    nothing = np.zeros((800, 7))
    alike = [adjusted([np.ones(800)] * runs, [nothing] * runs)[1] for runs in (2, 8)]
    assert alike[1] < alike[0] / 2
    apart = adjusted([np.full(800, 1.0), np.full(800, 3.0)], [nothing] * 2)[1]
    assert apart > 2 * alike[0]
