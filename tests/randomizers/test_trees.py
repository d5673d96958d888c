# SPDX-License-Identifier: Apache-2.0
"""The shape of trees: golden canonical nodes, and that they are the fewest that hold a stretch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from murmurate.randomizers import ParameterError
from murmurate.randomizers.trees import Tree
from tests.cases import every

GOLDEN = json.loads((Path(__file__).resolve().parents[1] / "data" / "trees_golden.json").read_text(encoding="ascii"))


def test_canonical_nodes_are_the_golden_ones() -> None:
    golden = GOLDEN["canonical_nodes"]
    found = Tree(golden["b"], golden["h"]).canonical_nodes(golden["lo"], golden["hi"])
    assert [list(node) for node in found] == golden["nodes_height_index"]
    for name, count in golden["counts"].items():
        fanout, levels, stretch = name.split(",")
        low, high = map(int, stretch.split(".."))
        assert len(Tree(int(fanout), int(levels)).canonical_nodes(low, high)) == count


@every("tree", [Tree(2, 1), Tree(2, 3), Tree(3, 3), Tree(4, 2)])
def test_canonical_nodes_hold_every_leaf_of_a_stretch_once_and_no_fewer_nodes_do(tree: Tree) -> None:
    size = 2 * tree.leaves + 1
    for low in range(size):
        for high in range(low, size + 1):
            nodes = tree.canonical_nodes(low, high)
            leaves = sorted(
                leaf for level, at in nodes for leaf in range(at * tree.span(level), (at + 1) * tree.span(level))
            )
            assert leaves == list(range(low, high))
            for level, at in nodes:  # the parent of none of them lies inside, so that none can be spared
                above = tree.span(level) * tree.fanout
                outside = at * tree.span(level) // above * above < low or (at // tree.fanout + 1) * above > high
                assert level == tree.levels or outside


def test_a_tree_counts_its_nodes_and_leaves() -> None:
    tree = Tree(16, 5)
    assert tree.leaves == tree.nodes(1) == tree.span(5) == 65_536
    assert [tree.nodes(level) for level in (2, 3, 4, 5)] == [4096, 256, 16, 1]
    assert tree.denominator == 1 << 32
    assert (Tree(7, 1).leaves, Tree(7, 1).denominator) == (1, 1)


@every(("fanout", "levels"), [(1, 3), (2, 0), (2.0, 3), (True, 3), (2, 33), (16, 9), (1 << 17, 1), (2, "3")])
def test_what_is_no_tree_is_refused(fanout: Any, levels: Any) -> None:
    with pytest.raises(ParameterError, match=r"found .*; allowed"):
        Tree(fanout, levels)


def test_a_level_and_a_stretch_that_there_are_not_are_refused() -> None:
    with pytest.raises(ParameterError, match="level: found 4; allowed: 1 to 3"):
        Tree(2, 3).nodes(4)
    with pytest.raises(ParameterError, match="leaves: found 3 to 2"):
        Tree(2, 3).canonical_nodes(3, 2)
