# SPDX-License-Identifier: Apache-2.0
"""Queries: a file of releases read into an index, and answers from 2^20 periods.

Files are read from the page cache, once each time; the index of 2^20 periods is what a replay of as many gives.
`python -m benchmarks.queries` prints these rows alone.
"""

import tempfile
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import orjson

from benchmarks.measure import Row, at_least, at_most, best_seconds, heading, line
from murmurate.agents.queries import index_of
from murmurate.aggregators.queries import ReleaseIndex, answer
from murmurate.topics.times import instant
from tests.aggregators.queries.made import EVERY_MS, PROMISE, START_T, head, local

PERIODS = 1 << 20
SOME = 1 << 15
FANOUT, LEVELS = 16, 5


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        for what, names in (("central", ("total",)), ("central, 2", ("count", "total")), ("local, 64", NAMES)):
            path = Path(folder) / f"{len(names)}.jsonl"
            path.write_bytes(b"".join(orjson.dumps(record) + b"\n" for record in records(SOME // len(names), names)))
            took = best_seconds({"scan": lambda path=path: index_of(path)})  # type: ignore[misc]
            yield at_least(f"scan a file: {what} names", path.stat().st_size / took["scan"], 100e6, "B/s")
    tracemalloc.start()
    index = ReleaseIndex()
    for record in records(PERIODS, ("total",)):
        index.add(record)
    read, _ = tracemalloc.get_traced_memory()
    yield at_most("memory of 2^20 releases", read / 2**20, 64, "MiB")
    answer(index, "sum of revenue over all")
    ready, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    yield at_most("  and what was prepared", (ready - read) / 2**20, 128, "MiB")

    def prepare() -> object:
        recorded = index.stream("revenue")
        recorded.answers, recorded._built = {}, None
        return answer(index, "sum of revenue over all")

    yield at_most("prepare 2^20 periods, once", best_seconds({"first": prepare})["first"] * 1e3, 1000, "ms")
    for what, question in (("all", "all"), ("a stretch", f"{instant(low())} .. {instant(low() + 40_000_000_000)}")):
        took = best_seconds({"sum": lambda question=question: answer(index, f"sum of revenue over {question}")})  # type: ignore[misc]
        yield at_most(f"answer over 2^20: {what}", took["sum"] * 1e3, 1, "ms")


NAMES = tuple(f"value-{place:02d}" for place in range(64))


def low() -> int:
    return (START_T + 1234) * EVERY_MS


def records(periods: int, names: tuple[str, ...]) -> Iterator[dict[str, object]]:
    """Releases whose figures are made up."""
    leaves = FANOUT ** (LEVELS - 1)
    for at in range(periods):
        t, figures = START_T + at, {name: 1000.123456 + at % 997 + place for place, name in enumerate(names)}
        if len(names) > 2:
            shares: dict[str, float | None] = {name: round(value / 1e6, 6) for name, value in figures.items()}
            yield local(t, shares, dict.fromkeys(names, 0.012345))
            continue
        noise = {"fanout": FANOUT, "levels": LEVELS, "first_t": t - at % leaves, "node": dict.fromkeys(names, 123.25)}
        yield head("revenue", t, "total", "EUR") | {
            "decision": "published", "measured_t": t, "estimate": figures, "unbiased": figures, "range": [0.0, 120.0],
            "stderr": dict.fromkeys(names, 119.5), "central": PROMISE, "noise": noise,
            "method": {"name": "tops", "threshold": 60.0, "holdout_periods": 60, "holdout_events": 65536},
        }  # fmt: skip


def main() -> None:
    """These rows alone."""
    print(heading())
    for row in rows():
        print(line(row), flush=True)


if __name__ == "__main__":
    main()
