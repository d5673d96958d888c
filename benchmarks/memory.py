# SPDX-License-Identifier: Apache-2.0
"""Prints how many MB the memory of this process rises by, at its peak, while OUE at d = 1024 makes 100 000 reports.

To be run in a fresh process: `python -m benchmarks.memory`. The reports themselves, 12.8 MB, are counted.
"""

import resource
import sys
from pathlib import Path

import numpy as np

from murmurate.randomizers import OUE, Key
from murmurate.randomizers.randomness import contexts

STATUS = Path("/proc/self/status")


def held_mb(linux: str) -> float:
    """A line of Linux's account: VmRSS now, VmHWM at most so far. Elsewhere only the latter is known."""
    if STATUS.exists():
        row = next(row for row in STATUS.read_text(encoding="ascii").splitlines() if row.startswith(linux))
        return int(row.split()[1]) / 1024
    unit = 1 << 20 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def main() -> None:
    n = 100_000
    oue, values, users = OUE(d=1024, epsilon=1.0), np.arange(n) % 1024, contexts(np.arange(n))
    key = Key(bytes(range(32)), deployment="bench")
    before = held_mb("VmRSS")
    reports = oue.perturb(values, key.draw(users, round=b"\x01" * 32))
    assert len(reports) == n
    print(round(held_mb("VmHWM") - before, 1))


if __name__ == "__main__":
    main()
