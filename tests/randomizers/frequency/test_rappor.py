# SPDX-License-Identifier: Apache-2.0
"""RAPPOR: rows that last, second steps that do not, and cohorts with hash functions of their own."""

from __future__ import annotations

import hashlib
import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from murmurate.randomizers import ParameterError, ReportError
from murmurate.randomizers.frequency.rappor import RAPPOR, BasicRAPPOR
from murmurate.randomizers.frequency.unary import SUE
from murmurate.randomizers.mechanism import Mechanism, nats
from murmurate.randomizers.randomness import contexts
from murmurate.randomizers.thresholds import exp_floor
from tests.audit.registry import EPSILONS
from tests.cases import every
from tests.randomizers.frequency.checks import (
    FEW,
    GOLDEN,
    KEY,
    check_bad_input_is_refused,
    check_both_halves_write_the_same_bytes,
    check_reports_follow_the_law,
    check_the_promise,
    check_unbiased_and_as_variable_as_said,
    close,
    reports_of,
)

RAP = GOLDEN["rappor"]
SMALL = {"bits": 4, "hashes": 2, "cohorts": 2}


def again(made: Mechanism, values: np.ndarray, name: bytes) -> np.ndarray:
    """What the same users say in another round."""
    return made.perturb(values, KEY.draw(contexts(np.arange(len(values))), round=hashlib.sha256(name).digest()))


@every(("epsilon", "f"), [("basic_eps_f05", 0.5), ("basic_eps_f025", 0.25), ("1", 0)])
def test_f_is_the_golden_one(epsilon: str, f: float) -> None:
    close(BasicRAPPOR(d=4, epsilon=RAP.get(epsilon, 1)).f, f or RAP["f_for_eps1"])
    if f:
        golden = RAP["rappor_m2_f05" if f == 0.5 else "rappor_m2_f025"]
        close(RAPPOR(d=4, epsilon=golden, hashes=2).f, f)


def test_both_steps_have_the_golden_probabilities() -> None:
    golden = RAP["two_step"]
    made = BasicRAPPOR(d=4, epsilon=RAP["basic_eps_f05"], steps=2)
    for found, said in ((made.f, "f"), (made.p, "p_eff"), (made.q, "q_eff"), (nats(made.realised), "one_report_eps")):
        close(found, golden[said])


def test_the_golden_counts_give_the_golden_estimates() -> None:
    golden = RAP["est_f05"]
    made = BasicRAPPOR(d=3, epsilon=RAP["basic_eps_f05"])
    found = golden["n"] * made.estimate(np.array(golden["C"]), golden["n"])
    np.testing.assert_allclose(found, golden["est"], atol=1e-3)


@every("steps", [1, 2])
@every("d", [2, 3, 4, 5])
@every("epsilon", FEW)
def test_no_basic_report_tells_more_than_epsilon(steps: int, d: int, epsilon: Any) -> None:
    check_the_promise(BasicRAPPOR(d=d, epsilon=epsilon, steps=steps))


@every("epsilon", EPSILONS)
def test_a_row_keeps_the_promise_and_uses_it(epsilon: Any) -> None:
    for steps in (1, 2):
        made = BasicRAPPOR(d=4, epsilon=epsilon, steps=steps)
        assert math.exp(epsilon) * (1 - 2**-14) <= made.permanent <= exp_floor(made.epsilon_micro)
    cohorts = RAPPOR(d=100, epsilon=epsilon)
    assert math.exp(epsilon) * (1 - 2**-14) <= cohorts.realised <= exp_floor(cohorts.epsilon_micro)


def test_a_row_has_the_chances_of_symmetric_unary_encoding() -> None:
    made, sue = BasicRAPPOR(d=4, epsilon=1), SUE(d=4, epsilon=1)
    assert (made.p, made.q) == (sue.p, sue.q)
    assert made != sue


@every("made", [BasicRAPPOR(d=64, epsilon=1), RAPPOR(d=64, epsilon=1)])
def test_the_same_value_gives_the_same_report_in_every_round_and_another_value_another_row(made: Mechanism) -> None:
    values = np.arange(500) % made.d
    one = reports_of(made, values)
    assert (one == again(made, values, b"next")).all()
    other = again(made, (values + 1) % made.d, b"next")
    assert (one[:, 1:] != other[:, 1:]).any(axis=1).all()


def test_a_user_stays_in_the_same_cohort_whatever_the_value() -> None:
    made = RAPPOR(d=5, epsilon=1, cohorts=16)
    cohorts = [again(made, np.full(400, value), b"%d" % value)[:, 0] for value in range(5)]
    assert all((cohort == cohorts[0]).all() for cohort in cohorts)
    assert set(cohorts[0]) == set(range(16))


def test_a_second_step_is_new_in_every_round_and_tells_the_row_in_the_end() -> None:
    # 400 rounds of 50 users with 8 cells: a bit's mean is 3/4 or 1/4, and by Hoeffding misses 1/2 with e^-50.
    made = BasicRAPPOR(d=8, epsilon=1, steps=2)
    values = np.arange(50) % 8
    rounds = np.array([again(made, values, b"%d" % i) for i in range(400)])
    assert (rounds[0] != rounds[1]).any()
    means = np.unpackbits(rounds[:, :, 0, None], axis=2, bitorder="little").mean(axis=0)
    near = np.minimum(np.abs(means - 0.75), np.abs(means - 0.25))
    assert (near < math.sqrt(math.log(2 * 400 / 1e-6) / 800)).all()
    own = means[np.arange(50), values] > 0.5
    assert 0.3 < own.mean() < 0.95  # p of the row is .62


@every(
    "made",
    [
        BasicRAPPOR(d=2, epsilon=1),
        BasicRAPPOR(d=13, epsilon=0.5, steps=2),
        BasicRAPPOR(d=300, epsilon=2, steps=2),
        RAPPOR(d=13, epsilon=0.5, bits=13, cohorts=2),
        RAPPOR(d=300, epsilon=2),
    ],
)
def test_both_halves_write_the_same_bytes(made: Mechanism) -> None:
    check_both_halves_write_the_same_bytes(made)


@every(
    "made",
    [BasicRAPPOR(d=4, epsilon=1), BasicRAPPOR(d=4, epsilon=1, steps=2), RAPPOR(d=4, epsilon=2, **SMALL)],
)
@every("value", [0, 3])
def test_reports_follow_the_law(made: Mechanism, value: int) -> None:
    check_reports_follow_the_law(made, value)


@every(
    "made",
    [
        BasicRAPPOR(d=5, epsilon=1.5, steps=2),
        RAPPOR(d=5, epsilon=2, bits=8, hashes=2, cohorts=4),
    ],
    long=[BasicRAPPOR(d=5, epsilon=1.5)],
)
def test_estimates_are_unbiased_and_as_variable_as_they_say(made: Mechanism) -> None:
    check_unbiased_and_as_variable_as_said(made)


@every("steps", [1, 2])
def test_bad_basic_input_is_refused(steps: int) -> None:
    check_bad_input_is_refused(BasicRAPPOR(d=5, epsilon=1, steps=steps))
    with pytest.raises(ParameterError, match="rappor: steps: found 3; allowed: a whole number from 1 to 2"):
        BasicRAPPOR(d=5, epsilon=1, steps=3)


@every("d", [2, 3, 4, 5])
@every("epsilon", FEW)
def test_no_report_of_a_cohort_tells_more_than_epsilon(d: int, epsilon: Any) -> None:
    for hashes in (1, 2):
        check_the_promise(RAPPOR(d=d, epsilon=epsilon, bits=5, hashes=hashes, cohorts=2))


def test_the_realised_ratio_is_that_of_the_two_most_different_values() -> None:
    for bits in (2, 3, 8):
        made = RAPPOR(d=4, epsilon=1, bits=bits, hashes=2, cohorts=1)
        sets = [set(made.places[0, value].tolist()) for value in range(4)]
        farthest = max(len(one ^ other) for one, other in combinations(sets, 2))
        assert made.realised == (made.p / made.q) ** farthest


def test_hashes_spread_values_over_all_bits() -> None:
    # 65 536 x 2 hashes over 128 bits: chi-square with 127 degrees of freedom passes 233 once in 10^6.
    for cohort in RAPPOR(d=1 << 16, epsilon=1, cohorts=4).places:
        counts = np.bincount(cohort.reshape(-1), minlength=128)
        assert ((counts - 1024) ** 2 / 1024).sum() < 233


@every(
    "made",
    [
        RAPPOR(d=3, epsilon=1, bits=5, hashes=2, cohorts=2),
        RAPPOR(d=5, epsilon=2, bits=4, hashes=2, cohorts=4),
        RAPPOR(d=4, epsilon=4, bits=6, hashes=1, cohorts=8),
    ],
)
def test_the_variance_of_cohorts_is_exactly_that_of_the_law(made: RAPPOR) -> None:
    # One report of a holder of each value, over all reports there are: by its bits, and by the cohort it comes from.
    rows = np.frombuffer(b"".join(made.law(0)), np.uint8).reshape(-1, made.wire_size)
    alone = np.array([made.estimate(made.support(row[None]), 1) for row in rows])
    of_cohorts = 0.0
    for value in range(made.d):
        chances = np.array([float(chance) for chance in made.law(value).values()])
        mean = chances @ alone
        np.testing.assert_allclose(mean, np.eye(made.d)[value], atol=1e-12)
        exact = chances @ (alone - mean) ** 2
        np.testing.assert_allclose(made.variance(1, np.eye(made.d)[value]), exact, rtol=1e-9)
        each = np.array([chances[of] @ alone[of] / chances[of].sum() for of in by_cohort(made, rows)])
        of_cohorts = max(of_cohorts, float((each.var(axis=0) / exact).max()))
    assert of_cohorts > 0.01  # what a variance of the bits alone would leave out
    shares = np.arange(made.d) / sum(range(made.d))
    law = [np.array([float(chance) for chance in made.law(value).values()]) for value in range(made.d)]
    mixed = sum(f * (p @ alone**2 - (p @ alone) ** 2) for f, p in zip(shares, law, strict=True))
    np.testing.assert_allclose(made.variance(10, shares), mixed / 10, rtol=1e-9)


def by_cohort(made: RAPPOR, rows: np.ndarray) -> list[np.ndarray]:
    return [rows[:, 0] == cohort for cohort in range(made.cohorts)]


def test_variance_of_one_frequency_is_the_mean_over_the_values() -> None:
    made = RAPPOR(d=5, epsilon=2, bits=8, cohorts=4)
    mean = [made.variance(7, np.where(np.arange(5) == v, 0.6, 0.1))[v] for v in range(5)]
    assert float(made.variance(7, 0.6)) == pytest.approx(float(np.mean(mean)))


def test_values_that_the_bits_cannot_tell_apart_have_no_unbiased_estimate() -> None:
    made = RAPPOR(d=20, epsilon=1, bits=8, cohorts=2)
    reports = reports_of(made, np.arange(100) % 20)
    with pytest.raises(ParameterError, match=r"found 20 values that 16 bits cannot tell apart; allowed: .*rappor\.py"):
        made.estimate(made.support(reports), 100)


def test_bad_input_of_cohorts_is_refused() -> None:
    made = RAPPOR(d=5, epsilon=1, bits=7, hashes=1, cohorts=2)
    reports = np.array([[0, 0], [1, 127], [2, 0], [0, 128]], np.uint8)
    assert made.malformed(reports).tolist() == [False, False, True, True]
    with pytest.raises(ReportError, match="found 2 that no value gives"):
        made.support(reports)
    good = made.support(reports[:2])
    for support, n in ((good, 3), (good[:1], 2), (good[:, ::-1], 2), (-good, 2), (good.astype(float), 2)):
        with pytest.raises(ReportError, match="allowed:"):
            made.estimate(support, n)
    for bad in ({"cohorts": 3}, {"cohorts": 128}, {"bits": 1}, {"hashes": 0}, {"hashes": True}):
        with pytest.raises(ParameterError, match=r"rappor_cohorts: .*allowed: "):
            RAPPOR(d=5, epsilon=1, **bad)


def test_the_specs_name_all_parameters() -> None:
    assert BasicRAPPOR(d=6, epsilon=1).spec() == {"name": "rappor", "d": 6, "epsilon_micro": 1_000_000, "steps": 1}
    made = RAPPOR(d=6, epsilon=1)
    assert set(made.spec().items()) >= {("bits", 128), ("hashes", 2), ("cohorts", 8)}
    assert made.f == 2 * made.q < 1
