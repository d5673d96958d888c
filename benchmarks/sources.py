# SPDX-License-Identifier: Apache-2.0
"""How fast the same events are read from every kind of file: rows a second of one core, and the ratio to Parquet.

    python -m benchmarks.sources [--rows 2000000] [--users 100000]

Contract: all files hold the same events (categories, or numbers) in one folder that is removed; what is read is the
source alone, to coded batches with numbered or named users, without pseudonyms and stages.  By CPU time, all threads
together, in turns, the best of three; `pyarrow alone` decodes the same three columns and looks at nothing.
"""

from __future__ import annotations

import argparse
import gzip
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import cramjam
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet

from murmurate.agents.replay.sources import open_source
from murmurate.config.loader import load
from murmurate.config.plan import Plan
from murmurate.config.planning import plan as planned
from murmurate.topics.times import instant

START_MS = 1_794_992_400_000
SCREENS = ("home", "search", "basket", "help", "pay", "account")
STREAMS = {
    "categories": 'measure = "frequency"\nvalues = ["home", "search", "basket", "help", "pay", "account"]\n',
    "numbers": 'measure = "mean"\nrange = [0, 100]\n',
}
TURNS = 3


def main() -> None:
    """Write the files, read them in turns, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--users", type=int, default=100_000)
    asked = parser.parse_args()
    for kind, stream in STREAMS.items():
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            plan = deployed(folder, stream)
            sources = written(folder, table(kind, asked.rows, asked.users))
            work = {label: reading(plan, source) for label, source in sources.items()}
            work["pyarrow alone"] = partial(decoded, sources["Parquet"])
            show(kind, asked.rows, in_turns(work))


def deployed(folder: Path, stream: str) -> Plan:
    """A deployment of one stream."""
    text = f'name = "bench"\n[privacy]\nepsilon = 1.0\nwindow = "1h"\n[streams.it]\n{stream}every = "1m"\n'
    text += 'source = { topic = "clicks", user = "/user", time = "/time", value = "/value" }\n'
    (folder / "murmurate.toml").write_text(text, encoding="utf-8")
    return planned(load(folder / "murmurate.toml", {}))


def table(kind: str, rows: int, users: int) -> pa.Table:
    """Events of an hour, in their order."""
    chance = np.random.default_rng(7)
    names = pa.array([f"user-{number:06d}" for number in range(users)])
    said = pa.array(SCREENS).take(pa.array(chance.integers(0, len(SCREENS), rows)))
    amounts = pa.array(np.round(chance.gamma(2, 12, rows), 2))
    return pa.table({
        "user": names.take(pa.array(chance.integers(0, users, rows))),
        "time": pa.array(START_MS + np.arange(rows) * 3_600_000 // rows, pa.timestamp("ms", "UTC")),
        "value": said if kind == "categories" else amounts,
    })  # fmt: skip


def written(folder: Path, events: pa.Table) -> dict[str, object]:
    """The same events in every kind of file."""
    pyarrow.parquet.write_table(events, folder / "it.parquet")
    with pyarrow.ipc.new_file(folder / "it.arrow", events.schema) as sink:
        sink.write_table(events)
    columns = (events["user"].to_pylist(), events["time"].cast(pa.int64()).to_pylist(), events["value"].to_pylist())
    quote = '"' if pa.types.is_string(events["value"].type) else ""
    lines, cells = ["user,time,value\n"], []
    for user, at, value in zip(*columns, strict=True):
        when = instant(at)
        cells.append(f'{{"user":"{user}","time":"{when}","value":{quote}{value}{quote}}}\n')
        lines.append(f"{user},{when},{value}\n")
    text = "".join(cells).encode()
    (folder / "it.jsonl").write_bytes(text)
    (folder / "it.jsonl.gz").write_bytes(gzip.compress(text, 6, mtime=0))
    (folder / "it.jsonl.zst").write_bytes(bytes(cramjam.zstd.compress(text)))
    (folder / "it.csv").write_text("".join(lines), encoding="utf-8")
    named = {"Parquet": "parquet", "Arrow": "arrow", "JSON lines": "jsonl", "  .gz": "jsonl.gz", "  .zst": "jsonl.zst"}
    found: dict[str, object] = {label: str(folder / f"it.{ending}") for label, ending in named.items()}
    return found | {"CSV": str(folder / "it.csv"), "table in memory": events}


def reading(plan: Plan, source: object) -> Callable[[], int]:
    """A function that reads a source from its beginning to its end, first period included, as a replay does."""

    def read() -> int:
        opened = open_source(source, plan)
        opened.first_t("it")
        return sum(len(batch) for batch in opened.batches())

    return read


def decoded(file: Any) -> int:
    """The rows of a Parquet file, decoded."""
    found = pyarrow.parquet.ParquetFile(file, pre_buffer=False)
    return sum(batch.num_rows for batch in found.iter_batches(1 << 18, use_threads=False))


def in_turns(work: dict[str, Callable[[], int]]) -> dict[str, tuple[int, float]]:
    """For each the rows, and the fewest seconds of CPU."""
    best: dict[str, tuple[int, float]] = {}
    for _ in range(TURNS):
        for label, run in work.items():
            began = time.process_time()
            rows = run()
            took = time.process_time() - began
            best[label] = min(best.get(label, (rows, took)), (rows, took))
    return best


def show(kind: str, rows: int, best: dict[str, tuple[int, float]]) -> None:
    """A line for each."""
    parquet = best["Parquet"][1]
    sys.stdout.write(f"{kind}: {rows:,} events of a user, a time and a value\n")
    for label, (found, took) in best.items():
        assert found == rows, label
        sys.stdout.write(
            f"  {label:16} {rows / took / 1e6:6.2f} M rows/s   {took / parquet:5.2f} x the time of Parquet\n"
        )


if __name__ == "__main__":
    main()
