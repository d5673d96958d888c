# SPDX-License-Identifier: Apache-2.0
"""Memory, descriptors and lag over a run: those of its last third beside those of the second.

Contract: medians are compared, so a moment in which somebody comes or goes does not count; the first third is for
growing.  Where memory or descriptors are fewer in the end nobody minds.  Not here: who takes the samples (soak.py).
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.faults.deployed import Process

GROWTH: Final = 1.05
MORE_DESCRIPTORS: Final = 5
MORE_RECORDS: Final = 1000


@dataclass(frozen=True)
class Sample:
    """What was seen at a moment."""

    seconds: float
    memory_mb: tuple[float, ...]
    """Of each process, in the order of their names."""
    descriptors: tuple[int, ...]
    lag: int
    releases: int


def rss_mb(process: Process) -> float:
    """Resident memory of a process."""
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def descriptors(process: Process) -> int:
    """How many files and connections it has open."""
    return sum(1 for _ in Path(f"/proc/{process.pid}/fd").iterdir())


def growth(samples: Sequence[Sample], names: Sequence[str]) -> tuple[list[str], list[str]]:
    """The figures, and what of them grew by more than it may."""
    third = len(samples) // 3
    second, last = samples[third : 2 * third], samples[2 * third :]
    if not second:
        return [], ["found fewer than three samples"]

    def both(what: Callable[[Sample], float]) -> tuple[float, float]:
        return statistics.median(map(what, second)), statistics.median(map(what, last))

    told, wrong = [], []
    for i, name in enumerate(names):
        before, after = both(lambda one, i=i: one.memory_mb[i])  # type: ignore[misc]
        told.append(f"{name}: {before:.1f} MB, then {after:.1f} MB ({after / before - 1:+.1%})")
        if after > GROWTH * before:
            wrong.append(f"{name}: memory grew by {after / before - 1:.1%}; allowed: {GROWTH - 1:.0%}")
    before, after = both(lambda one: sum(one.descriptors))
    told.append(f"descriptors, of all together: {before:.0f}, then {after:.0f}")
    if after > before + MORE_DESCRIPTORS:
        wrong.append(f"descriptors grew from {before:.0f} to {after:.0f}; allowed: {MORE_DESCRIPTORS} more")
    before, after = both(lambda one: one.lag)
    told.append(f"lag: {before:.0f} records, then {after:.0f}")
    if after > 2 * before + MORE_RECORDS:
        wrong.append(f"lag grew from {before:.0f} to {after:.0f} records")
    return told, wrong
