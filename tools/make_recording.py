# SPDX-License-Identifier: Apache-2.0
"""Make the bundled recording: which screen of a shopping app 60 000 people are on over a day with a sale at noon.

Contract: the same arrays on every machine, and the same bytes where zlib is the same: chance comes from a counter and
a 64-bit mixer in this file, no library's generator.  What the day is like stands in the tables below; no real person
is in it.  Format: agents/replay/arrays.py, Recording.  Run: .venv/bin/python tools/make_recording.py
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FOLDER = Path(__file__).resolve().parent.parent / "agents" / "replay" / "recordings"
SEED = 20261127
USERS, PERIODS, EVERY_MS = 60_000, 288, 300_000
START_MS = 1_795_737_600_000  # 2026-11-27T00:00:00Z, a Friday of sales
NAMES = ("home", "search", "basket", "checkout", "help")
SALE = (144, 168)  # noon to two

# Hour of the day: the share of people who have the app open.
HOURS = (0, 3, 5, 7, 9, 12, 12.25, 13, 14, 14.5, 17, 20, 22, 24)
OPEN = (0.14, 0.05, 0.06, 0.20, 0.25, 0.30, 0.58, 0.62, 0.52, 0.34, 0.34, 0.50, 0.36, 0.14)
# Which screen they go to, on an ordinary hour and while the sale lasts.
ORDINARY = (0.50, 0.27, 0.11, 0.05, 0.07)
ON_SALE = (0.17, 0.36, 0.25, 0.17, 0.05)
MOVE, RUSH = 0.15, 0.6  # of those inside look for another screen in a period; so many when a sale begins or ends
LEAVE = 0.06  # of them close the app, and as many others open it as the hour asks for
REMIND = 3  # periods: an open app says again where it is, since a value is carried for 15 minutes
OVERHANG = 0.86  # a carried value outlives its event, so somewhat fewer are inside than are counted
LEFT = len(NAMES)


def main() -> None:
    """Write demo.npz and say what is in it."""
    arrays = recording()
    path = FOLDER / "demo.npz"
    path.parent.mkdir(exist_ok=True)
    np.savez_compressed(path, **arrays)  # type: ignore[arg-type]
    size, changes = path.stat().st_size, len(arrays["moves"])
    sys.stdout.write(f"{path.name}: {USERS} users, {changes} changes, {size} bytes, digest {digest(arrays)}\n")


def recording() -> dict[str, NDArray[Any]]:
    """The arrays of the file: who went where and when, by user and then time. What is repeated is left out."""
    screens = _day().T
    before = np.concatenate((np.full((USERS, 1), LEFT, np.int8), screens[:, :-1]), axis=1)
    users, periods = np.nonzero(screens != before)
    steps = np.diff(periods, prepend=0)
    first = np.diff(users, prepend=-1) > 0
    steps[first] = periods[first]
    kinds = len(NAMES) + 1
    longest = 255 // kinds  # 42: a byte that says only that so many periods pass
    waits = steps // longest
    moves = np.full(int(waits.sum()) + len(steps), longest * kinds, np.uint8)
    moves[np.cumsum(waits + 1) - 1] = steps % longest * kinds + screens[users, periods]
    return {
        "changes": np.bincount(users, weights=waits + 1, minlength=USERS).astype(np.uint8),
        "moves": moves,
        "names": np.array(NAMES),
        "periods": np.array(PERIODS),
        "remind": np.array(REMIND),
        "start_ms": np.array(START_MS),
        "every_ms": np.array(EVERY_MS),
    }


def digest(arrays: dict[str, NDArray[Any]]) -> str:
    """Sixteen hexadecimal digits of what the arrays say."""
    whole = hashlib.sha256()
    for name in sorted(arrays):
        whole.update(name.encode() + arrays[name].tobytes())
    return whole.hexdigest()[:16]


def _day() -> NDArray[np.int8]:
    """int8[periods, users]: where everybody is, LEFT for not in the app."""
    screens = np.empty((PERIODS, USERS), np.int8)
    screen = np.full(USERS, LEFT, np.int8)
    shares = np.interp((np.arange(PERIODS) + 0.5) / 12, HOURS, OPEN)
    for t in range(PERIODS):
        inside = screen != LEFT
        leaving = inside & (_uniform(t, 0) < LEAVE)
        there = float((inside & ~leaving).mean())
        wanted = max(0.0, float(shares[t]) * OVERHANG - there) / max(1e-9, 1 - there)
        entering = ~inside & (_uniform(t, 1) < wanted)
        moving = inside & ~leaving & (_uniform(t, 2) < (RUSH if t in SALE else MOVE))
        taste = np.cumsum(ON_SALE if SALE[0] <= t < SALE[1] else ORDINARY)
        chosen = np.searchsorted(taste, _uniform(t, 3) * taste[-1], side="right").astype(np.int8)
        screens[t] = screen = np.where(leaving, np.int8(LEFT), np.where(entering | moving, chosen, screen))
    return screens


def _uniform(t: int, purpose: int) -> NDArray[np.float64]:
    """float64[users] in [0, 1): SplitMix64 of (seed, period, purpose, user)."""
    with np.errstate(over="ignore"):
        counter = np.arange(USERS, dtype=np.uint64) + np.uint64(((SEED * PERIODS + t) * 4 + purpose) * USERS)
        word = counter * np.uint64(0x9E3779B97F4A7C15)
        word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    word ^= word >> np.uint64(31)
    return (word >> np.uint64(11)).astype(np.float64) / (1 << 53)


if __name__ == "__main__":
    main()
