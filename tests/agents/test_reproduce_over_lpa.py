# SPDX-License-Identifier: Apache-2.0
"""`murmurate reproduce filter --over-lpa`: errors over LPA's, error bars, judged targets, a picture a stream."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner, Result

from murmurate.agents.cli import reproduce
from murmurate.agents.cli.reproductions import over_lpa
from murmurate.agents.cli.reproductions.over_lpa import MODELS, SHOWN, drawing, misses, ratio_error
from murmurate.agents.simulate.filter_error import Sums, Trial, added
from murmurate.errors import UsageError

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
GOOD = Sums(
    lpa=1.0, lpu=1.5, lpa_filter=0.2, lpu_filter=0.15, projected=0.14, held=9_600, told=10_000, held_late=0, told_late=0
)


def murmurate(*words: str) -> Result:
    return CliRunner().invoke(reproduce.command, ["filter", "--over-lpa", "--seeds", "1", "--processes", "1", *words])


def test_a_table_of_a_block_a_stream_in_80_columns(tmp_path: Path) -> None:
    done = murmurate("--kinds", "sin,jumps", "--periods", "40", "--out", str(tmp_path))
    assert all(len(line) <= 80 for line in done.output.splitlines())
    assert done.output.count("\nsin ") == done.output.count("\njumps ") == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["filter-jumps.svg", "filter-sin.svg"]
    assert (done.exit_code == 1) == ("MISSED" in done.output)
    tree = ET.fromstring((tmp_path / "filter-sin.svg").read_text())  # noqa: S314 - our own
    shapes = [node.tag.rpartition("}")[2] for node in tree.iter()]
    assert (shapes.count("polyline"), shapes.count("polygon")) == (4, 1)  # truth, LPA, LPU, the filter; its band


def test_targets_are_judged_by_error_and_by_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = Trial("sin", 1.0, "grr")
    assert list(misses(trial, GOOD)) == []
    assert list(misses(trial, replace(GOOD, lpu_filter=0.2))) == [
        "sin at epsilon 1: 0.200 (+- 0.000) of LPA's error; target: 0.19"
    ]
    assert "92.0% within 2 sigma" in next(misses(trial, replace(GOOD, held=9_200)))
    assert "99.5% within 2 sigma" in next(misses(trial, replace(GOOD, held=9_950)))
    monkeypatch.setattr(over_lpa, "tried", lambda trial, seed: replace(GOOD, lpu_filter=0.5))
    done = murmurate("--kinds", "log", "--json")
    assert done.exit_code == 1
    said = orjson.loads(done.output)
    assert not said["ok"]
    assert [row["lpu_filter"] for row in said["rows"]] == [0.5] * 3
    monkeypatch.setattr(over_lpa, "tried", lambda trial, seed: GOOD)
    assert murmurate("--kinds", "log").exit_code == 0


def test_seeds_add_up() -> None:
    both = added([GOOD, replace(GOOD, lpa=3.0, held=9_400, held_late=5, told_late=10)])
    assert both.over_lpa(both.lpu_filter) == pytest.approx(0.3 / 4)
    assert both.coverage == pytest.approx(0.95)
    assert (GOOD.after_jumps, both.after_jumps) == (None, 0.5)


def test_the_error_of_a_ratio_is_what_seeds_differ_by() -> None:
    assert ratio_error([GOOD]) == ratio_error([GOOD, GOOD]) == 0
    # Ratios .1 and .2 at the same error of LPA's: the mean of two has half their difference as its standard error.
    assert ratio_error([replace(GOOD, lpu_filter=0.1), replace(GOOD, lpu_filter=0.2)]) == pytest.approx(0.05)


def test_a_stream_that_is_none_is_refused() -> None:
    done = murmurate("--kinds", "sin,sun")
    assert "some of lns, sin" in str(done.exception)


def test_a_folder_that_cannot_be_made_is_said_before_anything_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(over_lpa, "tried", lambda *_: pytest.fail("runs were made"))
    (tmp_path / "file").touch()
    done = murmurate("--out", str(tmp_path / "file" / "pictures"))
    assert isinstance(done.exception, UsageError)
    assert str(done.exception).endswith(": Not a directory; allowed: a folder to write in")


def test_a_picture_in_docs_is_todays_and_each_stream_has_one() -> None:
    assert {path.name for path in IMAGES.glob("filter-*.svg")} == {f"filter-{model}.svg" for model in MODELS}
    text = (IMAGES / "filter-sin.svg").read_text(encoding="utf-8")
    assert text == drawing(Trial("sin", 1.0, "grr", periods=SHOWN), 0)
