# SPDX-License-Identifier: Apache-2.0
"""`murmurate replay` as a user meets it: four files, exit codes, one line a mistake, Ctrl-C, nobody's name or value."""

from __future__ import annotations

import gzip
import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmurate.config import samples
from tests.agents.commands import CLEAN, deploy, murmurate

FILES = ["releases.jsonl", "report.html", "summary.json", "truth.jsonl"]
KEYS = [
    "events", "seconds", "events_per_second", "releases", "published", "unmeasured", "mre", "mse", "estimate_mse",
    "coverage", "bits_per_user_per_period",
    "over_budget", "refused", "streams", "mixed",
]  # fmt: skip
EVENTS = "events.sample.jsonl"
SYNTHETIC = "synthetic:lns,n=2000,periods=30"
Lines = list[dict[str, Any]]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A folder of the test's own, with the telemetry example's file and events."""
    return deploy(tmp_path, "telemetry")


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    """The same with the papers' setting."""
    return deploy(tmp_path, "papers")


def written(folder: Path, out: str = "run") -> tuple[Lines, Lines, dict[str, Any]]:
    """Releases, truth and summary of a run; all four files are there."""
    assert sorted(path.name for path in (folder / out).iterdir()) == FILES
    releases, truth = (
        [json.loads(line) for line in (folder / out / name).read_text(encoding="utf-8").splitlines()]
        for name in ("releases.jsonl", "truth.jsonl")
    )
    return releases, truth, json.loads((folder / out / "summary.json").read_text(encoding="utf-8"))


def released(folder: Path, out: str) -> bytes:
    return (folder / out / "releases.jsonl").read_bytes()


def events(folder: Path) -> Lines:
    return [json.loads(line) for line in (folder / EVENTS).read_text(encoding="utf-8").splitlines()]


def write(path: Path, lines: list[str]) -> None:
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")


SOME = ("central", "telemetry", "trips")
"""Those of the short form; `check` and the page of every example are tested elsewhere, too."""


@pytest.mark.parametrize(
    "example", [one if one in SOME else pytest.param(one, marks=pytest.mark.audit) for one in samples.names()]
)
def test_what_init_writes_replays(example: str, tmp_path: Path) -> None:
    done = murmurate("replay", EVENTS, "--out", "run", cwd=deploy(tmp_path, example))
    assert done.returncode == 0, done.stderr
    assert done.stderr == "  run/releases.jsonl  run/truth.jsonl  run/summary.json  run/report.html\n"
    assert all(len(line) <= 80 for line in (done.stdout + done.stderr).splitlines())
    assert "…" not in done.stdout
    releases, truth, summary = written(tmp_path)
    assert list(summary) == KEYS
    assert (summary["releases"], summary["over_budget"]) == (len(releases), 0)
    assert [(line["stream"], line["t"]) for line in releases] == [(line["stream"], line["t"]) for line in truth]
    assert set(truth[0]) == {"stream", "t", "events" if example == "central" else "users", "truth"}
    assert "refused: none" in done.stdout
    streams = {line["stream"] for line in releases if "privacy" in line}
    assert set(summary["mixed"]) == streams
    text = " ".join(done.stdout.split())
    assert {stream for stream in streams if f" {stream}, after mixing: " in text} == streams


def test_the_report_opens_nothing_from_elsewhere(papers: Path) -> None:
    assert murmurate("replay", SYNTHETIC, "--out", "run", cwd=papers).returncode == 0
    report = (papers / "run" / "report.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in report
    assert not re.findall(r"""<(?:link|img|iframe|object|base|form)\b|<script[^>]*\bsrc|\bhref=["']?[^#"']""", report)
    assert not re.findall(r"https?://(?!www\.w3\.org/)|@import|url\((?!#)|\bimport\s*\(", report)
    assert f'"releases":{len(written(papers)[0])}' in report


@pytest.mark.parametrize("model", ["sin", *(pytest.param(model, marks=pytest.mark.audit) for model in ("lns", "log"))])
def test_the_papers_streams_replay_and_json_is_the_summary_in_one_line(model: str, papers: Path) -> None:
    done = murmurate("replay", f"synthetic:{model},n=2000,periods=30", "--json", "--out", "run", cwd=papers)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 1
    summary = json.loads(done.stdout)
    assert summary == written(papers)[2]
    assert list(summary) == KEYS
    assert (summary["events"], summary["releases"], summary["over_budget"]) == (60_000, 30, 0)


def test_a_table_and_json_lines_of_the_same_events_give_the_same_bytes(shop: Path) -> None:
    rows = [",".join((e["time"], e["stream"], e["value"], e["user"])) for e in events(shop)]
    write(shop / "events.csv", ["time,stream,value,user", *rows])
    for source in (EVENTS, "events.csv"):
        assert murmurate("replay", source, "--repeatable", "--out", source + ".run", cwd=shop).returncode == 0
    assert released(shop, EVENTS + ".run") == released(shop, "events.csv.run")


def test_an_array_replays_a_row_a_period(shop: Path) -> None:
    values = np.random.default_rng(3).integers(-1, 5, (12, 500))
    np.save(shop / "screens.npy", values)
    done = murmurate("replay", "screens.npy", "--out", "run", cwd=shop)
    assert done.returncode == 0, done.stderr
    releases, truth, summary = written(shop)
    assert len(releases) == len(truth) == 12
    assert {line["users"] for line in truth} == {500}
    assert [line["truth"]["none"] for line in truth] == [float((row < 0).mean()) for row in values]
    assert summary["events"] == (values >= 0).sum()


def test_repeatable_gives_the_same_bytes_and_fresh_keys_give_others(papers: Path) -> None:
    for out, words in {"a": ["--repeatable"], "b": ["--repeatable"], "c": [], "d": []}.items():
        assert murmurate("replay", SYNTHETIC, "--out", out, *words, cwd=papers).returncode == 0
    assert released(papers, "a") == released(papers, "b")
    assert len({released(papers, out) for out in "acd"}) == 3
    assert len({(papers / out / "truth.jsonl").read_bytes() for out in "abcd"}) == 1


def test_late_doubled_and_forged_lines_are_counted_and_change_no_byte_of_a_release(shop: Path) -> None:
    lines, disturbed, count = events(shop), list[str](), {"late": 0, "future": 0, "stream": 0}
    for i, event in enumerate(lines):
        disturbed.append(json.dumps(event))
        if i < 1_500:
            continue
        if i % 10 == 0:  # five minutes late, from somebody who would be new
            disturbed.append(json.dumps(lines[i - 1_000] | {"value": "help", "user": f"late-{i}"}))
            count["late"] += 1
        if i % 20 == 3:
            disturbed.append(json.dumps(event))
        if i % 20 == 7:
            disturbed.append(json.dumps(event | {"value": "help", "time": "2099-01-01T00:00:00Z"}))
            count["future"] += 1
        if i % 20 == 9:
            disturbed.append(json.dumps(event | {"stream": "nobody", "user": f"strange-{i}"}))
            count["stream"] += 1
    write(shop / "disturbed.jsonl", disturbed)
    assert murmurate("replay", EVENTS, "--repeatable", "--out", "calm", cwd=shop).returncode == 0
    done = murmurate("replay", "disturbed.jsonl", "--repeatable", "--out", "run", cwd=shop)
    assert done.returncode == 0, done.stderr
    assert released(shop, "run") == released(shop, "calm")
    assert (shop / "run" / "truth.jsonl").read_bytes() == (shop / "calm" / "truth.jsonl").read_bytes()
    assert f"refused: future {count['future']}   late {count['late']}   stream {count['stream']} " in done.stdout
    assert re.search(rf"^stream: {count['stream']} lines \(line 1 \d\d\d, ", done.stdout, re.MULTILINE)
    assert written(shop)[2]["over_budget"] == 0


def test_one_bad_line_in_thousands_is_named_and_the_rest_is_processed(shop: Path) -> None:
    lines = (shop / EVENTS).read_text(encoding="utf-8").splitlines()
    lines[2_999] = lines[2_999][:20]
    write(shop / "torn.jsonl", lines)
    done = murmurate("replay", "torn.jsonl", "--out", "run", cwd=shop)
    assert done.returncode == 0, done.stderr
    assert "\njson: 1 line (line 3 000)\n" in done.stdout
    assert "refused: json 1" in done.stdout
    assert written(shop)[2]["events"] == len(lines) - 1


def test_what_is_wrong_with_a_file_is_said_in_80_columns(shop: Path) -> None:
    lines = (shop / EVENTS).read_text(encoding="utf-8").splitlines()
    for at in (1_000, 2_000, 3_000, 4_000):
        lines[at] = lines[at][:20]
    (shop / "cut.jsonl").write_text("\n".join(lines)[:-30], encoding="utf-8")
    done = murmurate("replay", "cut.jsonl", cwd=shop)
    assert done.returncode == 0, done.stderr
    said = f"json: 5 lines (line 1 001, 2 001, 3 001, 4 001, {len(lines):,}; the last one has no end: it may have been "
    assert said.replace(f"{len(lines):,}", f"{len(lines):,}".replace(",", " ")) in " ".join(done.stdout.split())
    assert all(len(line) <= 80 for line in done.stdout.splitlines())


USER, VALUE = "u-c4n4ry", "v-c4n4ry"
GOOD = f'{{"stream":"screen","user":"{USER}","time":"2026-11-18T09:00:00Z","value":"home"}}\n'.encode()
HEADER = b"user,time,value\n"
UNUSABLE: dict[str, tuple[str, bytes, str]] = {
    "empty": ("a.jsonl", b"", "a.jsonl: found an empty file; allowed: one event a line"),
    "gzip": (
        "a.jsonl",
        gzip.compress(GOOD),
        "a.jsonl: found gzip data; allowed: the text itself, or a name that ends in .gz",
    ),
    "gzip by name": ("a.jsonl.gz", GOOD, "a.jsonl.gz: found no gzip data; allowed: what its name says"),
    "UTF-16": ("a.jsonl", GOOD.decode().encode("utf-16"), "a.jsonl: found UTF-16; allowed: UTF-8"),
    "not UTF-8": ("a.csv", b"us\xe4r,time,value\n", "a.csv: line 1: found bytes that are no UTF-8; allowed: UTF-8"),
    "a missing column": ("a.csv", f"user,value\n{USER},{VALUE}\n".encode(), "a.csv: line 1: found no column 'time'"),
    "bad lines": ("a.jsonl", GOOD[:-9] + b"\n" + GOOD[:-20] + b"\n", "a.jsonl: found no good event (json 2)"),
    "bad times": ("a.csv", HEADER + f"{USER},{VALUE},home\n".encode(), "a.csv: found no good event (time 1; a time is"),
    "no values": ("a.csv", HEADER + f"{USER},2026-11-18T09:00:00Z,\n".encode(), "a.csv: found no good event (field 1)"),
    "no array": ("a.npy", GOOD, "a.npy: found no NumPy array of numbers"),
    "a JSON array": ("a.json", b"[" + GOOD + b"]", "a.json: found one JSON array; allowed: one JSON object a line"),
}


@pytest.mark.parametrize("what", UNUSABLE)
def test_a_source_that_cannot_be_used_is_one_line_and_exit_1(what: str, shop: Path) -> None:
    name, content, said = UNUSABLE[what]
    (shop / name).write_bytes(content)
    done = murmurate("replay", name, "--out", "run", cwd=shop)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"murmurate: {said}")
    assert len(done.stderr.splitlines()) == 1
    assert "c4n4ry" not in done.stderr


def test_no_name_and_no_value_of_a_bad_line_is_ever_printed(shop: Path) -> None:
    bad: dict[str, Any] = {"stream": "screen", "user": USER, "time": "2026-11-18T09:10:00Z", "value": VALUE}
    wrong = [
        json.dumps(bad | {"time": VALUE}), json.dumps(bad | {"user": [USER]}), json.dumps(bad | {"stream": VALUE}),
        json.dumps(bad | {"user": USER * 99}), json.dumps(bad | {"value": None}), json.dumps(bad)[:-5],
        json.dumps({USER: VALUE}), json.dumps(bad), json.dumps(bad | {"time": "2099-11-18T09:10:00Z"}), VALUE,
    ]  # fmt: skip
    lines = (shop / EVENTS).read_text(encoding="utf-8").splitlines()
    write(shop / "a.jsonl", [*lines[:2_000], *wrong, *lines[2_000:]])
    done = murmurate("replay", "a.jsonl", "--out", "run", cwd=shop)
    assert done.returncode == 0, done.stderr
    assert all(reason in done.stdout for reason in ("json", "field", "type", "stream", "time", "user", "future"))
    assert "c4n4ry" not in done.stdout + done.stderr
    assert not [name for name in FILES if b"c4n4ry" in (shop / "run" / name).read_bytes()]


def test_each_mistake_of_the_deployment_file_is_a_line_and_exit_2(shop: Path) -> None:
    text = (shop / "murmurate.toml").read_text(encoding="utf-8")
    text = text.replace("epsilon = 2.0", "epsilon = -2").replace('method = "lpu"', 'method = "lpx"')
    (shop / "murmurate.toml").write_text(text, encoding="utf-8")
    done = murmurate("replay", EVENTS, "--out", "run", cwd=shop)
    assert (done.returncode, done.stdout) == (2, "")
    lines = done.stderr.splitlines()
    assert [line.split(": ")[1] for line in lines] == ["privacy.epsilon", "streams.screen.method.name"]
    assert all(line.startswith("murmurate.toml, line ") for line in lines)
    assert all("; allowed: " in line for line in lines)
    assert not (shop / "run").exists()


def test_a_missing_deployment_file_or_source_and_a_wrong_kind_are_one_line(shop: Path) -> None:
    for code, words in {2: ("replay", EVENTS, "-c", "nowhere.toml"), 1: ("replay", "nowhere.jsonl")}.items():
        done = murmurate(*words, cwd=shop)
        assert (done.returncode, len(done.stderr.splitlines())) == (code, 1)
        assert "found no such file" in done.stderr
    for source in ("murmurate.toml", "synthetic:lsn", "synthetic:lns,n=many"):
        done = murmurate("replay", source, cwd=shop)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
        assert "; allowed: " in done.stderr


FEW = (
    "800 users give a round about 133 reports, below min_batch = 1000: nothing will ever be released. It takes 7 000 "
    "users. Allow a smaller min_batch, longer periods or a shorter window."
)


def short_of(folder: Path, min_batch: int) -> Path:
    """The folder, with another min_batch in its file."""
    file = folder / "murmurate.toml"
    changed = re.sub(r"(?m)^min_batch = \d+", f"min_batch = {min_batch}", file.read_text(encoding="utf-8"))
    file.write_text(changed, encoding="utf-8")
    return folder


def test_a_stream_that_never_reaches_min_batch_says_so_and_has_no_figures(shop: Path) -> None:
    done = murmurate("replay", EVENTS, "--out", "run", cwd=short_of(shop, 1000))
    releases, truth, summary = written(shop)
    assert (summary["releases"], summary["published"], summary["unmeasured"]) == (30, 0, 30)
    assert [summary[key] for key in ("mre", "mse", "estimate_mse", "coverage")] == [None] * 4
    for release, true in zip(releases, truth, strict=True):
        assert (release["decision"], release["measured_t"], "thresholds" in release) == ("unmeasured", None, False)
        for what in ("estimate", "stderr", "unbiased"):
            assert release[what] == dict.fromkeys(true["truth"])
    assert truth[0]["users"] == 0
    assert set(truth[0]["truth"].values()) == {None}  # before anybody came
    told = [{key: release["reports"][key] for key in ("received", "counted", "rejected")} for release in releases]
    asked = [reports for reports, release in zip(told, releases, strict=True) if release["reports"]["slots"]]
    assert asked == [{"received": 0, "counted": 0, "rejected": {"malformed": 0, "undersized": True}}] * len(asked)
    assert len(asked) == 30
    text = " ".join(done.stdout.split())
    assert "screen: nothing was measured in 30 periods; fewer reports came than the 1 000 that a release needs" in text
    assert FEW in text
    early = " ".join(done.stderr.split())
    assert early.startswith(
        "warning: screen: 3 rounds in a row had fewer than the 1 000 reports that a release needs. "
    )
    assert early.count("warning") == 1
    assert re.search(r"^screen +30 +0 \(0\.0\) +- +- +- +- ", done.stdout, re.MULTILINE)
    assert all(len(line) <= 80 for line in done.stdout.splitlines())


def test_a_source_that_knows_its_users_says_at_the_start_what_they_are_too_few_for(shop: Path) -> None:
    short_of(shop, 1000)
    done = murmurate("replay", "synthetic:lns,n=800,periods=5", "--out", "run", cwd=shop)
    assert done.returncode == 0
    assert " ".join(done.stderr.split()).startswith(f"warning: screen: {FEW} run/releases.jsonl")
    assert FEW in (shop / "run" / "report.html").read_text(encoding="utf-8")
    assert FEW in " ".join(murmurate("check", "--users", "800", cwd=shop).stdout.split())
    assert murmurate("replay", "synthetic:lns,n=14000,periods=5", cwd=shop).stderr == ""


def test_rounds_that_are_short_in_a_row_are_named_and_a_few_are_not(shop: Path) -> None:
    lines = (shop / EVENTS).read_text(encoding="utf-8").splitlines()
    kept = [one for one in lines if not "09:04" <= json.loads(one)["time"][11:16] < "09:16"]
    write(shop / "gap.jsonl", kept)
    file = (shop / "murmurate.toml").read_text(encoding="utf-8")
    (shop / "murmurate.toml").write_text(file.replace('forget_after = "7d"', 'forget_after = "5m"'), encoding="utf-8")
    said = " ".join(murmurate("replay", "gap.jsonl", cwd=shop).stdout.split())
    short = (
        r"screen: up to (\d+) rounds in a row were below min_batch; fewer reports came than the 20 that a release needs"
    )
    assert re.search(short, said)
    assert "min_batch" not in murmurate("replay", EVENTS, cwd=shop).stdout


def test_a_folder_that_cannot_be_made_is_said_before_the_run(shop: Path) -> None:
    done = murmurate("replay", EVENTS, "--out", f"{EVENTS}/run", cwd=shop)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"murmurate: --out: found '{EVENTS}/run': ")
    assert len(done.stderr.splitlines()) == 1


def test_a_stream_has_to_be_one_of_the_deployment_and_is_needed_where_there_are_several(shop: Path) -> None:
    text = (shop / "murmurate.toml").read_text(encoding="utf-8")
    text = text.replace("[streams.screen]", "[streams.screen]\nshare = 0.5")
    text += '\n[streams.mood]\nmeasure = "frequency"\nvalues = ["good", "bad"]\nevery = "1m"\nshare = 0.5\n'
    (shop / "murmurate.toml").write_text(text, encoding="utf-8")
    wrong = murmurate("replay", EVENTS, "--stream", "scream", cwd=shop)
    assert (wrong.returncode, wrong.stderr) == (2, "murmurate: --stream: found 'scream'; allowed: mood, screen\n")
    needed = murmurate("replay", SYNTHETIC, cwd=shop)
    assert needed.returncode == 2
    assert needed.stderr == (
        f"murmurate: --stream: found none, and {SYNTHETIC} holds one stream; allowed: one of mood, screen\n"
    )
    named = murmurate("replay", SYNTHETIC, "--stream", "mood", "--json", cwd=shop)
    assert json.loads(named.stdout)["releases"] == 30
    both = murmurate("replay", EVENTS, "--out", "run", cwd=shop)
    assert both.returncode == 0, both.stderr
    assert {line["stream"] for line in written(shop)[0]} == {"mood", "screen"}


def test_ctrl_c_ends_with_what_is_done_so_far(papers: Path) -> None:
    # The bar is drawn where somebody watches: a terminal of its own says when the first release is out.
    ours, theirs = pty.openpty()
    words = ["replay", "synthetic:lns,n=5000,periods=100000", "--out", "run", "--repeatable"]
    running = subprocess.Popen(
        [sys.executable, "-m", "murmurate", *words], stdout=subprocess.PIPE, stderr=theirs, text=True, cwd=papers,
        env=CLEAN | {"TERM": "xterm", "COLUMNS": "80"},
    )  # fmt: skip
    try:
        os.close(theirs)
        seen = b""
        while not re.search(rb"[1-9]\d* releases", seen):
            seen += os.read(ours, 1 << 16)
        running.send_signal(signal.SIGINT)
        said, _ = running.communicate(timeout=60)
    finally:
        running.kill()
        os.close(ours)
    assert running.returncode == 130
    assert said.splitlines()[-1] == "interrupted: this is what was done so far"
    releases, truth, summary = written(papers)
    assert 0 < len(releases) == len(truth) == summary["releases"] < 100_000
    assert (list(summary), summary["over_budget"]) == (KEYS, 0)
    shorter = f"synthetic:lns,n=5000,periods={len(releases)}"
    assert murmurate("replay", shorter, "--out", "whole", "--repeatable", cwd=papers).returncode == 0
    assert released(papers, "whole") == released(papers, "run")
