# SPDX-License-Identifier: Apache-2.0
"""ToPS event by event: the golden release, the order of its steps, and what it makes of a threshold that was found."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmurate.aggregators.central.event_release import EventRelease, ToPS
from murmurate.aggregators.trees.smoothers import SMOOTHERS, RecentSmoother
from murmurate.aggregators.trees.variance import leaf_variance
from murmurate.randomizers import Key, ParameterError
from murmurate.randomizers.trees import Tree
from tests.cases import every

GOLDEN = json.loads((Path(__file__).parents[2] / "data" / "tops_golden.json").read_text())["ToPS_release"]
KEY = Key(bytes(range(32)), deployment="shop")
DIGEST = bytes([1]) * 32


def golden() -> EventRelease:
    leaves = [leaf for tree in GOLDEN["consistent_leaves"] for leaf in tree]
    size = GOLDEN["b"] ** GOLDEN["s"]
    return EventRelease(GOLDEN["theta"], RecentSmoother(size, size * GOLDEN["theta"] / 2), leaves.__getitem__)


def test_the_release_is_the_golden_one_and_the_same_in_any_parts() -> None:
    values = np.array(GOLDEN["values"])
    assert golden().add(values) == pytest.approx(GOLDEN["released"], abs=1e-6)
    one_by_one, parts = golden(), golden()
    assert [float(one_by_one.add(values[i : i + 1])[0]) for i in range(len(values))] == golden().add(values).tolist()
    assert [*parts.add(values[:5]), *parts.add(values[5:5]), *parts.add(values[5:])] == golden().add(values).tolist()


@every("name", sorted(SMOOTHERS))
def test_whole_blocks_sum_to_their_noisy_leaves_whatever_smooths_them(name: str) -> None:
    values = np.random.default_rng(0).integers(0, 9, 64)
    released = EventRelease(5, SMOOTHERS[name](4, Fraction(10)), lambda leaf: Fraction(leaf, 4)).add(values)
    sums = np.minimum(values, 5).reshape(-1, 4).sum(axis=1)
    assert released.reshape(-1, 4).sum(axis=1) == pytest.approx(sums + np.arange(16) / 4)


def test_nothing_is_said_of_an_event_before_its_block_is_complete() -> None:
    one, other = (golden().add(np.array([3, 4, first])) for first in (0, 4))
    assert (one == other).all()


def test_noise_of_leaves_goes_on_from_tree_to_tree_and_is_as_wide_as_an_event_is_worth() -> None:
    """The mean square of 2 560 leaves lies within five of its standard errors, those of squares of Laplace numbers (a
    false alarm in 1e-6; the key makes it always the same).
    """
    tops = ToPS(Fraction(1), top=100, tree=Tree(2, 4), block=1)
    found = tops.released(50, KEY, DIGEST).add(np.zeros(2 * 2_560, np.int64))
    leaves = found.reshape(-1, 2).sum(axis=1)
    node = 2 * (3 * 50) ** 2  # of Laplace noise of scale (h - s) theta / epsilon
    assert abs((leaves**2).mean() / (node * leaf_variance(Tree(2, 3))) - 1) < 5 * math.sqrt(5 / 2_560)
    assert len(set(leaves.tolist())) > 2_000


def test_the_threshold_is_found_by_the_first_events_alone_and_they_are_not_released() -> None:
    tops = ToPS(Fraction(1), top=200, held_out=2_000, tree=Tree(4, 4), block=2)
    rng = np.random.default_rng(3)
    values = rng.geometric(0.1, 3_000)
    theta, released = tops.release(values, KEY, DIGEST)
    assert len(released) == 1_000
    changed = np.concatenate((values[:2_000], np.full(1_000, 200)))
    assert tops.release(changed, KEY, DIGEST)[0] == theta
    # As many values are above it as the trees' noise is worth, give or take some steps of noise.
    scores = tops.choice().costs + np.array([(values[:2_000] > j).sum() for j in range(1, 201)])
    assert scores[theta - 1] - scores.min() <= 15


def test_the_tree_s_epsilon_may_be_another_one_than_the_threshold_s() -> None:
    tops = ToPS(Fraction(1, 100), top=10)
    assert tops.choice(Fraction(1, 20)).gamma == Fraction(1, 100)
    assert tops.choice(Fraction(1, 20)).slope == pytest.approx(3.827328)
    assert tops.choice().slope == pytest.approx(5 * 3.827328)
    assert math.isclose(tops.choice().slope, 3 / 60 * 65536 / 2**20 / 0.01 * math.sqrt(2 * 15 * 125))


@every(
    ("changed", "message"),
    [
        ({"epsilon": Fraction(0)}, "epsilon 0"),
        ({"top": 0}, "top 0"),
        ({"held_out": 0}, "held_out 0"),
        ({"block": 5}, "block: found 5; allowed: 0 to 4"),
        ({"smoother": "magic"}, "smoother: found 'magic'; allowed: recent"),
    ],
)
def test_what_is_no_release_cannot_be_built(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        ToPS(**({"epsilon": Fraction(1), "top": 10} | changed))


def test_streams_that_are_too_short_or_below_0_are_refused() -> None:
    with pytest.raises(ParameterError, match="values: found 99; allowed: at least the 100"):
        ToPS(Fraction(1), top=10, held_out=100).release(np.zeros(99, np.int64), KEY, DIGEST)
    with pytest.raises(ParameterError, match="values: found some below 0"):
        golden().add(np.array([-1]))
