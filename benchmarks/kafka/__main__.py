"""`python -m benchmarks.kafka [PART]`: starts a broker of its own and prints the table."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from benchmarks.kafka import door, packed, releases, rounds
from benchmarks.measure import Row, heading, line
from tests.faults.broker import Broker

PARTS = {"rounds": rounds.rows, "packed": packed.rows, "door": door.rows, "releases": releases.rows}
RUNS = 3


async def rows(chosen: str | None = None, runs: int = RUNS) -> AsyncIterator[Row]:
    """Of one part, or of all."""
    with tempfile.TemporaryDirectory() as folder, Broker(Path(folder), version="4.2.0") as broker:
        for name, part in PARTS.items():
            if chosen in (None, name):
                async for row in part(broker.bootstrap, runs):
                    yield row


async def show(chosen: str | None, runs: int) -> None:
    print(heading())
    async for row in rows(chosen, runs):
        print(line(row), flush=True)


def main() -> None:
    reader = argparse.ArgumentParser(prog="python -m benchmarks.kafka", description=__doc__)
    reader.add_argument("part", nargs="?", choices=PARTS, help="all of them by default")
    reader.add_argument("--runs", type=int, default=RUNS, help="of each; the best counts, the middle one is shown")
    options = reader.parse_args()
    asyncio.run(show(options.part, options.runs))


if __name__ == "__main__":
    main()
