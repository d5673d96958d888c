# SPDX-License-Identifier: Apache-2.0
"""What "auto" takes for sets and vectors without building all mechanisms is what a comparison of all of them takes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from murmurate.aggregators.measures.items import ItemShares
from murmurate.aggregators.measures.rows import ALIKE, RowMeasure
from murmurate.aggregators.measures.vector import ItemNumbers
from murmurate.aggregators.measures.vector_bounds import COSTLY, least_variance
from murmurate.aggregators.measures.vector_questions import ALL_SIGNS, PAIRS, PARTS, told_variance
from murmurate.randomizers import ParameterError, Question, question
from murmurate.randomizers.layouts import layout
from murmurate.randomizers.vectors import VectorQuestion
from murmurate.topics.domains import Items, Signed
from tests.cases import every


def of_all_lengths(measure: ItemNumbers, name: str, epsilon: Fraction) -> Question:
    """The best of all lengths of reports that are compared, each built; without shares there is a single one."""
    _, d, most, _ = measure.layout
    s, able = min(d, most), list[Question]()
    lengths: list[dict[str, int]] = [{}]
    if name in ("exsub", ALL_SIGNS):
        lengths += [{"m": max(1, (d + s) // part)} for part in PARTS]
    if name == "coco":
        lengths += [{"t": 2 * ((s * cells + 1) // 2)} for cells in PAIRS]
    for parameters in lengths:
        try:
            made = question({"name": name, "layout": measure.layout, "epsilon": epsilon, **parameters})
        except ParameterError:
            continue
        if isinstance(made, VectorQuestion) and made.tells_shares:
            able.append(made)
    return min(able, key=told_variance)


def of_all(measure: RowMeasure, epsilon: Fraction) -> Question:
    """The first mechanism of those with the smallest exact error, all of them built."""
    told = isinstance(measure, ItemNumbers) and measure.shares
    built = [
        of_all_lengths(measure, name, epsilon) if told and isinstance(measure, ItemNumbers)
        else measure.question(name, epsilon)
        for name in measure.possible
    ]  # fmt: skip
    errors = [measure.usual_error(one) for one in built]
    return next(one for one, error in zip(built, errors, strict=True) if error <= min(errors) * ALIKE)


def chosen_alike(cases: int, seed: int, *, largest: int, holding: int) -> None:
    generator = np.random.default_rng(seed)
    for case in range(cases):
        d = int(np.exp(generator.uniform(0, np.log(largest))))
        most = int(np.exp(generator.uniform(0, np.log(holding))))
        epsilon = Fraction(int(1e6 * np.exp(generator.uniform(np.log(0.01), np.log(6)))), 10**6)
        pad, none = int(generator.integers(1, min(most, d) + 1)), bool(generator.integers(2))
        measure: RowMeasure = [
            ItemShares(Items(d, most), none, pad=pad), ItemNumbers(Signed(d, most), none),
            ItemNumbers(Signed(d, most), none, shares=False),
        ][case % 3]  # fmt: skip
        if not measure.possible:
            continue
        assert measure.choose(epsilon).spec() == of_all(measure, epsilon).spec(), (measure, epsilon)


def test_the_quick_choice_is_that_of_the_exact_comparison() -> None:
    chosen_alike(36, 1, largest=1024, holding=16)


@pytest.mark.audit
def test_the_quick_choice_is_that_of_the_exact_comparison_for_many_more() -> None:
    chosen_alike(1_500, 2, largest=4096, holding=64)


@every("name", COSTLY)
@every("s", [1, 2, 5, 12])
def test_no_costly_mechanism_is_better_than_its_bound(name: str, s: int) -> None:
    for epsilon in (0.01, 0.4, 1.5, 5.0):
        made = question({"name": name, "layout": layout(["items", 30, s, 0]).spec(), "epsilon": epsilon})
        bound = least_variance(name, s, epsilon, 0.25)
        assert bound <= float(np.mean(made.variance(1, 0.25))) <= 5 * bound + 5
