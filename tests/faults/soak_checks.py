# SPDX-License-Identifier: Apache-2.0
"""What has to come of a soak's load: every period released once and in order, every event in `raw` once, nobody late.

Contract: what is found wrong is a line of `wrong`; figures are for whoever reads the verdict.  Not here: memory and lag
over time (soak.py), who writes (soak_load.py).
"""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import orjson

from murmurate.agents.kafka.client import Place, Reader
from murmurate.topics.block import RawBlock
from murmurate.topics.codec import decode_record
from murmurate.topics.messages import Progress
from murmurate.topics.names import stream_id
from murmurate.topics.quiet import Quiet
from tests.faults.deployed import Deployed
from tests.faults.soak_load import Source

SURE: Final = 5.0
"""Standard errors: a false alarm of 1e-6 over all runs."""
SETTLED: Final = 26
"""Periods after which everybody has been asked by rounds that began with the load: two windows."""
DEAD: Final = ("edge", "mixing", "analysis")


@dataclass
class Releases:
    """The releases as they come."""

    reader: Reader
    deployed: Deployed
    wrong: list[str] = field(default_factory=list)
    taken: Counter[str] = field(default_factory=Counter)
    """By decision."""
    begins: dict[str, int] = field(default_factory=dict)
    """The beginning of each stream's first period, in milliseconds."""
    ends: dict[str, int] = field(default_factory=dict)
    """The end of each stream's newest period, in milliseconds."""
    delays_ms: list[int] = field(default_factory=list)
    """From the end of each period, lateness included, until its release."""
    none: dict[str, list[tuple[int, float, float]]] = field(default_factory=dict)
    """By stream: the period that was measured, the share of those who sent nothing, and its standard error."""
    _next: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.place = Place(f"{self.deployed.plan.name}.releases", 0)
        self.reader.at({self.place: 0})

    async def take(self) -> None:
        """All that have come since."""
        end = (await self.reader.bounds([self.place]))[self.place][1]
        while (at := await self._read()) is not None and at < end - 1:
            pass

    async def _read(self) -> int | None:
        """The last offset of those that were read; None where nothing came."""
        found = await self.reader.poll(300)
        for got in found:
            self.judge(got.value or b"", got.time_ms)
        return found[-1].offset if found else None

    def judge(self, value: bytes, appended_ms: int) -> None:
        """One release, beside those before it."""
        release = orjson.loads(value)
        stream, t = release["stream"], release["t"]
        wanted = self._next.get(stream, t)
        if t != wanted:
            kind = "twice, or out of order" if t < wanted else "after a gap"
            self.wrong.append(f"stream {stream}: found period {t} {kind}; allowed: period {wanted}")
        self._next[stream] = max(t + 1, wanted)
        self.taken[release["decision"]] += 1
        if missing := (release["reports"] or {}).get("missing"):
            self.wrong.append(f"stream {stream}: period {t} lacks {missing} contributors; allowed: none")
        start, end = (round(datetime.fromisoformat(release[key]).timestamp() * 1000) for key in ("start", "end"))
        self.begins.setdefault(stream, start)
        self.ends[stream] = end
        self.delays_ms.append(appended_ms - end - self.deployed.plan.lateness_ms)
        if release["decision"] == "published" and release.get("stderr_unbiased"):
            figures = release["unbiased"]["none"], release["stderr_unbiased"]["none"]
            self.none.setdefault(stream, []).append((self.ends[stream], *figures))

    def silent_share(self, stream: str, since_ms: int, until_ms: int) -> tuple[float, float]:
        """The mean share of those who sent nothing, of periods that ended in between, and its standard error."""
        found = [(share, error) for at, share, error in self.none.get(stream, []) if since_ms < at <= until_ms]
        if not found:
            return 0.0, math.inf
        return statistics.fmean(share for share, _ in found), math.hypot(*(e for _, e in found)) / len(found)

    def nobody_silent(self, since_ms: int, until_ms: int) -> list[str]:
        """Everybody sent an event in every period: a share of nothing that is certain means that some were lost."""
        lines = []
        for stream in self.ends:
            share, error = self.silent_share(stream, since_ms, until_ms)
            if share > SURE * error:
                lines.append(f"stream {stream}: found {share:.4f} (+-{error:.4f}) who sent nothing; allowed: none")
        return lines


@dataclass
class Kept:
    """What stands in `raw` and in the dead letters."""

    rows: Counter[str] = field(default_factory=Counter)
    """By stream."""
    ahead_ms: int = 0
    """How far a time that a door told was ahead of the brokers' clock."""
    dead: Counter[str] = field(default_factory=Counter)
    """By zone and reason."""

    def compared(self, sources: Sequence[Source], skew_ms: int) -> list[str]:
        """What is not as it was sent."""
        wrong = [
            f"raw: found {self.rows[source.stream]} events of {source.stream}; sent: {source.lawful}"
            for source in sources
            if self.rows[source.stream] != source.lawful
        ]
        if self.ahead_ms > skew_ms:
            wrong.append(f"raw: found a time {self.ahead_ms} ms ahead of the brokers'; allowed: {skew_ms} ms")
        garbage = Counter({"edge json": sum(source.garbage for source in sources)})
        if self.dead != +garbage:
            wrong.append(f"dead letters: found {dict(self.dead)}; planted: {dict(garbage)}")
        return wrong


async def kept(deployed: Deployed) -> Kept:
    """All of `raw` and all dead letters, read once."""
    found, name = Kept(), deployed.plan.name
    streams = {stream_id(stream.name): stream.name for stream in deployed.plan.everything}
    async with deployed.client.reader() as reader:
        places = [Place(f"{name}.raw", p) for p in range(deployed.plan.partitions)]
        for place, (first, end) in (await reader.bounds(places)).items():
            async for got in reader.between(place, first, end):
                match decode_record(got.value or b""):
                    case RawBlock() as block:
                        found.rows[streams[block.stream]] += len(block.users)
                    case Progress(time=time) | Quiet(time=time):
                        found.ahead_ms = max(found.ahead_ms, time - got.time_ms)
                    case _:
                        pass
    for zone in DEAD:
        for got in await deployed._everything(f"dead.{zone}"):
            found.dead[f"{zone} {orjson.loads(got.value or b'')['reason']}"] += 1
    return found


def doors_that_told(deployed: Deployed) -> set[Place]:
    """The source partitions whose doors have passed on a time."""
    found = [decode_record(got.value or b"") for got in deployed.everything("raw")]
    told = {Place(one.topic, p) for one in found if isinstance(one, Quiet) for p in one.partitions}
    return told | {Place(one.topic, one.partition) for one in found if isinstance(one, Progress) and one.time}


def results(metrics: str) -> Counter[str]:
    """Raw events that a worker read, by what became of them, in what it shows at `web.edge`."""
    found = Counter[str]()
    for labels, value in re.findall(r"^murmurate_events_total\{([^}]*)\} (\S+)$", metrics, re.MULTILINE):
        (result,) = re.findall(r'result="([^"]*)"', labels)
        found[result] += round(float(value))
    return found


def lateness(refusals: Mapping[str, int], sources: Sequence[Source]) -> list[str]:
    """Whether those events are late that were planted so, and no others."""
    planted = sum(source.late for source in sources)
    wrong = [f"{refusals['late']} late events were counted; planted: {planted}"] * (refusals["late"] != planted)
    return wrong + [f"{refusals['future']} events were counted as too far ahead"] * (refusals["future"] > 0)
