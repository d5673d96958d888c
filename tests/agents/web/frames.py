# SPDX-License-Identifier: Apache-2.0
"""Plausible frames of a run that never was: a day of an app's screens with a sale at noon, released as LPA would.

`python -m tests.agents.web.frames [--speed RELEASES_PER_SECOND] [--port PORT]` shows them on the page.
"""

import argparse
import asyncio
import contextlib
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from murmurate.agents.web.feed import Feed
from murmurate.agents.web.server import serve
from murmurate.aggregators.measures.frequency import Frequency
from murmurate.topics.domains import Categories

SCREENS = ("home", "search", "product", "basket", "checkout", "help", "other", "none")
BEGIN = datetime(2026, 11, 18, tzinfo=UTC)
MINUTES = 5
USERS = 60_000
MIXED = {"epsilon": 0.0561, "delta": 1e-08, "per": "window", "n": 3870, "assumed_corrupt": 0.1, "bound": "blanket"}
"""What 4 300 reports of GRR over eight values, of epsilon 1, are worth after mixing."""


def hello(names: tuple[str, ...] = SCREENS, periods: int | None = 288, **more: Any) -> dict[str, Any]:
    stream = {"name": "screen", "names": list(names), "every_ms": MINUTES * 60_000, "periods": periods}
    stream |= Frequency(Categories(names), says_none=False).page()
    stream |= {"measure": "frequency", "w": 13, "epsilon": 1.0, "method": "lpa", "min_batch": 1000, "warning": None}
    stream |= {"asked": "share", "running": False, "main": None}
    promise = [
        "Nobody who sees everything but the raw events learns more than epsilon 1.0 about one user in any hour.",
        "The whole hour counts, however many events a user sends in it: w = 13 periods of 5 minutes.",
    ]
    return {
        "type": "hello",
        "deployment": "shop",
        "promise": promise,
        "streams": [stream],
        "mode": "replay",
    } | more


def day(names: tuple[str, ...] = SCREENS, periods: int = 288, seed: int = 7) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The true shares, float[periods, names]: nights are quiet, and a sale fills baskets at noon."""
    rng = np.random.default_rng(seed)
    hour = np.linspace(0, 24, periods, endpoint=False)
    awake = 1 / (1 + np.exp(-(hour - 7) * 1.3)) * (1 - 1 / (1 + np.exp(-(hour - 23) * 1.6)))
    sale = np.exp(-0.5 * ((hour - 12.6) / 0.75) ** 2) * (hour > 11.9) + 0.25 * np.exp(-np.maximum(hour - 12, 0) / 3) * (
        hour > 12
    )
    evening = np.exp(-0.5 * ((hour - 20.2) / 1.9) ** 2)
    known = {
        "home": 0.30 * awake * (1 - 0.35 * sale),
        "search": 0.17 * awake * (1 + 0.3 * evening) * (1 - 0.2 * sale),
        "product": 0.13 * awake * (1 + 0.7 * evening + 0.5 * sale),
        "basket": 0.05 * awake * (1 + 4.2 * sale + 0.4 * evening),
        "checkout": 0.018 * awake * (1 + 6.5 * sale + 0.6 * evening),
        "help": 0.012 * awake * (1 + 2.5 * sale),
        "other": 0.03 * awake,
    }
    if names == SCREENS:
        shares = np.stack([known[name] for name in names[:-1]], axis=1)
        shares *= (
            1 + 0.01 * rng.standard_normal(shares.shape).cumsum(axis=0) / np.sqrt(np.arange(1, periods + 1))[:, None]
        )
        return np.concatenate([shares, 1 - shares.sum(axis=1, keepdims=True)], axis=1)
    size = rng.dirichlet(np.full(len(names), 1.2)) * 0.9
    wave = 1 + 0.5 * np.sin(2 * np.pi * (hour[:, None] / 24 + rng.random(len(names))))
    return np.asarray(size * wave)


def releases(names: tuple[str, ...] = SCREENS, periods: int = 288, seed: int = 7) -> Iterator[dict[str, Any]]:
    """Release frames: measured often while much changes, held while little does."""
    truth, rng = day(names, periods, seed), np.random.default_rng(seed)
    first = int(BEGIN.timestamp()) // (60 * MINUTES)
    held, error, measured, counted = np.zeros(len(names)), np.zeros(len(names)), None, 0
    for i in range(periods):
        published = i == 0 or bool(np.abs(truth[i] - held).max() > 2.6 * 0.011) or i - (measured or 0) >= 24
        if published:
            counted = int(rng.integers(4300, 4700))
            noise = 0.0085 + 0.002 * rng.random()
            held = np.maximum(truth[i] + noise * rng.standard_normal(len(names)), 0)
            error, measured = np.full(len(names), noise) + 0.003 * np.sqrt(held), i
        drift = error + 0.00035 * (i - (measured or 0))
        start = BEGIN + timedelta(minutes=MINUTES * i)
        yield {
            "type": "release",
            "truth": dict(zip(names, np.round(truth[i], 6).tolist(), strict=True)),
            "release": {
                "schema": "murmurate/release/2",
                "deployment": "shop",
                "stream": "screen",
                "revision": 1,
                "t": first + i,
                "start": f"{start:%Y-%m-%dT%H:%M:%SZ}",
                "end": f"{start + timedelta(minutes=MINUTES):%Y-%m-%dT%H:%M:%SZ}",
                "measure": "frequency",
                "decision": "published" if published else "approximated",
                "measured_t": first + (measured or 0),
                "estimate": dict(zip(names, np.round(held, 6).tolist(), strict=True)),
                "stderr": dict(zip(names, np.round(drift, 6).tolist(), strict=True)),
                "unbiased": dict(zip(names, np.round(held, 6).tolist(), strict=True)),
                "reports": {
                    "slots": 120,
                    "received": counted,
                    "counted": counted,
                    "rejected": {"malformed": 0},
                },
                "privacy": {"unit": "user", "epsilon": 1.0, "window": "1h", "w": 13, "shuffled": MIXED},
                "mechanism": {"name": "grr", "d": len(names), "epsilon": 1.0, "digest": "5d1c0e7a92f3b864"},
                "method": {"name": "lpa", "variance": "sampling"},
            },
        }


def unmeasured(frame: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The frame of the same period, in which too few reports came, so that nothing is known yet."""
    release = frame["release"]
    nulls = {key: dict.fromkeys(release["estimate"]) for key in ("estimate", "stderr", "unbiased")}
    rejected = {"malformed": 0, "undersized": True}
    reports = {"slots": 120, "received": 0, "counted": 0, "rejected": rejected}
    privacy = release["privacy"] | {"shuffled": None, "unshuffled": "nothing was counted"}
    nothing = nulls | {"decision": "unmeasured", "measured_t": None, "reports": reports, "privacy": privacy}
    return frame | {"release": release | nothing} | more


def progress(done: int, of: int | None) -> dict[str, Any]:
    events = done * 41_500
    return {"type": "progress", "events": events, "events_per_second": 2.13e6, "releases": done, "of": of}


def done(count: int) -> dict[str, Any]:
    summary: dict[str, Any] = {"events": count * 41_500, "seconds": 5.6, "events_per_second": 2.13e6, "releases": count}
    summary |= {"published": 74, "unmeasured": 0, "coverage": 0.95}
    summary |= {"mre": 0.0612, "mse": 0.000094, "bits_per_user_per_period": 0.081, "over_budget": 0}
    largest = {"epsilon": 0.0568, "delta": 1e-08, "n": 3780, "bound": "blanket"}
    summary |= {"mixed": {"screen": {"shuffled": largest, "unshuffled": None, "unclaimed": 0}}}
    return {"type": "done", "summary": summary}


def whole_run(names: tuple[str, ...] = SCREENS, periods: int = 288, seed: int = 7) -> Iterator[dict[str, Any]]:
    """Every frame of a run, in order."""
    yield hello(names, periods)
    for i, frame in enumerate(releases(names, periods, seed), 1):
        yield frame
        yield progress(i, periods)
    yield done(periods)


async def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--speed", type=float, default=25.0)
    options.add_argument("--port", type=int, default=8000)
    args = options.parse_args()
    feed, enough = Feed(), threading.Event()
    running = await serve(feed, "127.0.0.1", args.port)
    print(running.url)

    def run() -> None:
        for frame in whole_run():
            feed.put(frame)
            if enough.wait(1 / args.speed if frame["type"] == "release" else 0):
                return

    worker = threading.Thread(target=run)
    worker.start()
    try:
        await asyncio.Event().wait()
    finally:
        enough.set()
        worker.join()
        await running.stop()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main())
