# SPDX-License-Identifier: Apache-2.0
"""Searches for strings beside PEM: trees of fixed steps, pairs of segments, channels, and tries that grow."""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest

from murmurate.aggregators.hitters.candidates import Rows, numbered, placed
from murmurate.aggregators.hitters.channels import ChannelPlan, usual_channels
from murmurate.aggregators.hitters.levels import domain_sizes, levels
from murmurate.aggregators.hitters.pem import PrefixPlan
from murmurate.aggregators.hitters.priv_trie import MOST_OPEN, GrowingTrie, batch_size
from murmurate.aggregators.hitters.search import Floats
from murmurate.aggregators.hitters.segment_pairs import Numbers, SegmentPlan, joined
from murmurate.aggregators.hitters.tree_hist import TreePlan
from murmurate.randomizers import OLH, Key, ParameterError
from murmurate.randomizers.layouts import BitsLayout
from tests.cases import every


@dataclass(frozen=True)
class Holders:
    """Strings of at most 64 bits and the shares of their holders, who tell the truth."""

    layout: BitsLayout
    shares: dict[int, float]
    bits: int

    def estimate(self, rows: Rows) -> tuple[Floats, Floats]:
        return np.array([self._share(int(number)) for number in numbered(self.layout, rows, self.bits)]), np.full(
            len(rows), 1e-12
        )

    def _share(self, prefix: int) -> float:
        return sum(share for string, share in self.shares.items() if string >> self.layout.m - self.bits == prefix)


def strings(layout: BitsLayout, count: int, seed: int = 1) -> dict[int, float]:
    """Random strings whose shares fall."""
    drawn = np.random.default_rng(seed).choice(1 << layout.m, count, replace=False)
    return {int(string): (count - at) / (count * (count + 1) / 2) for at, string in enumerate(drawn)}


def found_codes(layout: BitsLayout, rows: Rows) -> list[int]:
    return [int(number) for number in numbered(layout, rows, layout.m)]


# ---- trees of fixed steps ----


def test_steps_of_one_bit_are_pem_with_a_group_for_each_bit() -> None:
    for m, k in ((64, 16), (48, 32), (10, 3), (12, 1)):
        steps = levels(m, k, m - (k - 1).bit_length())
        plan = TreePlan(m, k)
        assert plan.bits[-1] == m
        if k & (k - 1) == 0:  # then s_1 has twice k prefixes in both
            assert (plan.bits, plan.domain_sizes) == (steps[1:], domain_sizes(steps, k))


def test_a_character_a_round_asks_for_what_the_text_does() -> None:
    plan = TreePlan(48, 32, step=8)
    assert plan.bits == (8, 16, 24, 32, 40, 48)
    assert plan.domain_sizes == (256, *[32 << 8] * 5)
    assert TreePlan(48, 256, step=8).bits[0] == 16  # a round of all 256 first characters would leave out none
    assert TreePlan(20, 4, step=8).bits == (8, 16, 20)
    layout = BitsLayout(40, none=False)
    shares = strings(layout, 30)
    plan = TreePlan(40, 5, step=8)
    found = plan.found(layout, [Holders(layout, shares, bits) for bits in plan.bits])
    assert found_codes(layout, found.rows) == list(shares)[:5]
    with pytest.raises(ParameterError, match="tree_hist: step: found 0; allowed: a whole number, 1 to 40"):
        TreePlan(40, 5, step=0)
    with pytest.raises(ParameterError, match=r"allowed: \[8, 16, 24, 32, 40\]"):
        plan.found(layout, [Holders(layout, shares, 40)])


# ---- pairs of segments ----


@dataclass(frozen=True)
class SegmentsOf:
    """What holders tell of two segments each: the truth."""

    plan: SegmentPlan
    shares: dict[int, float]

    def segment(self, of: int, values: Numbers) -> Floats:
        told = np.zeros(len(values))
        for string, share in self.shares.items():
            told[self._value(string, of)] += share
        return told

    def pair(self, of: tuple[int, int], first: Numbers, second: Numbers) -> Floats:
        both: dict[tuple[int, int], float] = {}
        for string, share in self.shares.items():
            values = self._value(string, of[0]), self._value(string, of[1])
            both[values] = both.get(values, 0.0) + share
        return np.array([[both.get((int(a), int(b)), 0.0) for b in second] for a in first])

    def _value(self, string: int, of: int) -> int:
        ends = np.cumsum(self.plan.lengths)
        return string >> self.plan.m - int(ends[of]) & (1 << self.plan.lengths[of]) - 1


@every(("m", "segments"), [(40, 4), (32, 3), (24, 2)])
def test_strings_of_frequent_pairs_are_found(m: int, segments: int) -> None:
    layout, plan = BitsLayout(m, none=False), SegmentPlan(m, 6, segments)
    shares = strings(layout, 20)
    told = SegmentsOf(plan, shares)
    assert sum(plan.lengths) == m
    candidates = set(found_codes(layout, plan.candidates(layout, told)))
    assert set(list(shares)[:6]) <= candidates
    found = plan.found(layout, told, Holders(layout, shares, m))
    assert found_codes(layout, found.rows) == list(shares)[:6]


def test_a_string_needs_all_of_its_pairs() -> None:
    """Of the strings of three segments of two values each, those whose three pairs are the best ones of theirs."""
    best = {pair: np.array([[0, 2], [3, 1]]) for pair in ((0, 1), (0, 2), (1, 2))}
    assert joined(best, [2, 2, 2], 1).tolist() == [[0, 0, 0], [1, 1, 1]]
    assert len(joined(best, [2, 2, 2], 7)) == 8
    assert len(joined(best, [2, 2, 2], 100)) == 8  # no more than there are
    apart = {**best, (1, 2): np.array([[3, 0], [1, 2]])}
    assert joined(apart, [2, 2, 2], 1).tolist() == [[0, 0, 1], [0, 1, 0], [0, 1, 1], [1, 1, 1]]


def test_more_beginnings_than_can_be_followed_take_fewer_pairs() -> None:
    """Segments of 100 values each: all pairs would give 100^3 strings."""
    ranks = np.arange(100 * 100).reshape(100, 100)
    found = joined({(0, 1): ranks, (0, 2): ranks, (1, 2): ranks}, [100, 100, 100], 1 << 20)
    assert 0 < len(found) <= 1 << 16


def test_segments_that_cannot_be_asked_for_are_refused() -> None:
    for wrong in ((64, 16, 3), (64, 16, 65), (1, 16, 2), (64, 2000, 4), (64, 0, 4), (64, 16, True)):
        with pytest.raises(ParameterError, match="segment_pairs: "):
            SegmentPlan(*wrong)
    plan, layout = SegmentPlan(24, 2, 2), BitsLayout(24, none=False)
    with pytest.raises(ParameterError, match="found 24 and 12 bits; allowed: 24"):
        plan.found(layout, SegmentsOf(plan, {}), Holders(layout, {}, 12))


# ---- channels ----


def test_each_channel_has_the_string_of_its_votes() -> None:
    layout, plan = BitsLayout(40, none=False), ChannelPlan.usual(40, 4)
    assert (plan.channels, usual_channels(16), usual_channels(5)) == (8, 64, 12)
    shares = strings(layout, 8)
    votes = np.array(
        [[share * (2 * (string >> 39 - bit & 1) - 1) for bit in range(40)] for string, share in shares.items()]
    )
    assert sorted(found_codes(layout, plan.candidates(layout, votes))) == sorted(shares)
    found = plan.found(layout, votes, Holders(layout, shares, 40))
    assert found_codes(layout, found.rows) == list(shares)[:4]
    assert len(plan.candidates(layout, np.zeros((8, 40)))) == 1  # each string once
    with pytest.raises(ParameterError, match=r"found votes \[7, 40\] on strings of 40 bits; allowed: \[8, 40\]"):
        plan.candidates(layout, votes[:7])
    with pytest.raises(ParameterError, match="channels: k: found 0"):
        ChannelPlan(40, 0, 8)


@every("channels", [1, 2], long=[3])
def test_bits_of_all_channels_tell_a_string_no_more_than_their_epsilon(channels: int) -> None:
    """The report of the original: a value told by GRR with one part of epsilon, the number of a bit, and a bit for each
    channel, an even coin but for the string's own channel.  All strings of two bits, every hash, every report.
    """
    one, other = Fraction(5, 2), Fraction(7, 3)
    """e^epsilon of the two parts."""
    told_p = one / (one + 3)
    for hashed in product(range(channels), repeat=4):
        laws: list[dict[tuple[int, ...], Fraction]] = []
        for string in range(4):
            law = {}
            for said, number, bits in product(range(4), range(2), product(range(2), repeat=channels)):
                chance = Fraction(1, 2) * (told_p if said == string else told_p / one)
                for channel, bit in enumerate(bits):
                    kept = bit == string >> 1 - number & 1
                    own = other / (other + 1) if kept else 1 / (other + 1)
                    chance *= own if channel == hashed[string] else Fraction(1, 2)
                law[said, number, *bits] = chance
            assert sum(law.values()) == 1
            laws.append(law)
        ratios = [a[report] / b[report] for a in laws for b in laws for report in a]
        assert max(ratios) == one * other
        assert min(ratios) == 1 / (one * other)


# ---- tries that grow ----


def grown(layout: BitsLayout, shares: dict[int, float], epsilon: float, batches: int, n: int) -> GrowingTrie:
    """A trie whose batches tell the truth."""
    trie = GrowingTrie.planted(layout, epsilon, batches)
    for _ in range(batches):
        told = {bits: Holders(layout, shares, bits).estimate(rows) for bits, rows in trie.asked.items()}
        trie = trie.grown(told, n)
    return trie


def test_a_trie_grows_where_strings_are_and_finds_those_above_its_threshold() -> None:
    layout = BitsLayout(24, none=False)
    shares = {0x616263: 0.5, 0x616264: 0.3, 0x7A7A7A: 0.15, 0x010203: 0.05}
    trie = grown(layout, shares, 2.0, 60, 100)
    found = trie.best(10, 1e-6)
    enough = [string for string, share in shares.items() if share > 2 / math.sqrt(100 * 20)]  # a third a character
    assert found_codes(layout, found.rows) == enough == list(shares)
    assert found.shares == pytest.approx(np.array([shares[string] for string in enough]))
    assert found_codes(layout, trie.best(2, 1e-6).rows) == list(shares)[:2]
    few = grown(layout, shares, 2.0, 8, 100)  # some prefixes need more batches than there are
    assert set(found_codes(layout, few.best(10, 1e-6).rows)) < set(shares)


def test_no_two_open_prefixes_begin_each_other() -> None:
    layout = BitsLayout(20, none=False)
    trie = grown(layout, {0x61626: 0.6, 0x61FFF: 0.4}, 4.0, 6, 50)
    asked = {bits: {int(n) for n in numbered(layout, rows, bits)} for bits, rows in trie.asked.items()}
    assert set(asked) >= {8, 16}
    every_end = [
        (number << 20 - bits, number + 1 << 20 - bits) for bits, numbers in asked.items() for number in numbers
    ]
    assert 20 in asked
    every_end.sort()
    assert all(end == start for (_, end), (start, _) in pairwise(every_end))
    assert (every_end[0][0], every_end[-1][1]) == (0, 1 << 20)  # and each string has one of them


def test_a_trie_never_opens_more_than_can_be_asked_for() -> None:
    layout = BitsLayout(16, none=False)
    trie = GrowingTrie.planted(layout, 20.0, 3)
    for _ in range(3):  # all first characters are equally frequent, and all others are zeros
        told = {
            bits: (
                np.where(numbered(layout, rows, bits) & np.uint64(bits == 16 and 255), 0, 1 / 256),
                np.zeros(len(rows)),
            )
            for bits, rows in trie.asked.items()
        }
        trie = trie.grown(told, 100_000)
        assert sum(map(len, trie.asked.values())) <= MOST_OPEN


def test_a_batch_without_reports_changes_nothing() -> None:
    trie = GrowingTrie.planted(BitsLayout(16, none=False), 1.0, 3)
    assert trie.grown({}, 0) is trie
    nothing = trie.best(5, 1.0)
    assert nothing.rows.shape == (0, 1)
    assert (batch_size(1_000_000, 0.5), batch_size(10_000_000, 1.0)) == (3_200, 10_000)
    for wrong in ((0.0, 3, 8), (1.0, 0, 8), (1.0, 3, 17)):
        with pytest.raises(ParameterError, match="priv_trie: found epsilon"):
            GrowingTrie.planted(BitsLayout(16, none=False), *wrong)
    with pytest.raises(ParameterError, match="priv_trie: k: found 0"):
        trie.best(0, 1.0)


# ---- real reports ----


@dataclass(frozen=True, eq=False)
class HashedReports:
    """What a group of users told by OLH about their prefixes."""

    layout: BitsLayout
    bits: int
    mechanism: OLH
    reports: np.ndarray

    def estimate(self, rows: Rows) -> tuple[Floats, Floats]:
        support = self.mechanism.support_of(self.reports, numbered(self.layout, rows, self.bits))
        n, p, q = len(self.reports), float(self.mechanism.p), float(self.mechanism.q)
        return (support / n - q) / (p - q), np.full(len(rows), q * (1 - q) / (n * (p - q) ** 2))


def test_frequent_strings_are_found_in_real_reports_and_nothing_else() -> None:
    """Strings of a third each among noise: 3 000 reports a group at epsilon 3 err by .7 %, so any fault would show."""
    layout, plan, n = BitsLayout(20, none=False), PrefixPlan(20, 4, 2), 3_000
    generator = np.random.default_rng(2)
    held = [0x12345, 0xABCDE, 0x12377]
    told = []
    for group, bits in enumerate(plan.bits):
        values = np.where(generator.random(n) < 0.9, generator.choice(held, n), generator.integers(1 << 20, size=n))
        users = np.array([[group, *int(u).to_bytes(15, "big")] for u in range(n)], np.uint8)
        mechanism = OLH(d=1 << bits, epsilon=3.0, pool=0)
        draw = Key(bytes(range(32)), deployment="shop").draw(users, round=bytes([group]) * 32)
        reports = mechanism.perturb(values >> 20 - bits, draw)
        told.append(HashedReports(layout, bits, mechanism, reports))
    found = plan.found(layout, told)
    assert set(found_codes(layout, found.rows)) == set(held)
    assert found.shares == pytest.approx(np.full(3, 0.3), abs=0.06)
    assert np.array_equal(
        placed(layout, np.array(sorted(held), np.uint64), 20), found.rows[np.argsort(found.rows[:, 0])]
    )
