# SPDX-License-Identifier: Apache-2.0
"""Given noise instead of keyed noise, and the dense covariance that everything is compared with."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.trees.consistency import dyadic_leaves, least_squares
from murmurate.randomizers.trees import Tree

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[2] / "data" / "trees_golden.json").read_text(encoding="ascii")
)


@dataclass(frozen=True)
class GivenNoise:
    """Noise of the nodes of one tree as numbers, level by level from the leaves."""

    levels: list[NDArray[np.int64]]

    def of(self, level: int, first: int, count: int) -> NDArray[np.int64]:
        assert 0 <= first <= first + count <= len(self.levels[level - 1])
        return self.levels[level - 1][first : first + count]


def given(tree: Tree, seed: int, most: int = 1 << 20) -> GivenNoise:
    rng = np.random.default_rng(seed)
    return GivenNoise([rng.integers(-most, most, tree.nodes(level)) for level in range(1, tree.levels + 1)])


def trees(most: int) -> list[Tree]:
    """Every tree of at least two levels for which fanout^levels is at most this."""
    found = [Tree(b, h) for b in range(2, int(most**0.5) + 1) for h in range(2, 9) if b**h <= most]
    return found


def ancestors(tree: Tree) -> NDArray[np.int64]:
    """0/1[nodes, leaves]: which leaves lie below each node, level by level from the leaves."""
    leaf = np.arange(tree.leaves)
    rows = [
        leaf // tree.span(level) == node for level in range(1, tree.levels + 1) for node in range(tree.nodes(level))
    ]
    return np.array(rows, np.int64)


def leaf_weights(tree: Tree, weights: str) -> NDArray[Any]:
    """Fractions[leaves, nodes]: with which weight each node enters each consistent leaf, one node at a time."""
    sizes = [tree.nodes(level) for level in range(1, tree.levels + 1)]
    columns = []
    for node in range(sum(sizes)):
        unit = [int(i == node) for i in range(sum(sizes))]
        levels = [np.array(unit[sum(sizes[:at]) : sum(sizes[: at + 1])], np.int64) for at in range(len(sizes))]
        if weights == "dyadic":
            columns.append([Fraction(int(x), tree.denominator) for x in dyadic_leaves(levels, tree.fanout)])
        else:
            fractions = [np.array([Fraction(int(x)) for x in level], object) for level in levels]
            columns.append(list(least_squares(fractions, tree.fanout)[0]))
    return np.array(columns, object).T
