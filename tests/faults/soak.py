# SPDX-License-Identifier: Apache-2.0
"""A deployment at a steady load for a long time: is memory flat, does lag stay, is every period released once?

`make soak` (ARGS="--minutes 30 --rate 10000").  One broker, two workers of all zones, events by the wall clock.  With
`--kind mixed` there are two streams, one source of compressed batches and one of transactions, workers whose clock is
ahead come and are refused, sources get more partitions, and an auditor follows; else one stream is written to as it
comes.  Prints a line every half a minute and a verdict; exit 1 where memory grew by more than 5 % from the second third
of the run to the last, lag or descriptors did, or an event or a period is missing.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.faults.broker import Broker
from tests.faults.deployed import Deployed
from tests.faults.soak_options import BUSY, Options
from tests.faults.soak_run import begun, run


def verdict(told: list[str], wrong: list[str]) -> bool:
    """Print both; whether nothing was wrong."""
    print(*told, *(f"WRONG  {line}" for line in wrong), sep="\n")
    print("the soak has failed" if wrong else "the soak holds", flush=True)
    return not wrong


def main() -> int:
    """Run it."""
    options = argparse.ArgumentParser(description="memory, lag and releases of a deployment over a long time")
    options.add_argument("--kind", choices=("plain", "mixed"), default="plain")
    options.add_argument("--minutes", type=float, default=30.0)
    options.add_argument("--rate", type=int, default=10_000, help="events a second and source")
    options.add_argument(
        "--folder", type=lambda text: Path(text).resolve(), help="where the logs stay; nowhere by default"
    )
    args = options.parse_args()
    chosen = Options(kind=args.kind, minutes=args.minutes, rate=args.rate)
    with tempfile.TemporaryDirectory() as passing, Broker(Path(passing) / "broker", settings=BUSY) as broker:
        folder = (args.folder or Path(passing) / "soak").resolve()
        if folder.is_dir() and any(folder.iterdir()):  # logs are read when all is over, and are to be of this run alone
            options.error(f"--folder: found files in {folder.name!r}; allowed: an empty folder, or none yet")
        deployed = Deployed(folder, chosen.name, broker.bootstrap, chosen.text)
        try:
            begun(deployed)
            found = run(deployed, chosen)
            grown = found.growth()
            return 0 if verdict([*found.told, *grown[0]], [*found.wrong, *grown[1]]) else 1
        finally:
            deployed.close()


if __name__ == "__main__":
    sys.exit(main())
