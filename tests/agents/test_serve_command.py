# SPDX-License-Identifier: Apache-2.0
"""`murmurate serve` as a user meets it: a recorded run on the page, questions to it, one line for what is none."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from murmurate.agents.page_header import page_header
from murmurate.agents.web.recorded import recorded_frames
from murmurate.agents.web.recorded_header import PROMISE
from murmurate.agents.web.report import report_html
from murmurate.aggregators.measures.marginals import Marginals
from tests.agents.commands import CLEAN, murmurate
from tests.agents.test_demo_command import requested
from tests.agents.web.frames import hello, releases
from tests.agents.web.numbers import distances, fares, rides
from tests.agents.web.sums import made, whole_sums
from tests.config.deployments import planned
from tests.config.test_marginals import of

FRAMES = list(releases(periods=12))
RECORDS = [frame["release"] for frame in FRAMES]


def lines(records: object) -> bytes:
    assert isinstance(records, list)
    return b"".join(orjson.dumps(record) + b"\n" for record in records)


@pytest.fixture(name="run")
def recorded_run(tmp_path: Path) -> Path:
    """A folder as `replay --out` leaves it."""
    (tmp_path / "releases.jsonl").write_bytes(lines(RECORDS))
    truth = [{"stream": "screen", "t": f["release"]["t"], "users": 9, "truth": f["truth"]} for f in FRAMES]
    (tmp_path / "truth.jsonl").write_bytes(lines(truth))
    (tmp_path / "summary.json").write_text(json.dumps({"events": 500, "releases": 12, "seconds": 1.5}))
    (tmp_path / "report.html").write_text(report_html([hello(), *FRAMES]), encoding="utf-8")
    return tmp_path


def as_shown(run: Path) -> list[str]:
    """The command of docs/PAGE.md, with this run and a free port."""
    page = Path(__file__).parents[2].joinpath("docs", "PAGE.md").read_text(encoding="utf-8")
    found = re.search(r"^\$ murmurate (serve run --port 8000)$", page, re.MULTILINE)
    assert found
    return [{"run": str(run), "8000": "0"}.get(word, word) for word in found[1].split()]


def test_a_run_is_served_until_it_is_told_to_end_and_answers_questions(run: Path) -> None:
    serving = subprocess.Popen(
        [sys.executable, "-m", "murmurate", *as_shown(run)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=CLEAN | {"PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    try:
        assert serving.stdout
        assert serving.stdout.readline() == "  12 releases of screen\n"
        found = re.fullmatch(r"  Page  (http://127\.0\.0\.1:\d+)   \(Ctrl-C stops\)\n", serving.stdout.readline())
        assert found
        assert b"<title>" in requested(found[1], "/").read()
        question = "share of screen.home over all"
        here, there = (murmurate("query", question, "--from", source, "--json") for source in (run, found[1]))
        assert (there.returncode, there.stdout) == (0, here.stdout)
        serving.send_signal(signal.SIGTERM)
        said, wrong = serving.communicate(timeout=60)
        assert (serving.returncode, said, wrong) == (0, "", "")
    finally:
        serving.kill()
        serving.wait()


def test_a_folder_has_its_own_header_its_truth_and_its_summary(run: Path) -> None:
    header, *shown, end = recorded_frames(run)
    assert header == hello() | {"recorded": True}
    assert [frame["truth"] for frame in shown] == [frame["truth"] for frame in FRAMES]
    assert end["summary"]["seconds"] == 1.5
    (run / "report.html").unlink()
    made_up = recorded_frames(run)[0]
    assert made_up["promise"] == [PROMISE]
    assert set(made_up["streams"][0]) >= set(hello()["streams"][0]) - {"warning"}


def test_a_header_from_releases_alone_says_what_a_deployment_would(tmp_path: Path) -> None:
    def header(records: object) -> dict[str, dict[str, object]]:
        path = tmp_path / "some.jsonl"
        path.write_bytes(lines(records))
        return {spec["name"]: spec for spec in recorded_frames(path)[0]["streams"]}

    telling = ("names", "every_ms", "measure", "ordered", "numbers", "unit", "range", "asked", "running", "main")
    ride = {spec["name"]: spec for spec in rides("fare", "distance")["streams"]}
    records = [
        frame["release"] | {"unit": ride[name]["unit"], "range": ride[name]["range"], "measure": ride[name]["measure"]}
        for name, frames in (("fare", fares()[4:9]), ("distance", distances()[4:9]))
        for frame in frames
    ]
    found = header([json.loads(json.dumps(record, sort_keys=True)) for record in records])
    for name, spec in found.items():
        assert {key: spec[key] for key in telling} == {
            key: list(ride[name][key]) if key == "range" else ride[name][key] for key in telling
        }
    sums = {spec["name"]: spec for spec in whole_sums()[0]["streams"]}
    revenue = header(made()[0].records[-3:])["revenue"]
    for key in ("names", "central", "epsilon", "asked", "running", "main"):
        assert revenue[key] == sums["revenue"][key]
    stream = planned(**of(tables=[["plan", "sex"], ["age"]])).stream("screen")
    assert isinstance(stream.measure, Marginals)
    (wanted,) = page_header(planned(**of(tables=[["plan", "sex"], ["age"]])), "live")["streams"]
    shapes = [table.model_dump(mode="json") for table in stream.measure.shapes]
    said = next(iter(releases(stream.names, 1)))["release"] | {"measure": "marginals", "tables": shapes}
    (tables,) = header([said]).values()
    assert (tables["names"], tables["tables"]) == (wanted["names"], wanted["tables"])


@pytest.mark.parametrize(
    ("name", "content", "wrong"),
    [
        ("releases.jsonl", None, "no such file or directory; allowed: a folder that replay --out wrote, or a"),
        ("releases.jsonl", b"", "releases.jsonl: found no release; allowed: at least one"),
        ("releases.jsonl", b"garbage\n", "releases.jsonl, line 1: found no release; allowed: murmurate/release/2"),
        ("releases.jsonl", lines(RECORDS)[:-9], "releases.jsonl, line 12: found no release; allowed: "),
        ("releases.jsonl", b"\x1f\x8b\x08\x00", "releases.jsonl, line 1: found no release; allowed: "),
        ("truth.jsonl", b'{"stream": 3}\n', "truth.jsonl, line 1: found no truth of a period; allowed: "),
        ("summary.json", b"[", "summary.json: found no summary; allowed: what a replay writes, or no such file"),
    ],
)
def test_what_cannot_be_shown_is_one_line(run: Path, name: str, content: bytes | None, wrong: str) -> None:
    if content is None:
        (run / name).unlink()
    else:
        (run / name).write_bytes(content)
    done = murmurate("serve", run, "--port", "0")
    assert done.returncode == 2
    assert done.stdout == ""
    assert wrong in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_report_that_is_no_report_or_of_another_run_is_passed_over(run: Path) -> None:
    for text in ("no report", report_html([hello(streams=[hello()["streams"][0] | {"name": "other"}])])):
        (run / "report.html").write_text(text, encoding="utf-8")
        assert recorded_frames(run)[0]["promise"] == [PROMISE]
