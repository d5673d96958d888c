# SPDX-License-Identifier: Apache-2.0
"""Errors of horizons of bits: laws that are known, forms of the tree in order, and what flips."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import pytest

from murmurate.agents.simulate.residue_errors import (
    FORMS,
    PROTOCOLS,
    HorizonOfBits,
    flipped,
    horizon_errors,
    levels_of,
    online_law,
)
from murmurate.aggregators.trees import ResidueTask, level_terms, portions
from murmurate.randomizers.residue_tree import ResidueTree
from murmurate.randomizers.sessions.protocols import protocol
from tests.cases import every

BITS = HorizonOfBits(32, 2, 4, Fraction(1), 10_000)


def test_a_bit_flips_as_often_as_all_sets_of_steps_have_it() -> None:
    of = HorizonOfBits(7, 2, 3, Fraction(1), 1)
    sets = list(combinations(range(7), 3))
    for steps in range(8):
        odd = sum(sum(at < steps for at in one) % 2 for one in sets)
        assert flipped(of, steps) == pytest.approx(odd / len(sets))


@every("name", PROTOCOLS)
def test_every_node_with_least_squares_has_the_least_error_and_its_exact_variance(name: str) -> None:
    errors = [horizon_errors(name, form, BITS, 1_000, 0) for form in FORMS]
    totals = [one.total for one in errors]
    assert totals == sorted(totals, reverse=True)
    assert all(abs(one.off) < 0.1 for one in errors)  # 1 000 runs: .045 a period


def test_levels_of_every_node_are_those_of_a_task() -> None:
    tree, levels = levels_of("majority", "every", BITS)
    task = ResidueTask(1, 4, 1, 10**6, form="majority")
    assert tree == ResidueTree(32, 2, every=True)
    assert [one.absent for one in levels] == pytest.approx([one.absent for one in level_terms(tree, task)])
    assert [one.share for one in levels] == pytest.approx(portions(tree, task).portions)


def test_the_printed_tree_spares_a_level_where_none_ends_there() -> None:
    exact, over = (levels_of("DDRM", "printed", HorizonOfBits(64, r, 4, Fraction(1), 1))[1] for r in (4, 16))
    assert sum(one.share for one in exact) == pytest.approx(1)
    assert sum(one.share for one in over) == pytest.approx(2 / 3)


def test_exsubs_law_is_the_products() -> None:
    told = protocol("exsub_online", 1, 20, Fraction(1), {"s": 4})
    assert online_law("ExSub", 20, 4, Fraction(1))[:3] == pytest.approx([float(part) for part in told.supports])
