# SPDX-License-Identifier: Apache-2.0
"""The promise, measured: what reports really show, at a false-alarm rate of one in a million, and that faults are
seen.
"""

from __future__ import annotations

import hashlib
import math

import pytest

from murmurate.randomizers import GRR, MECHANISMS, ORACLES, OUE, Key, Mechanism, ReportError
from murmurate.randomizers.audit import measure, trials_for
from murmurate.randomizers.binomial import lower, upper
from tests.audit.faults import LENGTH, MEASURED
from tests.audit.registry import ROUND, THRIFTY, built

KEY = Key(hashlib.sha256(b"statistical audit").digest(), deployment="audit")
SIZES = ((2, 1.0), (6, 0.5), (16, 1.0), (16, 2.0), (128, 1.0))
INSTANCES = [kind(d=d, epsilon=epsilon) for _, kind in sorted(ORACLES.items()) for d, epsilon in SIZES] + [
    built(name, d, epsilon)
    for name in sorted(MECHANISMS.keys() - ORACLES.keys())
    for d, epsilon in ((3, 1.0), (6, 0.5), (17, 2.0))
]


def least(mechanism: Mechanism) -> float:
    """The share of the claim that a measurement with teeth shows."""
    return 0.3 if mechanism.name in THRIFTY or mechanism.memoised else 0.8


@pytest.mark.parametrize("mechanism", INSTANCES, ids=repr)
def test_no_more_than_the_claim_is_measured(mechanism: Mechanism) -> None:
    found = measure(mechanism, KEY, round=ROUND, trials=trials_for(mechanism, 0.1))
    assert found.holds
    assert found.at_least > least(mechanism) * found.claimed


@pytest.mark.audit
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("mechanism", INSTANCES, ids=repr)
def test_no_more_than_the_claim_is_measured_at_the_long_size(mechanism: Mechanism) -> None:
    found = measure(mechanism, KEY, round=ROUND, trials=trials_for(mechanism, 0.02))
    assert found.holds
    assert found.at_least > min(0.95, 1.1 * least(mechanism)) * found.claimed


@pytest.mark.parametrize("mechanism", MEASURED, ids=repr)
def test_a_mechanism_that_breaks_its_promise_is_caught(mechanism: Mechanism) -> None:
    trials = trials_for(mechanism, 0.05)
    found = measure(mechanism, KEY, round=ROUND, trials=trials)
    assert not found.holds


@pytest.mark.audit
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("kind", "d"), [(GRR, 2), (GRR, 16), (OUE, 16)])
def test_two_percent_above_the_claim_are_seen_at_the_long_size(kind: type[Mechanism], d: int) -> None:
    claimed, real = kind(d=d, epsilon=1.0), kind(d=d, epsilon=1.02)
    assert measure(real, KEY, round=ROUND, trials=trials_for(claimed, 0.02)).at_least > claimed.epsilon


@pytest.mark.parametrize("mechanism", LENGTH, ids=repr)
def test_a_report_whose_length_or_presence_tells_is_caught(mechanism: Mechanism) -> None:
    with pytest.raises(ReportError, match="whatever the value"):
        measure(mechanism, KEY, round=ROUND, trials=1000)


def test_the_sizes_are_those_of_the_literature() -> None:
    # ARCHITECTURE section 5.12, epsilon 1, alpha 1e-6, power 99.9 %: simulated there, the normal approximation here
    literature: list[tuple[Mechanism, float, float]] = [
        (GRR(d=2, epsilon=1), 1.1e5, 7e5),
        (GRR(d=16, epsilon=1), 8.4e5, 5.2e6),
        (GRR(d=128, epsilon=1), 6.6e6, 4.1e7),
        (OUE(d=128, epsilon=1), 3.1e5, 2e6),
    ]
    for mechanism, five, two in literature:
        assert trials_for(mechanism, 0.05) == pytest.approx(five, rel=0.05)
        assert trials_for(mechanism, 0.02) == pytest.approx(two, rel=0.05)


@pytest.mark.parametrize(
    ("hits", "trials", "alpha", "low", "high"),
    [  # no hit and all hits have closed forms: 1 - alpha^(1/n) and alpha^(1/n)
        (0, 50, 0.005, 0.0, 1 - 0.005 ** (1 / 50)),
        (50, 50, 0.005, 0.005 ** (1 / 50), 1.0),
        (0, 1_000_000, 5e-7, 0.0, 1 - 5e-7**1e-6),
    ],
)
def test_the_confidence_bounds_are_clopper_and_pearsons(
    hits: int, trials: int, alpha: float, low: float, high: float
) -> None:
    assert lower(hits, trials, alpha) == pytest.approx(low, rel=1e-6)
    assert upper(hits, trials, alpha) == pytest.approx(high, rel=1e-6)


@pytest.mark.parametrize(("hits", "trials"), [(3, 10), (7, 20), (1, 30), (29, 30)])
@pytest.mark.parametrize("alpha", [0.3, 0.01, 1e-6])
def test_the_bounds_are_where_the_exact_tail_is_alpha(hits: int, trials: int, alpha: float) -> None:
    def tail(p: float, start: int, stop: int) -> float:
        return sum(math.comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(start, stop))

    assert tail(lower(hits, trials, alpha), hits, trials + 1) == pytest.approx(alpha, rel=1e-6)
    assert tail(upper(hits, trials, alpha), 0, hits + 1) == pytest.approx(alpha, rel=1e-6)
