# SPDX-License-Identifier: Apache-2.0
"""What releases claim of the mixing, in words: the same in every command, and always against whom."""

from __future__ import annotations

import typing
from typing import Any

import pytest

from murmurate.agents.mixed_claims import (
    AGAINST,
    AGAINST_USERS,
    REASONS,
    MixedClaims,
    largest_claim,
    mixed_words,
    together_words,
)
from murmurate.topics.promises import NoClaim

CLAIM = {"epsilon": 0.031, "delta": 1e-8, "per": "window", "n": 900, "assumed_corrupt": 0.1, "bound": "blanket"}
FAKED = CLAIM | {"bound": "fakes", "fakes": 100, "against_users": {"epsilon": 0.4, "delta": 1e-8}}
KNOWN = f"epsilon 0.4 but for a chance of 1e-08, {AGAINST_USERS}"
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


def test_with_fakes_the_claim_against_whoever_knows_all_other_users_stands_beside_the_other_one() -> None:
    said = f"epsilon 0.031 but for a chance of 1e-08, {AGAINST}"
    assert mixed_words(release(1, FAKED)) == f"{said}; {KNOWN}"
    hidden = "900 honest reports and 100 fake ones hide each other"
    assert mixed_words(release(1, FAKED), reports=True) == f"{said}; {hidden}; {KNOWN}"
    without = FAKED | {"bound": "blanket", "against_users": {"epsilon": 2.0, "delta": 0.0}}  # the bound has no fakes
    few = f"epsilon 2 {AGAINST_USERS}: too few fake reports hide one"
    assert mixed_words(release(1, without), reports=True) == f"{said}; 900 honest reports hide each other; {few}"


def test_the_claim_against_whoever_knows_all_others_is_said_again_when_it_changes_and_once_for_a_run() -> None:
    more = FAKED | {"against_users": {"epsilon": 0.5, "delta": 1e-8}}
    follower = MixedClaims()
    course = [release(0, FAKED), release(1, FAKED), release(2, more), release(3, CLAIM)]
    assert [follower.take(one) is not None for one in course] == [True, False, True, True]
    found = largest_claim(course)
    assert found is not None
    assert found.words.endswith(f"; at most epsilon 0.5 but for a chance of 1e-08, {AGAINST_USERS}")
    assert found.table()["shuffled"]["against_users"] == {"epsilon": 0.5, "delta": 1e-8}


def test_claims_of_streams_that_all_users_serve_add_up() -> None:
    assert together_words([CLAIM]) is None
    said = f"epsilon 0.062 but for a chance of 2e-08, {AGAINST}"
    assert together_words([CLAIM, CLAIM]) == said
    assert together_words([CLAIM, LOCAL]) == f"epsilon 1.031 but for a chance of 1e-08, {AGAINST}"
    assert (
        together_words([CLAIM | {"epsilon": 1.00001}, CLAIM]) == f"epsilon 1.032 but for a chance of 2e-08, {AGAINST}"
    )


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
    follower, (first, second, *_) = MixedClaims(), REASONS
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
