# SPDX-License-Identifier: Apache-2.0
"""A central target: what it chooses, what it refuses, what devices then answer, and that releases keep it."""

from __future__ import annotations

from typing import Any

import pytest

from murmurate.aggregators.accounting import mixed_claim, window_claim
from murmurate.aggregators.methods.registry import method
from murmurate.config.changes import compare
from murmurate.config.errors import ConfigError
from murmurate.config.explain import explain
from murmurate.config.loader import build
from murmurate.config.plan import Plan
from murmurate.config.planning import plan, resolve
from murmurate.randomizers import GRR, OLH, OUE, Faked
from tests.agents.stages.hands import RAW, ROUNDS, perturb, progress, pseudonyms, question, reports, rows, start
from tests.cases import every
from tests.config.deployments import lines, planned, small

TARGET: dict[str, Any] = {
    "privacy__epsilon": 4.0, "privacy__mixed": {"epsilon": 0.5}, "privacy__delta": 1e-6, "privacy__min_batch": 1000,
}  # fmt: skip


def with_target(**changes: Any) -> Plan:
    return planned(**(TARGET | changes))


def test_the_smallest_batch_keeps_the_target_and_hardly_more_is_left() -> None:
    made = with_target()
    (screen,) = made.streams
    asked = resolve(made, screen.name)
    assert screen.mixed is not None
    assert (screen.mixed.question, screen.mixed.epsilon_micro) == (asked.digest.hex(), asked.epsilon_micro)
    assert screen.mixed.claim == mixed_claim(asked, 1000, 1e-6, 0.1)
    assert 0.49 < screen.mixed.claim.epsilon <= 0.5
    assert mixed_claim(asked, 980, 1e-6, 0.1).epsilon > 0.5
    assert 0.5 < asked.epsilon <= 4
    assert made.spent_micro(screen.name) == asked.epsilon_micro < made.epsilon_of(screen.name)


def test_a_method_that_divides_the_budget_keeps_it_over_all_rounds_of_a_window() -> None:
    made = with_target(screen__method="lbu", privacy__window={"periods": 4})
    (screen,) = made.streams
    asked = resolve(made, screen.name)
    assert screen.mixed is not None
    assert asked.epsilon_micro * 4 == screen.mixed.epsilon_micro
    assert window_claim([(asked, 1000, 4)], 1e-6, 0.1).epsilon == screen.mixed.claim.epsilon <= 0.5


def test_where_streams_divide_the_budget_each_keeps_its_part_of_the_target() -> None:
    other = {"measure": "frequency", "values": ["a", "b"], "every": "1m", "share": 0.4}
    made = with_target(privacy__split="budget", streams__other=other, screen__share=0.6)
    parts = {stream.name: stream.mixed.target for stream in made.streams if stream.mixed}
    assert parts == {"other": 0.2, "screen": 0.3}
    for stream in made.streams:
        assert stream.mixed is not None
        assert stream.mixed.claim.epsilon <= stream.mixed.target
    assert sum(stream.mixed.claim.delta for stream in made.streams if stream.mixed) <= made.delta


@every(
    ("changes", "line"),
    [
        ({"privacy__mixed": {"epsilon": 4}}, "privacy.mixed.epsilon: found 4; allowed: below epsilon, 4"),
        ({"privacy__mixed": {"epsilon": 0}},
         "privacy.mixed.epsilon: found 0; allowed: a number from 0.000001 (one micro-nat) to 20"),
        ({"privacy__mixed": {"eps": 1, "epsilon": 1}}, "privacy.mixed.eps: found an unknown key; allowed: epsilon"),
        ({"privacy__min_batch": 2},
         "privacy.min_batch: found 2, of which 1 are honest; allowed: with privacy.mixed, 2 honest reports or more"),
        ({"privacy__delta": 0}, "privacy.delta: found 0; allowed: a number above 0, below 0.001"),
        ({"privacy__assumed_corrupt": 1}, "privacy.assumed_corrupt: found 1; allowed: a number from 0, below 1"),
        ({"screen__method": "lbd"}, "streams.screen.method: found lbd; allowed: with privacy.mixed, lbu, lpu, lsp"),
    ],
)  # fmt: skip
def test_each_mistake_is_one_line(changes: dict[str, Any], line: str) -> None:
    (found,) = lines(**(TARGET | changes))
    assert found.startswith(f"t: {line}")


def test_a_batch_that_is_too_small_to_mix_is_refused_with_the_size_that_would_do() -> None:
    with pytest.raises(ConfigError) as refused:
        with_target(privacy__min_batch=5, privacy__delta=1e-8)
    (mistake,) = refused.value.mistakes
    assert mistake.key == "privacy.mixed.epsilon"
    size = int(mistake.allowed.split("min_batch of ")[1].split()[0])
    assert with_target(privacy__min_batch=size, privacy__delta=1e-8).streams[0].mixed is not None


def test_devices_answer_the_one_question_and_refuse_every_other_one_for_nothing() -> None:
    made = with_target()
    (screen,) = made.streams
    users, asked = pseudonyms(50), resolve(made, screen.name)
    for mechanism, answers in ((asked, True), (GRR(d=screen.d, epsilon=1), False), (OUE(d=screen.d, epsilon=1), False)):
        hands = [perturb(made, p) for p in range(made.partitions)]
        sent, refused = 0, 0
        for p, hand in enumerate(hands):
            hand.give(ROUNDS, start(screen, 100))
            times = [99 * screen.every_ms] * len(users)
            hand.give(
                RAW,
                *rows(made, screen, users, times, [0] * len(users), p),
                progress(99 * screen.every_ms, topic=screen.topic),
            )
            out = hand.give(ROUNDS, question(made, screen, 100, mechanism=mechanism.spec()))
            out += hand.give(RAW, progress(103 * screen.every_ms, topic=screen.topic))
            sent += sum(map(len, reports(out).values()))
            refused += hand.stage.refusals[screen.name, "mechanism"]  # type: ignore[attr-defined]
            assert hand.stage.most_spent_micro[screen.name] == (asked.epsilon_micro if answers else 0)  # type: ignore[attr-defined]
        assert (sent, refused) == ((50, 0) if answers else (0, 50))


def test_the_one_question_is_answered_no_more_often_in_a_window_than_keeps_the_target() -> None:
    """A device may spend 9 answers of epsilon; the target holds for the 4 of a window."""
    made = with_target(screen__method="lbu", privacy__window={"periods": 4}, privacy__mixed={"epsilon": 0.1})
    (screen,) = made.streams
    users, asked, hand = pseudonyms(50), resolve(made, screen.name), perturb(made)
    assert screen.mixed is not None
    hand.give(ROUNDS, start(screen, 100))
    before = 99 * screen.every_ms
    hand.give(RAW, *rows(made, screen, users, [before] * len(users), [0] * len(users)))
    hand.give(RAW, progress(before, topic=screen.topic))
    answered = made.epsilon_of(screen.name) // asked.epsilon_micro
    for patience in range(answered):
        again = question(made, screen, 100, mechanism=asked.spec(), patience_ms=made.patience_ms + patience)
        hand.give(ROUNDS, again)
    out = hand.give(RAW, progress(103 * screen.every_ms, topic=screen.topic))
    rounds = {digest for digest, _ in reports(out)}
    assert 0 < len(rounds) <= 4 < answered
    assert window_claim([(asked, 1000, len(rounds))], 1e-6, 0.1).epsilon <= 0.1
    assert hand.stage.most_spent_micro[screen.name] <= screen.mixed.epsilon_micro  # type: ignore[attr-defined]


def test_what_changes_the_question_is_a_new_revision() -> None:
    old = build(small(**TARGET))
    for key, value in (("privacy__delta", 1e-7), ("privacy__min_batch", 900), ("privacy__mixed", {"epsilon": 0.4})):
        new = build(small(**(TARGET | {key: value})))
        assert {change.effect for change in compare(old, new)} == {"revision"}
        assert plan(new).streams[0].config != plan(old).streams[0].config
    without = build(small(**{key: value for key, value in TARGET.items() if key != "privacy__mixed"}))
    assert {change.effect for change in compare(without, old)} == {"revision"}


def test_check_says_both_promises_and_what_takes_the_second_one_away() -> None:
    said = " ".join(" ".join(explain(with_target()).lines()).split())
    assert "Everybody but the mixing zone learns at most epsilon 0.5 about one user in a window" in said
    assert "If the mixing and the analysis zone work together" in said
    assert "of which 900 count as honest" in said
    assert "devices answer no other question" in said
    facts = explain(with_target()).document()["streams"][0]["mixed"]
    assert (facts["target"], facts["reports"], facts["honest"]) == (0.5, 1000, 900)
    alone = " ".join(" ".join(explain(planned(privacy__min_batch=1000)).lines()).split())
    assert "mixed, a smallest batch of 1 000 reports" in alone
    assert "Everybody but the mixing zone learns at most" not in alone


def test_check_says_what_the_claims_of_streams_add_up_to_where_every_user_serves_all_of_them() -> None:
    both: dict[str, Any] = {
        "streams__other": {"measure": "frequency", "values": ["a", "b"], "every": "1m", "share": 0.4}
    }
    both |= {"screen__share": 0.6}
    made = planned(**both, privacy__split="budget", privacy__min_batch=1000)
    facts = [stream["mixed"] for stream in explain(made).document()["streams"]]
    epsilon, delta = (sum(one[key] for one in facts) for key in ("epsilon", "delta"))
    said = " ".join(" ".join(explain(made).lines()).split())
    assert f"all streams together have epsilon {epsilon:.4g} in a window, but for a chance of {delta:g}." in said
    rounds = [(resolve(made, stream.name), 1000, 1) for stream in made.streams]
    assert window_claim(rounds, delta, 0.1).epsilon <= epsilon  # their exact composition is below the sum
    for other in (planned(**both, privacy__min_batch=1000), planned(**both, **(TARGET | {"privacy__split": "budget"}))):
        assert "these claims add up" not in " ".join(
            explain(other).lines()
        )  # each user serves one; they are the target


@every("fakes", [0, 500])
def test_over_many_values_devices_may_be_asked_by_local_hashing_with_as_many_cells_as_suit_the_target(
    fakes: int,
) -> None:
    many = {"screen__values": [f"v{i}" for i in range(600)], "privacy__mixed": {"epsilon": 0.1}}
    made = with_target(**many, privacy__fakes=fakes)
    (screen,) = made.streams
    asked = resolve(made, screen.name)
    hashed = asked.inner if isinstance(asked, Faked) else asked
    assert isinstance(hashed, OLH)
    assert hashed.spec()["g"] == hashed.g != OLH(d=screen.d, epsilon=hashed.epsilon).g
    assert screen.mixed is not None
    assert screen.mixed.question == asked.digest.hex()
    assert screen.mixed.claim.epsilon <= 0.1
    setting = screen.setting(made, 0)
    assert method(screen.method, setting).later(5).question == asked  # type: ignore[union-attr]
    assert explain(made).streams[0].mechanism == "olh"
    for plain in (GRR(d=screen.d, epsilon=2.668), OUE(d=screen.d, epsilon=1), OLH(d=screen.d, epsilon=1)):
        assert hashed.variance(1000, 1 / screen.d) < plain.variance(1000, 1 / screen.d)  # which do not keep it
