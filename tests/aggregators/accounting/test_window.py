"""What the newest window of a stream's rounds claims: the worst of its rounds, or all of them together."""

from __future__ import annotations

import json
import random

import pytest

from murmurate.aggregators.accounting.claim import MixedClaim, mixed_claim
from murmurate.aggregators.accounting.window import WindowRounds
from murmurate.randomizers import GRR, OUE, Question
from murmurate.randomizers.frequency.rappor import RAPPOR

DELTA, CORRUPT = 1e-6, 0.1
ASKED: list[Question] = [GRR(d=4, epsilon=1), OUE(d=4, epsilon=1), GRR(d=4, epsilon=0.5)]


def of_users(w: int = 3) -> WindowRounds:
    return WindowRounds(w, "population", DELTA, CORRUPT)


@pytest.mark.parametrize("seed", range(5))
def test_where_users_are_divided_the_worst_round_of_the_window_is_claimed(seed: int) -> None:
    rng = random.Random(seed)
    rounds, window = [], of_users()
    for t in range(30):
        for _ in range(rng.choice([0, 1, 1, 2])):
            asked, n = rng.choice(ASKED), rng.choice([0, 40, 400, 4000])
            window.take(t, asked, n)
            rounds.append((t, asked, n))
        of_window = [mixed_claim(asked, n, DELTA, CORRUPT) for at, asked, n in rounds if at > t - 3 and n]
        if not of_window:
            assert window.claim(t) == "nothing was counted"
        else:
            found = window.claim(t)
            assert isinstance(found, MixedClaim)
            assert found.epsilon == max(claim.epsilon for claim in of_window)
            assert found in of_window


def test_a_window_that_was_stored_goes_on_as_it_would_have() -> None:
    for division in ("population", "budget"):
        window, other = (WindowRounds(3, division, DELTA, CORRUPT) for _ in range(2))
        for t in range(8):
            window.take(t, ASKED[t % 2], 500 + 40 * t)
            other.load(json.loads(json.dumps(window.kept())))
            assert other.claim(t) == window.claim(t)
            assert other.claim(t + 2) == window.claim(t + 2)
            assert other.kept() == window.kept()


def test_the_state_of_many_rounds_alike_is_small() -> None:
    window = of_users(w=5000)
    for t in range(5000):
        window.take(t, ASKED[0], 1000)
    assert len(window.kept()["rounds"]) == 1


def test_a_round_of_which_hardly_anybody_is_honest_has_what_a_report_has_alone() -> None:
    window = of_users()
    window.take(0, ASKED[0], 2)
    assert window.claim(0) == MixedClaim(1.0, 0.0, "local", 1)


def test_lasting_reports_claim_nothing_while_they_are_in_the_window() -> None:
    window = of_users()
    window.take(0, RAPPOR(d=4, epsilon=1), 1000)
    for t in range(1, 4):
        window.take(t, ASKED[0], 1000)
        claim = window.claim(t)
        assert claim == "lasting reports" if t < 3 else isinstance(claim, MixedClaim)
