# SPDX-License-Identifier: Apache-2.0
"""A file that asks for reports without local protection: what it has to say, and what is said of it, in capitals."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from murmurate.config.changes import compare
from murmurate.config.explain import explain
from murmurate.config.loader import build
from murmurate.config.planning import resolve
from murmurate.randomizers.frequency.appended import AUE
from tests.cases import every
from tests.config.deployments import lines, planned, small

OPEN: dict[str, Any] = {
    "privacy__mixed": {"epsilon": 0.5}, "privacy__unprotected_locally": True, "screen__mechanism": "aue",
}  # fmt: skip


def test_the_smallest_batch_keeps_the_target_with_the_fewest_added_ones() -> None:
    made = planned(**OPEN)
    (stream,) = made.streams
    asked = resolve(made, "screen")
    assert isinstance(asked, AUE)
    assert stream.unprotected
    assert stream.mixed is not None
    assert (asked.batch, asked.central, asked.delta) == (900, 0.5, repr(made.delta))
    assert (stream.mixed.claim.bound, stream.mixed.claim.n) == ("counts", 900)
    assert 0.49 < stream.mixed.claim.epsilon <= 0.5
    assert stream.mixed.gain > 10
    terms = stream.terms()
    assert (terms.unprotected_locally, terms.questions, terms.most_micro) == (True, (asked.digest.hex(),), 500_000)


def test_rounds_of_everybody_have_equal_parts_of_epsilon_and_delta() -> None:
    made = planned(**OPEN, screen__method="lbu", privacy__window={"periods": 4}, privacy__min_batch=20_000)
    asked = resolve(made, "screen")
    assert isinstance(asked, AUE)
    assert (asked.central_micro, Fraction(asked.delta)) == (125_000, Fraction(repr(made.delta / 4)))
    mixed = made.streams[0].mixed
    assert mixed is not None
    assert mixed.epsilon_micro == 500_000
    assert mixed.claim.epsilon <= 0.5


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"privacy__unprotected_locally": False}, "streams.screen.mechanism: found aue; allowed: another one, or "
     "privacy.unprotected_locally = true: its reports show their values"),
    ({"privacy__mixed": None}, "privacy.mixed: found nothing; allowed: a table with epsilon, since only sums of "
     "streams.screen are protected"),
    ({"screen__mechanism": "grr"}, "privacy.unprotected_locally: found true; allowed: false, since no stream has "
     "mechanism = aue"),
    ({"privacy__fakes": 5}, "streams.screen.mechanism: found aue; allowed: with privacy.fakes, auto,"),
    ({"screen__method": "lba"}, "streams.screen.method: found lba; allowed: with privacy.mixed,"),
    ({"screen__measure": "mean", "screen__range": [0, 1], "screen__values": None}, "streams.screen.mechanism: found"),
]  # fmt: skip


@every("wrong", MISTAKES)
def test_what_is_missing_or_not_supported_is_one_line(wrong: tuple[dict[str, Any], str]) -> None:
    changes, said = wrong
    found = lines(**{key: value for key, value in (OPEN | changes).items() if value is not None or key not in OPEN})
    assert len([line for line in found if said in line]) == 1, found


def test_a_batch_too_small_for_the_target_is_refused_with_the_reason() -> None:
    with pytest.raises(ValueError, match="with 90 reports, which no added ones reach"):
        planned(**OPEN, privacy__min_batch=100)


def test_check_says_in_capitals_that_nothing_protects_a_report() -> None:
    facts = explain(planned(**OPEN))
    assert facts.promise[0].startswith("NO LOCAL PROTECTION (screen): REPORTS SHOW THEIR VALUES.")
    assert not any("Nobody who sees everything but the raw events" in said for said in facts.promise)
    assert any("NOTHING HOLDS" in said for said in facts.promise)
    told = " ".join(" ".join(facts.lines()).split())
    assert "THE SUMS THAT THE MIXING ZONE HANDS ON ARE PROTECTED" in told
    assert "mechanism aue WITHOUT LOCAL PROTECTION" in told
    assert "SEES WHAT USERS SAY (screen), and adds it up" in told
    assert facts.document()["streams"][0]["answer_epsilon"] is None


def test_streams_beside_it_keep_their_promise_and_it_is_said_of_whom() -> None:
    other = {"measure": "frequency", "values": ["a", "b"], "every": "1m", "share": 0.5}
    for split, said in (("users", "Of the users of other streams nobody"), ("budget", "By other streams alone nobody")):
        made = planned(**OPEN, screen__share=0.5, streams__mood=other, privacy__split=split, privacy__min_batch=5000)
        first, second, *more = explain(made).promise
        assert first.startswith("NO LOCAL PROTECTION (screen):")
        assert second.startswith(said)
        assert any("AND NOTHING FOR screen" in line for line in more)
        assert [stream.terms().unprotected_locally for stream in made.streams] == [False, True]


def test_a_deployment_that_protected_reports_never_turns_into_one_that_does_not() -> None:
    protected = build(small(privacy__mixed={"epsilon": 0.5}, screen__mechanism="grr"))
    for before, after in ((protected, build(small(**OPEN))), (build(small(**OPEN)), protected)):
        effects = {change.key: change.effect for change in compare(before, after)}
        assert effects == {"privacy.unprotected_locally": "refused", "streams.screen.mechanism": "refused"}
