# SPDX-License-Identifier: Apache-2.0
"""What the curator says of a period, computed a second time by hand: hold-outs, thresholds, trees, and whose noise lies
on what.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from murmurate.agents.stages import curation as module
from murmurate.agents.stages.curation import Curation
from murmurate.aggregators.measures.summed import CentralTotal
from murmurate.aggregators.trees.lazy import LeafNoise
from murmurate.config.plan import CentralPlan, HoldoutPlan
from murmurate.randomizers.central import NodeNoise
from murmurate.randomizers.trees import Tree
from murmurate.topics.curated import Curated
from murmurate.topics.domains import Grid
from murmurate.topics.message import SAFE_INTEGER
from tests.agents.central import BLOCKS, FOUND_SPENT, SCREENED, SPENT, only
from tests.agents.world import FIRST, key

KEY = key("randomness")


def curation(stream: CentralPlan, first_t: int = FIRST, **changes: Any) -> Curation:
    made = Curation(only(stream, **changes), stream, KEY)
    made.begin(first_t)
    return made


def sums_of(stream: CentralPlan, *codes: int) -> np.ndarray:
    return stream.measure.sums(np.array(codes, np.uint32))


def said(stream: CentralPlan, periods: Sequence[Sequence[int]], first_t: int = FIRST) -> list[Curated]:
    one = curation(stream, first_t)
    return [one.period(sums_of(stream, *codes)) for codes in periods]


def exact(stream: CentralPlan, one: Curated) -> list[Fraction]:
    assert one.sums is not None
    return [whole + Fraction(rest, stream.tree.denominator) for whole, rest in one.sums]


def noise_by_hand(stream: CentralPlan, digest: bytes, threshold: int) -> list[list[Fraction]]:
    """Of each figure, the consistent noise of each leaf: top-down from the noise of nodes, as the paper prints it."""
    b, h = stream.tree.fanout, stream.tree.levels
    found: list[list[Fraction]] = []
    for cell, name in enumerate(stream.names):
        noise = NodeNoise(KEY, digest, stream.gamma(name, threshold), cell)
        nodes = [list(map(Fraction, noise.of(level, 0, b ** (h - level)).tolist())) for level in range(1, h + 1)]
        z = [nodes[0]]
        for own in nodes[1:]:
            below = [sum(z[-1][b * j : b * j + b], Fraction(0)) for j in range(len(own))]
            z.append([((b - 1) * own[j] + below[j]) / b for j in range(len(own))])
        level = z[-1]
        for below in reversed(z[:-1]):
            level = [
                below[i] + (level[i // b] - sum(below[b * (i // b) : b * (i // b) + b])) / b for i in range(len(below))
            ]
        found.append(level)
    return found


def digest_at(one: Curation) -> bytes:
    return one._noise_digest()


def test_a_leaf_is_its_exact_sum_and_the_noise_of_its_place_in_the_tree() -> None:
    periods = [[10, 300], [], [200, 201, 1], [500], [7]] * 2
    one, threshold = curation(SPENT), SPENT.measure.threshold_without_search
    for first in range(0, len(periods), SPENT.tree.leaves):
        noise = noise_by_hand(SPENT, digest_at(one), threshold)
        for leaf, codes in enumerate(periods[first : first + SPENT.tree.leaves]):
            told = one.period(sums_of(SPENT, *codes))
            assert told.tree is not None
            assert told.tree.first_t == FIRST + first
            assert told.tree.threshold == threshold == 200
            total, count = exact(SPENT, told)
            assert (total, count) == (
                sum(min(code, 200) for code in codes) + noise[0][leaf], len(codes) + noise[1][leaf]
            )  # fmt: skip


def test_each_categorys_count_has_noise_of_its_own() -> None:
    one = curation(SCREENED)
    noise = noise_by_hand(SCREENED, digest_at(one), 1)
    told = one.period(sums_of(SCREENED, 0, 0, 2))
    assert exact(SCREENED, told) == [2 + noise[0][0], noise[1][0], 1 + noise[2][0]]
    assert len({tuple(cell) for cell in noise}) == 3


def test_a_leaf_of_several_periods_is_said_with_the_last_of_them() -> None:
    told = said(BLOCKS, [[10], [20, 30], [5], []])
    assert [one.sums is None for one in told] == [True, False, True, False]
    noise = noise_by_hand(BLOCKS, digest_at(curation(BLOCKS)), 200)
    assert exact(BLOCKS, told[1]) == [60 + noise[0][0], 3 + noise[1][0]]
    assert exact(BLOCKS, told[3]) == [5 + noise[0][1], 1 + noise[1][1]]
    assert all(one.tree == told[0].tree for one in told)


def test_hold_out_threshold_trees_and_hold_out_again() -> None:
    # two periods of hold-out, then b = 2 trees of 4 leaves, then a hold-out again
    values = [[30, 90], [60] * 5]
    told = said(FOUND_SPENT, [*values, *([[400, 20]] * 8), *values, [400, 20]])
    phases = [one.tree.first_t - FIRST if one.tree else None for one in told]
    assert phases == [None, None, 2, 2, 2, 2, 6, 6, 6, 6, None, None, 12]
    assert all(one.sums is None for one in told if one.tree is None)
    assert len({one.tree.digest for one in told if one.tree}) == 3
    assert told[2].tree is not None
    assert told[2].tree.threshold in FOUND_SPENT.measure.candidates
    one = curation(FOUND_SPENT)
    for codes in values:
        one.period(sums_of(FOUND_SPENT, *codes))
    noise = noise_by_hand(FOUND_SPENT, digest_at(one), told[2].tree.threshold)
    held = sum(min(code, told[2].tree.threshold) for code in (400, 20))
    assert exact(FOUND_SPENT, told[2]) == [held + noise[0][0], 2 + noise[1][0]]  # nothing of the hold-out is in it


def test_a_hold_out_changes_nothing_but_the_threshold() -> None:
    after, by_threshold = [[100, 3]] * 4, dict[int, list[list[Curated]]]()
    for n in range(60):
        told = said(FOUND_SPENT, [[n], [7 * n % 500] * (n % 4), *after])
        assert told[2].tree is not None
        by_threshold.setdefault(told[2].tree.threshold, []).append(told)
    assert all(told == group[0] for group in by_threshold.values() for told in group)
    assert len(by_threshold) < 60


def test_a_threshold_is_found_once_unless_the_file_says_again() -> None:
    told = said(replace(FOUND_SPENT, holdout=HoldoutPlan(2, 40)), [[1]] * 42)
    assert [one.tree is None for one in told] == [True] * 2 + [False] * 40
    assert len({one.tree.threshold for one in told if one.tree}) == 1


def _digests(stream: CentralPlan, first_t: int = FIRST, **changes: Any) -> bytes:
    return digest_at(curation(stream, first_t, **changes))


def test_noise_differs_wherever_sums_differ() -> None:
    other = CentralTotal(Grid(0.0, 50.0, 501, "points"), unit="EUR", threshold=199, counts=True)
    digests = [
        _digests(SPENT), _digests(SPENT, FIRST + 1), _digests(SPENT, name="market"),
        _digests(replace(SPENT, name="earned")), _digests(replace(SPENT, config="0" * 16)),
        _digests(replace(SPENT, every_ms=2000)), _digests(replace(SPENT, tree=Tree(2, 4))),
        _digests(replace(SPENT, block=2)), _digests(replace(SPENT, epsilon_micro=999_999)),
        _digests(replace(SPENT, measure=other)), _digests(replace(SPENT, events=2, window_ms=1000)),
    ]  # fmt: skip
    assert len(set(digests)) == len(digests)
    assert _digests(SPENT) == _digests(SPENT)


def test_after_a_recovery_anywhere_everything_is_said_alike() -> None:
    rng = np.random.default_rng(4)
    for stream in (SPENT, FOUND_SPENT, BLOCKS, SCREENED):
        cells = stream.measure.domain.none
        periods = [rng.integers(0, cells, rng.integers(0, 6)).tolist() for _ in range(24)]
        whole, one, torn = said(stream, periods), curation(stream), []
        for codes in periods:
            again = Curation(only(stream), stream, KEY)
            again.load(one.facts(), {name: array.copy() for name, array in one.arrays().items()})
            one = again
            torn.append(one.period(sums_of(stream, *codes)))
        assert torn == whole


def test_a_sum_beyond_what_json_holds_counts_as_the_end_of_that(monkeypatch: pytest.MonkeyPatch) -> None:
    one = curation(SPENT)
    told = one.period(np.array([3, 1 << 60], np.int64))
    assert told.sums is not None
    assert told.sums[0] == (SAFE_INTEGER, 0)
    low = one.period(np.array([3, -(1 << 60)], np.int64))
    assert low.sums is not None
    assert low.sums[0] == (-SAFE_INTEGER, 0)
    assert low.sums[1] != (-SAFE_INTEGER, 0)
    monkeypatch.setattr(module, "SAFE_INTEGER", 1)
    assert Curated.model_validate(low.model_dump()) == low


def test_every_remainder_is_one_of_the_trees_denominator() -> None:
    for one in said(SPENT, [[n, 2 * n] for n in range(40)]):
        assert one.sums is not None
        assert all(0 <= rest < SPENT.tree.denominator for _, rest in one.sums)


def test_the_noise_of_a_user_is_that_of_all_their_events() -> None:
    few = replace(SPENT, events=4, window_ms=1000)
    assert few.gamma("total", 200) == SPENT.gamma("total", 200) / 4 == Fraction(1, 3 * 200 * 4 * 2)
    assert few.gamma("count", 200) == Fraction(1, 3 * 4 * 2)


def test_the_library_and_the_hand_agree_about_noise() -> None:
    noise = NodeNoise(KEY, bytes(32), SPENT.gamma("total", 200))
    lazy = LeafNoise(SPENT.tree, noise)
    by_hand = noise_by_hand(SPENT, bytes(32), 200)[0]
    assert [Fraction(lazy.numerator(i), SPENT.tree.denominator) for i in range(SPENT.tree.leaves)] == by_hand
