# SPDX-License-Identifier: Apache-2.0
"""docs/PYTHON.md is true: its blocks run one after the other in an empty folder, and its tables name what there is."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import murmurate as mm
from murmurate.agents.library.tables import COLUMNS
from tests.faults.pages import blocks

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "PYTHON.md").read_text(encoding="utf-8")
ON_KAFKA = "kafka://"
"""What a block says that tests/faults/test_subscribe.py runs on a broker."""


def test_the_blocks_run_in_an_empty_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    programs = [block for block in blocks("PYTHON.md", "python") if ON_KAFKA not in block]
    assert len(programs) == 7
    space: dict[str, object] = {"__name__": "__main__"}
    for program in programs:
        exec(compile(program, "PYTHON.md", "exec"), space)  # noqa: S102 - what we publish
    said = capsys.readouterr().out
    assert "screen/29916551/1 2026-11-18 09:11:00+00:00" in said
    assert "['stream', 't', 'start', 'name', 'estimate', 'stderr', 'unbiased', 'revision', 'decision']" in said
    assert "['screen/29916550/1', 'screen/29916551/1']" in said
    assert "Float64" in said
    assert (tmp_path / "report.html").is_file()


def test_its_tables_name_every_option_column_and_public_name() -> None:
    named = set(re.findall(r"`(?:mm\.)?([a-z_]+)[=(`]", PAGE)) | set(re.findall(r"`([a-z_]+)=True`", PAGE))
    for call in (mm.replay, mm.subscribe):
        options = set(inspect.signature(call).parameters) - {"source", "config"}
        assert options <= named, options - named
    assert set(COLUMNS) <= named
    public = {name for name in mm.__all__ if name[0].islower()} - {
        "agents",
        "aggregators",
        "config",
        "randomizers",
        "topics",
    }
    assert public <= named, public - named
