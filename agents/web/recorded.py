# SPDX-License-Identifier: Apache-2.0
"""The frames of a recorded run: what a replay wrote into a folder, or a file of releases alone.

Contract: every line is a release, or the line is named (RecordedError).  A folder's truth and summary are shown where
they are there, and its header is the one in its report; without one the header is made from the releases
(recorded_header.py).  The newest of very many releases are kept, as every page keeps them.  Not here: HTTP (server.py).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import orjson

from murmurate.agents.queries import RELEASES
from murmurate.agents.web.errors import RecordedError
from murmurate.agents.web.feed import KEEP
from murmurate.agents.web.recorded_header import recorded_header
from murmurate.topics.codec import decode
from murmurate.topics.errors import WireError
from murmurate.topics.release import Release

TRUTH, SUMMARY, REPORT = "truth.jsonl", "summary.json", "report.html"
FRAMES: Final = b'<script type="application/json" id="frames">['
Frame = dict[str, Any]


def recorded_frames(run: Path) -> list[Frame]:
    """The header, the releases with their truth where it is known, and the end. RecordedError where there are none."""
    folder = run if run.is_dir() else None
    releases = _releases(run / RELEASES if folder else run)
    truth = _truth(folder / TRUTH) if folder else {}
    header = (_header(folder / REPORT) if folder else None) or recorded_header(releases)
    named = {stream["name"] for stream in header["streams"]}
    if any(release["stream"] not in named for release in releases):  # the report is of another run
        header = recorded_header(releases)
    end = _summary(folder / SUMMARY) if folder else None
    frames = [header | {"mode": "replay", "recorded": True}]
    frames += [
        {"type": "release", "release": release, "truth": truth.get((release["stream"], release["t"]))}
        for release in releases
    ]
    return [*frames, {"type": "done", "summary": end or _counted(releases)}]


def _releases(path: Path) -> list[dict[str, Any]]:
    found: deque[dict[str, Any]] = deque(maxlen=KEEP)
    for number, line in _lines(path):
        try:
            record = decode(line)
        except WireError:
            record = None
        if not isinstance(record, Release):
            raise RecordedError(f"{path}, line {number}: found no release; allowed: {Release.tag}, a record a line")
        found.append(orjson.loads(line))
    if not found:
        raise RecordedError(f"{path}: found no release; allowed: at least one")
    return list(found)


def _truth(path: Path) -> dict[tuple[str, int], dict[str, float | None]]:
    if not path.exists():
        return {}
    found = {}
    for number, line in _lines(path):
        try:
            record = orjson.loads(line)
            found[str(record["stream"]), int(record["t"])] = dict(record["truth"])
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
            raise RecordedError(
                f"{path}, line {number}: found no truth of a period; allowed: what a replay writes, or no such file"
            ) from None
    return found


def _summary(path: Path) -> dict[str, Any] | None:
    if not path.exists():
        return None
    try:
        found = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        found = None
    if not isinstance(found, dict):
        raise RecordedError(f"{path}: found no summary; allowed: what a replay writes, or no such file")
    return found


def _header(path: Path) -> Frame | None:
    """The first frame of a report, which stands on a line of its own; None where there is no such report."""
    try:
        with path.open("rb") as file:
            for line in file:
                if line.startswith(FRAMES):
                    found = orjson.loads(next(file).rstrip(b",\n"))
                    return found if isinstance(found, dict) and found.get("type") == "hello" else None
    except (OSError, StopIteration, orjson.JSONDecodeError):
        return None
    return None


def _counted(releases: list[dict[str, Any]]) -> dict[str, Any]:
    """What a summary says that the releases themselves show."""
    decided = [release["decision"] for release in releases]
    return {
        "releases": len(decided),
        "published": decided.count("published"),
        "unmeasured": decided.count("unmeasured"),
    }


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines that hold anything, with their numbers."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if text := line.strip():
                    yield number, text
    except OSError as error:
        raise RecordedError(
            f"{path}: {(error.strerror or 'cannot be read').lower()}; allowed: a folder that replay --out wrote, or a "
            "file of releases"
        ) from None
