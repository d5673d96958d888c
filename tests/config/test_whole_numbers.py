# SPDX-License-Identifier: Apache-2.0
"""Means of whole numbers, forms and portions of horizons in a file: what they are, what is refused, and digests."""

from __future__ import annotations

from typing import Any

import numpy as np

from murmurate.aggregators.measures.mean import Mean
from murmurate.aggregators.methods.registry import method
from murmurate.config import samples
from murmurate.config.explain import explain
from murmurate.config.plan import StreamPlan
from murmurate.config.planning import resolve
from murmurate.config.schema import schema
from murmurate.topics.events import EventReader
from tests.cases import every
from tests.config.deployments import lines, planned

STARS: dict[str, Any] = {
    "measure": "mean", "range": [1, 5], "step": 1, "every": "1m", "missing": {"carry": "always"},
    "method": {"name": "sao2", "horizon": "1h", "changes": 6},
}  # fmt: skip
TOLD = STARS["method"]


def stars(**changes: Any) -> StreamPlan:
    table = {key: value for key, value in (STARS | changes).items() if value is not None}
    return planned(streams__screen=table).stream("screen")


@every(("step", "cells"), [(1, 5), (0.1, 41), (4, 2), ("2", 3)])
def test_a_step_makes_the_points_of_a_mean(step: Any, cells: int) -> None:
    of = stars(step=step, method="lpu").measure
    assert isinstance(of, Mean)
    assert (of.domain.cells, of.range, of.tried().d) == (cells, (1, 5), min(33, cells))
    assert of.domain.value(of.domain.code(2.9)) == min((1 + (k * 4) / (cells - 1) for k in range(cells)),
                                                       key=lambda near: abs(near - 2.9))  # fmt: skip
    assert of.domain.code(9.0) == cells - 1


def test_files_without_the_keys_and_those_that_write_out_a_default_keep_their_digests() -> None:
    plain = {"measure": "mean", "range": [1, 5], "every": "1m"}
    assert planned(streams__screen=plain).stream("screen").config == "4a4d72b1ad89ef81"
    for name, portions, digest in (("sao2", "best", "6bc36cec144e83d3"), ("efmrtt", "uniform", "b2ec9805280e928a")):
        told = {"name": name, "horizon": "1h"}
        for more in ({}, {"portions": portions}, {"form": "paper"} if name == "sao2" else {}):
            assert planned(screen__method=told | more).stream("screen").config == digest
    assert stars(method="lpu").config != stars(method="lpu", step=None).config


def test_each_form_and_rule_is_another_question_with_a_digest_of_its_own() -> None:
    ways = [{}, *({"form": form} for form in ("majority", "best")),
            *({"portions": rule, "for": "ranges"} for rule in ("best", "uniform", "simple", "calibrated"))]  # fmt: skip
    asked = []
    for more in ways:
        made = planned(streams__screen=STARS | {"method": TOLD | more})
        asked.append((made.stream("screen").config, resolve(made, "screen").digest))
    assert len({digest for digest, _ in asked}) == len(ways)
    assert len({question for _, question in asked}) == len(ways)


def test_a_mean_of_whole_numbers_is_said_in_words_and_known_to_the_schema() -> None:
    made = planned(streams__screen=STARS | {"method": TOLD | {"form": "best", "portions": "uniform"}})
    said = " ".join(" ".join(explain(made).lines()).split())
    assert "mean of numbers from 1 to 5, read in steps of 1, a release every 1m" in said
    assert "with as many users for each level, in the form with less error at each level" in said
    assert {"step", "range"} <= set(schema()["$defs"]["MeanStream"]["properties"])
    assert {"form", "portions"} <= set(schema()["$defs"]["MethodTable"]["properties"])


def test_a_sample_of_it_has_a_change_of_one_step_a_user() -> None:
    made = planned(streams__screen=STARS)
    (stream,) = made.streams
    found = EventReader({"screen": stream.domain}, stream.fields).read(list(samples.events(made))[:2_000])
    assert found.refusals == ()
    assert set(found.words_of(np.ones(len(found.users), np.bool_), 1).tolist()) == {0, 1}
    assert method(stream.method, stream.setting(made, 0)).open(0)


SAO2 = "with method = sao2"


@every(
    ("changes", "line"),
    [
        ({"step": 0.7}, "step: found 0.7; allowed: a number that the length of the range, 4, holds whole times"),
        ({"step": 0}, "step: found 0.0; allowed: a number from 6.10352e-05 to 4, for this range"),
        ({"step": -1}, "step: found -1.0; allowed: a number from 6.10352e-05 to 4, for this range"),
        ({"step": 5}, "step: found 5.0; allowed: a number from 6.10352e-05 to 4, for this range"),
        ({"step": "one"}, "step: found 'one'; allowed: a number"),
        ({"step": 0.00001}, "step: found 1e-05; allowed: a number from 6.10352e-05 to 4, for this range"),
        ({"initial": 2.5}, "initial: found 2.5; allowed: 1 and whole steps of 1 above it"),
        ({"step": None}, f"step: found nothing; allowed: a step such as 1 for whole numbers, {SAO2}: a change of a "
         "step is told"),
        ({"range": [0, 5000]}, f"step: found 1, 5000 steps in the range; allowed: at most 4096 steps, {SAO2} and 60 "
         "periods in a horizon"),
        ({"range": [0, 3000], "method": TOLD | {"horizon": "8h"}}, "step: found 1, 3000 steps in the range; allowed: "
         f"at most 2184 steps, {SAO2} and 480 periods in a horizon"),
        ({"clip": "found"}, f"clip: found 'found'; allowed: declared, {SAO2}"),
        ({"missing": "none"}, f'missing: found users who may have no value; allowed: {{ carry = "always" }}, {SAO2}'),
        ({"measure": "total", "step": None}, "method: found 'sao2'; allowed: one without horizons, for measure = "
         '"total"'),
        ({"method": TOLD | {"form": "larger"}}, "method.form: found 'larger'; allowed: paper, majority, best"),
        ({"method": TOLD | {"portions": "even"}}, "method.portions: found 'even'; allowed: best, uniform, simple, "
         "calibrated"),
        ({"method": TOLD | {"name": "ddrm", "form": "best"}}, "method.form: found 'best'; allowed: only with sao2, "
         "direct"),
        ({"method": {"name": "lpu", "portions": "best"}}, "method.portions: found 'best'; allowed: only with sao2, "
         "efmrtt, ddrm, future_rand, future_rand_printed, direct"),
    ],
)  # fmt: skip
def test_each_mistake_is_a_line_of_key_found_and_allowed(changes: dict[str, Any], line: str) -> None:
    table = {key: value for key, value in (STARS | changes).items() if value is not None}
    assert lines(streams__screen=table) == [f"t: streams.screen.{line}"]
