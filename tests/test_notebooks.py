# SPDX-License-Identifier: Apache-2.0
"""The notebooks run from top to bottom, without a display and without a broker, and show what they say they show.

All cells run in this process, as in a kernel; one notebook runs in a kernel of its own, which takes seconds to start.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import murmurate as mm
from tests.notebooks import cells, run

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "notebooks"
ALL = sorted(FOLDER.glob("*.ipynb"))


@pytest.fixture(autouse=True)
def no_display(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "MPLBACKEND"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)


def test_there_are_three() -> None:
    assert [path.stem for path in ALL] == ["choosing", "replay", "subscribe"]


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_a_notebook_is_stored_without_outputs(path: Path) -> None:
    said: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    code = [cell for cell in said["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert len({cell["id"] for cell in said["cells"]}) == len(said["cells"])
    assert path.stat().st_size < 20_000


def test_a_recording_of_ones_own_is_replayed_scored_and_asked() -> None:
    shown = run(cells(FOLDER / "replay.ipynb"), "replay.ipynb")
    (result,) = [one for one in shown if isinstance(one, mm.ReplayResult)]
    assert result.summary["events"] == 60_000
    assert result.remarks == ()
    assert result.score.coverage is not None
    assert result.score.coverage > 0.9
    assert "<svg" in result._repr_html_()
    assert shown[-1] == ["releases.jsonl", "report.html", "summary.json", "truth.jsonl"]
    (((name, value, error),), _) = shown[-2]
    assert name == "basket"
    assert abs(value - 0.28) < 5 * error


def test_choosing_shows_that_more_epsilon_is_less_error() -> None:
    shown = run(cells(FOLDER / "choosing.ipynb"), "choosing.ipynb")
    by_epsilon, by_method = [one for one in shown if hasattr(one, "index")]
    assert by_epsilon["error"].idxmax() == by_epsilon.index.min()
    assert by_epsilon["error"].idxmin() == by_epsilon.index.max()
    assert list(by_method.index) == ["lbu", "lpu", "lpa"]
    assert by_method["error"].idxmax() == "lbu"


def test_in_a_kernel_of_its_own_a_notebook_subscribes_asks_and_ends(tmp_path: Path) -> None:
    import nbformat
    from nbclient import NotebookClient

    book = nbformat.read(FOLDER / "subscribe.ipynb", as_version=4)
    NotebookClient(book, timeout=120, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    said = "".join(str(output) for cell in book.cells for output in cell.get("outputs", []))
    assert "published" in said
    assert "text/html" in said  # pandas shows itself
    assert "Traceback" not in said
