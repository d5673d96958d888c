# SPDX-License-Identifier: Apache-2.0
"""A small deployment and its replay, and releases as a topic has them, for tests of the library."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import cache
from pathlib import Path
from typing import Any

import orjson

import murmurate as mm
from tests.agents.web.frames import releases as frames

CONFIG: dict[str, Any] = {
    "name": "shop",
    "privacy": {"epsilon": 2.0, "window": {"periods": 4}, "min_batch": 20},
    "population": {"partitions": 1, "forget_after": "1h"},
    "streams": {"screen": {"measure": "frequency", "values": ["0", "1"], "every": "1m", "method": "lpa"}},
}
SOURCE = "synthetic:sin,n=600,periods=12,seed=1"
LAG = 3
"""How many periods later a period is revised."""


@cache
def replayed() -> mm.ReplayResult:
    """One replay for all tests that only look at it."""
    return mm.replay(SOURCE, CONFIG, repeatable=True)


def release(t: int, *, stream: str = "screen", revision: int = 1, **changes: Any) -> dict[str, Any]:
    """A release of a minute."""
    like = next(iter(frames(periods=1)))["release"]
    start = f"2026-11-18T{t // 60 % 24:02d}:{t % 60:02d}"
    own = {"stream": stream, "t": t, "revision": revision, "start": f"{start}:00Z", "end": f"{start}:59Z"}
    return {**like, **own, "measured_t": t, **changes}


def topic(periods: int = 12) -> list[dict[str, Any]]:
    """Two streams, one of which is revised, in the order of their topic."""
    found = []
    for t in range(100, 100 + periods):
        found.append(release(t))
        if t >= 100 + LAG:
            found.append(release(t - LAG, revision=2))
        if t % 2:
            found.append(release(t // 2, stream="fare"))
    return found


def ids(releases: list[dict[str, Any]], stream: str | None = None) -> list[str]:
    return ["{stream}/{t}/{revision}".format_map(one) for one in releases if stream in (None, one["stream"])]


def write(path: Path, releases: list[dict[str, Any]]) -> Path:
    path.write_bytes(b"".join(orjson.dumps(one) + b"\n" for one in releases))
    return path


async def take(subscription: AsyncIterator[mm.Release], count: int) -> list[str]:
    """The ids of the next releases."""
    found = list[str]()
    while len(found) < count:
        found.append((await anext(subscription)).id)
    return found


async def everything(subscription: AsyncIterator[mm.Release]) -> list[str]:
    """The ids of the releases up to the end."""
    return [release.id async for release in subscription]
