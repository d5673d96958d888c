# SPDX-License-Identifier: Apache-2.0
"""Fake reports in a deployment file: what is refused, what devices are asked then, and what `check` says they add."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from murmurate.aggregators.accounting import claim_against_users, claim_with_fakes
from murmurate.aggregators.chooser import choose
from murmurate.aggregators.methods.asking import oracle
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.aggregators.methods.registry import METHODS, method
from murmurate.config.agreement import values
from murmurate.config.changes import compare_agreement
from murmurate.config.explain import explain
from murmurate.config.plan import Plan
from murmurate.config.planning import resolve
from murmurate.randomizers import Faked, ParameterError
from murmurate.randomizers.fakes import takes_fakes
from murmurate.topics.messages import Config
from tests.cases import every
from tests.config.deployments import lines, planned

FAKES: dict[str, Any] = {"privacy__fakes": 200, "privacy__min_batch": 1000}
LETTERS = [f"v{i}" for i in range(40)]


def with_fakes(**changes: Any) -> Plan:
    return planned(**(FAKES | changes))


@every(
    ("changes", "line"),
    [
        ({"privacy__min_batch": 199}, "privacy.fakes: found 200; allowed: no more than the reports, min_batch = 199"),
        ({"privacy__fakes": -1}, "privacy.fakes: found -1; allowed: a whole number from 0 to 1000000000"),
        ({"screen__mechanism": "oue"},
         "streams.screen.mechanism: found oue; allowed: with privacy.fakes, auto, grr, hr, olh, subset, blh"),
        ({"screen__mechanism": "subset", "screen__values": LETTERS},
         "streams.screen.mechanism: found subset; allowed: with privacy.fakes, auto, grr, hr, olh, blh"),
        ({"screen__method": "lpa"}, "streams.screen.method: found lpa; allowed: with privacy.fakes, lbu, lpu, lsp"),
        ({"streams__fare": {"measure": "mean", "range": [0, 1], "every": "1m", "share": 0.5}, "screen__share": 0.5},
         "streams.fare.measure: found mean; allowed: with privacy.fakes, frequency"),
    ],
)  # fmt: skip
def test_each_mistake_is_one_line(changes: dict[str, Any], line: str) -> None:
    assert lines(**(FAKES | changes)) == [f"t: {line}"]


@every("domain", [["home", "help"], LETTERS])
def test_devices_are_asked_a_question_that_names_the_fakes_by_a_mechanism_that_takes_them(domain: list[str]) -> None:
    for mechanism in ("auto", "olh"):
        made = with_fakes(screen__values=domain, screen__mechanism=mechanism)
        asked = resolve(made, "screen")
        assert isinstance(asked, Faked)
        assert asked.fakes == 200
        assert takes_fakes(asked.inner)
        assert mechanism in ("auto", asked.answered_by)
        setting = made.streams[0].setting(made, 0)
        assert method(made.streams[0].method, setting).later(5).question == asked  # type: ignore[union-attr]
        assert asked.epsilon_micro == resolve(planned(), "screen").epsilon_micro


def test_auto_compares_mechanisms_with_the_fakes_of_a_round_that_is_worth_asking() -> None:
    hundred = {"screen__values": [f"v{i}" for i in range(127)], "privacy__epsilon": 4.0, "privacy__min_batch": 2000}
    few, many = (resolve(planned(**hundred, privacy__fakes=fakes), "screen") for fakes in (20, 2000))
    assert (few.answered_by, many.answered_by) == ("grr", "olh")
    for asked, fakes in ((few, 20), (many, 2000)):
        others = [Faked(choose(d=128, epsilon=4, fakes=Fraction(other)), fakes) for other in (0, 1)]
        assert asked.variance(2500, 1 / 128) == min(float(other.variance(2500, 1 / 128)) for other in others)
    made = planned(**hundred, privacy__fakes=2000)
    setting = made.streams[0].setting(made, 0)
    assert oracle(setting, setting.epsilon_micro) == many


def test_without_fakes_no_digest_no_setting_and_no_agreed_value_is_another_one() -> None:
    assert planned(privacy__fakes=0) == planned()
    (plain,), (faked,) = planned().streams, with_fakes().streams
    assert plain.config != faked.config
    assert "fakes" not in plain.setting(planned(), 0).facts()
    assert faked.setting(with_fakes(), 0).facts()["fakes"] == 200
    assert "privacy.fakes" not in values(planned(), fed=False)
    agreed = Config(number=1, values=values(planned(), fed=False), secrets={})
    changes = {
        one.key: one.effect for one in compare_agreement(agreed, with_fakes(privacy__min_batch=1000), {}, fed=False)
    }
    assert changes["privacy.fakes"] == "revision"


def test_a_method_that_looks_at_answers_takes_no_fakes() -> None:
    setting = replace(with_fakes().streams[0].setting(with_fakes(), 0), season=None)
    for name, kind in METHODS.items():
        if kind.fixed:
            method(MethodOptions(name), setting)
            continue
        with pytest.raises(ParameterError, match="found 200 fakes a round; allowed: with lbu, lpu, lsp"):
            method(MethodOptions(name), setting)


def test_check_says_in_words_what_fakes_add() -> None:
    made = with_fakes()
    said = " ".join(" ".join(explain(made).lines()).split())
    asked = resolve(made, "screen")
    assert isinstance(asked, Faked)
    alone = claim_against_users(asked.inner, 1000, 200, made.delta)
    assert (
        f"200 fake reports a round: against a server that knows all other users' reports epsilon {alone.epsilon:g}, "
        f"but for a chance of {made.delta:g}"
    ) in said
    facts = explain(made).document()["streams"][0]["mixed"]
    both = claim_with_fakes(asked.inner, 1000, 200, made.delta, made.assumed_corrupt)
    assert (facts["fakes"], facts["alone"], facts["epsilon"]) == (200, alone.epsilon, both.epsilon)
    assert "fake reports a round" not in " ".join(explain(planned()).lines())


def test_rounds_of_the_same_users_compose_against_whoever_knows_the_others_reports() -> None:
    made = with_fakes(screen__method="lbu", privacy__window={"periods": 4}, privacy__epsilon=4)
    asked = resolve(made, "screen")
    assert isinstance(asked, Faked)
    one = claim_against_users(asked.inner, 1000, 200, made.delta).epsilon
    alone = explain(made).document()["streams"][0]["mixed"]["alone"]
    assert one < alone < 4 * one


def test_a_central_target_is_kept_without_the_fakes_by_a_question_that_names_them() -> None:
    target = {"privacy__epsilon": 4.0, "privacy__mixed": {"epsilon": 0.5}, "privacy__delta": 1e-6}
    made = with_fakes(**target)
    (screen,) = made.streams
    asked = resolve(made, "screen")
    assert isinstance(asked, Faked)
    assert screen.mixed is not None
    assert screen.mixed.question == asked.digest.hex()
    assert screen.mixed.claim.epsilon <= 0.5
    assert claim_with_fakes(asked.inner, 1000, 200, 1e-6, 0.1).epsilon <= screen.mixed.claim.epsilon
    assert made.terms({}).streams[0].questions == (screen.mixed.question,)
    said = " ".join(" ".join(explain(made).lines()).split())
    assert "or all others of a round do" not in said


def test_where_every_user_serves_all_streams_the_claims_against_whoever_knows_the_others_add_up_too() -> None:
    other = {"measure": "frequency", "values": ["a", "b"], "every": "1m", "share": 0.5}
    made = with_fakes(privacy__split="budget", streams__other=other, screen__share=0.5)
    alone = [stream["mixed"]["alone"] for stream in explain(made).document()["streams"]]
    said = " ".join(" ".join(explain(made).lines()).split())
    chance = f"but for a chance of {2 * made.delta:g}"
    assert f"; against a server that knows all other users' reports epsilon {sum(alone):.4g}, {chance}." in said
