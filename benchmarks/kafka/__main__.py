# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmarks.kafka [PART]`: starts a broker of its own and prints the table."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from benchmarks.kafka import door, packed, releases, rounds
from benchmarks.measure import Row, heading, line
from tests.faults.broker import Broker
from tests.faults.jars import BrokerError

PARTS = {"rounds": rounds.rows, "packed": packed.rows, "door": door.rows, "releases": releases.rows}
RUNS = 3


def rows(chosen: str | None = None, runs: int = RUNS) -> Iterator[Row]:
    """Of one part, or of all, as they come."""
    with tempfile.TemporaryDirectory() as folder, asyncio.Runner() as runner:
        try:
            broker = Broker(Path(folder), version="4.2.0")
            broker.start()
        except BrokerError as error:
            yield Row("on Kafka: no broker", "", "", False)
            print(error)
            return
        with broker:
            for part in (part for name, part in PARTS.items() if chosen in (None, name)):
                found = part(broker.bootstrap, runs)
                while (row := runner.run(_next(found))) is not None:
                    yield row


async def _next(found: AsyncIterator[Row]) -> Row | None:
    return await anext(found, None)


def main() -> None:
    reader = argparse.ArgumentParser(prog="python -m benchmarks.kafka", description=__doc__)
    reader.add_argument("part", nargs="?", choices=PARTS, help="all of them by default")
    reader.add_argument("--runs", type=int, default=RUNS, help="of each; the best counts, the middle one is shown")
    options = reader.parse_args()
    print(heading())
    for row in rows(options.part, options.runs):
        print(line(row), flush=True)


if __name__ == "__main__":
    main()
