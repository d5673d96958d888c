# SPDX-License-Identifier: Apache-2.0
"""The promise, in exact arithmetic: over all inputs and outputs of every registered mechanism, and over every word it
draws.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from murmurate.randomizers import GRR, MECHANISMS, OUE, Mechanism, ParameterError
from murmurate.randomizers.audit import audit_exact
from murmurate.randomizers.layouts import layout
from tests.audit.faults import EXACT
from tests.audit.registry import EPSILONS, ROUND, SMALL, THRIFTY, instances, kinds
from tests.cases import every
from tests.randomizers.chosen import Chosen

CASES = pytest.mark.parametrize(
    ("name", "d"),
    [
        pytest.param(name, d, marks=pytest.mark.audit)
        if (name, d) in {("she", 5), ("she", 6), ("grr", 128)}
        else (name, d)
        for name, d in kinds()
    ],
)
"""Every mechanism with every domain; those with the most reports are in `make audit`."""
SIZES = pytest.mark.parametrize("size", ["short", pytest.param("long", marks=pytest.mark.audit)])
"""Of two domains that follow each other one is audited at the even claims and the other one at the odd ones; or each
at all of them.
"""


@SIZES
@CASES
def test_no_report_tells_more_than_epsilon(name: str, d: int, size: str) -> None:
    for mechanism in instances(name, d, size):
        found = audit_exact(mechanism, round=ROUND)
        assert found.violations == (), mechanism
        assert found.realised <= found.claimed, mechanism


@SIZES
@CASES
def test_the_realised_ratio_is_the_one_of_the_law_and_close_to_the_claim(name: str, d: int, size: str) -> None:
    for mechanism in instances(name, d, size):
        laws = [mechanism.law(value) for value in layout(mechanism.layout).enumerate()]
        ratio = max(max(c) / min(c) for c in zip(*(law.values() for law in laws), strict=True))
        assert ratio == mechanism.realised, mechanism
        # Rounding costs at most 2^-16 of the low level, and nothing that a user would notice.
        if mechanism.name not in THRIFTY:
            assert float(mechanism.realised) >= math.exp(mechanism.epsilon) * (1 - 2**-14), mechanism


def test_every_mechanism_is_audited_at_every_claim_in_some_domain() -> None:
    for name in MECHANISMS:
        claims = {made.epsilon for other, d in kinds() if other == name for made in instances(name, d, "short")}
        assert len(claims) == (17 if name in ("olh", "olh_counts") else len(EPSILONS)), (
            name
        )  # its cells grow with e^epsilon


@every("mechanism", EXACT)
def test_a_mechanism_that_breaks_its_promise_is_caught(mechanism: Mechanism) -> None:
    assert audit_exact(mechanism).violations


@every("epsilon", EPSILONS[::3])
@every("d", [*SMALL, 7, 16, 128])
def test_grr_gives_each_report_to_exactly_as_many_words_as_its_law_says(d: int, epsilon: Fraction) -> None:
    # The report is constant between multiples of the low level: look at both ends of each stretch.
    grr = GRR(d=d, epsilon=epsilon)
    low = int(grr.q * 2**64)
    edges = [*(i * low for i in range(d)), 2**64]
    ends = np.array([[edges[i] for i in range(d)], [edges[i + 1] - 1 for i in range(d)]], np.uint64)
    for value in {0, d // 2, d - 1}:
        first, last = (grr.perturb(np.full(d, value), Chosen(row[:, None])) for row in ends)
        assert (first == last).all()
        words: dict[bytes, int] = {}
        for i, report in enumerate(first):
            words[report.tobytes()] = words.get(report.tobytes(), 0) + edges[i + 1] - edges[i]
        assert {report: Fraction(count, 2**64) for report, count in words.items()} == grr.law(value)


@every("epsilon", EPSILONS[::3])
@every("d", [2, 3, 9])
def test_oue_sets_each_bit_for_exactly_as_many_words_as_its_law_says(d: int, epsilon: Fraction) -> None:
    # A bit is 1 up to a threshold and 0 from it on, in every cell by itself: look at both sides of each threshold.
    oue = OUE(d=d, epsilon=epsilon)
    top = 2**32 if epsilon < 11 else 2**64
    for value in range(d):
        for cell in range(d):
            threshold = int((oue.p if cell == value else oue.q) * top)
            for word, bit in ((0, 1), (threshold - 1, 1), (threshold, 0), (top - 1, 0)):
                words = np.full((1, d), top - 1, np.uint64)
                words[0, cell] = word
                report = oue.perturb(np.array([value]), Chosen(words))
                assert np.unpackbits(report, bitorder="little")[:d].tolist() == [bit * (c == cell) for c in range(d)]


@every("name", sorted(MECHANISMS))
@every("epsilon", [0, -1, float("nan"), float("inf"), 9e-7, 20.000001, True, "1", None])
def test_an_epsilon_that_promises_nothing_cannot_be_built(name: str, epsilon: Any) -> None:
    with pytest.raises(ParameterError, match="allowed: a number from 0"):
        MECHANISMS[name](d=4, epsilon=epsilon)


@every("name", sorted(MECHANISMS))
@every("d", [1, 0, -3, 2.0, True, "4", 1 << 63])
def test_a_domain_that_is_none_cannot_be_built(name: str, d: Any) -> None:
    with pytest.raises(ParameterError, match="d: found"):
        MECHANISMS[name](d=d, epsilon=1)
