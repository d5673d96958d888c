# SPDX-License-Identifier: Apache-2.0
"""What the newest window of a stream's rounds claims: the worst of its rounds, or all that could have been asked."""

from __future__ import annotations

import json
import random
from fractions import Fraction

import pytest

from murmurate.aggregators.accounting import MixedClaim, mixed_claim, window_claim, worst_window
from murmurate.aggregators.accounting.schedules import Absorbed, Often, WindowRounds
from murmurate.aggregators.accounting.window import MixedWindow
from murmurate.randomizers import GRR, OUE, Question, Weighted
from murmurate.randomizers.frequency.rappor import RAPPOR
from murmurate.randomizers.sessions.node import Node
from murmurate.randomizers.terms import Division
from tests.randomizers.sessions.horizons import horizon

DELTA, CORRUPT, W = 1e-6, 0.1, 3


def grr(micro: int) -> Question:
    return GRR(d=4, epsilon=Fraction(micro, 10**6))


ASKED: list[Question] = [grr(1_000_000), OUE(d=4, epsilon=1), grr(500_000)]
ONE = WindowRounds(grr, (Often(1_000_000, 1),))
EACH = WindowRounds(grr, (Often(100_000, W),))
CHOSEN = WindowRounds(grr, (Often(50_000, W),), True, Absorbed(50_000, W))


def window(division: Division = "population", w: int = W) -> MixedWindow:
    return MixedWindow(w, division, DELTA, CORRUPT)


@pytest.mark.parametrize("seed", range(5))
def test_where_users_are_divided_the_worst_round_of_the_window_is_claimed(seed: int) -> None:
    rng = random.Random(seed)
    rounds, newest = list[tuple[int, Question, int]](), window()
    for t in range(30):
        for _ in range(rng.choice([0, 1, 1, 2])):
            asked, n = rng.choice(ASKED), rng.choice([0, 40, 400, 4000])
            newest.take(t, asked, n)
            rounds.append((t, asked, n))
        claims = [mixed_claim(asked, n, DELTA, CORRUPT) for at, asked, n in rounds if at > t - W and n]
        if not claims:
            assert newest.claim(t, ONE) == "nothing was counted"
        else:
            found = newest.claim(t, ONE)
            assert isinstance(found, MixedClaim)
            assert found.epsilon == max(claim.epsilon for claim in claims)
            assert found in claims


def test_nodes_of_a_level_are_claimed_as_one_transcript_until_w_periods_after_the_last() -> None:
    made, newest = horizon(8, cohorts=1), window()
    whole = Node(made, 0, 1).claimed_as()
    assert whole == Node(made, 0, 7).claimed_as() != Node(made, 1, 1).claimed_as()
    for t, node, n in ((0, 1, 500), (2, 3, 300), (4, 5, 400)):
        newest.take(t, Node(made, 0, node), n)
    fewest = mixed_claim(whole, 300, DELTA, CORRUPT)
    assert newest.claim(4, ONE) == fewest
    again = window()
    again.load(newest.kept())
    assert again.claim(6 + W - 1, ONE) == fewest  # its last node ends with period 6
    assert again.claim(6 + W, ONE) == "nothing was counted"
    newest.take(6, Node(made, 0, 7), 400, whole=False)  # nobody knows who counted in all of them
    found = newest.claim(6, ONE)
    assert isinstance(found, MixedClaim)
    assert (found.bound, found.epsilon) == ("local", whole.epsilon)


@pytest.mark.parametrize("seed", range(3))
def test_where_the_budget_is_divided_all_that_may_be_asked_is_claimed_with_the_fewest_reports(seed: int) -> None:
    rng = random.Random(seed)
    for most in (EACH, CHOSEN):
        counted, newest = list[int](), window("budget")
        for t in range(12):
            counted.append(rng.choice([0, 300, 400, 5000]))
            newest.take(t, grr(rng.choice([50_000, 100_000])), counted[-1])
            some = [n for n in counted[-W:] if n]
            wanted = worst_window(most, min(some), DELTA, CORRUPT, quick=True) if some else "nothing was counted"
            assert newest.claim(t, most) == wanted
    assert worst_window(EACH, 300, DELTA, CORRUPT) == window_claim([(grr(100_000), 270, W)], DELTA)


@pytest.mark.parametrize("division", ["population", pytest.param("budget", marks=pytest.mark.audit)])
def test_a_window_that_was_stored_goes_on_as_it_would_have(division: Division) -> None:
    newest, other = window(division), window(division)
    most = ONE if division == "population" else EACH
    for t in range(8):
        newest.take(t, ASKED[t % 2], 500 + 40 * t)
        other.load(json.loads(json.dumps(newest.kept())))
        for later in (0, 2):
            assert other.claim(t + later, most) == newest.claim(t + later, most)
        assert other.kept() == newest.kept()


def test_the_state_of_many_rounds_alike_is_small() -> None:
    for division, asked in (("population", ASKED[:1]), ("budget", ASKED)):
        newest = window(division, w=5000)  # type: ignore[arg-type]
        for t in range(5000):
            newest.take(t, asked[t % len(asked)], 1000)
        assert len(newest.kept()["rounds"]) == 1


def test_a_round_of_which_hardly_anybody_is_honest_has_what_reports_have_alone() -> None:
    newest, shared = window(), window("budget")
    newest.take(0, ASKED[0], 2)
    assert newest.claim(0, ONE) == MixedClaim(1.0, 0.0, "local", 1)
    shared.take(0, ASKED[0], 2)
    assert shared.claim(0, EACH) == MixedClaim(0.3, 0.0, "local", 1)


@pytest.mark.parametrize("division", ["population", "budget"])
def test_reports_that_are_not_alike_claim_nothing_while_they_are_in_the_window(division: Division) -> None:
    most = ONE if division == "population" else EACH
    told_apart: list[tuple[Question, str]] = [
        (RAPPOR(d=4, epsilon=1), "lasting reports"), (Weighted(grr(1_000_000), 5), "public measure"),
    ]  # fmt: skip
    for asked, reason in told_apart:
        newest = window(division)
        newest.take(0, asked, 1000)
        for t in range(1, W + 1):
            newest.take(t, ASKED[0], 1000)
            claim = newest.claim(t, most)
            assert claim == reason if t < W else isinstance(claim, MixedClaim)
