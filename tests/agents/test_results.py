# SPDX-License-Identifier: Apache-2.0
"""Results that are no declared names, found ones and tables: from a decision to the record, its readers and a page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from murmurate.agents.cli import watch
from murmurate.agents.observe.metrics import Metrics
from murmurate.agents.stages.release import Came, release
from murmurate.aggregators.methods.last_estimate import packed, unpacked
from murmurate.aggregators.methods.method import Decision, FoundValues, TableEstimates, Vector
from murmurate.config import samples
from murmurate.config.loader import load
from murmurate.config.plan import Plan
from murmurate.config.planning import plan as planned
from murmurate.randomizers import GRR
from murmurate.topics.codec import decode, encode
from murmurate.topics.errors import MessageError
from murmurate.topics.release import Release
from murmurate.topics.release_parts import Named
from murmurate.topics.release_parts import Tables as Told
from tests.agents.commands import murmurate
from tests.toy import CommonStream, PairsStream, registered

FILE = """
schema = 1
name = "shop"

[privacy]
epsilon = 2.0
window = "5m"
min_batch = 20

[streams.screen]
measure = "{measure}"
values = {values}
every = "1m"
method = {{ name = "lpu", revise = {revise} }}
"""
COMMON = FILE.format(measure="common", values=[f"page {k}" for k in range(12)], revise=2)
PAIRS = FILE.format(measure="pairs", values=["home/ios", "home/web", "help/ios", "help/web"], revise=0)
CELLS = ("screen=home | os=ios", "screen=home | os=web", "screen=help | os=ios", "screen=help | os=web")
ASKED = GRR(d=5, epsilon=1)


@pytest.fixture(autouse=True, scope="module")
def known() -> Iterator[None]:
    with registered(CommonStream), registered(PairsStream):
        yield


def plan_of(folder: Path, text: str) -> Plan:
    (folder / "murmurate.toml").write_text(text)
    return planned(load(folder / "murmurate.toml", {}))


def replayed(folder: Path, text: str) -> tuple[Plan, list[Release]]:
    plan = plan_of(folder, text)
    (folder / "events.jsonl").write_bytes(b"".join(samples.events(plan)))
    done = murmurate("replay", "events.jsonl", "--out", "out", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = [decode(line) for line in (folder / "out" / "releases.jsonl").read_bytes().splitlines()]
    return plan, [one for one in found if isinstance(one, Release)]


@pytest.fixture(scope="module", name="common")
def replay_of_common(tmp_path_factory: pytest.TempPathFactory) -> tuple[Plan, list[Release], Path]:
    folder = tmp_path_factory.mktemp("common")
    return *replayed(folder, COMMON), folder / "out"


def made(plan: Plan, outcome: FoundValues | TableEstimates | Vector) -> Release:
    decision = unpacked(packed(Decision(100, True, 100, ASKED, outcome)))  # as a state keeps it
    return release(plan, plan.streams[0], decision, Came(32, [], "nothing was counted"))


def summary(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads((out / "summary.json").read_bytes())
    return found


def test_names_that_are_found_differ_from_period_to_period_and_are_scored_against_all_that_is_true(
    common: tuple[Plan, list[Release], Path],
) -> None:
    plan, records, out = common
    assert {one.names for one in records} == {"found"}
    assert len({tuple(one.estimate) for one in records}) > 1
    result = records[-1].result
    assert isinstance(result, Named)
    assert result.found
    revised = [one for one in records if one.revision == 2]
    assert revised
    assert all(one.estimate.keys() == one.unbiased.keys() for one in revised)
    truth = [orjson.loads(line) for line in (out / "truth.jsonl").read_bytes().splitlines()]
    assert {len(one["truth"]) for one in truth} == {12}
    assert 0 < summary(out)["estimate_mse"] < 0.02
    newest = next(one for one in reversed(records) if one.known)  # in some periods nothing is found
    largest = max(newest.known, key=lambda name: newest.known[name])
    assert f"{largest} " in watch.line(newest, plan.streams[0], 20)


def test_a_period_in_which_nothing_was_found_says_so(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, COMMON)
    none = made(plan, FoundValues(np.zeros(0, np.uint32), np.zeros(0), np.zeros(0)))
    assert decode(encode(none)) == none
    assert orjson.loads(encode(none))["estimate"] == {}
    assert "published    nothing found" in watch.line(none, plan.streams[0], 20)
    some = made(plan, FoundValues(np.array([7, 2], np.uint32), np.array([0.4, 0.1]), np.array([0.02, 0.02])))
    assert some.known == {"page 7": (0.4, 0.02), "page 2": (0.1, 0.02)}
    declared = orjson.loads(encode(none))
    del declared["names"]
    with pytest.raises(MessageError, match="found no names; allowed: at least one, unless names are found"):
        decode(orjson.dumps(declared))


def test_a_table_has_a_figure_for_every_combination_by_name_and_by_values(tmp_path: Path) -> None:
    plan, records = replayed(tmp_path, PAIRS)
    record = records[-1]
    assert set(record.estimate) == set(CELLS) == set(plan.streams[0].names)
    (table,) = orjson.loads(encode(record))["tables"]
    assert table == {"of": ["screen", "os"], "values": [["home", "help"], ["ios", "web"]]}
    told = record.result
    assert isinstance(told, Told)
    assert told.estimate[0]["help", "web"] == record.estimate["screen=help | os=web"]
    assert summary(tmp_path / "out")["estimate_mse"] is not None
    assert any(f"{cell} " in watch.line(record, plan.streams[0], 20) for cell in CELLS)
    cells = np.array([[0.4, 0.1], [0.2, 0.05]])
    direct = made(plan, TableEstimates((cells,), (np.full((2, 2), 0.01),)))
    assert [direct.estimate[name] for name in CELLS] == [0.4, 0.1, 0.2, 0.05]


def test_a_table_whose_cells_are_not_the_names_is_refused(tmp_path: Path) -> None:
    table = orjson.loads(encode(made(plan_of(tmp_path, PAIRS), TableEstimates((np.eye(2),), (np.eye(2),)))))
    for wrong in (
        [{"of": ["screen"], "values": [["home", "help"]]}],
        [{"of": ["screen", "os"], "values": [["home", "help"]]}],
        [{"of": ["screen", "os"], "values": [["home", "help"], []]}],
        table["tables"] * 2,
    ):
        with pytest.raises(MessageError, match=r"found .*; allowed: "):
            decode(orjson.dumps(table | {"tables": wrong}))


def test_the_page_is_told_that_names_are_found_and_metrics_have_none_of_them(
    common: tuple[Plan, list[Release], Path],
) -> None:
    plan, records, out = common
    page = (out / "report.html").read_text()
    assert '"names":[]' in page
    assert '"names":"found"' in page
    metrics = Metrics(plan, ("analysis",), now_ms=lambda: 0)
    metrics.newest["screen"] = orjson.loads(encode(records[-1])), 0
    assert not [one for one in metrics.public.collect() if one.name == "murmurate_release_estimate"]


def test_a_measure_says_which_releases_are_its_own(tmp_path: Path) -> None:
    common, pairs = (plan_of(tmp_path, text).streams[0].measure for text in (COMMON, PAIRS))
    assert common.fits([])
    assert common.fits(["page 1"])
    assert pairs.fits(reversed(CELLS))
    assert not pairs.fits(CELLS[:3])
    assert replace(pairs, says_none=False).names == CELLS
