# SPDX-License-Identifier: Apache-2.0
"""A replay from Python: the same bytes as the verb's, with truth, score and a picture that needs no display."""

from __future__ import annotations

import xml.etree.ElementTree as Tree
from pathlib import Path
from typing import Any

import orjson
import pytest

import murmurate as mm
from murmurate.agents import known_secrets, zone_keys
from murmurate.agents.library.chart import NamedSeries, chart, words
from murmurate.agents.library.replayed import ReplayProgress
from murmurate.aggregators import QueryRefusedError
from murmurate.config import ConfigError, generate_secrets
from tests.agents.commands import murmurate
from tests.agents.library.made import CONFIG, SOURCE, replayed

FILE = """
name = "shop"
privacy = { epsilon = 2.0, window = { periods = 4 }, min_batch = 20 }
population = { partitions = 1, forget_after = "1h" }

[streams.screen]
measure = "frequency"
values = ["0", "1"]
every = "1m"
method = "lpa"
"""


def test_python_and_the_command_release_the_same_bytes_and_write_the_same_files(tmp_path: Path) -> None:
    (tmp_path / "murmurate.toml").write_text(FILE)
    source = "synthetic:sin,n=300,periods=6,seed=1"
    done = murmurate("replay", source, "--repeatable", "--out", tmp_path / "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for config in (tmp_path, str(tmp_path / "murmurate.toml")):
        result = mm.replay(source, config, repeatable=True)
        folder = result.save(tmp_path / "python")
        for name in ("releases.jsonl", "truth.jsonl"):
            assert (folder / name).read_bytes() == (tmp_path / "out" / name).read_bytes()
    assert {path.name for path in folder.iterdir()} == {path.name for path in (tmp_path / "out").iterdir()}
    said = orjson.loads((folder / "summary.json").read_bytes())
    assert said["mse"] == result.summary["mse"] == pytest.approx(result.score.mse, abs=1e-9)
    assert len(mm.table(folder)) == len(result.table())


def test_a_result_says_what_was_released_and_what_was_true() -> None:
    result = replayed()
    assert len(result) == len(result.releases) == len(result.records) == 12
    assert [one.t for one in result] == [one.t for one in result.truth]
    assert [orjson.loads(record)["estimate"] for record in result.records] == [dict(one.estimate) for one in result]
    assert result.score.streams[0].stream == "screen"
    assert "240" not in repr(result)
    assert repr(result).startswith("<ReplayResult of shop: 7200 events, 12 releases, root mean square error 0.0")
    table = result.to_arrow(truth=True)
    assert table.column_names[-1] == "truth"
    by_name = dict(zip(result.truth[3].names or (), result.truth[3].figures.tolist(), strict=True))
    assert table.to_pylist()[9]["truth"] == pytest.approx(by_name["0"], abs=1e-6)
    assert result.to_polars(newest_only=True).height == result.to_pandas().shape[0] == 36


def test_a_result_is_asked_as_releases_are() -> None:
    result = replayed()
    question = "share of screen.1 over all"
    assert mm.query(result, question).canonical() == mm.query(result.records, question).canonical()
    assert mm.query(list(result.releases), question).canonical() == mm.query(result.records, question).canonical()
    with pytest.raises(QueryRefusedError, match="allowed: screen"):
        mm.query(result, "share of scren.1 over all")


def test_keys_are_fresh_unless_known_ones_or_those_of_a_deployment_are_asked_for() -> None:
    plan = mm.load_plan(CONFIG)
    known = replayed().records
    secrets = known_secrets("shop")
    assert (
        mm.replay(SOURCE, plan, keys=secrets).records
        == mm.replay(SOURCE, plan, keys=zone_keys(secrets, "shop")).records
    )
    assert mm.replay(SOURCE, plan, keys=secrets).records == known
    assert mm.replay(SOURCE, plan).records != known
    assert mm.replay(SOURCE, plan, keys=generate_secrets()).records != known
    with pytest.raises(mm.UsageError, match="found repeatable and keys; allowed: one of them"):
        mm.replay(SOURCE, plan, keys=secrets, repeatable=True)
    with pytest.raises(mm.UsageError, match="keys: found no pepper; allowed: all of "):
        mm.replay(SOURCE, plan, keys={name: value for name, value in secrets.items() if name != "pepper"})


def test_progress_is_told_to_whoever_asks(capsys: pytest.CaptureFixture[str]) -> None:
    told = list[ReplayProgress]()
    mm.replay(SOURCE, CONFIG, repeatable=True, progress=told.append)
    assert told[-1].events == 7200
    assert told[-1].releases == 12
    assert capsys.readouterr() == ("", "")
    mm.replay(SOURCE, CONFIG, repeatable=True, progress=True)
    assert capsys.readouterr().err.endswith("7200 events, 12 releases\n")


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({**CONFIG, "name": 7}, "config: name: found"),
        (CONFIG | {"streams": {}}, "streams"),
        ("nowhere.toml", "nowhere.toml: found no such file"),
        (7, "config: found int; allowed: the path of a murmurate.toml"),
    ],
)
def test_a_config_that_cannot_be_used_says_why(config: Any, said: str) -> None:
    with pytest.raises(mm.UsageError) as raised:
        mm.replay(SOURCE, config)
    assert said in str(raised.value)
    assert isinstance(raised.value, ConfigError) or config == 7


def test_a_notebook_shows_estimate_band_and_truth_without_a_display_and_says_it_in_words() -> None:
    shown = replayed()._repr_html_()
    root = Tree.fromstring(shown)  # noqa: S314 - our own
    drawn = [tag for tag in root.iter() if tag.tag.endswith("svg")]
    assert len(drawn) == 3
    for one in drawn:
        kinds = {tag.tag.rpartition("}")[2] for tag in one.iter()}
        assert {"polygon", "polyline", "title", "text"} <= kinds
        assert one.get("role") == "img"
        assert "The truth lies within two standard errors in " in (one.get("aria-label") or "")
    assert not any(word in shown for word in ("<script", "href=", "src=", "http://127", "url("))
    assert len(shown) < 40_000


def test_a_report_is_written_where_it_is_wanted_or_refused_in_a_line(tmp_path: Path) -> None:
    assert replayed().report(tmp_path / "r.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    for call, place in ((replayed().report, tmp_path / "no" / "r.html"), (replayed().save, tmp_path / "r.html")):
        with pytest.raises(mm.UsageError) as raised:
            call(place)
        assert "\n" not in str(raised.value)


HOUR = 3_600_000


def series(estimate: list[float | None], truth: list[float | None] | None = None) -> NamedSeries:
    count = len(estimate)
    errors = [None if value is None else 0.1 for value in estimate]
    return NamedSeries("a <b>: c", [HOUR * i for i in range(count)], estimate, errors, truth or [None] * count)


def test_a_gap_in_what_is_known_is_a_gap_in_the_line() -> None:
    drawn = chart(series([0.5, None, 0.6, 0.7]))
    assert drawn.count("<polygon") == 2
    assert drawn.count("<polyline") == 2
    assert "a &lt;b&gt;: c" in drawn
    Tree.fromstring(drawn)  # noqa: S314 - our own


@pytest.mark.parametrize("values", [[], [None], [None] * 5, [0.5], [0.0, 0.0], [1e300, -1e300], [1e-9]])
def test_whatever_there_is_or_is_not_can_be_drawn(values: list[float | None]) -> None:
    drawn = chart(series(values, list(values)))
    Tree.fromstring(drawn)  # noqa: S314 - our own
    assert "nan" not in drawn
    assert "inf" not in drawn.replace("info", "")


def test_of_very_many_periods_some_are_drawn_and_that_is_said() -> None:
    drawn = chart(series([0.5] * 5000))
    assert "Every 17th period is drawn." in drawn
    assert len(drawn) < 20_000
    assert words(series([None, None])) == "a <b>: c: nothing is known in 2 periods."
