# SPDX-License-Identifier: Apache-2.0
"""The promise of ToPS event by event, exactly: what is released is a function of noisy nodes, and streams that differ
in one event are told apart by at most epsilon.

For each pair of neighbouring streams the noise is moved by what their nodes differ by, and the same bytes must come
out: so whatever one stream releases by some noise, the other one releases by noise that is so much less likely. How
much that is at most is in the exact law, node by node."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.central.event_release import EventRelease
from murmurate.aggregators.trees.consistency import dyadic_leaves
from murmurate.aggregators.trees.hierarchy import node_totals
from murmurate.aggregators.trees.smoothers import SMOOTHERS
from murmurate.randomizers.central import DiscreteLaplace
from murmurate.randomizers.trees import Tree
from tests.audit.test_noisy_max import exp_at_most
from tests.cases import every

EVENTS, BLOCK, THETA = 8, 2, 3
TREE = Tree(2, 2)
"""Over blocks of two events, so two trees hold all events, each of two leaves."""
Numbers = NDArray[np.int64]
Nodes = list[NDArray[Any]]


def released(values: Numbers, noise: Nodes, smoother: str) -> bytes:
    leaves = dyadic_leaves(noise, TREE.fanout)
    numbers = [Fraction(int(leaf), TREE.denominator) for leaf in leaves]
    made = SMOOTHERS[smoother](BLOCK, Fraction(BLOCK * THETA, 2))
    return EventRelease(THETA, made, numbers.__getitem__).add(values).tobytes()


def nodes(values: Numbers) -> Nodes:
    return node_totals(TREE, np.minimum(values, THETA).reshape(-1, BLOCK).sum(axis=1))


@every("smoother", sorted(SMOOTHERS))
def test_moved_noise_gives_the_same_bytes_and_is_less_likely_by_at_most_epsilon(smoother: str) -> None:
    rng = np.random.default_rng(0)
    epsilon = Fraction(1)
    gamma = epsilon / (TREE.levels * THETA)
    law, allowed = DiscreteLaplace(gamma), exp_at_most(epsilon)
    worst = Fraction(1)
    for _ in range(40):
        values = rng.integers(0, THETA + 3, EVENTS)
        noise: Nodes = [rng.integers(-30, 31, len(level)) for level in nodes(values)]
        out = released(values, noise, smoother)
        for place in range(EVENTS):
            for other in {0, THETA, THETA + 2} - {int(values[place])}:
                neighbour = values.copy()
                neighbour[place] = other
                moved = [n + t - s for n, t, s in zip(noise, nodes(values), nodes(neighbour), strict=True)]
                assert released(neighbour, moved, smoother) == out
                ratio = Fraction(1)
                for one, two in zip(np.concatenate(noise).tolist(), np.concatenate(moved).tolist(), strict=True):
                    ratio *= law.chance(one) / law.chance(two)
                worst = max(worst, ratio)
    assert worst <= allowed
    assert worst > allowed * Fraction(9, 10)  # and all of epsilon is used
