# SPDX-License-Identifier: Apache-2.0
"""Searches under a central target: what a window is claimed to be worth, what devices answer, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from murmurate.aggregators.accounting import mixed_claim, window_claim
from murmurate.aggregators.accounting.solh import solh_buckets
from murmurate.aggregators.hash_cells import cells_of
from murmurate.aggregators.methods.method import Answer, Decision, Request
from murmurate.aggregators.methods.registry import method
from murmurate.config.changes import compare
from murmurate.config.errors import ConfigError
from murmurate.config.explain import explain
from murmurate.config.loader import build
from murmurate.config.plan import Plan, StreamPlan
from murmurate.config.planning import plan, resolve
from murmurate.randomizers import OLH, Viewed
from murmurate.randomizers.question import Question
from murmurate.randomizers.string_views import Extensions
from tests.agents.stages.hands import RAW, ROUNDS, perturb, progress, pseudonyms, question, reports, rows, start
from tests.cases import every

BOTH = ("tree_hist", "tree_hist_all")
W = 8


def file(searched: str = "tree_hist_all", privacy: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    table = {"measure": "strings", "find": "strings", "bits": 24, "every": "1m", "method": searched, **changes}
    promise = {"epsilon": 12, "mixed": {"epsilon": 0.5}, "delta": 1e-6, "min_batch": 1000, "window": {"periods": W}}
    return {"schema": 1, "name": "shop", "privacy": {**promise, **(privacy or {})}, "streams": {"q": table}}


def planned(searched: str = "tree_hist_all", privacy: dict[str, Any] | None = None, **changes: Any) -> Plan:
    return plan(build(file(searched, privacy, **changes)))


def over(stream: StreamPlan, parents: tuple[str, ...], bits_from: int, bits_to: int, **other: Any) -> Question:
    """A later round's question, or one that is no longer of this target."""
    first = resolve(planned(stream.method.name), stream.name)
    assert isinstance(first, Viewed)
    assert isinstance(first.inner, OLH)
    view = Extensions(stream.measure.layout, parents, bits_from, bits_to)
    same = {"epsilon": Fraction(first.epsilon_micro, 10**6), "pool": 0, "g": first.inner.g}
    return Viewed(view, OLH(d=view.d, **(same | other)))


def test_everybody_answers_each_round_of_a_search_and_all_of_them_together_keep_the_target() -> None:
    made = planned()
    (stream,) = made.streams
    asked = resolve(made, "q")
    assert stream.mixed is not None
    assert (stream.division, stream.mixed.epsilon_micro) == ("budget", 3 * asked.epsilon_micro)
    assert stream.mixed.epsilon_micro <= made.epsilon_micro
    assert stream.mixed.claim == window_claim([(asked, 1000, 3)], 1e-6, 0.1)
    assert 0.45 < stream.mixed.claim.epsilon <= 0.5
    alone = mixed_claim(asked, 1000, 1e-6 / 3, 0.1).epsilon
    assert stream.mixed.claim.epsilon < 3 * alone  # as the sum of three rounds would be
    assert alone > 0.5 / 3  # so that rounds have more than a third each, by what they compose to


def test_a_round_of_a_part_of_the_users_keeps_the_whole_target_with_the_cells_that_suit_it() -> None:
    made = planned("tree_hist")
    (stream,) = made.streams
    asked = resolve(made, "q")
    assert stream.mixed is not None
    assert (stream.division, stream.mixed.epsilon_micro) == ("population", asked.epsilon_micro)
    assert stream.mixed.claim == mixed_claim(asked, 1000, 1e-6, 0.1)
    best = solh_buckets(1000, 0.5, 1e-6, d=1 << 20, limit=12, corrupt=0.1)
    assert cells_of(stream.mixed.mechanism) == best.cells
    assert abs(asked.epsilon / float(best.epsilon) - 1) < 0.01


@every("searched", BOTH)
def test_whatever_was_answered_a_window_has_no_more_rounds_than_were_claimed(searched: str) -> None:
    made = planned(searched)
    (stream,) = made.streams
    assert stream.mixed is not None
    run, asked = method(stream.method, stream.setting(made, 0)), list[tuple[int, np.ndarray]]()
    for t in range(4 * W):
        step = run.open(t)
        if isinstance(step, Request):
            assert step.question.claimed_as().digest.hex() == stream.mixed.question
            asked.append((t, np.ones(stream.slots, np.bool_) if step.asked is None else step.asked))
            again = method(stream.method, stream.setting(made, 0))
            again.load(run.state())
            lost = t % 5 == 4
            support = np.full(step.question.outcomes, 0 if lost else 40, np.int64)
            run, step = again, again.tally(Answer(support, 0 if lost else 1000))
        assert isinstance(step, Decision)
    most = 3 if searched == "tree_hist_all" else 1
    for end in range(W, 4 * W):
        inside = [mask for t, mask in asked if end - W < t <= end]
        assert np.sum(inside, axis=0).max() <= most
    assert len(asked) == (3 * 4 if searched == "tree_hist_all" else 4 * W)


@every("searched", BOTH)
def test_devices_answer_whichever_prefixes_a_round_names_and_no_other_cells_epsilon_or_mechanism(searched: str) -> None:
    made = planned(searched)
    (stream,) = made.streams
    named = over(stream, ("68", "79"), 8, 16)
    cells = over(stream, ("68", "79"), 8, 16, g=5)
    more = over(stream, ("68", "79"), 8, 16, epsilon=Fraction(1, 2))
    pooled = over(stream, ("68", "79"), 8, 16, pool=64)
    users = pseudonyms(20)
    for mechanism, answers in ((named, True), (cells, False), (more, False), (pooled, False)):
        hand, before = perturb(made), 99 * stream.every_ms
        hand.give(ROUNDS, start(stream, 100))
        hand.give(RAW, *rows(made, stream, users, [before] * 20, [0] * 20), progress(before, topic=stream.topic))
        out = hand.give(ROUNDS, question(made, stream, 100, mechanism=mechanism.spec()))
        out += hand.give(RAW, progress(103 * stream.every_ms, topic=stream.topic))
        assert bool(sum(map(len, reports(out).values()))) == answers
        assert bool(hand.stage.refusals["q", "mechanism"]) != answers  # type: ignore[attr-defined]


def test_what_is_claimed_does_not_depend_on_the_prefixes_that_are_named() -> None:
    (stream,) = planned().streams
    one, other = over(stream, ("",), 0, 8), over(stream, ("6869", "796f"), 16, 24)
    assert one.digest != other.digest
    assert one.claimed_as() == other.claimed_as() != over(stream, ("",), 0, 8, g=5).claimed_as()
    assert one.blanket() == other.blanket() == one.claimed_as().blanket()
    assert one.realised == other.realised == one.claimed_as().realised


@every(
    ("changed", "line"),
    [
        (file("pem"), "streams.q.method: found pem; allowed: with privacy.mixed, tree_hist, tree_hist_all"),
        (file("pem_rounds"), "method: found pem_rounds; allowed: with privacy.mixed, tree_hist, tree_hist_all"),
        (file(privacy={"fakes": 10}),
         "streams.q.method: found tree_hist_all; allowed: with privacy.fakes, one that searches for nothing"),
        (file("tree_hist", {"min_batch": 5}), "found 0.5 with min_batch = 5; allowed: a min_batch of"),
    ],
)  # fmt: skip
def test_what_cannot_be_served_is_said_in_one_line(changed: dict[str, Any], line: str) -> None:
    with pytest.raises(ConfigError) as refused:
        plan(build(changed))
    assert any(line in said for said in str(refused.value).split("\n"))


def test_searches_for_items_are_refused() -> None:
    items = {"measure": "items", "find": "items", "items": 1000, "every": "1m"}
    with pytest.raises(ConfigError) as refused:
        plan(build({**file(), "streams": {"q": items}}))
    assert "streams.q.method: found svim; allowed: with privacy.mixed, one that searches for nothing" in str(
        refused.value
    )


def test_who_is_asked_is_decided_by_the_method_alone_and_cannot_change() -> None:
    old, new = build(file("tree_hist")), build(file("tree_hist_all"))
    assert {change.effect for change in compare(old, new)} == {"refused"}
    assert {one.effect for one in compare(new, build(file(privacy={"min_batch": 2000})))} == {"revision"}


def test_check_says_both_promises() -> None:
    said = " ".join(" ".join(explain(planned()).lines()).split())
    assert "Everybody but the mixing zone learns at most epsilon 0.5 about one user in a window" in said
    assert "method tree_hist_all, mechanism olh" in said
    assert "a round asks all users" in said
