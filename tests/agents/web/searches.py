# SPDX-License-Identifier: Apache-2.0
"""Frames of a run in which nobody knows the list: an app's searches, in which one trends, as a search would find them.

Contract: releases are as docs/WIRE.md has them ("release of a search"); the same periods and seed give the same frames.
Not here: the method that finds names in reports.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.agents.web.frames import done, hello, progress, releases

LEAST = 0.005
WORDS = (
    "weather", "news", "train times", "recipe", "map", "cinema", "bike repair", "library hours", "guitar chords",
    "flights to lisbon", "cheap flights", "running shoes", "coffee", "vegan lasagne", "tax form 11", "used cars",
    "pizza near me", "bus 42", "football scores", "translate", "0x6869f09f", "mortgage rates", "dentist", "yoga",
)  # fmt: skip
TREND = "storm warning"
NAMES = (*WORDS, TREND)


def shares(periods: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The true share of each search in each period; the last one trends from a third of the time on."""
    at = np.linspace(0, 1, periods)
    usual = 0.16 / np.arange(1.0, len(WORDS) + 1) ** 0.9
    waves = 1 + 0.35 * np.sin(2 * np.pi * (at[:, None] * 1.3 + np.arange(len(WORDS)) / 5))
    trend = 0.21 * np.clip((at - 0.34) / 0.12, 0, 1) * np.where(at > 0.62, np.exp(-(at - 0.62) / 0.07), 1.0)
    return np.concatenate([usual * waves, trend[:, None]], axis=1)


def searches(periods: int = 96, seed: int = 5, *, quiet: range = range(0)) -> Iterator[dict[str, Any]]:
    """Release frames with what was found; in `quiet` periods nothing is, and what was known is gone."""
    truth, rng, every = shares(periods), np.random.default_rng(seed), 3
    state: dict[str, tuple[float, int, int, float]] = {}  # estimate, since, seen, the estimate of the last move
    for i, frame in enumerate(releases(periods=periods)):
        t, noise = frame["release"]["t"], 0.0055
        asked, error, before = bool(i % every == 0), 0.0022, set(state)
        threshold = 3.6 * noise if asked else None
        rose, fell, raw = list[str](), list[str](), dict[str, float]()
        for name, share in zip(NAMES, truth[i], strict=True):
            told = float(share + noise * rng.standard_normal())
            if i in quiet:
                state.pop(name, None)
            elif name not in state:
                if threshold is not None and told > max(threshold, LEAST):
                    state[name], raw[name] = (told, t, t, told), told
            else:
                held, since, seen, moved = state[name]
                held += 0.35 * (float(share + 0.4 * noise * rng.standard_normal()) - held)
                if asked:
                    raw[name] = told
                seen = t if asked and threshold is not None and told > threshold else seen
                if abs(held - moved) > 6 * error:
                    (rose if held > moved else fell).append(name)
                    moved = held
                state[name] = held, since, seen, moved
                if held < 2 * error:
                    del state[name]
        order = sorted(state, key=lambda name: -state[name][0])
        discovery: dict[str, Any] = {"least": LEAST, "threshold": None if threshold is None else round(threshold, 6)}
        discovery |= {"since": {name: state[name][1] for name in order}, "seen": {n: state[n][2] for n in order}}
        moves = {
            "rose": [n for n in order if n in rose],
            "fell": [n for n in order if n in fell],
            "gone": sorted(before - set(order)),
        }
        discovery |= {key: names for key, names in moves.items() if names}
        said = {
            "stream": "searches", "measure": "strings", "names": "found", "discovery": discovery,
            "decision": "published" if asked else "approximated", "measured_t": t - i % every,
            "estimate": {name: round(max(state[name][0], 0), 6) for name in order},
            "stderr": {name: round(error + 0.0008 * (i % every), 6) for name in order},
            "unbiased": {name: round(raw[name], 6) if name in raw else None for name in order},
            "mechanism": {"name": "branches", "epsilon": 1.0, "digest": "5d1c0e7a92f3b864"},
            "method": {"name": "pem", "filter": "adaptive"},
        }  # fmt: skip
        true = {name: round(float(share), 6) for name, share in zip(NAMES, truth[i], strict=True)}
        yield frame | {"release": frame["release"] | said, "truth": {name: true[name] for name in order}}


def whole_search(periods: int = 96, **more: Any) -> list[dict[str, Any]]:
    """Every frame of a run, in order."""
    frames = [header(periods)]
    for i, frame in enumerate(searches(periods, **more), 1):
        frames += [frame, progress(i, periods)]
    return [*frames, done(periods)]


def header(periods: int | None = 96, **more: Any) -> dict[str, Any]:
    """The first frame."""
    (spec,) = hello(("",), periods)["streams"]
    own = {"name": "searches", "names": [], "measure": "strings", "of": "up to 16 bytes", "one": "Text"}
    return hello(streams=[spec | own | {"many": "Texts", "method": "pem", "shaped": False, "numbers": []}], **more)
