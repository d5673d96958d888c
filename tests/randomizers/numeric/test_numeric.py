# SPDX-License-Identifier: Apache-2.0
"""What numeric mechanisms send and how the server reads it. One fixed key: a result is the same on every machine.

With another key the checks at 4 standard errors fail 6 times in 100 000, those that say 1e-6 once in a million.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from murmurate.randomizers import Mechanism, ParameterError, ReportError, ValueRefusedError
from murmurate.randomizers.audit import measure, trials_for
from murmurate.randomizers.numeric import (
    HM,
    PM,
    SR,
    SW,
    MeanMechanism,
    ValueAndPresence,
    WaveAndPresence,
    WaveHistogram,
)
from murmurate.randomizers.randomness import contexts
from murmurate.topics.messages import MAX_CELLS
from tests.cases import every
from tests.randomizers.numeric.instances import KEY, KINDS, MEANS, ROUND, draw, worths

SIZES = [(9, 0.4), (9, 1.0), (14, 3.0)]
BUILT = [kind(d=d, epsilon=epsilon) for kind in KINDS for d, epsilon in SIZES]
LARGE = [kind(epsilon=epsilon) for kind in KINDS for epsilon in (0.5, 2.0)]  # type: ignore[call-arg]


@every("made", [*BUILT, *LARGE])
def test_a_report_has_one_length_and_one_text_whoever_computes_it(made: Mechanism) -> None:
    values = np.linspace(0, made.d - 1, 300).astype(np.int64)
    reports = made.perturb(values, draw(300))
    assert reports.shape == (300, made.wire_size)
    assert reports.dtype == np.uint8
    assert not made.malformed(reports).any()
    for user, value, report in zip(contexts(np.arange(300)), values, reports, strict=True):
        assert made.perturb_one(int(value), KEY.draw_one(user.tobytes(), round=ROUND)) == report.tobytes()


@every("made", BUILT)
def test_reports_follow_the_law(made: Mechanism) -> None:
    # 60 000 reports a value; 1e-6 shared among all the counts.
    n = 60_000
    for value in (0, made.d // 2, made.d - 1):
        reports, law = made.perturb(np.full(n, value), draw(n, 1 + value)), made.law(value)
        reach = -NormalDist().inv_cdf(1e-6 / (6 * len(law)))
        counts = np.bincount(reports[:, 0], minlength=256)  # a byte each, on these grids
        assert set(np.flatnonzero(counts)) <= {report[0] for report in law}
        for report, chance in law.items():
            p = float(chance)
            assert abs(counts[report[0]] - n * p) < reach * (n * p * (1 - p)) ** 0.5 + reach**2 / 3


@every("made", BUILT)
def test_estimates_are_unbiased_and_vary_as_they_say(made: Mechanism) -> None:
    # 20 000 runs of 20 users; the variance of so many has a standard error of one percent.
    runs, n = 20_000, 20
    values = np.arange(n) * 7 % made.d
    reports = made.perturb(np.tile(values, runs), draw(runs * n, 7))
    found = worths(made, reports).reshape(runs, n, -1).mean(axis=1)
    if isinstance(made, MeanMechanism):
        v = np.array([float(made.value(int(cell))) for cell in values])
        truth, exact = np.array([v.mean()]), np.array([made.variance(n, float(np.sqrt((v * v).mean())))])
    elif isinstance(made, WaveHistogram):
        truth = np.bincount(values, minlength=made.d) / n
        exact = made.variance(n, truth)
    else:
        assert isinstance(made, ValueAndPresence)
        v = np.array([float(x) for cell in values if (x := made.value(int(cell))) is not None])
        share = len(v) / n
        truth = np.array([share, v.sum() / n])
        exact = np.array([made.variance(n, share), made.total_variance(n, share, float((v * v).mean()))])
        together = np.cov(found.T)[0, 1]
        said = made.covariance(n, share, float(v.mean()))
        assert abs(together - said) < 4 * float(np.sqrt((exact.prod() + said**2) / runs))
    assert (np.abs(found.mean(axis=0) - truth) < 4 * np.sqrt(exact / runs)).all()
    assert (np.abs(found.var(axis=0) / exact - 1) < 0.05).all()
    whole = made.estimate(made.support(reports), len(reports))
    np.testing.assert_allclose(whole, found.mean(axis=0), rtol=1e-9, atol=1e-12)


@every("made", [*BUILT, *LARGE])
def test_support_is_additive_and_no_count_exceeds_the_reports(made: Mechanism) -> None:
    reports = made.perturb(np.arange(500) % made.d, draw(500))
    whole = made.support(reports)
    assert whole.dtype == np.int64
    assert whole.shape == (made.outcomes,)
    assert made.outcomes <= MAX_CELLS
    assert 0 <= whole.min() <= whole.max() <= 500
    assert (made.support(reports[:77]) + made.support(reports[77:]) == whole).all()
    assert (made.support(reports[::-1]) == whole).all()
    assert (made.support(reports[:0]) == 0).all()


@every("made", LARGE)
def test_a_large_grid_gives_the_mean_to_within_5_standard_errors(made: Mechanism) -> None:
    n = 100_000
    values = (np.arange(n) * 2654435761 % made.d // 2).astype(np.int64)  # the lower half of the grid
    support = made.support(made.perturb(values, draw(n, 5)))
    found = made.estimate(support, n)
    steps = made.d - 1 - bool(made.says_none)
    v = 2 * values / steps - 1
    if isinstance(made, WaveHistogram):
        if isinstance(made, SW):
            assert abs(made.mean(support, n) - v.mean()) < 5 * made.mean_variance(n, float((v * v).mean())) ** 0.5
        truth = np.bincount(values, minlength=made.d) / n
        assert (np.abs(found - truth) < 7 * np.sqrt(made.variance(n, truth))).all()  # 1025 cells
    elif isinstance(made, MeanMechanism):
        assert abs(found[0] - v.mean()) < 5 * float(made.variance(n, float(np.sqrt((v * v).mean())))) ** 0.5
        assert made.mean(made.support(made.perturb(values, draw(n, 5))), n) == found[0]
    else:
        assert isinstance(made, ValueAndPresence)
        assert abs(found[0] - 1) < 5 * float(made.variance(n, 1)) ** 0.5
        assert abs(found[1] - v.mean()) < 5 * made.total_variance(n, 1, float((v * v).mean())) ** 0.5


@every(
    "made",
    [SR(d=9, epsilon=1), PM(d=9, epsilon=2), HM(d=9, epsilon=2), SW(d=9, epsilon=1), WaveAndPresence(d=10, epsilon=1)],
)
def test_no_more_than_the_claim_is_measured(made: Mechanism) -> None:
    found = measure(made, KEY, trials=min(trials_for(made, 0.1), 1 << 18))
    assert found.holds
    assert found.at_least > 0.8 * found.claimed


def test_presence_shows_no_more_than_the_claim() -> None:
    made = ValueAndPresence(d=10, epsilon=1)
    found = measure(made, KEY, trials=min(trials_for(made, 0.1), 1 << 18))
    assert 0.8 * found.claimed < found.at_least <= found.claimed


@every("kind", KINDS)
def test_a_mechanism_is_its_spec(kind: type[Mechanism]) -> None:
    made = kind(d=5, epsilon=1)
    assert made.spec() == {"name": kind.name, "d": 5, "epsilon_micro": 1_000_000}
    assert made == kind(d=5, epsilon=1)
    assert made != kind(d=6, epsilon=1)
    assert len({other(d=5, epsilon=1).digest for other in KINDS}) == len(KINDS)
    with pytest.raises(AttributeError, match="immutable"):
        made.d = 6


BAD: list[Any] = [
    np.array([0, 5]),
    np.array([-1, 0]),
    np.array([0.0, 1.0]),
    np.array([np.nan, 0]),
    np.array([0]),
    np.array([True, False]),
    np.array([[0, 1]]),
    [0, 1],
]


@every("kind", KINDS)
@every("values", BAD)
def test_values_off_the_grid_are_refused_with_a_reason(kind: type[Mechanism], values: Any) -> None:
    with pytest.raises(ValueRefusedError, match="allowed:"):
        kind(d=5, epsilon=1).perturb(values, draw(2))


@every("kind", KINDS)
@every("value", [5, -1, 0.5, float("nan"), None, True, "1"])
def test_a_single_value_off_the_grid_is_refused(kind: type[Mechanism], value: Any) -> None:
    with pytest.raises(ValueRefusedError, match="allowed: a whole number from 0 to 4"):
        kind(d=5, epsilon=1).perturb_one(value, KEY.draw_one(bytes(16), round=ROUND))


@every("made", BUILT)
def test_reports_that_no_value_gives_are_marked_and_never_counted(made: Mechanism) -> None:
    every = np.arange(256, dtype=np.uint8)[:, None]
    possible = {report[0] for report in made.law(0)}
    assert made.malformed(every).tolist() == [number not in possible for number in range(256)]
    with pytest.raises(ReportError, match="that no value gives"):
        made.support(every)
    assert len(made.support(every[~made.malformed(every)])) == len(made.support(every[:0]))
    other: list[Any] = [np.zeros((3, 7), np.uint8), np.zeros(3, np.uint8), np.zeros((3, 1), np.int64)]
    for reports in other:
        with pytest.raises(ReportError, match="reports: found"):
            made.malformed(reports)


@every("made", BUILT)
def test_an_estimate_needs_reports_and_counts_that_fit(made: Mechanism) -> None:
    none: Any = made.support(np.zeros((0, 1), np.uint8))
    for support, n in ((none, 0), (none + 4, 3), (none - 1, 3), (np.zeros(99, np.int64), 3), (none * 1.0, 3)):
        with pytest.raises(ReportError):
            made.estimate(support, n)
    for n, at in ((0, 0.5), (5, 1.5), (5, -1.5), (5, float("nan"))):
        with pytest.raises(ParameterError):
            made.variance(n, at)


@every("kind", [*MEANS, SW])
def test_the_ends_of_the_grid_are_minus_one_and_one(kind: type[MeanMechanism | SW]) -> None:
    made = kind(d=5, epsilon=1)
    assert [made.value(cell) for cell in range(5)] == [-1, -0.5, 0, 0.5, 1]
    with pytest.raises(ValueRefusedError):
        made.value(5)
