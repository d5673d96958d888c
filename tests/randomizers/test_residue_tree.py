# SPDX-License-Identifier: Apache-2.0
"""The geometry of residue trees: values at a step are sums of told nodes; numbers of SaO2 stand here as values."""

from __future__ import annotations

import pytest

from murmurate.randomizers import ParameterError
from murmurate.randomizers.residue_tree import ResidueTree

PATHS = [
    (13, 2, 13, ((3, 1), (2, 3), (0, 13))),
    (16, 2, 15, ((3, 1), (2, 3), (1, 7), (0, 15))),
    (16, 2, 16, ((4, 1),)),
    (27, 3, 26, ((2, 1), (2, 2), (1, 7), (1, 8), (0, 25), (0, 26))),
    (20, 3, 20, ((2, 1), (2, 2), (0, 19), (0, 20))),
]
TREES = [ResidueTree(T, r, every) for T in (1, 2, 3, 7, 8, 13, 27, 100) for r in (2, 3, 5) for every in (False, True)]
CUT = [(8, 2, 3), (13, 2, 1), (100, 3, 2)]
TREES += [ResidueTree(T, r, every, cut) for T, r, cut in CUT for every in (False, True)]


@pytest.mark.parametrize(("periods", "fanout", "step", "path"), PATHS)
def test_paths_are_those_of_the_paper(periods: int, fanout: int, step: int, path: tuple[tuple[int, int], ...]) -> None:
    assert ResidueTree(periods, fanout).path(step) == path


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_paths_cover_each_stretch_once_with_told_nodes(tree: ResidueTree) -> None:
    for step in range(1, tree.periods + 1):
        reached = 0
        for level, node in tree.path(step):
            assert (node - 1) * tree.span(level) == reached
            assert tree.tells(level, node)
            reached = node * tree.span(level)
        assert reached == step


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_nodes_end_where_ending_says_and_one_at_each_step_unless_every_is_told(tree: ResidueTree) -> None:
    told = {(level, node) for level in range(tree.levels) for node in tree.nodes(level)}
    ends = [tree.ending(step) for step in range(1, tree.periods + 1)]
    assert sorted(told) == sorted(node for nodes in ends for node in nodes)
    assert tree.every or all(len(nodes) == 1 for nodes in ends)


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_a_level_reads_values_between_its_first_end_and_its_last(tree: ResidueTree) -> None:
    for level in range(tree.levels):
        ends = [node * tree.span(level) for node in tree.nodes(level)]
        looks = tree.looks(level)
        assert set(ends) <= set(looks)
        assert (looks[0], looks[-1]) == (ends[0], ends[-1])


@pytest.mark.parametrize(
    "made", [lambda: ResidueTree(0, 2), lambda: ResidueTree(8, 1), lambda: ResidueTree(8, 2).span(4),
             lambda: ResidueTree(8, 2).path(0), lambda: ResidueTree(8, 2).path(9),
             lambda: ResidueTree(8, 2, False, 4), lambda: ResidueTree(8, 2, cut=-1)],
)  # fmt: skip
def test_what_is_no_tree_is_refused(made: object) -> None:
    with pytest.raises(ParameterError, match="allowed"):
        made()  # type: ignore[operator]


def test_a_cut_tree_has_fewer_levels_and_tells_all_nodes_of_its_top() -> None:
    whole, cut = ResidueTree(13, 2), ResidueTree(13, 2, cut=2)
    assert (whole.levels, cut.levels) == (4, 2)
    assert cut.nodes(0) == whole.nodes(0)
    assert (whole.nodes(1), cut.nodes(1)) == ((1, 3, 5), (1, 2, 3, 4, 5, 6))
    assert cut.path(13) == (*((1, node) for node in range(1, 7)), (0, 13))
