# SPDX-License-Identifier: Apache-2.0
"""`make bench`: one table of figures, targets and peers, all from one run. Wants the environment of run.sh."""

import os
import platform
from importlib.metadata import version
from pathlib import Path

from benchmarks import (
    devices,
    hitters,
    local_hash,
    methods,
    mixing,
    numeric,
    oracles,
    pipeline,
    queries,
    questions,
    tallies,
    trees,
    wide,
    wire,
)
from benchmarks.kafka import __main__ as kafka
from benchmarks.measure import heading, line
from benchmarks.oracles import EPSILON, PEER_N, N

PARTS = (
    oracles,
    local_hash,
    hitters,
    numeric,
    trees,
    questions,
    devices,
    wire,
    wide,
    tallies,
    pipeline,
    methods,
    mixing,
    queries,
    kafka,
)


def main() -> None:
    """Print rows as they come."""
    for packages in (("murmurate", "pure-ldp", "multi-freq-ldpy"), ("numpy", "numba", "cryptography")):
        print(", ".join(f"{name} {version(name)}" for name in packages))
    load = os.getloadavg()[0]  # figures of a machine that is busy with other things fall, the longest calls' most
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, {processor()}; load before: {load:.1f}")
    print(f"rates per second on one core, epsilon = {EPSILON:g}, n = {N:,}; best of several times")
    few = ", ".join(f"{n:,} at d = {d}" for (name, d), n in PEER_N.items() if name == "oue")
    print(f"peers' oue reports (d numbers each): n = {few}")
    print("ratio: to the best peer; `!`: target missed\n")
    print(heading())
    for part in PARTS:
        for row in part.rows():
            print(line(row), flush=True)


def processor() -> str:
    """What the machine calls its processor."""
    info = Path("/proc/cpuinfo")
    names = (
        [row for row in info.read_text(encoding="utf-8").splitlines() if "model name" in row] if info.exists() else []
    )
    return names[0].split(":")[1].strip() if names else platform.machine()


if __name__ == "__main__":
    main()
