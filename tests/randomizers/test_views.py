# SPDX-License-Identifier: Apache-2.0
"""What views tell: one code a value, by itself, and each code is some value's; a padded sample by exactly its law."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from murmurate.randomizers import (
    GRR,
    OLH,
    OUE,
    Itemsets,
    Key,
    Level,
    Marginal,
    Padded,
    ParameterError,
    Prefix,
    Size,
    ValueRefusedError,
    View,
    Viewed,
    Whole,
    question,
    view,
)  # fmt: skip
from murmurate.randomizers.layouts import FILLER, NONE, layout
from tests.cases import every
from tests.randomizers.chosen import Chosen

KEY = Key(bytes(range(32)), deployment="views")
SETS, ROWS = ("items", 4, 3, 1), ("row", (2, 3, 4), 1)
EXACT: list[View] = [
    Whole(("code", 5)),
    *(Prefix(("bits", 6, none), bits) for none in (0, 1) for bits in (1, 4, 6)),
    *(Marginal(ROWS, of) for n in (1, 2, 3) for of in combinations(range(3), n)),
    Marginal(("row", (3, 1 << 31, 2), 0), [0, 2]),
    *(Level(ROWS, of) for of in ((1, 1, 1), (2, 2, 2), (1, 3, 3), (2, 3, 1))),
    Size(SETS), Size(SETS, [1, 3]), Size(SETS, [[0, 1], [1, 2], [3]]), Size(("items", 4, 3, 0)),
]  # fmt: skip
DRAWN: list[Padded] = [
    *(Padded(("items", 4, 3, none), length) for length in (1, 2, 3, 4, 5) for none in (0, 1)),
    Padded(SETS, 2, [3, 1]),
    Padded(SETS, 3, [2]),
    Padded(("items", 4, 4, 1), 3),
    Itemsets(SETS, 2, [[0, 1], [2, 1], [0, 1, 2], [3]]),
]


def named(of: View) -> str:
    return f"{of.name}-{of.parameters()}"


def values(of: View) -> list[Any]:
    if of.of.spec()[-2] == (3, 1 << 31, 2):
        return [(a, b, c) for a in range(3) for b in (0, 9, (1 << 31) - 1) for c in range(2)]
    return list(of.of.enumerate())


@pytest.mark.parametrize("of", EXACT, ids=named)
def test_every_value_has_one_code_and_every_code_a_value(of: View) -> None:
    told = [of.code(value) for value in values(of)]
    users = np.zeros((len(told), 16), np.uint8)
    assert of.codes(of.of.array(values(of)), KEY.draw(users, round=bytes(32))).tolist() == told
    assert set(told) <= set(range(of.d))
    assert len(set(told)) == of.d or of.parameters() == {"candidates": ((0, 1), (1, 2), (3,))}  # never 3 of these
    if of.of.none:
        assert [value for value, code in zip(values(of), told, strict=True) if code == of.d - 1] == [of.of.nothing]
    one, other = of.extremes
    assert of.code(one) != of.code(other)


def test_codes_are_what_a_reader_would_say() -> None:
    bits = layout(("bits", 6, 0))
    assert [Prefix(("bits", 6, 0), 3).code(value) for value in bits.enumerate()] == [n >> 3 for n in range(64)]
    rows = [(a, b, c) for a in range(2) for b in range(3) for c in range(4)]
    packed = [a * 12 + b * 4 + c for a, b, c in rows]
    assert [Marginal(ROWS, [0, 2]).code(value) for value in packed] == [a * 4 + c for a, _, c in rows]
    assert [Level(ROWS, [2, 2, 3]).code(value) for value in packed] == [b // 2 * 2 + c // 3 for _, b, c in rows]
    assert [Size(SETS, [1, 3]).code(of) for of in ((0, 1, 3), (0, 2, FILLER), (FILLER,) * 3)] == [2, 0, 0]
    assert Size(SETS, [[0, 1], [1, 2], [3]]).code((0, 1, 3)) == 2


def test_a_long_prefix_is_folded_and_forgets_what_follows_it() -> None:
    of = Prefix(("bits", 48, 0), 30)
    line = 0x9C5A_91C0_0000  # 48 bits behind a 0, and 15 zeros
    one, two = ((line + more) << 15 for more in (0, (1 << 18) - 1))
    assert of.code((one >> 32, one & 0xFFFFFFFF)) == of.code((two >> 32, two & 0xFFFFFFFF)) < 1 << 23
    codes = {of.code((n, 0)) for n in range(0, 1 << 20, 2)}  # each another prefix: collisions alone make them fewer
    assert abs(len(codes) - (1 << 23) * (1 - (1 - 2**-23) ** (1 << 19))) < 6 * 2**19 * 2**-5


@pytest.mark.parametrize("of", DRAWN, ids=named)
def test_no_code_is_sampled_with_a_chance_above_one_in_length(of: Padded) -> None:
    most = Fraction(1, of.length)
    for value in values(of):
        law, own = of.law(value), of._held(list(value) if isinstance(value, tuple) else [value])
        assert sum(law.values()) == 1
        assert max(law.values()) <= most
        assert set(law) <= set(range(of.d))
        if 1 <= len(own) <= of.length:
            assert {law[code] for code in own} == {Fraction(2**64 // of.length, 2**64)}
            assert (
                sum(law.get(code, Fraction(0)) for code in own)
                + sum(law.get(of.held.number + i, Fraction(0)) for i in range(of.length))
                == 1
            )
        if len(own) > of.length:
            assert all(abs(law[code] - Fraction(1, len(own))) < Fraction(1, 2**60) for code in own)
            assert set(law) == set(own)
        dummies = [law.get(of.held.number + i, Fraction(0)) for i in range(of.length)]
        assert max(dummies) - min(dummies) < Fraction(1, 2**60)


@pytest.mark.parametrize("of", DRAWN, ids=named)
def test_a_padded_sample_gives_each_code_to_exactly_as_many_words_as_its_law_says(of: Padded) -> None:
    for value in values(of):
        words: dict[int, int] = {}
        for first, last, code in stretches(of, value):
            words[code] = words.get(code, 0) + last - first + 1
            row = of.of.array([value] * 2)
            both = of.codes(row, Chosen(np.array([[first], [last]], np.uint64)))
            assert both.tolist() == [code, code], (value, first, last)
        assert {code: Fraction(n, 2**64) for code, n in words.items()} == of.law(value)


def stretches(of: Padded, value: Any) -> Iterator[tuple[int, int, int]]:
    """First and last word of every stretch of one code, found by halving."""
    own = of._held(list(value) if isinstance(value, tuple) else [value])
    start, top = 0, 1 << 64
    while start < top:
        code, low, high = of._code(own, start), start, top - 1
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if of._code(own, middle) == code else (low, middle - 1)
        yield start, low, code
        start = low + 1


def test_who_has_no_value_tells_the_law_of_the_empty_set() -> None:
    for of in DRAWN:
        if of.of.none:
            assert of.law(of.of.nothing) == of.law((FILLER,) * of.of.words)
            assert min(of.law(of.of.nothing)) in range(of.held.number, of.d) or of.length in (3, 5)


@pytest.mark.parametrize("of", [*EXACT[1:], *DRAWN], ids=named)
def test_one_device_and_a_batch_say_the_same_and_a_spec_reads_back(of: View) -> None:
    made = Viewed(of, OUE(d=of.d, epsilon=1.0))
    assert view(of.spec()).spec() == of.spec()
    assert question(made.spec()) == made
    told = (values(of) * 9)[:60]
    users = np.arange(len(told) * 16, dtype=np.uint16).astype(np.uint8).reshape(-1, 16)
    reports = made.perturb(of.of.array(told), KEY.draw(users, round=bytes(32)))
    assert reports.shape == (len(told), made.wire_size)
    assert not made.malformed(reports).any()
    for value, user, report in zip(told, users, reports, strict=True):
        assert made.perturb_one(value, KEY.draw_one(user.tobytes(), round=bytes(32))) == report.tobytes()
    support = made.support(reports)
    made.check(support, len(reports))
    assert len(made.estimate(support, len(reports))) == made.statistics
    assert made.noise(made.plausible(made.profile(support, len(reports)))).shape == (made.statistics,)


def test_behind_the_whole_code_a_mechanism_is_itself() -> None:
    grr = GRR(d=5, epsilon=1.0)
    made = Viewed(Whole(("code", 5)), grr)
    assert (made.spec(), made.digest, made.layout) == (grr.spec(), grr.digest, grr.layout)
    users = np.zeros((5, 16), np.uint8)
    draw = KEY.draw(users, round=bytes(32))
    assert (made.perturb(np.arange(5), draw) == grr.perturb(np.arange(5), draw)).all()


def test_questions_with_another_view_layout_candidate_or_claim_have_another_digest() -> None:
    grr = GRR(d=7, epsilon=1.0)
    one = Viewed(Padded(("items", 4, 3, 1), 3), grr)
    others = [
        Viewed(Padded(("items", 4, 3, 0), 3), grr),
        Viewed(Padded(("items", 4, 2, 1), 3), grr),
        Viewed(Padded(("items", 5, 3, 1), 3, [0, 1, 2, 3]), grr),
        Viewed(Padded(("items", 5, 3, 1), 3, [0, 1, 2, 4]), grr),
        Viewed(Padded(("items", 4, 3, 1), 3), GRR(d=7, epsilon=2.0)),
        Viewed(Padded(("items", 4, 3, 1), 3), OUE(d=7, epsilon=1.0)),
        Viewed(Itemsets(("items", 4, 3, 1), 3, [[0], [1], [2], [3]]), grr),
    ]
    assert len({of.digest for of in (one, *others, grr)}) == len(others) + 2
    assert Viewed(Padded(SETS, 2, [3, 1]), GRR(d=4, epsilon=1.0)) == Viewed(
        Padded(SETS, 2, (1, 3)), GRR(d=4, epsilon=1.0)
    )


@every(
    "wrong",
    [
        {"candidates": [1, 1]}, {"candidates": [4]}, {"candidates": [-1]}, {"candidates": [1.0]}, {"candidates": []},
        {"candidates": [True]}, {"candidates": "ab"}, {"candidates": [[0, 1], [1, 0]]}, {"candidates": [[0, 0]]},
        {"candidates": [[0, 1, 2, 3]]}, {"candidates": [[0], 1]}, {"candidates": [[]]}, {"length": 0}, {"length": 2.0},
        {"length": True}, {"length": 1 << 11}, {"layout": ["bits", 4, 0]}, {"layout": None}, {"more": 1},
        {"candidates": [None]}, {"candidates": {"a": 1}},
    ],
)  # fmt: skip
def test_a_padded_view_that_is_none_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="allowed"):
        view({"name": "padded", "layout": SETS, "length": 2, **wrong})


def test_candidates_over_64_kib_of_json_or_too_many_sets_of_items_are_refused() -> None:
    items = ("items", 1 << 30, 8, 0)
    Padded(items, 2, list(range(10**6, 10**6 + 8191)))  # 8 bytes each, and a bracket
    with pytest.raises(ParameterError, match="65536 bytes"):
        Padded(items, 2, list(range(10**6, 10**6 + 8192)))
    Itemsets(items, 2, [[i, 1024] for i in range(1023)])
    for sets in ([[i, 2000] for i in range(1025)], [[2 * i, 2 * i + 1] for i in range(513)]):
        with pytest.raises(ParameterError, match="more than 1024 sets or items"):
            Itemsets(items, 2, sets)


@every(
    "spec",
    [
        {"name": "prefix", "layout": ["bits", 8, 0], "bits": 9}, {"name": "whole", "layout": ["bits", 8, 0]},
        {"name": "prefix", "layout": ["bits", 8, 0], "bits": 0}, {"name": "marginal", "layout": ROWS, "attributes": []},
        {"name": "prefix", "layout": ["bits", 48, 0], "bits": 30, "fold": 2},
        {"name": "marginal", "layout": ROWS, "attributes": [1, 1]},
        {"name": "marginal", "layout": ROWS, "attributes": [3]}, {"name": "level", "layout": ROWS, "widths": [1, 1]},
        {"name": "level", "layout": ROWS, "widths": [1, 1, 5]}, {"name": "itemsets", "layout": SETS, "length": 2,
        "candidates": [1, 2]}, {"name": "clipped"}, {"name": ["padded"]}, None, 7, {},
    ],
)  # fmt: skip
def test_a_view_that_is_none_is_refused(spec: Any) -> None:
    with pytest.raises(ParameterError, match="allowed"):
        view(spec)


def test_a_question_needs_a_mechanism_of_the_views_codes_and_of_pure_frequencies_behind_a_sample() -> None:
    with pytest.raises(ParameterError, match="allowed: 6"):
        Viewed(Padded(SETS, 2), GRR(d=4, epsilon=1.0))
    with pytest.raises(ParameterError, match="pure"):
        question(
            {
                "name": "viewed",
                "view": {"name": "padded", "layout": SETS, "length": 2},
                "mechanism": {"name": "hm", "d": 6, "epsilon": 1.0},
            }
        )


def test_values_that_are_none_of_the_layout_are_refused() -> None:
    made = Viewed(Padded(SETS, 2), OLH(d=6, epsilon=1.0))
    draw = KEY.draw(np.zeros((1, 16), np.uint8), round=bytes(32))
    for row in ([1, 0, FILLER], [1, 1, FILLER], [4, FILLER, FILLER], [FILLER, 1, FILLER], [NONE, NONE, 0]):
        with pytest.raises(ValueRefusedError, match="outside the domain"):
            made.perturb(np.array([row], np.uint32), draw)
        with pytest.raises(ValueRefusedError, match="outside the domain"):
            made.checked(tuple(row))
    for array in (np.zeros(1, np.uint32), np.zeros((1, 2), np.uint32), np.zeros((1, 3)), np.zeros((2, 3), np.uint32)):
        with pytest.raises(ValueRefusedError, match="found"):
            made.perturb(array, draw)  # type: ignore[arg-type]
    for value in (3, (1, 2), (1.0, FILLER, FILLER), (True, FILLER, FILLER), (-1, 0, 0), "abc"):
        with pytest.raises(ValueRefusedError, match="outside the domain"):
            made.checked(value)


def test_a_set_of_2_to_the_30_items_finds_its_candidates_without_a_table() -> None:
    items = ("items", 1 << 30, 8, 0)
    some = Padded(items, 2, [5, 1 << 29, 7])
    rows = np.array([[5, 7, 1 << 29, *[FILLER] * 5], [4, 8, *[FILLER] * 6]], np.uint32)
    assert some.held.sizes(rows).tolist() == [3, 0]
    assert [int(some.held.pick(rows[:1], np.array([i]))[0]) for i in range(3)] == [0, 1, 2]
    assert some.held.of(rows[0].tolist()) == [0, 1, 2]
