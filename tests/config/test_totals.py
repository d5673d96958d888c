# SPDX-License-Identifier: Apache-2.0
"""The table of a total: what it takes, what it refuses, and which table reads which model."""

from __future__ import annotations

from typing import Any

from murmurate.aggregators.measures.registry import KINDS
from murmurate.aggregators.measures.total import Total
from murmurate.config.changes import compare
from murmurate.config.explain import explain
from murmurate.config.loader import build
from murmurate.config.measures.central import CentralTotalStream
from murmurate.config.measures.total import TotalStream
from murmurate.config.schema import schema
from tests.cases import every
from tests.config.deployments import lines, planned, small

SPENT: dict[str, Any] = {"measure": "total", "range": [0, 250], "unit": "EUR", "every": "1m"}
ALWAYS = {"carry": "always"}


def spent(**changes: Any) -> dict[str, Any]:
    return {"streams__spent": SPENT | changes}


def test_a_total_is_asked_as_a_mean_is_and_says_that_it_is_per_user() -> None:
    made = planned(screen__share=0.5, **spent(share=0.5, clip="found", method="lba"))
    stream = made.stream("spent")
    assert isinstance(stream.measure, Total)
    assert (stream.names, stream.range, stream.unit) == (("total", "present"), (0, 250), "EUR")
    assert stream.method.finds_clip
    said = " ".join(explain(made).lines())
    assert "total of numbers from 0 to 250 EUR, per user of the population" in " ".join(said.split())
    assert "finds its clipping threshold first" in " ".join(said.split())


@every(
    ("changes", "line"),
    [
        ({"model": "shuffled"}, "model: found 'shuffled'; allowed: local, central"),
        ({"model": 3}, "model: found 3; allowed: local, central"),
        ({"model": ["local"]}, "model: found a list of 1; allowed: local, central"),
        ({"mechanism": "hm"}, "mechanism: found 'hm'; allowed: auto, value_presence, where users may have no value"),
        ({"mechanism": "value_presence", "missing": ALWAYS},
         'mechanism: found \'value_presence\'; allowed: auto, hm, pm, sr, with missing = { carry = "always" }'),
        ({"clip": "never"}, "clip: found 'never'; allowed: declared, found"),
        ({"initial": 3}, 'initial: found 3.0; allowed: only with missing = { carry = "always" }'),
        ({"initial": 300, "missing": ALWAYS}, "initial: found 300.0; allowed: from 0 to 250, the range"),
        ({"thresholds": {"mean": 3}}, "thresholds: found 'mean'; allowed: statistics of the stream: total, present"),
        ({"thresholds": {"total": 250}}, "thresholds.total: found 250.0; allowed: between 0 and 250"),
        ({"method": {"name": "lpa", "variance": "paper"}},
         'method.variance: found \'paper\'; allowed: sampling, for measure = "total"'),
    ],
)  # fmt: skip
def test_each_mistake_is_a_line_of_key_found_and_allowed(changes: dict[str, Any], line: str) -> None:
    assert lines(**spent(share=0.5, **changes), screen__share=0.5) == [f"t: streams.spent.{line}"]


def test_of_other_measures_the_model_is_no_key_and_what_is_no_name_is_no_measure() -> None:
    (line,) = lines(screen__model="local")
    assert line.startswith("t: streams.screen.model: found an unknown key; allowed: every, share")
    (line,) = lines(screen__measure=["total"])
    assert line.startswith("t: streams.screen.measure: found a list of 1; allowed: frequency, mean, total")
    assert lines(releases__queries="perhaps") == ["t: releases.queries: found 'perhaps'; allowed: true or false"]
    assert lines(releases__query=True) == [
        "t: releases.query: found an unknown key; allowed: queries, latest; did you mean releases.queries?"
    ]


def test_numbers_away_from_0_have_totals_down_to_nothing_where_users_may_have_none() -> None:
    level = {"thresholds": {"total": 5.0}, "share": 0.5}
    assert lines(screen__share=0.5, **spent(range=[10, 20], **level)) == []
    (line,) = lines(screen__share=0.5, **spent(range=[10, 20], missing=ALWAYS, **level))
    assert line == "t: streams.spent.thresholds.total: found 5.0; allowed: between 10 and 20"


def test_releases_state_a_model_where_the_file_states_it_or_wants_queries_and_mean_the_same() -> None:
    both = {"screen__share": 0.5, **spent(share=0.5)}
    plain, written = planned(**both), planned(screen__share=0.5, **spent(share=0.5, model="local"))
    queried = planned(releases__queries=True, **both)
    said = [{one.name: one.stated_model for one in made.streams} for made in (plain, written, queried)]
    assert said == [
        {"screen": None, "spent": None}, {"screen": None, "spent": "local"}, {"screen": "local", "spent": "local"}
    ]  # fmt: skip
    assert len({tuple(one.config for one in made.streams) for made in (plain, written, queried)}) == 1
    changes = compare(build(small()), build(small(releases__queries=True)))
    assert [(one.key, one.old, one.new, one.effect) for one in changes] == [
        ("releases.queries", "false", "true", "free")
    ]


def test_a_table_is_chosen_by_measure_and_model() -> None:
    assert KINDS["total"] is Total
    for model, table in ((None, TotalStream), ("local", TotalStream), ("central", CentralTotalStream)):
        said = spent(share=0.5, **({"model": model} if model else {}))
        made = build(small(screen__share=0.5, curator={"epsilon": 1.0}, **said))
        assert type(made.streams["spent"]) is table
        assert made.streams["spent"].stated_model == model
    assert {"TotalStream", "CentralTotalStream"} <= schema()["$defs"].keys()
