"""What releases claim of the mixing, in words: the same in every command, and always against whom."""

from __future__ import annotations

import typing
from typing import Any

import pytest

from murmurate.agents.mixed_claims import AGAINST, REASONS, MixedClaims, largest_claim, mixed_words
from murmurate.topics.promises import NoClaim

CLAIM = {"epsilon": 0.031, "delta": 1e-8, "per": "window", "n": 900, "assumed_corrupt": 0.1, "bound": "blanket"}
LOCAL = CLAIM | {"epsilon": 1.0, "delta": 0.0, "n": 1, "bound": "local"}


def release(t: int, claim: float | dict[str, Any] | None, reason: str | None = None) -> dict[str, Any]:
    shuffled = CLAIM | {"epsilon": claim} if isinstance(claim, float) else claim
    return {"t": t, "privacy": {"shuffled": shuffled} | ({} if reason is None else {"unshuffled": reason})}


def test_a_claim_says_against_whom_and_how_many_reports_hide_each_other() -> None:
    said = f"epsilon 0.031 but for a chance of 1e-08, {AGAINST}"
    assert mixed_words(release(1, CLAIM)) == said
    assert mixed_words(release(1, CLAIM), reports=True) == f"{said}; 900 honest reports hide each other"
    alone = "epsilon 1 against everybody, as without mixing: too few reports hide each other"
    assert mixed_words(release(1, LOCAL), reports=True) == alone


@pytest.mark.parametrize(
    ("epsilon", "shown"),
    [(0.0759, "0.0759"), (0.30000000000000004, "0.3001"), (0.193154, "0.1932"), (7.59e-5, "7.59e-05"), (2.0, "2")],
)
def test_an_epsilon_is_never_shown_smaller_than_it_is(epsilon: float, shown: str) -> None:
    assert float(shown) >= epsilon
    assert f"epsilon {shown} but for" in (mixed_words(release(1, epsilon)) or "")


def test_every_reason_to_claim_nothing_has_words() -> None:
    assert set(REASONS) == set(typing.get_args(NoClaim))
    for reason, words in REASONS.items():
        assert mixed_words(release(1, None, reason)) == f"nothing is claimed: {words}"


def test_releases_that_say_nothing_of_the_mixing_have_no_words() -> None:
    for silent in (release(1, None), {"t": 1}, {"t": 1, "privacy": None}):  # of an earlier version, or central
        assert mixed_words(silent) is None
        assert MixedClaims().take(silent) is None
        assert largest_claim([silent]) is None


def test_a_claim_is_said_at_first_and_when_it_has_changed_by_more_than_a_tenth_since_it_was_said() -> None:
    course = [0.1, 0.105, 0.11, 0.111, 0.12, 0.1, 0.099]
    follower = MixedClaims()
    said = [t for t, epsilon in enumerate(course) if follower.take(release(t, epsilon)) is not None]
    assert said == [0, 3, 6]  # 0.12 and 0.1 are within a tenth of 0.111


def test_a_claim_is_said_again_when_there_is_none_any_more_or_for_another_reason() -> None:
    follower, (first, second, _) = MixedClaims(), REASONS
    course = [release(0, None, first), release(1, None, first), release(2, 0.5), release(3, None, second)]
    said = [follower.take(one) for one in course]
    assert said == [
        f"after mixing: nothing is claimed: {REASONS[first]}", None,
        f"after mixing: epsilon 0.5 but for a chance of 1e-08, {AGAINST}",
        f"after mixing: nothing is claimed: {REASONS[second]}",
    ]  # fmt: skip


def test_an_older_period_that_comes_once_more_says_nothing() -> None:
    follower = MixedClaims()
    assert follower.take(release(5, 0.1)) is not None
    assert follower.take(release(4, 0.9)) is None
    assert follower.take(release(5, 0.9)) is None
    assert follower.take(release(6, 0.1)) is None


def test_the_largest_claim_of_a_run_is_that_of_its_weakest_window() -> None:
    found = largest_claim([release(1, None, "nothing was counted"), release(2, 0.2), release(3, 0.4), release(4, 0.3)])
    assert found is not None
    assert found.table() == {
        "shuffled": {"epsilon": 0.4, "delta": 1e-8, "n": 900, "bound": "blanket"}, "unshuffled": None, "unclaimed": 0,
    }  # fmt: skip
    said = f"at most epsilon 0.4 but for a chance of 1e-08, {AGAINST}; 900 honest reports hide each other"
    assert found.words == said


@pytest.mark.parametrize("reason", ["public measure", "lasting reports"])
def test_reports_that_claim_nothing_are_not_passed_over_in_a_run_that_claims_something(reason: NoClaim) -> None:
    found = largest_claim([release(1, 0.2), release(2, None, reason), release(3, None, "nothing was counted")])
    assert found is not None
    assert found.words.endswith(f"; nothing is claimed in 1 of its periods: {REASONS[reason]}")
    assert (found.table()["unshuffled"], found.table()["unclaimed"]) == (reason, 1)
    never = largest_claim([release(1, None, "nothing was counted"), release(2, None, reason)])
    assert never is not None
    assert never.words == f"nothing is claimed: {REASONS[reason]}"
    nobody = largest_claim([release(1, None, "nothing was counted")])
    assert nobody is not None
    assert (nobody.words, nobody.unclaimed) == ("nothing is claimed: no round of the window had enough reports", 0)
