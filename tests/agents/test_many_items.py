# SPDX-License-Identifier: Apache-2.0
"""A stream of more items than a release has figures: from events through every stage to releases, files and lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from murmurate.agents.cli import watch
from murmurate.config import samples
from murmurate.config.explain import explain
from murmurate.config.loader import load
from murmurate.config.plan import Plan
from murmurate.config.planning import plan as planned
from murmurate.topics.codec import decode
from murmurate.topics.release import Release
from tests.agents.commands import murmurate
from tests.cases import every
from tests.config.deployments import planned as planned_table

FILE = """
schema = 1
name = "shop"

[privacy]
epsilon = 4.0
window = "3m"
min_batch = 20

[streams.taste]
measure = "vector"
items = 1500
most = 4
top = 8
named = [0, 1400]
every = "1m"
mechanism = "exsub"
thresholds = { "0" = 0.1 }
"""
MINUTES = 12
Run = tuple[Plan, list[Release], Path]


@pytest.fixture(scope="module", name="run")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("many")
    (folder / "murmurate.toml").write_text(FILE)
    plan = planned(load(folder / "murmurate.toml", {}))
    end = f"2026-11-18T09:{MINUTES}"
    events = (line for line in samples.events(plan) if orjson.loads(line)["time"] < end)
    (folder / "events.jsonl").write_bytes(b"".join(events))
    done = murmurate("replay", "events.jsonl", "--repeatable", "--out", "out", "--whole", "whole", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = [decode(line) for line in (folder / "out" / "releases.jsonl").read_bytes().splitlines()]
    return plan, [one for one in found if isinstance(one, Release)], folder


def test_each_release_lists_the_named_items_and_the_largest_others(run: Run) -> None:
    _, releases, _ = run
    first, *others = releases
    assert (first.decision, first.selection, dict(first.estimate)) == ("unmeasured", None, {})
    assert len(others) >= MINUTES - 2
    for one in others:
        assert one.selection is not None
        items = (*one.selection.named, *one.selection.found)
        assert one.selection.named == ("0", "1400")
        assert len(set(items)) == 10
        assert one.estimate.keys() == {item + end for item in items for end in ("", " present", " mean of holders")}
        assert one.thresholds is not None
        assert one.thresholds.keys() == {"0"}
    assert len({one.selection.found for one in others if one.selection}) > 1


def test_the_truth_of_what_is_listed_is_scored_and_nothing_else_is_kept(run: Run) -> None:
    _, releases, folder = run
    truth = [orjson.loads(line)["truth"] for line in (folder / "out" / "truth.jsonl").read_bytes().splitlines()]
    assert [one.keys() for one in truth] == [one.estimate.keys() for one in releases]
    summary: dict[str, Any] = orjson.loads((folder / "out" / "summary.json").read_bytes())
    assert summary["coverage"] > 0.7
    assert 0 < summary["estimate_mse"] < 0.05


def test_the_whole_vector_of_each_round_is_a_file_for_readers(run: Run) -> None:
    plan, releases, folder = run
    for one in releases[1:]:
        whole = np.load(folder / "whole" / "taste" / f"{one.t}-publication.npz")
        assert len(whole["names"]) == len(whole["estimate"]) == len(whole["stderr"]) == 3000
        assert tuple(whole["names"]) == plan.stream("taste").measure.whole_names
        said = dict(zip(whole["names"].tolist(), whole["estimate"].tolist(), strict=True))
        assert all(value == pytest.approx(said[n], abs=1e-6) for n, value in one.unbiased.items() if n in said)


def test_a_line_of_watch_shows_what_is_monitored_and_the_largest_movers(run: Run) -> None:
    plan, releases, _ = run
    newest = releases[-1]
    assert newest.selection is not None
    monitored = watch.line(newest, plan.streams[0], 20)
    assert len(monitored) <= 80
    assert "  0 " in monitored
    assert "0.1 (" in monitored
    line = watch.line(newest.model_copy(update={"thresholds": None}), plan.streams[0], 20)
    assert f" {newest.selection.found[0]} " in line


def test_plan_says_that_it_does_not_simulate_such_a_stream(run: Run) -> None:
    done = murmurate("plan", "--users", "1000", cwd=run[2])
    assert done.returncode == 2
    assert "found taste, whose releases list few of very many items; allowed: one with every item" in done.stderr


@every("items", [{"measure": "vector", "mechanism": "exsub"}, {"measure": "items", "mechanism": "olh", "top": 5}])
def test_check_says_what_is_listed_what_chance_reaches_and_how_large_tallies_are(items: dict[str, Any]) -> None:
    table = {"items": 65_536, "named": ["3"], "every": "1m", **items}
    text = " ".join(" ".join(explain(planned_table(streams={"it": table})).lines()).split())
    listed = "the 20 largest of 65 536 by mean" if "top" not in items else "the 5 largest of 65 536 by share of holders"
    assert f"releases list 1 named item and {listed}" in text
    assert "in a round of 10 000 reports chance alone reaches 0." in text or "all that is possible" in text
    assert "the filter follows 257 items closely" in text
    assert "a tally has 131 072 counts, 1.0 MB in 3 blocks" in text or "a tally has 65 5" in text
