# SPDX-License-Identifier: Apache-2.0
"""The evidence of jumps, against the sum over everything that may have happened."""

from __future__ import annotations

from itertools import product
from math import exp, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmurate.aggregators.filters.jumps import Jumps
from murmurate.aggregators.filters.models import Models

RATIOS = st.lists(st.floats(-30, 30), min_size=1, max_size=5)


def enumerated(jumps: Jumps, ratios: list[float]) -> tuple[list[float], float]:
    """Chance of a jump for each statistic, and of an epoch, pattern by pattern."""
    epoch, alone = jumps.chances
    weights: dict[tuple[bool, tuple[bool, ...]], float] = {}
    for many in (False, True):
        chance = jumps.models.joining if many else alone
        for pattern in product((False, True), repeat=len(ratios)):
            each = (chance * exp(r) if jumped else 1 - chance for jumped, r in zip(pattern, ratios, strict=True))
            weights[many, pattern] = (epoch if many else 1 - epoch) * prod(each)
    total = sum(weights.values())
    jumped = [sum(w for (_, p), w in weights.items() if p[i]) / total for i in range(len(ratios))]
    return jumped, sum(w for (many, _), w in weights.items() if many) / total


@given(ratios=RATIOS)
def test_the_posterior_is_the_sum_over_all_that_may_have_happened(ratios: list[float]) -> None:
    jumps = Jumps(Models(), 1.0)
    found, many, alone = jumps.seen(np.array(ratios))
    jumped, epoch = enumerated(jumps, ratios)
    assert found == pytest.approx(jumped, rel=1e-9, abs=1e-15)
    assert many == pytest.approx(epoch, rel=1e-9)
    assert 0 <= alone <= found.mean() + 1e-15


@given(ratio=st.floats(-30, 30))
def test_a_mirror_image_is_no_second_witness(ratio: float) -> None:
    one, two = Jumps(Models(), 1.0), Jumps(Models(), 0.5)
    (single, many, _), (both, also, _) = one.seen(np.array([ratio])), two.seen(np.array([ratio, ratio]))
    assert also == pytest.approx(many, rel=1e-9)
    assert both == pytest.approx([single[0], single[0]], rel=1e-9)


def test_no_evidence_however_large_is_no_number() -> None:
    for ratio in (-1e18, 0.0, 1e18):
        found, many, alone = Jumps(Models(), 1.0).seen(np.full(4096, ratio))
        assert np.all((found >= 0) & (found <= 1))
        assert 0 <= many <= 1
        assert 0 <= alone <= 1


def test_chances_are_learned_from_what_was_seen() -> None:
    jumps = Jumps(Models(), 1.0)
    before = jumps.chance
    for _ in range(200):
        jumps.learn(epoch=0.0, alone=0.0)
    assert jumps.chance < before / 4
    for _ in range(200):
        jumps.learn(epoch=0.1, alone=0.0)
    assert jumps.chances[0] == pytest.approx(20.25 / 450)
    jumps.room = 10.0  # a leap of a tenth of the usual size beside the noise
    assert jumps.chances[0] == pytest.approx(2.025 / 450)


@given(ratio=st.floats(0, 0.1))
def test_small_evidence_in_many_values_is_none_where_a_leap_is_no_larger_than_the_noise(ratio: float) -> None:
    ratios = np.full(500, ratio)
    _, large, _ = Jumps(Models(), 1.0).seen(ratios)
    _, small, _ = Jumps(Models(), 1.0, room=1.0).seen(ratios)
    assert small <= large
    assert small < 0.01
