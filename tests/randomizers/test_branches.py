# SPDX-License-Identifier: Apache-2.0
"""Groups of users and public numbers: value-free, of one length, additive, and refused where they are none."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from murmurate.randomizers import (
    GRR,
    OLH,
    Branches,
    Key,
    Level,
    Marginal,
    Padded,
    ParameterError,
    Question,
    ReportError,
    Size,
    Viewed,
    Weighted,
    question,
)  # fmt: skip
from murmurate.randomizers.layouts import layout
from tests.cases import every

KEY = Key(bytes(range(32)), deployment="branches")
ROW = ("row", (2, 3, 300), 1)
ROUND = bytes(range(32))


def rows() -> Branches:
    one, two = Marginal(ROW, [0, 2]), Level(ROW, [1, 2, 100])
    return Branches(
        [
            (5, Viewed(one, GRR(d=one.d, epsilon=1.0))),
            (1, Viewed(two, OLH(d=two.d, epsilon=1.0))),
            (2, Viewed(Marginal(ROW, [1]), GRR(d=4, epsilon=1.0))),
        ]
    )


def sets() -> Branches:
    of = ("items", 30, 5, 1)
    return Branches(
        [
            (1, Viewed(Size(of), GRR(d=7, epsilon=1.0))),
            (3, Viewed(Padded(of, 3), OLH(d=33, epsilon=1.0))),
        ]
    )


ALL: list[Question] = [
    rows(),
    sets(),
    Weighted(rows(), 1000, 10),
    Weighted(sets(), 3),
    Weighted(GRR(d=5, epsilon=1.0), 4096),
]


def some(question_: Question, n: int) -> Any:
    """Values of the layout, none among them."""
    rng = np.random.default_rng(9)
    of = layout(question_.layout)
    name = question_.layout[0] if question_.layout[0] != "measured" else question_.layout[1][0]
    if name == "row":
        values: Any = np.where(rng.integers(0, 8, n) == 0, 0xFFFFFFFE, rng.integers(0, 1800, n)).astype(np.int64)
    elif name == "code":
        values = rng.integers(0, 5, n)
    else:
        values = np.sort(rng.integers(0, 30, (n, 5)), axis=1).astype(np.uint32)
        values[:, 1:][values[:, 1:] == values[:, :-1]] = 0x7FFFFFFF
        values = np.sort(values, axis=1)
        values[::11] = (0xFFFFFFFE, 0, 0, 0, 0)
    if question_.layout[0] == "measured":
        numbers = rng.integers(0, question_.layout[2], n).astype(np.uint32)
        values = values.astype(np.uint32)[:, None] if values.ndim == 1 else values
        numbers[values[:, 0] == 0xFFFFFFFE] = 0
        values = np.column_stack((values, numbers))
    assert not of.wrong(values).any()
    return values


@pytest.mark.parametrize("question_", ALL, ids=repr)
def test_a_batch_and_single_devices_say_the_same_in_one_length_and_counts_add_up(question_: Question) -> None:
    n = 300
    users, values = np.random.default_rng(1).integers(0, 256, (n, 16), np.uint8), some(question_, n)
    reports = question_.perturb(values, KEY.draw(users, round=ROUND))
    assert reports.shape == (n, question_.wire_size)
    for i in range(60):
        value = int(values[i]) if values.ndim == 1 else tuple(values[i].tolist())
        assert question_.perturb_one(value, KEY.draw_one(users[i].tobytes(), round=ROUND)) == reports[i].tobytes()
    server = question_.of_round(ROUND)
    assert not server.malformed(reports).any()
    whole, parts = server.support(reports), server.support(reports[:100]) + server.support(reports[100:])
    assert (whole == parts).all()
    assert whole.shape == (question_.outcomes,)
    server.check(whole, n)
    server.check(server.support(reports[:0]), 0)
    assert (
        server.estimate(whole, n).shape
        == server.variance(n, np.full(question_.statistics, 0.1)).shape
        == (question_.statistics,)
    )
    assert question(question_.spec()) == question_


def test_each_branch_has_its_share_of_users_whatever_they_hold() -> None:
    question_, n = rows(), 40_000
    users = np.random.default_rng(2).integers(0, 256, (n, 16), np.uint8)
    draw = KEY.draw(users, round=ROUND)
    assert question_.chances == (Fraction(5, 8), Fraction(1, 8), Fraction(2, 8))
    shares = np.bincount(question_.branch(draw), minlength=3) / n
    assert np.abs(shares - [5 / 8, 1 / 8, 2 / 8]).max() < 5 * 0.5 / n**0.5
    for value in (0, 1799, 0xFFFFFFFE):
        assert (question_.perturb(np.full(n, value), draw)[:, 0] == question_.branch(draw)).all()


def test_a_branch_that_received_nothing_is_unknown_and_the_others_are_not() -> None:
    question_ = Branches([(1, GRR(d=3, epsilon=1.0)), (1, GRR(d=3, epsilon=2.0))])
    told = question_.estimate(np.array([4, 1, 1, 2, 0, 0, 0, 0]), 4)
    assert np.isnan(told).tolist() == [False] * 3 + [True] * 3
    assert question_.epsilon_micro == 2_000_000


def test_reports_of_no_branch_or_filled_with_anything_are_malformed_and_counts_that_cannot_be_are_refused() -> None:
    question_ = Branches([(1, GRR(d=300, epsilon=1.0)), (1, GRR(d=300, epsilon=1.0))])
    rows = np.array([[0, 0, 0], [2, 0, 0], [1, 44, 1], [1, 43, 1]], np.uint8)
    assert question_.malformed(rows).tolist() == [False, True, True, False]
    wide, narrow = Marginal(ROW, [2]), Marginal(ROW, [0])
    mixed = Branches([(1, Viewed(wide, GRR(d=301, epsilon=1.0))), (1, Viewed(narrow, GRR(d=3, epsilon=1.0)))])
    rows = np.array([[1, 2, 0], [1, 2, 1], [1, 3, 0]], np.uint8)
    assert mixed.malformed(rows).tolist() == [False, True, True]
    small = Branches([(1, GRR(d=2, epsilon=1.0)), (1, GRR(d=2, epsilon=1.0))])
    small.check(np.array([2, 1, 1, 1, 0, 1]), 3)
    for counts, n in (([2, 1, 1, 1, 0, 1], 4), ([2, 3, 0, 1, 0, 1], 3), ([2, 1, 1], 3), ([2, -1, 1, 1, 0, 1], 3)):
        with pytest.raises(ReportError, match="found"):
            small.check(np.array(counts), n)


def test_public_numbers_weigh_the_reports_and_shares_are_of_their_sum() -> None:
    question_ = Weighted(GRR(d=3, epsilon=20.0), 100, 5)
    users = np.random.default_rng(3).integers(0, 256, (500, 16), np.uint8)
    values = np.column_stack((np.arange(500) % 3, np.arange(500) % 100)).astype(np.uint32)
    reports = question_.perturb(values, KEY.draw(users, round=ROUND))
    quanta = values[:, 1] // 5
    assert (reports[:, 1] == quanta).all()
    support = question_.support(reports)
    assert support[:2].tolist() == [quanta.sum(), (quanta.astype(np.int64) ** 2).sum()]
    assert support[2:].tolist() == [int(quanta[reports[:, 0] == v].sum()) for v in range(3)]
    truth = [quanta[values[:, 0] == v].sum() / quanta.sum() for v in range(3)]
    assert question_.estimate(support, 500) == pytest.approx(truth, abs=1e-3)
    assert question_.total(support) == 5 * int(quanta.sum())
    assert 0 < question_.effective(support) < 500
    for counts in ([-1, 0, 0, 0, 0], [10**9, 10**9, 0, 0, 0], [5, 4, 1, 1, 1], [5, 5, 6, 0, 0]):
        with pytest.raises(ReportError):
            question_.check(np.array(counts), 10)


@every(
    "spec",
    [
        {"name": "branches", "of": []},
        {"name": "branches", "of": [[1]]},
        {"name": "branches", "of": [[0, {"name": "grr", "d": 3, "epsilon_micro": 1}]]},
        {"name": "branches", "of": [[1.0, {"name": "grr", "d": 3, "epsilon_micro": 1}]]},
        {"name": "branches", "of": [[1, {"name": "rappor", "d": 3, "epsilon_micro": 1}]]},
        {"name": "branches", "of": [[1, {"name": "grr", "d": 3, "epsilon_micro": 1}],
                                    [1, {"name": "grr", "d": 4, "epsilon_micro": 1}]]},
        {"name": "branches", "of": [
            [1, {"name": "branches", "of": [[1, {"name": "grr", "d": 3, "epsilon_micro": 1}]]}]]},
        {"name": "branches", "of": "grr"},
        {"name": "branches"},
        {"name": "weighted", "inner": {"name": "grr", "d": 3, "epsilon_micro": 1}, "levels": 1, "quantum": 1},
        {"name": "weighted", "inner": {"name": "grr", "d": 3, "epsilon_micro": 1}, "levels": 1 << 20, "quantum": 1},
        {"name": "weighted", "inner": {"name": "grr", "d": 3, "epsilon_micro": 1}, "levels": 9, "quantum": 0},
        {"name": "weighted", "inner": {"name": "weighted", "inner": {}}, "levels": 9, "quantum": 1},
        {"name": "viewed", "view": {"name": "whole", "layout": ["code", 3]}},
        {"name": "viewed", "view": {"name": "whole", "layout": ["code", 3]}, "mechanism": {"name": "viewed"}},
        {"name": ["viewed"]}, {}, None, 3, "grr", [],
    ],
)  # fmt: skip
def test_a_question_that_is_none_is_refused(spec: Any) -> None:
    with pytest.raises(ParameterError, match="found"):
        question(spec)
