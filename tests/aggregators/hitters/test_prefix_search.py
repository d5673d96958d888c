# SPDX-License-Identifier: Apache-2.0
"""The search for frequent strings by their prefixes: lengths, candidates, names, and what is found in what was told."""

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import orjson
import pytest
from hypothesis import strategies as st

from murmurate.aggregators.hitters.candidates import (
    Rows,
    every_prefix,
    extended,
    numbered,
    placed,
    shortened,
    texts,
)
from murmurate.aggregators.hitters.levels import domain_sizes, levels, sensitivity, smallest_groups
from murmurate.aggregators.hitters.pem import PrefixPlan
from murmurate.aggregators.hitters.scores import f1, ncr
from murmurate.aggregators.hitters.search import Floats, PrefixLevel, threshold, top, walk
from murmurate.randomizers import ParameterError
from murmurate.randomizers.layouts import BitsLayout
from murmurate.topics.domains import Bits
from tests.cases import drawn, every

GOLDEN = orjson.loads((Path(__file__).parents[2] / "data" / "hitters_strings.json").read_bytes())
WIDTHS = (5, 8, 31, 32, 33, 63, 64, 100, 256)


@dataclass(frozen=True)
class ToldExactly:
    """A level whose users told the truth: the share of each prefix among these strings."""

    layout: BitsLayout
    strings: Rows
    counts: Floats
    bits: int
    variance: float = 1e-12

    def estimate(self, rows: Rows) -> tuple[Floats, Floats]:
        holders: dict[bytes, float] = {}
        for row, count in zip(shortened(self.layout, self.strings, self.bits), self.counts, strict=True):
            holders[row.tobytes()] = holders.get(row.tobytes(), 0.0) + count
        shares = np.array([holders.get(row.tobytes(), 0.0) for row in rows]) / self.counts.sum()
        return shares, np.full(len(rows), self.variance)


def as_rows(layout: BitsLayout, strings: list[int]) -> Rows:
    """Strings of m bits, as whole numbers, in plain Python."""
    lines = [string << 32 * layout.words - 1 - layout.m for string in strings]
    words = [[line >> 32 * (layout.words - 1 - i) & 0xFFFFFFFF for i in range(layout.words)] for line in lines]
    return np.array(words, np.uint32).reshape(len(strings), layout.words)


def told(layout: BitsLayout, strings: list[int], counts: list[int], bits: tuple[int, ...]) -> list[ToldExactly]:
    return [ToldExactly(layout, as_rows(layout, strings), np.array(counts, float), each) for each in bits]


def test_lengths_and_numbers_of_questions_are_those_of_the_algorithm() -> None:
    for case in GOLDEN["pem"]:
        steps = levels(case["m"], case["k"], case["g"])
        assert (list(steps), list(domain_sizes(steps, case["k"]))) == (case["s"], case["D"])
    for name, groups in GOLDEN["smallest_groups_of_2^20_queries"].items():
        m, k = (int(part.split("=")[1]) for part in name.split(","))
        assert smallest_groups(m, k, 1 << 20) == groups
    assert PrefixPlan.within(48, 32).queries == 28_672


def test_the_share_above_which_chance_puts_no_more_than_expected() -> None:
    for case in GOLDEN["psi"]:
        e = math.exp(case["eps"])
        deviation = 2 * math.sqrt(e) / (e - 1)
        found = sensitivity(deviation, 1 << case["log2d"], int(case["n"]), case["T"])
        assert found == pytest.approx(case["psi"], rel=1e-6)
    assert sensitivity(1.0, 3, 10, 2.0) == 0


@drawn(20, long=400, m=st.integers(1, 256), k=st.integers(1, 1 << 16), data=st.data())
def test_lengths_rise_to_the_whole_string_and_fewer_groups_ask_more(m: int, k: int, data: st.DataObject) -> None:
    groups = data.draw(st.integers(1, max(1, m - (k - 1).bit_length())))
    steps = levels(m, k, groups)
    assert steps[-1] == m
    assert all(a < b for a, b in pairwise(steps[1:]))
    if groups > 1 and max(domain_sizes(steps, k)) < 1 << 60:
        queries = sum(domain_sizes(steps, k))
        best = smallest_groups(m, k, queries)
        assert best <= groups
        assert sum(domain_sizes(levels(m, k, best), k)) <= queries


@every("m", WIDTHS)
def test_extensions_are_those_of_whole_numbers(m: int) -> None:
    layout, generator = BitsLayout(m, none=True), np.random.default_rng(m)
    for start in sorted({0, 1, m // 2, max(0, m - 3), m}):
        end = min(m, start + 4)
        prefixes = sorted({int(generator.integers(1 << 30)) * ((1 << start) - 1) >> 30 for _ in range(3)})
        rows = as_rows(layout, [prefix << m - start for prefix in prefixes])
        expected = [(p << end - start | more) << m - end for p in prefixes for more in range(1 << end - start)]
        assert np.array_equal(extended(layout, rows, start, end), as_rows(layout, expected))
        assert not layout.wrong(rows).any()
    strings = [int.from_bytes(generator.bytes(32), "big") >> 256 - m for _ in range(20)]
    for bits in {0, 1, min(m // 3, 64), min(m, 64)}:
        rows = shortened(layout, as_rows(layout, strings), bits)
        numbers = [string >> m - bits for string in strings]
        assert np.array_equal(rows, as_rows(layout, [number << m - bits for number in numbers]))
        assert numbered(layout, rows, bits).tolist() == numbers
        assert np.array_equal(placed(layout, np.array(numbers, np.uint64), bits), rows)
    assert len(every_prefix(layout, min(m, 5))) == 1 << min(m, 5)


def test_names_are_texts_where_they_can_be_read_and_digits_elsewhere() -> None:
    codes = Bits(48).codes()
    for text in ("ab", "süß", "a b", "nonE", "x", "0X1", "日本"):
        assert texts(np.array([codes[text]], np.uint32), 48) == (text,)
    for text in ("none", "0xab", "", "a\tb", "a\x7f"):
        assert texts(np.array([codes[text]], np.uint32), 48) == (f"0x{text.encode().hex():0<12}",)


def test_names_in_digits() -> None:
    layout = BitsLayout(16, none=False)
    rows = as_rows(layout, [0x6162, 0xFF41, 0x6100, 0x0061])
    assert texts(rows, 16) == ("ab", "0xff41", "a", "0x0061")
    assert texts(rows, 16, "hex") == ("0x6162", "0xff41", "0x6100", "0x0061")
    every = every_prefix(layout, 16)
    assert len(set(texts(every, 16))) == 1 << 16
    with pytest.raises(ParameterError, match="allowed: 8 a letter, 4 a digit"):
        texts(rows, 12)


def test_what_was_told_exactly_is_found_exactly() -> None:
    layout, generator = BitsLayout(40, none=False), np.random.default_rng(1)
    strings = [int(s) for s in generator.choice(1 << 40, 60, replace=False)]
    counts = list(range(600, 0, -10))
    plan = PrefixPlan(40, 16, 5)
    found = plan.found(layout, told(layout, strings, counts, plan.bits))
    assert np.array_equal(found.rows, as_rows(layout, strings[:16]))
    assert found.shares == pytest.approx(np.array(counts[:16]) / sum(counts))
    assert found.candidates == plan.domain_sizes[-1]
    assert f1([row.tobytes() for row in found.rows], [row.tobytes() for row in as_rows(layout, strings[:16])]) == 1


def test_nothing_is_named_below_the_threshold_or_the_least_share() -> None:
    layout, strings, counts = BitsLayout(12, none=False), [5, 900, 901, 4000], [50, 30, 15, 5]
    plan = PrefixPlan(12, 4, 2)
    given = told(layout, strings, counts, plan.bits)
    assert [len(plan.found(layout, given, least=least).rows) for least in (0.0, 0.05, 0.051, 0.2, 0.6)] == [
        4,
        4,
        3,
        2,
        0,
    ]
    noisy = [replace(level, variance=0.05**2) for level in given]
    found = plan.found(layout, noisy)
    d = plan.domain_sizes[-1]
    assert found.threshold == pytest.approx(sensitivity(0.05, d, 1, 0.05))
    assert found.shares.tolist() == [0.5, 0.3]
    assert len(plan.found(layout, noisy, significance=None).rows) == 4
    assert plan.found(layout, noisy, significance=None).threshold == -math.inf


def test_leaving_out_on_the_way_loses_no_string_above_the_least_share() -> None:
    layout, strings, counts = BitsLayout(12, none=False), [5, 6, 901, 4000], [50, 30, 15, 5]
    given = told(layout, strings, counts, (6, 12))
    found = walk(layout, given, k=100, least=0.1, significance=None, prune=True)
    assert found.shares.tolist() == [0.5, 0.3, 0.15]
    assert found.candidates == 2 * 64
    nothing = walk(layout, given, k=100, least=0.9, significance=0.05, prune=True)
    assert (len(nothing.rows), nothing.candidates, nothing.threshold) == (0, 0, 0.9)


def test_a_level_without_reports_finds_nothing_and_says_so() -> None:
    layout = BitsLayout(8, none=False)

    @dataclass(frozen=True)
    class Silent:
        bits: int

        def estimate(self, rows: Rows) -> tuple[Floats, Floats]:
            return np.full(len(rows), np.nan), np.full(len(rows), np.inf)

    late: list[list[PrefixLevel]] = [[Silent(4), ToldExactly(layout, as_rows(layout, [1]), np.ones(1), 8)], [Silent(8)]]
    for given in late:
        found = walk(layout, given, k=3)
        assert (found.rows.shape, found.threshold) == ((0, 1), math.inf)


def test_equal_estimates_stand_in_the_order_of_strings() -> None:
    layout = BitsLayout(6, none=False)
    given = told(layout, list(range(64)), [1] * 64, (3, 6))
    found = walk(layout, given, k=5, significance=None)
    assert np.array_equal(found.rows, as_rows(layout, [0, 1, 2, 3, 4]))
    assert top(np.array([0.1, math.nan, 0.3, 0.1]), 3).tolist() == [2, 0, 3]


def test_none_of_many_empty_candidates_passes_more_often_than_expected() -> None:
    """4 000 searches with .05 expected: fewer than 5 standard deviations more than 200."""
    shares = np.random.default_rng(3).normal(0, 0.01, (4_000, 256))
    passes = threshold(np.full(256, 1e-4), None, 0.05)
    assert 130 < (shares >= passes).sum() < 270


def test_a_string_shared_by_all_is_found_alone() -> None:
    layout = BitsLayout(64, none=False)
    plan = PrefixPlan.within(64, 8)
    found = plan.found(layout, told(layout, [12_345_678_901], [1_000], plan.bits), least=0.001)
    assert np.array_equal(found.rows, as_rows(layout, [12_345_678_901]))


def test_scores_are_those_of_the_text() -> None:
    case = GOLDEN["scores"]
    assert f1(case["found"], case["truth"]) == case["F1"]
    assert ncr(case["found"], case["truth"]) == case["NCR"]
    assert (f1([], ["a"]), ncr([], ["a"]), f1("ab", "ba"), ncr("ba", "ab")) == (0, 0, 1, 1)
    with pytest.raises(ParameterError, match="allowed: each once"):
        f1("aa", "ab")
    with pytest.raises(ParameterError, match="allowed: each once"):
        ncr("a", "")


def test_wrong_parameters_are_refused() -> None:
    layout = BitsLayout(12, none=False)
    given = told(layout, [5], [1], (6, 12))
    for wrong in ((0, 4, 2), (257, 4, 2), (12, 0, 2), (12, (1 << 16) + 1, 1), (12, 4, 0), (12, 4, 11), (12, 4, True)):
        with pytest.raises(ParameterError, match="allowed: a whole number from 1 to"):
            levels(*wrong)
    with pytest.raises(ParameterError, match="allowed: 188 or more"):
        smallest_groups(48, 2, 187)
    assert smallest_groups(48, 2, 188) == 24
    with pytest.raises(ParameterError, match=r"pem: levels: found \[6, 12\] bits; allowed: \[7, 12\]"):
        PrefixPlan(12, 4, 2).found(layout, given)
    for lengths in ((), (6,), (12, 6), (6, 6, 12)):
        with pytest.raises(ParameterError, match="rising, the last one 12"):
            walk(layout, told(layout, [5], [1], lengths), k=2)
    with pytest.raises(ParameterError, match="k: found 0"):
        walk(layout, given, k=0)
    with pytest.raises(ParameterError, match=r"least: found 1\.5"):
        walk(layout, given, k=1, least=1.5)
    with pytest.raises(ParameterError, match="found 1 prefixes to extend by 23 bits"):
        every_prefix(BitsLayout(30, none=False), 23)
    with pytest.raises(ParameterError, match="not falling"):
        extended(layout, as_rows(layout, [0]), 4, 3)
    with pytest.raises(ParameterError, match="allowed: 0 to 12"):
        numbered(layout, as_rows(layout, [0]), 13)
    with pytest.raises(ParameterError, match="sensitivity: found"):
        sensitivity(1.0, 4, 0)
