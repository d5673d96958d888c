# SPDX-License-Identifier: Apache-2.0
"""Plausible frames of two streams of numbers: what rides cost (a mean) and how far they go (a distribution).

In some of the first periods nothing has been measured yet, as where rounds wait for enough users.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import numpy as np

from murmurate.aggregators.measures.distribution import Distribution, stretches
from murmurate.aggregators.measures.figure_kinds import page_question
from murmurate.aggregators.measures.mean import Mean
from murmurate.aggregators.measures.measure import Measure
from murmurate.topics.domains import Grid
from tests.agents.web.frames import BEGIN, MINUTES, done, hello, progress, releases, unmeasured

Frames = list[dict[str, Any]]
FARES, KILOMETRES = (0.0, 120.0), (0.0, 30.0)
CELLS = 16
LENGTHS = (*stretches(Grid(*KILOMETRES, CELLS, "stretches")), "none")
UNMEASURED = 2
"""Periods before the first one that is published."""
FIRST = int(BEGIN.timestamp()) // (60 * MINUTES)


def spec(name: str, periods: int | None = 96, **more: Any) -> dict[str, Any]:
    """A stream as hello names it."""
    stream: dict[str, Any] = hello(periods=periods)["streams"][0]
    numbers = {
        "fare": {"names": ["mean", "present"], "measure": "mean", "unit": "EUR", "range": FARES},
        "distance": {"names": list(LENGTHS), "measure": "distribution", "unit": "km", "range": KILOMETRES},
    }
    stream |= {"name": name, "method": "lpa"} | numbers[name] | more
    stream |= page_question(stream["measure"], stream["names"], central=False)
    (low, high), names = stream["range"], stream["names"]
    of: Measure = Mean(Grid(low, high, CELLS, "points"), "present" in names, stream["unit"])
    if name == "distance":
        none = "none" in names
        of = Distribution(Grid(low, high, len(names) - none, "stretches"), none, stream["unit"])
    return stream | of.page() | more


def rides(*names: str, periods: int | None = 96, mode: str = "replay", **more: Any) -> dict[str, Any]:
    """The hello of some of these streams."""
    return hello(deployment="rides", mode=mode, streams=[spec(name, periods, **more) for name in names])


def fares(periods: int = 96, seed: int = 3) -> Frames:
    """Release frames of the mean: dearer in the evening; where nothing new was measured the last one stands."""
    rng = np.random.default_rng(seed)
    hour = np.linspace(0, 24, periods, endpoint=False)
    mean = 14 + 6 * np.exp(-0.5 * ((hour - 20) / 2) ** 2) + 0.2 * rng.standard_normal(periods)
    present = 0.3 + 0.15 * np.sin((hour - 9) / 24 * 2 * np.pi)
    held, error, frames = np.zeros(2), np.ones(2), []
    measured: int | None = None
    for i in range(periods):
        if i >= UNMEASURED and (i - (measured or 0) >= 4 or i < 12 or 70 < i < 90):
            error, measured = np.array([0.55 + 0.2 * rng.random(), 0.011]), i
            held = np.array([mean[i], present[i]]) + error * rng.standard_normal(2)
        truth = {"mean": float(mean[i]), "present": float(present[i])}
        drift = error * (1 + 0.25 * (i - (measured or 0)))
        frames.append(_frame(spec("fare"), i, measured, held, drift, truth, {"name": "value_presence", "d": 65_538}))
    return frames


def distances(periods: int = 96, seed: int = 4) -> Frames:
    """Release frames of the distribution: short rides, and in the morning some to the airport."""
    rng = np.random.default_rng(seed)
    at = (np.arange(CELLS) + 0.5) / CELLS
    frames, held, error = [], np.zeros(CELLS + 1), np.ones(CELLS + 1)
    measured: int | None = None
    for i in range(periods):
        far = 0.35 * np.exp(-0.5 * ((i / periods * 24 - 7) / 2) ** 2)
        shares = (1 - far) * np.exp(-0.5 * ((at - 0.2) / 0.13) ** 2) + far * np.exp(-0.5 * ((at - 0.78) / 0.04) ** 2)
        shares = np.append(0.45 * shares / shares.sum(), 0.55)
        if i >= UNMEASURED and (i % 3 == 0 or i == UNMEASURED):
            error, measured = 0.006 + 0.05 * np.sqrt(shares / 100), i
            held = np.maximum(shares + error * rng.standard_normal(CELLS + 1), 0)
            held /= held.sum()
        truth = dict(zip(LENGTHS, shares.tolist(), strict=True))
        frames.append(
            _frame(spec("distance"), i, measured, held, error, truth, {"name": "sw_presence", "d": CELLS + 1})
        )
    return frames


def whole_ride(periods: int = 96) -> Iterator[dict[str, Any]]:
    """Every frame of a run with both streams."""
    yield rides("fare", "distance", periods=periods)
    for i, pair in enumerate(zip(fares(periods), distances(periods), strict=True), 1):
        yield from pair
        yield progress(2 * i, 2 * periods)
    yield done(2 * periods)


def too_few(periods: int = 40) -> Iterator[dict[str, Any]]:
    """Every frame of a run in which rounds stay below min_batch: of fares always, of distances but for once."""
    lacks = "400 users give a round about 67 reports, below min_batch = 1000: nothing will ever be released."
    warned = [spec("fare", 96, warning=f"{lacks} It takes 6 700 users."), spec("distance", 96)]
    yield hello(deployment="rides", streams=warned)
    fare, distance = fares()[:periods], distances()[:periods]
    yield from (unmeasured(frame) for frame in fare)
    yield from distance[:6]
    for frame in distance[6:]:
        same = {key: distance[5]["release"][key] for key in ("estimate", "stderr", "unbiased", "measured_t")}
        reports = unmeasured(frame)["release"]["reports"]
        yield frame | {"release": frame["release"] | same | {"decision": "approximated", "reports": reports}}
    end = done(2 * periods)
    yield end | {"summary": end["summary"] | {"published": 2, "unmeasured": periods + UNMEASURED}}


def without_truth(frames: Frames) -> Frames:
    return [frame | {"truth": None} for frame in frames]


def changed(frame: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """The frame with other fields in its release; tables are merged."""
    release = dict(frame["release"])
    for key, value in fields.items():
        release[key] = release[key] | value if isinstance(value, dict) else value
    return frame | {"release": release}


_BASE: dict[str, Any] = next(releases())["release"]


def _frame(
    stream: dict[str, Any], i: int, measured: int | None, said: Any, error: Any, truth: Any, mechanism: Any
) -> dict[str, Any]:
    start = BEGIN + timedelta(minutes=MINUTES * i)
    names, counted = stream["names"], 1200 if measured == i else 0
    estimate = {name: round(value, 6) for name, value in zip(names, said.tolist(), strict=True)}
    release = _BASE | {
        "deployment": "rides", "stream": stream["name"], "measure": stream["measure"], "unit": stream["unit"],
        "range": stream["range"], "t": FIRST + i, "measured_t": None if measured is None else FIRST + measured,
        "start": f"{start:%Y-%m-%dT%H:%M:%SZ}", "end": f"{start + timedelta(minutes=MINUTES):%Y-%m-%dT%H:%M:%SZ}",
        "decision": "published" if measured == i else "approximated", "estimate": estimate, "unbiased": estimate,
        "stderr": {name: round(value, 6) for name, value in zip(names, error.tolist(), strict=True)},
        "reports": {"slots": 120, "received": counted, "counted": counted, "rejected": {"malformed": 0}},
        "mechanism": mechanism | {"epsilon": 1.0, "digest": "5d1c0e7a92f3b864"},
    }  # fmt: skip
    frame = {"type": "release", "release": release, "truth": {name: round(value, 6) for name, value in truth.items()}}
    return unmeasured(frame) if measured is None else frame
