# SPDX-License-Identifier: Apache-2.0
"""The folder of a replay: releases.jsonl, truth.jsonl, summary.json and report.html.

Contract: truth is raw data, so the folder belongs where the source is.  Not here: serving it (cli/serve.py), making the
folder before a run (cli/replay.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import orjson

from murmurate.agents.replay.run import Frame, Outcome
from murmurate.config.plan import Plan

WRITTEN: Final = ("releases.jsonl", "truth.jsonl", "summary.json", "report.html")


def write(out: Path, plan: Plan, outcome: Outcome, frames: Iterable[Frame]) -> None:
    """Write the four files into a folder that is there. frames: what the run told, progress aside."""
    from murmurate.agents.web.report import report_html

    (out / "releases.jsonl").write_bytes(b"".join(record + b"\n" for record in outcome.releases))
    names = {stream.name: stream.measure.true_names for stream in plan.everything}
    truth = (orjson.dumps(period.record(names[period.stream])) + b"\n" for period in outcome.truth)
    (out / "truth.jsonl").write_bytes(b"".join(truth))
    (out / "summary.json").write_bytes(orjson.dumps(outcome.summary(plan), option=orjson.OPT_INDENT_2) + b"\n")
    (out / "report.html").write_text(report_html(frames), encoding="utf-8")
