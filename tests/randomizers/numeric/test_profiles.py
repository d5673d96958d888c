# SPDX-License-Identifier: Apache-2.0
"""What a stream follows: profiles are unbiased, what they say of their own variance is, and none is implausible.

Exact for small domains, by enumeration over the laws of single reports and of pairs of them.  BLH and OLH stay out
where all reports are listed: their estimates are unbiased over hash functions, of which a list has but two.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmurate.randomizers import STREAMED, Mechanism
from murmurate.randomizers.numeric import HM, PM, SR, SW, MeanMechanism, ValueAndPresence, WaveAndPresence
from tests.audit.registry import built
from tests.cases import every
from tests.randomizers.numeric.instances import KINDS, draw

NAMES = sorted(STREAMED.keys() - {"blh", "olh"})
NUMBERS = ["hm", "pm", "sr", "sw", "sw_presence", "value_presence"]
CLAIMS = [0.3, 0.7, 1.0, 2.5, 5.0]
EVERY = [built(name, d, epsilon) for name in NAMES for d in (3, 4) for epsilon in CLAIMS]
EVERY += [built(name, d, epsilon) for name in NUMBERS for d in (8, 13) for epsilon in CLAIMS]


def people(d: int) -> np.ndarray:
    """Shares of a population of all values: float64[d]."""
    return np.random.default_rng(d).dirichlet(np.ones(d))


def true_profile(made: Mechanism, shares: np.ndarray) -> np.ndarray:
    """What the profile of this population is."""
    if made.measure != "mean":
        return shares
    cells: list[Any] = [made.value(cell) for cell in range(made.d)]  # type: ignore[attr-defined]
    v = np.array([0.0 if value is None else float(value) for value in cells])
    moments = np.array([shares @ v, shares @ v**2])
    return np.append(1 - shares[-1], moments) if made.says_none else moments


def supports(made: Mechanism) -> np.ndarray:
    """That of each report by itself: int64[reports, outcomes]."""
    rows = np.frombuffer(b"".join(made.law(0)), np.uint8).reshape(-1, made.wire_size)
    return np.array([made.support(row[None]) for row in rows])


def chances(made: Mechanism) -> np.ndarray:
    """Of each report, from each value: float64[d, reports]."""
    return np.array([[float(chance) for chance in made.law(value).values()] for value in range(made.d)])


def stands_in(made: Mechanism) -> bool:
    """Whether the mean square is not known, so that another number stands in."""
    return isinstance(made, MeanMechanism) and made.slope == -1


@every("made", EVERY)
def test_a_profile_is_unbiased(made: Mechanism) -> None:
    shares = people(made.d)
    alone = np.array([made.profile(support, 1) for support in supports(made)])
    known = 1 if stands_in(made) else alone.shape[1]
    found, size = shares @ chances(made) @ alone[:, :known], np.abs(alone).max()
    np.testing.assert_allclose(found, true_profile(made, shares)[:known], atol=1e-12 * size)
    assert alone.shape[1] == len(true_profile(made, shares)) >= made.statistics


@every("made", EVERY)
def test_noise_and_sampling_are_the_variances_within_values_and_between_them(made: Mechanism) -> None:
    shares, law = people(made.d), chances(made)
    alone = np.array([made.profile(support, 1)[: made.statistics] for support in supports(made)])
    means, truth = law @ alone, true_profile(made, shares)
    within = shares @ (law @ alone**2 - means**2)
    between = shares @ means**2 - (shares @ means) ** 2
    size = float((alone**2).max())
    np.testing.assert_allclose(made.noise(truth), within, rtol=1e-9, atol=1e-12 * size)
    np.testing.assert_allclose(made.sampling(truth), between, rtol=1e-9, atol=1e-12 * size)
    shape = (made.statistics,)
    assert made.noise(truth).shape == made.sampling(truth).shape == made.added_variance(10, truth).shape == shape


@every("made", [made for made in EVERY if made.reports_possible <= 80])
def test_the_variance_of_two_reports_is_known_from_them_without_bias(made: Mechanism) -> None:
    shares, single = people(made.d), supports(made)
    law, truth = shares @ chances(made), true_profile(made, shares)
    expected = np.zeros(made.statistics)
    for one, other in product(range(len(single)), repeat=2):
        raw = made.profile(single[one] + single[other], 2)
        expected += law[one] * law[other] * (made.noise(raw) + made.sampling(raw)) / (2 - 1)
    np.testing.assert_allclose(expected, (made.noise(truth) + made.sampling(truth)) / 2, rtol=1e-8)


@every("made", [made for made in EVERY if made.measure == "mean"])
def test_for_means_it_is_the_sample_variance_of_what_reports_are_worth(made: Mechanism) -> None:
    single = supports(made)
    alone = np.array([made.profile(support, 1)[: made.statistics] for support in single])
    picked = np.random.default_rng(3).choice(len(single), 40, p=people(made.d) @ chances(made))
    raw = made.profile(single[picked].sum(axis=0), 40)
    found = (made.noise(raw) + made.sampling(raw)) / (40 - 1)
    np.testing.assert_allclose(found, alone[picked].var(axis=0, ddof=1) / 40, rtol=1e-9, atol=1e-15)


LARGE: list[Mechanism] = [kind(epsilon=epsilon) for kind in (SR, PM, HM, ValueAndPresence) for epsilon in (0.5, 2.0)]
LARGE += [SW(d=64, epsilon=1.0), WaveAndPresence(d=65, epsilon=1.0)]


@pytest.mark.parametrize(
    "made",
    [made if made.epsilon != 0.5 else pytest.param(made, marks=pytest.mark.audit) for made in LARGE],
    ids=repr,
)
def test_samples_are_right_on_average_and_know_how_far_they_scatter(made: Mechanism) -> None:
    # 1000 samples of 100 of very many users: profiles at 5 standard errors; variances have one of 4.5 percent each.
    runs, n = 1000, 100
    rng = np.random.default_rng(5)
    values = rng.binomial(made.d - 1, 0.7, (runs, n))
    if made.says_none:
        values[rng.random((runs, n)) < 0.4] = made.d - 1
    reports = made.perturb(values.reshape(-1), draw(runs * n, 3)).reshape(runs, n, made.wire_size)
    found = np.array([made.profile(made.support(run), n) for run in reports])
    said = np.array([made.noise(raw) + made.sampling(raw) for raw in found]).mean(axis=0) / (n - 1)
    scatter = found.var(axis=0, ddof=1)
    known = 1 if stands_in(made) else found.shape[1]
    truth = true_profile(made, np.bincount(values.reshape(-1), minlength=made.d) / values.size)
    assert (np.abs(found.mean(axis=0) - truth) < 5 * np.sqrt(scatter / runs))[:known].all()
    ratio = said / scatter[: made.statistics]
    assert (np.abs(ratio - 1) < 5 * (2 / runs) ** 0.5).all()


@every("made", EVERY)
def test_what_a_population_can_have_is_plausible_as_it_is(made: Mechanism) -> None:
    for shares in (people(made.d), np.eye(made.d)[0], np.eye(made.d)[-1], np.full(made.d, 1 / made.d)):
        truth = true_profile(made, shares)
        np.testing.assert_allclose(made.plausible(truth), truth, atol=1e-12)


@given(
    st.sampled_from([kind(d=8, epsilon=epsilon) for kind in KINDS for epsilon in (0.3, 2.0)]), st.integers(0, 1 << 32)
)
def test_a_plausible_profile_has_no_variance_below_zero(made: Mechanism, seed: int) -> None:
    rng = np.random.default_rng(seed)
    raw = rng.normal(size=len(true_profile(made, people(made.d)))) * 10.0 ** rng.integers(-3, 4)
    near = made.plausible(raw)
    np.testing.assert_allclose(made.plausible(near), near, atol=1e-12)
    assert (made.noise(near) >= 0).all()
    assert (made.sampling(near) >= -1e-15).all()
    assert made.mean_noise(raw) == pytest.approx(float(made.noise(near).mean()))
    assert made.mean_sampling(raw) == pytest.approx(float(made.sampling(near).mean()))
    if made.measure == "distribution":
        assert near.min() >= 0
        assert near.sum() == pytest.approx(1)
        return
    mean, square = near[-2:]
    share = near[0] if made.says_none else 1.0
    assert 0 <= share <= 1
    assert mean**2 <= share * square + 1e-12
    assert square <= share


@every("made", [SR(d=9, epsilon=1), HM(d=9, epsilon=0.5), SR(d=9, epsilon=4)])
@every("left", [0.0, 0.3, 1.0])
def test_an_error_without_a_known_mean_square_is_never_too_small(made: MeanMechanism, left: float) -> None:
    # `left`: the part of the sampling that remains where many of the users answer; 0 under budget division.
    ones = made.support(np.full((3, 1), max(report[0] for report in made.law(0)), np.uint8))
    assert made.profile(ones, 3)[1] == pytest.approx(float(made.floor))  # all alike: the mean is K
    for mean in np.linspace(-1, 1, 9):
        stand_in = made.plausible(np.array([mean, mean**2]))
        for square in np.linspace(mean**2, 1, 5):
            true = np.array([mean, square])
            exact = made.noise(true) + left * made.sampling(true)
            assert (made.noise(stand_in) + left * made.sampling(stand_in) >= exact - 1e-12).all()


@every("epsilon", [0.5, 1.0, 3.0])
def test_the_error_of_the_mean_of_holders_is_that_of_its_linear_part(epsilon: float) -> None:
    made = ValueAndPresence(d=8, epsilon=epsilon)
    shares, law, n = people(8), chances(made), 1000
    truth = true_profile(made, shares)
    mean = truth[1] / truth[0]
    alone = np.array([made.profile(support, 1)[:2] for support in supports(made)])
    linear = (alone[:, 1] - mean * alone[:, 0]) / truth[0]
    within = shares @ (law @ linear**2 - (law @ linear) ** 2)
    between = shares @ (law @ linear) ** 2
    assert made.mean_error(truth, n, None) ** 2 == pytest.approx(within / n, rel=1e-9)
    assert made.mean_error(truth, n, n) ** 2 == pytest.approx(within / n, rel=1e-9)
    assert made.mean_error(truth, n, 5000) ** 2 == pytest.approx((within + between * 4000 / 4999) / n, rel=1e-9)


def test_the_error_of_a_mean_of_nobody_is_infinite() -> None:
    made = ValueAndPresence(d=8, epsilon=1)
    assert made.mean_error(np.array([-0.1, 0.2, 0.1]), 100, None) == float("inf")
    assert made.mean_error(np.array([0.5, 0.2, 0.1]), 0, None) == float("inf")
