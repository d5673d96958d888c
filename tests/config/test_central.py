# SPDX-License-Identifier: Apache-2.0
"""Central streams in a deployment file: what is refused and how, what `check` promises, what may change."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest

from murmurate.aggregators.trees.variance import exact_range_variance, leaf_variance
from murmurate.config.agreement import refused, successor, values
from murmurate.config.central_noise import STARTS, node_deviation, period_deviation, slope, stretch_deviation
from murmurate.config.central_outlook import STRETCHES, central_outlook
from murmurate.config.changes import compare, compare_agreement, compare_digests, compare_facts
from murmurate.config.errors import ConfigError
from murmurate.config.explain import explain
from murmurate.config.loader import build
from murmurate.config.plan import CentralPlan, Plan
from murmurate.config.planning import plan
from murmurate.randomizers.trees import Tree

TILL: dict[str, Any] = {
    "name": "till",
    "privacy": {"epsilon": 1.0, "window": "1d"},
    "curator": {"epsilon": 1.0},
    "streams": {
        "revenue": {
            "model": "central", "measure": "total", "range": [0, 500], "step": 0.01, "unit": "EUR", "every": "10s",
            "tree": {"fanout": 4, "levels": 4},
        },
    },
}  # fmt: skip
LOCAL = {"measure": "frequency", "values": ["web", "app"], "every": "1m"}


def till(**changes: Any) -> dict[str, Any]:
    """TILL with dotted keys changed, `__` for the dot; `revenue__every` is the stream's; None removes a key."""
    values = copy.deepcopy(TILL)
    for key, value in changes.items():
        *path, last = key.replace("revenue__", "streams__revenue__").split("__")
        table = values
        for step in path:
            table = table.setdefault(step, {})
        table[last] = value
        if value is None:
            del table[last]
    return values


def made(**changes: Any) -> Plan:
    return plan(build(till(**changes)))


def revenue(**changes: Any) -> CentralPlan:
    return made(**changes).central[0]


def lines(**changes: Any) -> list[str]:
    with pytest.raises(ConfigError) as refused:
        plan(build(till(**changes), where="t"))
    return str(refused.value).splitlines()


def count(**more: Any) -> dict[str, Any]:
    return {"model": "central", "measure": "count", "every": "1m", **more}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"revenue__range": [500, 0]}, "t: streams.revenue.range: found [500, 0]; allowed: two numbers, the lower"),
        ({"revenue__step": 0.03}, "t: streams.revenue.range: found 500; allowed: multiples of the step, 0.03"),
        ({"revenue__step": 0.0}, "t: streams.revenue.step: found 0.0; allowed: a number from "),
        ({"revenue__range": [10, 500]}, "t: streams.revenue.threshold: found 'found'; allowed: a number, since"),
        ({"revenue__threshold": 900}, "t: streams.revenue.threshold: found 900.0; allowed: above 0, up to 500"),
        ({"revenue__tree": {"fanout": 16, "levels": 6}}, "t: streams.revenue: found noise of total of about 3e+05"),
        ({"revenue__tree": {"fanout": 16, "levels": 8}}, "t: streams.revenue.tree: found fanout 16 and 8 levels"),
        ({"revenue__tree": {"fanout": 3}}, "t: streams.revenue.tree.fanout: found 3; allowed: a power of two"),
        ({"revenue__protects": {"user": 4}}, "t: curator.window: found nothing; allowed: a duration such as"),
        ({"revenue__protects": "users"}, 't: streams.revenue.protects: found \'users\'; allowed: "event", or'),
        ({"streams__orders": {"measure": "count", "every": "1m"}}, "t: streams.orders.model: found nothing; allowed"),
        ({"revenue__share": 1e-6, "curator__epsilon": 1e-6}, "t: streams.revenue: found a share of epsilon below one"),
        ({"curator": None}, "t: curator: found nothing; allowed: a table with epsilon, since revenue is central"),
    ],
)  # fmt: skip
def test_a_bad_central_stream_is_refused_with_one_line(changes: dict[str, Any], said: str) -> None:
    (line,) = lines(**changes)
    assert line.startswith(said)


def test_an_epsilon_whose_noise_no_tree_of_63_bits_holds_is_refused_and_a_smaller_tree_is_not() -> None:
    deep = {"fanout": 16, "levels": 5}
    (line,) = lines(revenue__tree=deep, curator__epsilon=0.01)
    assert "noise of total" in line
    assert "fewer levels" in line
    assert made(revenue__tree={"fanout": 16, "levels": 3}, curator__epsilon=0.01).central


def test_parts_of_streams_over_one_topic_and_of_streams_about_users_add_up_to_at_most_1() -> None:
    source = {"topic": "shop.sales"}
    both = {"streams__other": count(source=source, share=0.6), "revenue__source": source, "revenue__share": 0.5}
    (line,) = lines(**both)
    assert line == (
        "t: streams.*.share: found other 0.6, revenue 0.5; allowed: at most 1 together, since they sum the same events "
        "or users"
    )
    assert made(**{**both, "revenue__share": 0.4}).central
    users = {"curator__window": "1d", "revenue__protects": {"user": 4}, "streams__other": count(protects={"user": 1})}
    assert "at most 1 together" in lines(**users)[0]
    assert made(streams__other=count()).central[1].epsilon_micro == 1_000_000  # no event is of both


def test_a_name_is_of_one_stream_central_or_local() -> None:
    mixed = made(streams__screen=LOCAL)
    assert ([one.name for one in mixed.streams], [one.name for one in mixed.central]) == (["screen"], ["revenue"])
    (change,) = compare(build(till()), build(till(streams__revenue=LOCAL)))
    assert (change.key, change.old, change.new, change.effect) == (
        "streams.revenue.model",
        "central",
        "local",
        "refused",
    )


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"revenue__tree": {"fanout": 8, "levels": 4}}, "streams.revenue.tree.fanout"),
        ({"revenue__range": [0, 400]}, "streams.revenue.range"),
        ({"revenue__threshold": 100}, "streams.revenue.threshold"),
        ({"revenue__every": "20s"}, "streams.revenue.every"),
        ({"revenue__holdout": {"periods": 30}}, "streams.revenue.holdout.periods"),
        ({"curator__epsilon": 2.0}, "curator.epsilon"),
        ({"time__future": "1m"}, "time.future"),
    ],
)
def test_whatever_shapes_sums_or_noise_is_refused_while_a_deployment_runs(changes: dict[str, Any], key: str) -> None:
    (change,) = compare(build(till()), build(till(**changes)))
    assert (change.key, change.effect) == (key, "refused")
    assert "second noise" in change.why
    before, after = made(), made(**changes)
    (digest,) = compare_digests({"revenue": (before.central[0].config, 1)}, after)
    assert digest.effect == "refused"
    held, wanted = ({"central.revenue": one.central[0].config} for one in (before, after))
    (fact,) = compare_facts({**held}, {**wanted})
    assert (fact.key, fact.effect) == ("streams.revenue: config digest", "refused")


def test_lateness_and_future_are_refused_by_every_comparison_with_what_runs() -> None:
    agreed = successor(None, values(made(streams__screen=LOCAL), fed=False), {})
    for key in ("lateness", "future"):
        other = made(streams__screen=LOCAL, **{f"time__{key}": "1m"})
        assert other.streams == made(streams__screen=LOCAL).streams  # local ones do not mind
        assert other.central[0].config != made().central[0].config
        refusals = refused(agreed, values_of := successor(agreed, values(other, fed=False), {}))
        assert [one.key for one in refusals] == [
            {"lateness": "time.lateness_ms", "future": "streams.revenue.future_ms"}[key]
        ]
        assert values_of.number == 2
        effects = {one.key: one.effect for one in compare_agreement(agreed, other, {}, fed=False)}
        assert "refused" in effects.values()


def test_what_no_sum_depends_on_may_change() -> None:
    (change,) = compare(build(till()), build(till(revenue__thresholds={"total": 900})))
    assert change.effect == "free"
    (change,) = compare(build(till()), build(till(curator__window="1d")))  # which no stream uses
    assert (change.new, change.effect) == ("1d", "free")


def test_the_curators_promise_stands_in_a_paragraph_of_its_own() -> None:
    facts = explain(made(streams__screen=LOCAL))
    text = "\n".join(facts.lines())
    users, beside = text.split("What its curator promises, beside that and never added to it:")
    assert "central" not in users
    assert "revenue: the edge sums events exactly" in beside
    assert "Replacing" in beside
    assert "costs twice that" in " ".join(beside.split())
    assert "learns at most epsilon 1.0 about" in " ".join(beside.split())
    assert facts.document()["curator"] == facts.curator
    assert all(len(line) <= 80 for line in facts.lines())


def test_users_and_shared_topics_are_told_with_what_adds_up() -> None:
    source = {"topic": "shop.sales"}
    other = count(source=source, share=0.5, protects={"user": 4})
    both = {"revenue__source": source, "revenue__share": 0.25, "streams__other": other, "curator__window": "1h"}
    shared = explain(made(**both))
    said = " ".join(shared.curator)
    assert "other: of a user the first 4 events of any 1h count" in said
    assert "other 0.5 + revenue 0.25 = epsilon 0.75" in said


def test_a_deployment_of_central_streams_alone_promises_users_nothing() -> None:
    (sentence,) = explain(made(), users=10).promise
    assert "No stream asks users" in sentence
    assert explain(made(), users=10).warnings == ()


def test_check_tells_the_noise_the_hold_out_and_the_length_of_a_tree() -> None:
    (facts,) = explain(made()).central
    text = " ".join(facts.lines())
    assert "the first 60 periods (10m) find the threshold" in text
    assert "64 leaves and lasts 640s" in text
    assert facts.noise["total"] == pytest.approx(math.sqrt(2 * leaf_variance(Tree(4, 4))) * 4 * 500, rel=1e-3)
    assert "noise of a period: 5.03 times the threshold" in text
    declared = " ".join(explain(made(revenue__threshold=100)).central[0].lines())
    assert "numbers above 100 count as 100" in declared
    assert "503 EUR (standard error)" in declared


def test_a_threshold_does_not_depend_on_how_finely_numbers_are_rounded() -> None:
    coarse, fine = revenue(revenue__step=0.1), revenue(revenue__step=0.01)
    costs = [slope(one) * one.measure.candidates[-1] for one in (coarse, fine)]
    assert costs[0] == pytest.approx(costs[1])


def test_outlooks_are_exact_where_they_can_be_counted_by_hand() -> None:
    stream = revenue(revenue__threshold=100)
    said = central_outlook(stream)
    assert said.named.errors[0] == pytest.approx(period_deviation(stream, "total"))
    of_one = node_deviation(stream, "total", 10_000) / 4
    plain = next(one for one in said.others if one.what == "one noisy number a leaf")
    assert plain.errors == tuple(of_one * math.sqrt(n) for n in STRETCHES)
    h2 = next(one for one in said.others if one.fanout == 2)
    assert h2.errors[0] == pytest.approx(7 * of_one)  # 64 leaves under 7 levels, and one node is a leaf
    assert said.named.errors[3] < plain.errors[3] < h2.errors[3]
    assert Tree(4, 4).leaves <= STARTS
    assert stretch_deviation(Tree(4, 4), 64) == pytest.approx(_over_all(Tree(4, 4), 64))


def _over_all(tree: Tree, length: int) -> float:
    found = [exact_range_variance(tree, low, low + length) for low in range(tree.leaves)]
    return math.sqrt(sum(found) / len(found))
