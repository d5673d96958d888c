# SPDX-License-Identifier: Apache-2.0
"""What `check` says: the promise in words for every setting, the mechanism really used, and too few users."""

import math
from fractions import Fraction
from typing import Any

import pytest

from murmurate.aggregators.batches import users_needed
from murmurate.config.explain import explain
from murmurate.config.planning import resolve
from tests.config.deployments import planned, shop

TWO: dict[str, Any] = {"measure": "frequency", "values": ["a"], "every": "5m", "share": 0.25}


FARE: dict[str, Any] = {"measure": "mean", "range": [0, 120], "every": "5m", "missing": {"carry": "always"}}


def words(users: int | None = None, **changes: Any) -> str:
    return " ".join(" ".join(explain(planned(**changes), users).lines()).split())


def test_the_shared_example_is_explained_within_80_columns() -> None:
    lines = list(explain(shop(), 50_000).lines())
    assert max(map(len, lines)) <= 80
    text = " ".join(" ".join(lines).split())
    assert "learns more than epsilon 2.0 about one user in any hour." in text
    assert "Windows add up: k windows that do not overlap can cost k times epsilon" in text
    assert "50 % of the users answer for no stream." in text
    assert "frequency of 7 values, a release every 1m, windows of w = 61 periods, half of the users, " in text
    assert "method lpa, mechanism grr at epsilon 2, 1 byte a report" in text
    assert "edge app.clicks shop.raw" in text
    assert "analysis shop.batches shop.tallies shop.releases" in text
    assert lines[-1].strip() == "ok"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"privacy__window": "90m"}, "in any 90 minutes."),
        ({"privacy__window": "1d"}, "in any day."),
        ({"privacy__window": {"periods": 20}}, "in any 20 periods of a stream. The window is a number of periods"),
        ({"screen__missing": {"carry": "always"}}, "the promise is over the sequence of values, as in the papers"),
        ({"screen__missing": {"carry": "always"}},
         'a user joins with the first event, whatever it says. Until a valid value comes they count as "home"'),
        ({"screen__missing": {"carry": "always"}, "screen__other": True}, 'they count as "other"'),
        ({"screen__missing": {"carry": "always"}, "screen__initial": "help"}, 'they count as "help"'),
        ({"streams__screen": FARE}, "they count as 0, which releases show too often by as many as there are"),
        ({"streams__screen": FARE | {"initial": 60}}, "they count as 60,"),
        ({"streams__screen": FARE | {"measure": "distribution", "cells": 4, "initial": 60}}, "count as [60, 90),"),
        ({"privacy__window": {"periods": 20}, "screen__missing": {"carry": "5m"}}, "a value is carried 5m, and each"),
        ({"privacy__split": "budget", "screen__share": 0.5, "streams__two": TWO},
         "Every user answers for every stream; together they spend at most epsilon 2.0: screen 1.0, two 0.5."),
        ({"privacy__split": "budget", "screen__share": 0.5}, "50 % of epsilon stay unspent."),
        ({"screen__share": 0.75, "streams__two": TWO}, "Each user answers for one stream, chosen once by a keyed hash"),
        ({"screen__method": {"name": "lpa", "variance": "paper"}}, "lpa by the paper's variance"),
        ({"screen__method": "lbu"}, "grr at epsilon 0.032786"),
        ({"screen__method": {"name": "sao2", "horizon": "1h", "revise": "horizon"}},
         "for the value of each period, each release revised 1h later by all that its horizon told,"),
        ({"screen__method": {"name": "sao2", "horizon": "1h", "filter": "adaptive"}},
         "for the value of each period, with the filter,"),
        ({"screen__season": "24h"}, "what returns every 1d is learned, as a profile of 168 values"),
    ],
)  # fmt: skip
def test_each_setting_is_said_in_words(changes: dict[str, Any], said: str) -> None:
    assert said in words(**changes)
    assert all(len(line) <= 80 for line in explain(planned(**changes), 10).lines())


def test_a_threshold_that_is_found_first_is_said_with_when_the_method_begins() -> None:
    fare = {"measure": "mean", "range": [0, 10_000], "clip": "found", "every": "5m", "method": "lba"}
    said = (
        "finds its clipping threshold first, in the first period with users: everybody answers once, and lba begins 13"
    )
    assert said in words(screen__share=0.5, streams__fare={**fare, "share": 0.5})
    assert "clip" not in words(screen__share=0.5, streams__fare={**fare, "share": 0.5, "clip": "declared"})
    in_vain = words(screen__share=0.5, streams__fare={**fare, "share": 0.5, "method": "lpu"})
    assert "clips at the end of its range alone: with this epsilon, window and method the search for" in in_vain
    assert "everybody answers once" not in in_vain


def test_where_users_may_say_none_nobody_counts_as_anything_else() -> None:
    assert "joins with" not in words()


def test_the_longest_names_fit_80_columns() -> None:
    made = planned(**{"name": "n" * 32, "screen__source": {"topic": "t" * 249}, f"streams__{'s' * 32}": TWO,
                      "screen__share": 0.5})  # fmt: skip
    assert max(len(line) for line in explain(made, 10).lines()) <= 80


def test_the_mechanism_is_chosen_at_the_epsilon_that_is_spent() -> None:
    ten = [str(i) for i in range(10)]
    assert resolve(planned(screen__values=ten), "screen").name == "grr"
    low = resolve(planned(screen__values=ten, screen__method="lbu"), "screen")
    assert (low.name, low.epsilon_micro) == ("subset", 32_786)
    assert resolve(planned(screen__values=ten, screen__mechanism="oue"), "screen").name == "oue"
    hundred = [str(i) for i in range(100)]
    assert resolve(planned(screen__values=hundred, screen__prefer="bytes"), "screen").wire_size < 4


@pytest.mark.parametrize("part", [Fraction(1), Fraction(1, 2), Fraction(1, 12), Fraction(7, 2440), Fraction(1, 65536)])
@pytest.mark.parametrize("least", [2, 20, 1000, 1_000_000])
def test_users_needed_is_the_least_number_with_five_sigma_to_spare(part: Fraction, least: int) -> None:
    def spare(n: int) -> float:
        return n * part - 5 * math.sqrt(n * part * (1 - part)) - least

    n = users_needed(part, least)
    assert spare(n) >= -1e-6
    assert spare(n - 1) < 1e-6


def test_too_few_users_are_warned_of_and_enough_are_not() -> None:
    needed = users_needed(Fraction(1, 61), 1000)
    assert explain(planned(), needed).warnings == ()
    (warning,) = explain(planned(), needed - 1).warnings
    assert warning.startswith(f"screen: {needed - 1:,} users give a round about 1 169 reports".replace(",", " "))
    assert explain(planned()).warnings == ()
    assert explain(planned(population__users=needed - 1)).warnings == (warning,)


def test_a_user_who_serves_one_stream_counts_for_that_stream_only() -> None:
    half = explain(planned(screen__share=0.5)).streams[0]
    whole = explain(planned(screen__share=0.5, privacy__split="budget")).streams[0]
    assert (half.unit, whole.unit) == ("1/122", "1/61")
