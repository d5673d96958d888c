# SPDX-License-Identifier: Apache-2.0
"""`murmurate` as on a machine whose clock is ahead: everything that asks this process for the time is told a later one.

    python -m tests.faults.skewed SECONDS VERB ...

Contract: the wall clock alone is ahead; what counts elapsed time goes as before, like on a machine whose clock somebody
has set.  Not here: clocks that are set while a worker runs (test_clocks.py).
"""

from __future__ import annotations

import sys
import time


def set_ahead(seconds: float) -> None:
    """From now on the wall clock of this process is ahead by so much."""
    at, at_ns = time.time, time.time_ns
    time.time = lambda: at() + seconds
    time.time_ns = lambda: at_ns() + round(seconds * 10**9)


def run() -> None:
    """The verb behind the number."""
    set_ahead(float(sys.argv.pop(1)))
    from murmurate.agents.cli.main import main  # after the clock is set

    main()


if __name__ == "__main__":
    run()
