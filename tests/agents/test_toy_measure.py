# SPDX-License-Identifier: Apache-2.0
"""A measure that is defined outside the package works wherever a measure does: from the file to the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from murmurate.agents.cli import watch
from murmurate.agents.simulate import prediction
from murmurate.agents.web.report import report_html
from murmurate.aggregators.methods.registry import METHODS
from murmurate.config import samples
from murmurate.config.errors import ConfigError
from murmurate.config.loader import build, load
from murmurate.config.plan import Plan
from murmurate.config.planning import plan as planned
from murmurate.config.schema import schema
from murmurate.topics.codec import decode
from murmurate.topics.release import Release
from tests.agents.commands import murmurate
from tests.toy import registered

FILE = """
schema = 1
name = "shop"

[privacy]
epsilon = 2.0
window = "5m"
min_batch = 20

[streams.mood]
measure = "lead"
values = ["up", "down"]
every = "1m"
method = { name = "lpa", revise = 2 }
thresholds = { lead = 0.25 }
"""


@pytest.fixture(autouse=True, scope="module")
def known() -> Iterator[None]:
    with registered():
        yield


@pytest.fixture(name="folder", scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("toy")
    (folder / "murmurate.toml").write_text(FILE)
    (folder / "events.sample.jsonl").write_bytes(b"".join(samples.events(plan_of(folder))))
    return folder


@pytest.fixture(scope="module")
def records(folder: Path) -> list[dict[str, Any]]:
    done = murmurate("replay", "events.sample.jsonl", "--out", "out", cwd=folder)
    assert done.returncode == 0, done.stderr
    return lines(folder / "out" / "releases.jsonl")


def plan_of(folder: Path) -> Plan:
    return planned(load(folder / "murmurate.toml", {}))


def test_check_says_it_in_words_and_names_what_is_wrong_with_its_table(folder: Path) -> None:
    done = murmurate("check", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert "mood  lead of up over down, a release every 1m" in done.stdout
    assert "revised 2 periods later" in " ".join(done.stdout.split())
    table = {"measure": "lead", "values": ["up", "down"], "every": "1m"}
    for change, line in (
        ({"thresholds": {"lead": 1.5}}, "streams.mood.thresholds.lead: found 1.5; allowed: between -1 and 1"),
        ({"thresholds": {"up": 0.5}}, "streams.mood.thresholds: found 'up'; allowed: statistics of the stream: lead"),
        ({"values": ["up"]}, "streams.mood.values: found a list of 1; allowed: a list of 2"),
        ({"cells": 3}, "streams.mood.cells: found an unknown key; allowed: every, "),
        ({"mechanism": "hm"}, "streams.mood.mechanism: found 'hm'; allowed: auto, blh, "),
    ):
        with pytest.raises(ConfigError) as caught:
            build({
                "schema": 1, "name": "shop", "privacy": {"epsilon": 1, "window": "5m"},
                "streams": {"mood": table | change},
            })  # fmt: skip
        assert line in str(caught.value)


def test_the_schema_of_the_file_has_its_table() -> None:
    assert "lead" in orjson.dumps(schema()["$defs"]["LeadStream"]).decode()


def test_plan_predicts_its_errors_and_takes_a_method(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prediction, "FEWEST_PERIODS", 24)
    monkeypatch.setattr(prediction, "METHODS", {name: METHODS[name] for name in ("lpu", "lpa")})
    done = murmurate("plan", "mood", "--users", "5000", "--within", "1", "--processes", "1", "--json", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    (stream,) = orjson.loads(done.stdout)["streams"]
    assert stream["recommended"] is not None
    lpu = next(one for one in stream["prospects"] if one["method"] == "lpu")
    oracles = {one["mechanism"]: one["series"] for one in lpu["mechanisms"]}
    assert {"grr", "oue"} <= oracles.keys()
    assert all(0 < error < 1 for error in oracles.values())


def test_a_replay_releases_scores_and_revises_it_and_says_where_its_threshold_is(
    folder: Path, records: list[dict[str, Any]]
) -> None:
    first = [record for record in records if record["revision"] == 1]
    again = [record for record in records if record["revision"] == 2]
    assert {record["measure"] for record in records} == {"lead"}
    assert all(list(record["estimate"]) == ["lead"] for record in records)
    assert len(again) >= len(first) - 4
    truth = {one["t"]: one["truth"]["lead"] for one in lines(folder / "out" / "truth.jsonl")}
    known = [record for record in first if record["estimate"]["lead"] is not None]
    off = [record["estimate"]["lead"] - truth[record["t"]] for record in known]
    assert sum(map(abs, off)) / len(off) < 0.15
    assert {record["thresholds"]["lead"]["side"] for record in known} <= {"above", "below"}
    summary = orjson.loads((folder / "out" / "summary.json").read_bytes())
    assert summary["estimate_mse"] == pytest.approx(sum(one * one for one in off) / len(off), rel=1e-4)


def test_watch_and_the_page_show_it(folder: Path, records: list[dict[str, Any]]) -> None:
    (stream,) = plan_of(folder).streams
    assert watch.heading(stream) == "mood: lead of up over down; the estimate and its standard error"
    record = next(one for one in records if one["decision"] != "unmeasured")
    release = decode(orjson.dumps(record))
    assert isinstance(release, Release)
    line = watch.line(release, stream, 20)
    assert f"lead {record['estimate']['lead']:.4f}"[:9] in line
    assert "> 0.25 (" in line or "< 0.25 (" in line
    page = (folder / "out" / "report.html").read_text()
    assert '"of":"up over down"' in page
    assert '"numbers":["lead"]' in page
    assert page.startswith(report_html([])[:15])


def lines(path: Path) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]
