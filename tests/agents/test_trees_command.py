# SPDX-License-Identifier: Apache-2.0
"""`murmurate trees` and the page that it makes: figures and picture are today's, and true of simulated noise."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from pathlib import Path

import numpy as np
from click.testing import CliRunner

from murmurate.agents.cli.trees import EPSILON, FANOUTS, LEAVES, command, drawing, error, fewest_nodes, table, tall
from murmurate.aggregators.trees import LeafNoise
from murmurate.randomizers import Key
from murmurate.randomizers.central import NodeNoise
from murmurate.randomizers.trees import Tree

DOCS = Path(__file__).resolve().parents[2] / "docs"
KEY = Key(hashlib.sha256(b"central").digest(), deployment="shop")


def test_the_table_and_the_picture_on_the_page_are_what_the_command_makes() -> None:
    assert "\n".join(table(EPSILON, FANOUTS, LEAVES)) in (DOCS / "TREES.md").read_text(encoding="utf-8")
    assert (DOCS / "images" / "trees.svg").read_text(encoding="utf-8") == drawing(EPSILON, LEAVES)


def test_the_table_fits_80_columns_and_has_a_row_for_each_fanout(tmp_path: Path) -> None:
    picture = tmp_path / "picture.svg"
    asked = ["--epsilon", "0.5", "--fanout", "4", "--fanout", "10", "--leaves", "1000", "--picture", str(picture)]
    done = CliRunner().invoke(command, asked)
    assert done.exit_code == 0
    lines = done.output.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert [line.split()[:3] for line in lines[3:5]] == [["4", "5", "256"], ["10", "4", "1000"]]
    assert picture.read_text(encoding="utf-8").startswith("<svg")


def test_an_error_is_the_one_that_sums_of_simulated_noise_have() -> None:
    # The mean square of all stretches in 80 trees: at least 200 are independent, of kurtosis below 6; 5 errors.
    tree, length = Tree(4, 4), 23
    sums = []
    for at in range(80):
        digest = hashlib.sha256(b"tree %d" % at).digest()
        leaves = LeafNoise(tree, NodeNoise(KEY, digest, Fraction(1, tree.levels))).numerators(0, tree.leaves)
        before = np.concatenate([[0.0], np.cumsum(leaves / tree.denominator)])
        sums.append(before[length:] - before[:-length])
    found = np.mean(np.square(sums))
    assert abs(found / error(tree, 1.0, length) ** 2 - 1) < 5 * (5 / 200) ** 0.5


def test_a_tree_is_as_tall_as_its_leaves_allow() -> None:
    assert [tall(fanout, 65_536).levels for fanout in (2, 10, 16, 65_536)] == [17, 5, 5, 2]
    assert tall(60_000, 50_000).levels == 1
    assert fewest_nodes(Tree(2, 3), 1, 7) == 4
