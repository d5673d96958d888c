# SPDX-License-Identifier: Apache-2.0
"""What so many users are too few for, and what is known before anybody has come."""

import math
from fractions import Fraction
from typing import Any

import pytest

from murmurate.aggregators.batches import users_needed
from murmurate.config.enough import first_round, needs, shortage, smallest_round
from tests.config.deployments import planned

UNFILTERED: dict[str, Any] = {"name": "lpu", "filter": "off"}
ALONE: dict[str, Any] = {"screen__share": 1.0}
LPA: dict[str, Any] = {"screen__method": "lpa"}


def said(users: int, **changes: Any) -> str:
    made = planned(**(ALONE | changes))
    return shortage(made, made.stream("screen"), users) or ""


def test_so_few_users_that_no_round_is_ever_large_enough_are_told_from_those_that_are_short_at_times() -> None:
    needed = users_needed(Fraction(1, 122), 1000)
    assert said(needed, **LPA) == ""
    assert "rounds would often be asked, spent and not released" in said(needed - 1, **LPA)
    n, part = 100_000, Fraction(1, 122)  # 820 expected, 5 sigma more are 963
    assert n * part + 5 * math.sqrt(n * part * (1 - part)) < 1000
    assert "about 819 reports, below min_batch = 1000: nothing will ever be released." in said(n, **LPA)
    assert "It takes 150 000 users." in said(n, **LPA)
    assert "rounds would often" in said(110_000, **LPA)  # 901 and up to 1 051


@pytest.mark.parametrize("method", ["lbu", "lsp"])
def test_where_everybody_is_asked_the_last_user_makes_the_difference(method: str) -> None:
    assert said(1000, screen__method=method) == ""
    few = said(999, screen__method=method)
    assert few.startswith("999 users give a round about 999 reports, below min_batch = 1000: nothing will ever be")


def test_a_threshold_that_is_found_may_be_the_last_thing_that_is_measured() -> None:
    fare = {"measure": "mean", "range": [0, 100], "clip": "found", "every": "1m", "method": UNFILTERED}
    made = planned(screen__share=0.5, streams__fare={**fare, "share": 0.5})
    stream = made.stream("fare")
    assert (first_round(made, stream), smallest_round(made, stream)) == (Fraction(1, 2), Fraction(1, 122))
    assert "once the threshold is found, nothing will be measured any more" in (shortage(made, stream, 50_000) or "")
    assert "nothing will ever be released" in (shortage(made, stream, 1500) or "")


def test_where_no_threshold_could_pay_nobody_is_asked_for_one() -> None:
    fare = {"measure": "mean", "range": [0, 100], "clip": "found", "every": "1m", "method": "lpu", "share": 0.5}
    made = planned(screen__share=0.5, streams__fare=fare)
    stream = made.stream("fare")
    assert first_round(made, stream) == smallest_round(made, stream) == Fraction(1, 122)
    assert "nothing will ever be released" in (shortage(made, stream, 50_000) or "")


def test_a_method_whose_first_round_is_larger_is_not_given_up_by_its_smallest() -> None:
    made = planned(**ALONE, screen__method="lp-rescuedp", privacy__min_batch=100_000)
    stream = made.stream("screen")
    assert first_round(made, stream) > smallest_round(made, stream)
    assert "nothing will ever" not in (shortage(made, stream, 780_000) or "")  # 97 500 and 5 sigma; the first 109 200
    assert "nothing will ever" in (shortage(made, stream, 600_000) or "")


def test_what_a_release_needs_is_known_from_the_plan_alone() -> None:
    made = planned(**ALONE, **LPA)
    assert needs(made, made.stream("screen")) == (
        "a round asks 1/122 of the users, and a release needs 1000 reports: it takes 150 000 users"
    )
    everybody = planned(**ALONE, screen__method="lbu")
    assert needs(everybody, everybody.stream("screen")) == (
        "a round asks all users, and a release needs 1000 reports: it takes 1 000 users"
    )


def test_groups_of_users_that_would_often_have_no_report_are_told() -> None:
    """Of 30 reports a round a fifth is 6: below 25, five standard deviations above none."""
    numbers = [f"a{k}" for k in range(5)]
    table = {
        "measure": "marginals", "every": "1m", "method": {"name": "lpu"}, "tables": [[name] for name in numbers],
        "attributes": {name: ["no", "yes"] for name in numbers},
    }  # fmt: skip
    few = {"streams": {"it": table}, "privacy": {"epsilon": 2.0, "window": {"periods": 2}, "min_batch": 2}}
    made = planned(**few)
    stream = made.stream("it")
    assert (shortage(made, stream, 60) or "").startswith(
        "the rarest of its groups of users has about 6 of the 30 reports of a round, below 25: rounds in which it has "
    )
    assert "about 24 of the 122 reports" in (shortage(made, stream, 244) or "")
    assert shortage(made, stream, 250) is None
    one = few | {"streams": {"it": table | {"tables": [["a0"]], "attributes": {"a0": ["no", "yes"]}}}}
    assert shortage(planned(**one), planned(**one).stream("it"), 60) is None
