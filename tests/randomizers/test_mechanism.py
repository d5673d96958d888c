# SPDX-License-Identifier: Apache-2.0
"""What every mechanism keeps: one length, additive support, unbiased estimates, bad input refused."""

from __future__ import annotations

import hashlib
from inspect import signature
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from murmurate.errors import MurmurateError
from murmurate.randomizers import (
    GRR,
    MECHANISMS,
    ORACLES,
    OUE,
    Key,
    Mechanism,
    ParameterError,
    ReportError,
    ValueRefusedError,
    mechanism,
)
from murmurate.randomizers.registry import STREAMED
from tests.cases import every

KEY = Key(hashlib.sha256(b"mechanism").digest(), deployment="shop")
ROUND = hashlib.sha256(b"round").digest()
KINDS = sorted(ORACLES.items())
CASES = [(kind, d, epsilon) for _, kind in KINDS for d, epsilon in ((2, 1.0), (13, 0.5), (300, 2.0))]
"""Of every oracle a small, a larger and a large domain."""
NAMES = ", ".join(sorted(MECHANISMS))


def people(n: int, first: int = 0) -> np.ndarray:
    return np.frombuffer(
        b"".join(hashlib.sha256(b"%d" % (first + i)).digest()[:16] for i in range(n)), np.uint8
    ).reshape(n, 16)


@pytest.fixture(params=CASES, ids=str)
def built(request: pytest.FixtureRequest) -> Mechanism:
    kind, d, epsilon = request.param
    made: Mechanism = kind(d=d, epsilon=epsilon)
    return made


def test_a_report_has_one_length_and_one_text_whoever_computes_it(built: Mechanism) -> None:
    users, values = people(200), np.arange(200) % built.d
    reports = built.perturb(values, KEY.draw(users, round=ROUND))
    assert reports.shape == (200, built.wire_size)
    assert reports.dtype == np.uint8
    assert not built.malformed(reports).any()
    for i in range(200):
        assert built.perturb_one(int(values[i]), KEY.draw_one(users[i].tobytes(), round=ROUND)) == reports[i].tobytes()


def test_a_redelivered_value_gives_the_same_report_and_a_corrected_one_its_own_coins(built: Mechanism) -> None:
    users = people(2000)
    one, again, other = (
        built.perturb(np.full(2000, value), KEY.draw(users, round=ROUND)) for value in (0, 0, built.d - 1)
    )
    assert (one == again).all()
    assert (one != other).any()


def test_support_is_additive_in_any_grouping(built: Mechanism) -> None:
    built = built.of_round(ROUND)
    reports = built.perturb(np.arange(500) % built.d, KEY.draw(people(500), round=ROUND))
    whole = built.support(reports)
    assert whole.dtype == np.int64
    assert whole.shape == (built.outcomes,)
    cuts = [0, 1, 64, 190, 500]
    parts = [built.support(reports[a:b]) for a, b in pairwise(cuts)]
    assert (np.sum(parts, axis=0) == whole).all()
    assert (built.support(reports[np.argsort(reports[:, 0], kind="stable")]) == whole).all()
    assert (built.support(reports[:0]) == 0).all()


@pytest.mark.parametrize(
    "built", [case if case[1] < 300 else pytest.param(case, marks=pytest.mark.audit) for case in CASES], indirect=True
)
def test_estimates_are_unbiased_and_vary_as_they_say(built: Mechanism) -> None:
    # 400 runs of 500 users. Both checks are at 5 standard errors of what they look at: false alarm below 1e-6 a cell.
    runs, n = 400, 500
    values, users = np.arange(n) % min(built.d, 5), people(n)
    estimates = np.empty((runs, built.d))
    for run in range(runs):
        draw = KEY.draw(users, round=hashlib.sha256(b"%d" % run).digest())
        estimates[run] = built.estimate(built.of_round(draw.round).support(built.perturb(values, draw)), n)
    truth = np.bincount(values, minlength=built.d) / n
    exact = built.variance(n, truth) + built.added_variance(n, truth)
    assert (np.abs(estimates.mean(axis=0) - truth) < 5 * np.sqrt(exact / runs)).all()
    assert (np.abs(estimates.var(axis=0) / exact - 1) < 5 * np.sqrt(2 / runs) * 1.3).all()


@pytest.mark.parametrize("name", sorted(ORACLES))
def test_two_standard_errors_with_the_own_estimate_plugged_in_cover_the_truth_as_they_should(name: str) -> None:
    # 150 runs of 4000 users, 16 values: 2400 intervals, of which 95.4 % should hold; one standard error is 0.4 %.
    made, runs, n = ORACLES[name](d=16, epsilon=1.0), 150, 4000
    values = np.minimum(np.arange(n) % 40, 15)
    truth = np.bincount(values, minlength=16) / n
    users, held = people(n), 0
    for run in range(runs):
        draw = KEY.draw(users, round=hashlib.sha256(b"cover %d" % run).digest())
        estimate = made.estimate(made.of_round(draw.round).support(made.perturb(values, draw)), n)
        error = np.sqrt(made.variance(n, np.clip(estimate, 0, 1)))
        held += int((np.abs(estimate - truth) <= 2 * error).sum())
    assert 0.93 < held / (runs * 16) < 0.97


def test_variance_is_the_one_of_the_law() -> None:
    # One report of a holder is supported with chance p, of another with q: a sum of independent coins, in Fractions.
    for kind in (GRR, OUE):
        made = kind(d=4, epsilon=1.0)
        held = np.array([made.support(np.frombuffer(y, np.uint8)[None]) for y in made.law(0)])
        p, q = (sum(c for c, row in zip(made.law(0).values(), held, strict=True) if row[v]) for v in (0, 1))
        assert (p, q) == (made.p, made.q)
        n, k = 10, 3
        direct = (k * p * (1 - p) + (n - k) * q * (1 - q)) / (n * (p - q)) ** 2
        assert float(made.variance(n, k / n)) == pytest.approx(float(direct), rel=1e-12)


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_whatever_the_mechanism_its_surface_takes_the_same_keywords(name: str) -> None:
    kind, made = MECHANISMS[name], MECHANISMS[name](d=6, epsilon=1.0).of_round(round=ROUND)
    for what, contract in vars(Mechanism).items():
        if callable(contract) and not what.startswith("_"):
            mine, ours = (list(signature(one).parameters.values()) for one in (getattr(kind, what), contract))
            assert [p.name for p in mine] == [p.name for p in ours], what
            assert not any(p.kind is p.POSITIONAL_ONLY for p in mine), what
    reports = made.perturb(values=np.arange(60) % 6, draw=KEY.draw(people(60), round=ROUND))
    assert made.perturb_one(value=3, draw=KEY.draw_one(bytes(16), round=ROUND))
    assert not made.malformed(reports=reports).any()
    assert len(made.evidence(reports=reports, one=0, other=5)) == 60
    support = made.support(reports=reports)
    assert made.estimate(support=support, n=60).shape == made.profile(support=support, n=60)[: made.statistics].shape
    assert (made.variance(n=60, frequency=0.25) == made.variance(60, 0.25)).all()
    profile = np.full(len(made.profile(support=support, n=60)), 0.2)
    assert (made.added_variance(n=60, profile=profile) >= 0).all()
    if name in STREAMED:
        assert (made.noise(profile=made.plausible(profile=profile)) + made.sampling(profile=profile) > 0).all()


def test_a_mechanism_is_its_spec(built: Mechanism) -> None:
    again = mechanism(built.spec())
    assert again == built
    assert hash(again) == hash(built)
    assert again.digest == built.digest
    assert built != type(built)(d=built.d + 1, epsilon=built.epsilon)
    assert built != type(built)(d=built.d, epsilon=built.epsilon + 0.000001)
    with pytest.raises(AttributeError, match="immutable"):
        built.d = 5


@every(
    ("spec", "says"),
    [
        ({"name": "grrr", "d": 2, "epsilon": 1}, rf"found 'grrr'; allowed: {NAMES}"),
        ({"d": 2, "epsilon": 1}, rf"found None; allowed: {NAMES}"),
        ({"name": ["grr"], "d": 2, "epsilon": 1}, rf"allowed: {NAMES}"),
        ({"name": "grr", "epsilon": 1}, r"found no d; allowed: d, epsilon"),
        ({"name": "grr", "d": 2}, r"found no epsilon; allowed: d, epsilon"),
        ({"name": "oue", "d": 2, "epsilon": 1, "g": 3}, r"found g; allowed: d, epsilon"),
        ({"name": "oue", "d": 2, "epsilon": 1, "epsilon_micro": 3}, r"found epsilon_micro; allowed: d, epsilon"),
        ({"name": "oue", "d": 2, "epsilon_micro": 1.5}, r"epsilon_micro: found 1.5"),
        ({"name": "oue", "d": 2, "epsilon_micro": 0}, r"epsilon: found 0"),
        ("grr", r"found str"),
    ],
)
def test_an_unknown_name_or_parameter_lists_the_known_ones(spec: Any, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        mechanism(spec)


@every("kind", [kind for _, kind in KINDS])
@every(
    "values",
    [
        np.array([0, 5]),
        np.array([-1, 0]),
        np.array([0.0, 1.0]),
        np.array([[0, 1]]),
        np.array([0]),
        np.array([True, False]),
        np.array([0, 2**63], np.uint64),
        np.array(["0", "1"]),
        [0, 1],
        np.array([np.nan, 0]),
    ],
)
def test_values_outside_the_domain_are_refused_without_being_shown(kind: type[Mechanism], values: Any) -> None:
    with pytest.raises(ValueRefusedError, match="allowed:") as refused:
        kind(d=5, epsilon=1).perturb(values, KEY.draw(people(2), round=ROUND))
    assert "9223372036854775808" not in str(refused.value)


@every("kind", [kind for _, kind in KINDS])
@every("value", [5, -1, 1.0, "1", None, True])
def test_a_single_value_outside_the_domain_is_refused(kind: type[Mechanism], value: Any) -> None:
    with pytest.raises(ValueRefusedError, match="allowed: a whole number from 0 to 4"):
        kind(d=5, epsilon=1).perturb_one(value, KEY.draw_one(bytes(16), round=ROUND))


@every("kind", [kind for _, kind in KINDS])
@every(
    "reports",
    [np.zeros((3, 7), np.uint8), np.zeros(3, np.uint8), np.zeros((3, 1), np.int64), [b"a"], np.zeros((3, 0), np.uint8)],
)
def test_reports_of_another_shape_are_refused(kind: type[Mechanism], reports: Any) -> None:
    made = kind(d=5, epsilon=1)
    for read in (made.support, made.malformed):
        with pytest.raises(ReportError, match="reports: found"):
            read(reports)


@every(("made", "bad"), [(GRR(d=5, epsilon=1), 5), (GRR(d=5, epsilon=1), 255), (OUE(d=5, epsilon=1), 0x20)])
def test_a_report_that_no_value_gives_is_marked_and_never_counted(made: Mechanism, bad: int) -> None:
    reports = np.array([[0], [bad], [1]], np.uint8)
    assert made.malformed(reports).tolist() == [False, True, False]
    with pytest.raises(ReportError, match="found 1 that no value gives"):
        made.support(reports)
    assert made.support(reports[~made.malformed(reports)]).sum() >= 1


@settings(max_examples=300, deadline=None)
@given(
    name=st.sampled_from(sorted(ORACLES)),
    d=st.integers(2, 40),
    data=st.binary(max_size=200),
    width=st.integers(0, 6),
)
def test_no_bytes_from_outside_do_more_than_be_refused(name: str, d: int, data: bytes, width: int) -> None:
    made = ORACLES[name](d=d, epsilon=1.0)
    width = width or made.wire_size
    reports = np.frombuffer(data[: len(data) // width * width], np.uint8).reshape(-1, width)
    try:
        made.of_round(ROUND).support(reports[~made.malformed(reports)])
    except MurmurateError:
        assert width != made.wire_size


@every("kind", [kind for _, kind in KINDS])
def test_an_estimate_needs_reports_and_counts_that_fit(kind: type[Mechanism]) -> None:
    made = kind(d=3, epsilon=1)
    for support, n in (
        (np.zeros(3, np.int64), 0),
        (np.array([1, 2, 4]), 3),
        (np.array([-1, 0, 0]), 3),
        (np.zeros(4, int), 3),
    ):
        with pytest.raises(ReportError):
            made.estimate(support, n)
    for n, frequency in ((0, 0.5), (5, 1.5), (5, -0.1)):
        with pytest.raises(ParameterError):
            made.variance(n, frequency)


def test_help_reads_as_a_page() -> None:
    import pydoc

    import murmurate.randomizers

    page = pydoc.plain(pydoc.render_doc(murmurate.randomizers))
    for word in ("Key", "OUE", "GRR", "Device", "mechanism(", "epsilon"):
        assert word in page
