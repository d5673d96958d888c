# SPDX-License-Identifier: Apache-2.0
"""Very many items: what a release lists of 65 536, how right that is, and that every method follows them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from murmurate.aggregators.measures.largest import LargestNumbers, LargestShares, Listing
from murmurate.aggregators.measures.result import NamedFigures
from murmurate.aggregators.methods.method import Answer, Decision, Method, Request, Setting
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.aggregators.methods.registry import METHODS, method
from murmurate.randomizers.vectors import SparseOracle
from murmurate.topics.domains import Items, Signed
from tests.cases import every

D = 65_536
NAMED = (4_711, 9)
WIDE = LargestNumbers(Signed(D, 8), listed=Listing(NAMED, 10))
Rates = NDArray[np.float64]


def setting(measure: LargestNumbers | LargestShares, mechanism: str = "exsub") -> Setting:
    return Setting(measure, 1_000_000, 4, 4096, 1, bytes(32), mechanism=mechanism)


def true_means(seed: int, d: int = D, held: int = 40) -> Rates:
    rng = np.random.default_rng(seed)
    means = np.zeros(d)
    means[rng.choice(d, held, replace=False)] = rng.choice([-1, 1], held) * 0.5 / np.arange(1, held + 1) ** 0.7
    return means


def answers(question: SparseOracle, means: Rates, n: int, rng: np.random.Generator) -> Answer:
    """What n users tell of whom the share |mean| hold each item, all with the same sign."""
    own, opposite, absent, *_ = map(float, question.supports)
    up, down, nobody = np.maximum(means, 0), np.maximum(-means, 0), 1 - np.abs(means)
    rates = np.append(up * own + down * opposite + nobody * absent, down * own + up * opposite + nobody * absent)
    return Answer(rng.binomial(n, rates).astype(np.int64), n)


def decided(of: Method, t: int, means: Rates, n: int, rng: np.random.Generator) -> Decision:
    step = of.open(t)
    while isinstance(step, Request):
        assert isinstance(step.question, SparseOracle)
        step = of.tally(answers(step.question, means, n, rng))
    return step


def releases(means: Rates, periods: int, *, filtered: bool = True, n: int = 100_000) -> Iterator[NamedFigures]:
    followed = method(MethodOptions("lpu", filter="adaptive" if filtered else "off"), setting(WIDE))
    rng = np.random.default_rng(5)
    for t in range(1, periods + 1):
        yield WIDE.result(decided(followed, t, means, n, rng))


def items_of(figures: NamedFigures) -> NDArray[np.int64]:
    assert figures.chosen is not None
    return np.array([int(name) for name in (*figures.chosen.named, *figures.chosen.found)])


def test_of_65536_items_a_release_lists_the_named_ones_and_the_largest_with_honest_errors() -> None:
    means, within, off, at = true_means(3), list[bool](), list[float](), np.zeros(0, np.int64)
    for figures in releases(means, 10):
        at = items_of(figures)
        assert at[:2].tolist() == list(NAMED)
        assert figures.names == tuple(f"{item}{end}" for end in ("", " present", " mean of holders") for item in at)
        sizes = np.abs(figures.estimate[2:12])
        assert (np.diff(sizes) <= 0).all()
        miss = figures.estimate[:12] - means[at]
        within += (np.abs(miss) <= 2 * figures.stderr[:12]).tolist()
        off += (np.sign(means[at[2:]]) * miss[2:] / figures.stderr[2:12]).tolist()
    assert np.isin(np.argsort(-np.abs(means))[:5], at).all()
    assert np.mean(within) > 0.85  # as measured .93
    assert abs(np.mean(off)) < 0.5  # what is found is hardly too large: its filter began with what selection leaves


def test_without_a_filter_what_is_found_is_too_large_and_the_threshold_says_up_to_where() -> None:
    chance = 0
    for figures in releases(np.zeros(D), 6, filtered=False):
        assert figures.chosen is not None
        found = np.abs(figures.estimate[2:12]) / figures.stderr[2:12]
        assert found.min() > 3
        assert figures.chosen.errors == pytest.approx(5.096, abs=1e-3)
        assert figures.chosen.threshold == pytest.approx(figures.chosen.errors * np.median(figures.stderr[2:12]))
        chance += found.max() > figures.chosen.errors
    assert chance <= 1


def test_equal_items_are_listed_in_their_order() -> None:
    small = LargestNumbers(Signed(50, 3), listed=Listing((7,), 4))
    plain = method(MethodOptions("lpu", filter="off"), setting(small))
    request = plain.open(1)
    assert isinstance(request, Request)
    decision = plain.tally(Answer(np.full(100, 40), 100))
    assert isinstance(decision, Decision)
    chosen = small.result(decision).chosen
    assert chosen is not None
    assert (chosen.named, chosen.found) == (("7",), ("0", "1", "2", "3"))


def test_what_jumps_is_found_at_once_and_what_is_named_is_never_lost() -> None:
    means = true_means(4)
    followed, rng = method(MethodOptions("lpu", filter="adaptive"), setting(WIDE)), np.random.default_rng(6)
    for t in range(1, 6):
        decided(followed, t, means, 100_000, rng)
    means[1234] = -0.4
    for t in (6, 7):
        decision = decided(followed, t, means, 100_000, rng)
    at = items_of(WIDE.result(decision))
    assert 1234 in at
    assert set(NAMED) <= set(at.tolist())


def test_the_state_is_small_and_goes_on_as_if_nothing_had_happened() -> None:
    means, one = true_means(7), method(MethodOptions("lpu", filter="adaptive"), setting(WIDE))
    for t in range(1, 4):
        decided(one, t, means, 50_000, np.random.default_rng(t))
    state = one.state()
    assert len(state) < 6_000_000
    other = method(MethodOptions("lpu", filter="adaptive"), setting(WIDE))
    other.load(state)
    for t in (4, 5):
        ended = [decided(each, t, means, 50_000, np.random.default_rng(t)) for each in (one, other)]
        first, second = (WIDE.result(decision) for decision in ended)
        assert first.names == second.names
        np.testing.assert_array_equal(first.estimate, second.estimate)
    assert one.state() == other.state()


@every("name", sorted(METHODS))
def test_every_method_follows_many_items(name: str) -> None:
    small = LargestNumbers(Signed(400, 3), listed=Listing((7,), 5))
    followed, rng = method(MethodOptions(name, filter="adaptive"), setting(small)), np.random.default_rng(8)
    means = np.zeros(400)
    means[[7, 30]] = 0.3, -0.6
    figures = [small.result(decided(followed, t, means, 40_000, rng)) for t in range(1, 6)][-1]
    assert figures.chosen is not None
    assert figures.chosen.found[0] == "30"
    assert abs(figures.estimate[figures.names.index("30")] + 0.6) < 0.2


def test_shares_of_very_many_items_are_ranked_by_their_size() -> None:
    measure = LargestShares(Items(D, 8), pad=4, listed=Listing((5,), 3, "share"))
    followed = method(MethodOptions("lpu", filter="adaptive"), setting(measure, "collision"))
    rng, shares = np.random.default_rng(9), np.zeros(D)
    shares[[11, 12, 60_000]] = 0.5, 0.4, 0.3
    told = list[NamedFigures]()
    for t in range(1, 5):
        request = followed.open(t)
        assert isinstance(request, Request)
        own, _, absent, *_ = map(float, request.question.supports)  # type: ignore[attr-defined]
        said = rng.binomial(200_000, absent + shares * (own - absent)).astype(np.int64)
        step = followed.tally(Answer(said, 200_000))
        assert isinstance(step, Decision)
        told.append(measure.result(step).named)
    figures = told[-1]
    assert figures.names == ("5", "11", "12", "60000")
    np.testing.assert_allclose(figures.estimate, [0, 0.5, 0.4, 0.3], atol=0.05)


def test_what_is_true_of_very_many_items_is_counted_from_rows() -> None:
    basket = LargestShares(Items(D, 3), pad=2)
    rows = np.array([basket.domain.codes()[items] for items in ([1, 65_535], [1], [])], np.uint32)
    truth = basket.truth(np.vstack((rows, np.array([basket.domain.nothing], np.uint32))))
    assert truth[[1, 65_535]].tolist() == [0.5, 0.25]
    assert truth.sum() == 0.75
    assert np.isnan(basket.truth(rows[:0])).all()
