# SPDX-License-Identifier: Apache-2.0
"""What came out of a run beside what had to: every event once, every report counted, every period with its bytes.

Contract: bytes are those of a replay up to the first period of which some round was closed without a contributor; from
there on a stream's releases are right and others, and the auditor's to judge.  Not here: the run (storm_run.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import orjson

from murmurate.agents.kafka.client import Got
from murmurate.topics.block import RawBlock, ReportBlock
from murmurate.topics.codec import decode_record
from murmurate.topics.messages import Close, Done, GiveUp, Round
from tests.faults.deployed import Deployed


@dataclass
class Came:
    """What came out, counted."""

    reports: int = 0
    releases: int = 0
    given_up: int = 0
    """The `give_up` records."""
    left_out: int = 0
    """Rounds that were closed without some contributor."""
    compared: dict[str, str] = field(default_factory=dict)
    """Per stream how many periods have the bytes of the replay, of how many."""
    wrong: str = ""
    """What does not hold, or nothing."""


def compare(of: Deployed, wanted: Mapping[str, Sequence[bytes]], events: int) -> Came:
    """1. Every event in `raw` once. 2. Every report said to be there. 3. Every period once, and its bytes."""
    came = Came()
    rows = sum(len(b.users) for b in map(decoded, of.everything("raw")) if isinstance(b, RawBlock))
    fed = len(of.everything("events"))
    if (fed, rows) != (events, events):
        came.wrong += f"{events} events in the recording, {fed} fed, {rows} in raw; "
    said, there = Counter[str](), Counter[str]()
    for found in map(decoded, of.everything("reports")):
        if isinstance(found, Done):
            said[found.round] += found.sent
        elif isinstance(found, ReportBlock):
            there[found.round.hex()] += len(found.reports)
    came.reports = there.total()
    if +said != +there:
        came.wrong += f"{said.total()} reports said to be there, and {there.total()} are; "
    short = left_out(of, came)
    records = by_stream([got.value or b"" for got in of.everything("releases")])
    came.releases = sum(map(len, records.values()))
    for stream, theirs in wanted.items():
        ours, periods = records.get(stream, []), list(map(period, theirs))
        if list(map(period, ours)) != periods:
            came.wrong += f"{stream}: not every period was released once; "
            continue
        until = min((one.t for one in short if one.stream == stream), default=periods[-1] + 1)
        same = sum(t < until for t in periods)
        differing = [t for t, a, b in zip(periods[:same], ours, theirs, strict=False) if a != b]
        came.compared[stream] = f"{same - len(differing)} of {len(periods)}"
        if differing:
            came.wrong += f"{stream}: the bytes of period {differing[0]} differ, and of {len(differing) - 1} others; "
    return came


def left_out(of: Deployed, came: Came) -> list[Round]:
    """The rounds whose first `close` does not name every contributor."""
    control = list(map(decoded, of.everything("rounds")))
    asked = {one.digest.hex(): one for one in control if isinstance(one, Round)}
    closes: dict[str, Close] = {}
    for found in map(decoded, of.everything("closings")):
        if isinstance(found, Close):
            closes.setdefault(found.round, found)
    short = [asked[digest] for digest, one in closes.items() if len(one.contributors) < asked[digest].contributors]
    came.given_up, came.left_out = sum(isinstance(one, GiveUp) for one in control), len(short)
    return short


def decoded(got: Got) -> object:
    """What a record says."""
    return decode_record(got.value or b"")


def period(release: bytes) -> int:
    """Of which period a release is."""
    return int(orjson.loads(release)["t"])


def by_stream(records: Sequence[bytes]) -> dict[str, list[bytes]]:
    """Releases, by their streams."""
    found: dict[str, list[bytes]] = {}
    for record in records:
        found.setdefault(orjson.loads(record)["stream"], []).append(record)
    return found
