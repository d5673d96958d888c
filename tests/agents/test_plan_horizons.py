# SPDX-License-Identifier: Apache-2.0
"""`murmurate plan` on horizons of changes: beside other methods, with figures, and never recommended."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from murmurate.agents.simulate import prediction
from murmurate.aggregators.methods.registry import HORIZON_METHODS, METHODS
from tests.agents.commands import deploy, murmurate
from tests.cases import every

QUICK = ("--within", "1", "--processes", "1", "--users", "60000")


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Truths of 24 periods, three methods, and three runs."""
    monkeypatch.setattr(prediction, "FEWEST_PERIODS", 24)
    monkeypatch.setattr(prediction, "METHODS", {name: METHODS[name] for name in ("lpu", "lsp", "lpa")})


def of_horizons(folder: Path, name: str) -> Path:
    """The example's file with another method."""
    file = deploy(folder) / "murmurate.toml"
    file.write_text(
        file.read_text().replace('method = "lpu"', f'method = {{ name = "{name}", horizon = "12m", changes = 2 }}')
    )
    return folder


def test_a_stream_that_could_use_them_has_a_table_of_them_and_words_with_figures(tmp_path: Path) -> None:
    done = murmurate("plan", "screen", *QUICK, cwd=deploy(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert "horizons of changes" in done.stdout
    rows = [line for line in done.stdout.splitlines() if line.startswith("  sao2 ")]
    plain, best = ([row.split()[1] for row in rows if row.endswith("  best form") == best] for best in (False, True))
    assert plain == ["1", "2", "4", "8"]
    assert "2" in best  # of one change both forms are the same
    assert "1" not in best
    assert "It does not pay here: sao2's smallest error" in done.stdout
    assert "without the filter at 1 change from w =" in " ".join(done.stdout.split())
    assert max(map(len, done.stdout.splitlines())) <= 80


@every("name", ["sao2", "direct"], long=list(HORIZON_METHODS))
def test_a_file_of_horizons_is_planned_for_and_none_is_recommended(tmp_path: Path, name: str) -> None:
    done = murmurate("plan", "screen", *QUICK, "--json", cwd=of_horizons(tmp_path, name))
    assert (done.returncode, done.stderr) == (0, "")
    (stream,) = json.loads(done.stdout)["streams"]
    own, best, *others = stream["horizons"]["rows"]
    assert (own["method"], own["of_file"], own["periods"], own["changes"]) == (name, True, 12, 2)
    assert (best["method"], best["of_file"], best["changes"]) == ("sao2", False, 2)
    assert [(one["method"], one["form"]) for one in others] in ([], [("sao2", "best")])
    assert all(0 < one["error"] < best["error"] for one in others)
    assert best["form"] == "paper"
    assert 0 < best["error"] <= own["error"] or name.startswith("future_rand")
    assert set(stream["horizons"]["others"]) == {"lpu", "lpa", "lsp"}
    assert stream["recommended"]["method"] not in HORIZON_METHODS


def test_too_few_users_for_a_level_are_said_with_the_number_that_would_do(tmp_path: Path) -> None:
    done = murmurate("plan", "screen", *QUICK[:-1], "60", "--json", cwd=deploy(tmp_path))
    (stream,) = json.loads(done.stdout)["streams"]
    assert {row["error"] for row in stream["horizons"]["rows"]} == {None}
    assert all(60 < row["users_needed"] < 200 for row in stream["horizons"]["rows"])
    assert "Users are too few" in murmurate("plan", "screen", *QUICK[:-1], "60", cwd=tmp_path).stdout


@pytest.mark.audit
@every("example", ["trips", "strings", "totals"])
def test_streams_that_could_not_use_them_say_nothing_of_them(tmp_path: Path, example: str) -> None:
    done = murmurate("plan", *QUICK, "--json", cwd=deploy(tmp_path, example))
    assert done.returncode == 0
    assert {stream.get("horizons") for stream in json.loads(done.stdout)["streams"]} == {None}
