# SPDX-License-Identifier: Apache-2.0
"""`murmurate reproduce tops`: the comparisons of ToPS (CCS'21) again, with our own noise, trees and noisy max.

Contract: the same --seed prints the same; exit 1 where something is not reproduced (tops_verdicts.py says what that
is). Only streams of the paper's length are judged.  The paper's figures are drawn, and its text says by how much one
method is better: that stands beside what is found.  Files are read by path and stay in this process.  Not here: how
errors come about (agents/simulate/central_comparison.py).
"""

from __future__ import annotations

import sys
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import click
import numpy as np
import orjson

from murmurate.agents.cli.reproductions.progress import working
from murmurate.agents.cli.reproductions.runs import spread_out
from murmurate.agents.cli.reproductions.stream_options import of_runs, of_streams
from murmurate.agents.cli.reproductions.tops_verdicts import HIERARCHY, KNOWN, Row, Rows, exact, excused, missed, orders
from murmurate.agents.simulate import central_comparison as compare
from murmurate.agents.simulate.value_streams import HELD_OUT, KINDS, RANGE, ValueStream, made_up, of_file
from murmurate.aggregators.trees.smoothers import SMOOTHERS
from murmurate.errors import UsageError

FAILED: Final = 1
COLUMNS: Final = 80
EPSILONS: Final = (Fraction(1, 100), Fraction(1, 20), Fraction(1, 10))
BLOCKS: Final = (2, 3)
"""The numbers of levels that smoothers leave out: what equation 7 chooses from epsilon .04 on, and below."""
TABLES: Final = ("hierarchies", "smoothers", "thresholds", "end-to-end")
THETA: Final = 21
"""The threshold at which hierarchies are compared. Their errors are told over its square, so any would do."""


@dataclass(frozen=True)
class StreamName:
    """Where a stream comes from."""

    name: str
    path: Path | None = None


@dataclass(frozen=True)
class CentralRun:
    """One run of one row of a table."""

    table: str
    seed: int
    events: int
    epsilon: Fraction = EPSILONS[1]
    stream: StreamName = StreamName("")
    block: int = compare.BLOCK

    @property
    def row(self) -> Row:
        """The row that it is a run of."""
        return self.table, self.stream.name, float(self.epsilon), self.block


@click.command("tops")
@click.option("--table", "tables", multiple=True, type=click.Choice(TABLES), help="Only this table; may be repeated.")
@of_streams
@click.option("--runs", type=click.IntRange(1), default=30, show_default=True, help="Runs of hierarchies, thresholds.")
@click.option("--few", type=click.IntRange(1), default=5, show_default=True, help="Runs of smoothers, whole methods.")
@of_runs
def command(
    tables: Sequence[str], streams: str | None, data: Sequence[Path], runs: int, few: int, seed: int, events: int,
    processes: int, as_json: bool,
) -> None:  # fmt: skip
    """Trees, smoothers, thresholds and whole methods over streams of events.

    Squared errors of 200 random stretches of a million events. About a minute on two quiet cores; each --data some ten
    seconds more. Exit 1: something is not reproduced.
    """
    named = chosen_streams(streams, data)
    for one in named:
        stream_of(one, seed, HELD_OUT + events)  # what is wrong with a file is said before anything is run
    jobs = list(_jobs(tables or TABLES, named, range(seed, seed + runs), range(seed, seed + few), events))
    rows = defaultdict[Row, list[Mapping[str, Any]]](list)
    with working(len(jobs), quiet=as_json) as tell:
        for job, found in zip(jobs, spread_out(made, jobs, processes), strict=True):
            rows[job.row].append(found)
            tell()
    judged = events == RANGE
    texts, exceptions = (list(missed(rows)), list(excused(rows))) if judged else ([], [])
    if as_json:
        records = [_record(*row) for row in rows.items()]
        click.echo(orjson.dumps({"ok": not texts, "missed": texts, "exceptions": exceptions, "rows": records}))
    else:
        for line in (*_lines(rows), ""):
            click.echo(line)
        for word, said in (("EXCEPTION", exceptions), ("NOT REPRODUCED", texts)):
            for text in said:
                click.echo(textwrap.fill(f"{word}: {text}", COLUMNS, subsequent_indent="   "))
        if not judged:
            click.echo(f"streams of another length than the paper's ({RANGE:,} events) are not judged")
        elif not texts:
            click.echo("all of it is reproduced")
    sys.exit(FAILED if texts else 0)


def chosen_streams(kinds: str | None, data: Sequence[Path]) -> list[StreamName]:
    """The made-up streams that were asked for, and the files."""
    wanted = list(KINDS) if kinds is None else [] if kinds == "none" else kinds.split(",")
    if set(wanted) - set(KINDS):
        raise UsageError(f"--streams: found {kinds!r}; allowed: some of {', '.join(KINDS)}, or none")
    named = [StreamName(kind) for kind in wanted] + [StreamName(path.stem.removesuffix("_cdf"), path) for path in data]
    if len({one.name for one in named}) < len(named):
        raise UsageError("--data: found two streams of one name; allowed: names that are all different")
    return named


@lru_cache(maxsize=4)
def stream_of(one: StreamName, seed: int, length: int) -> ValueStream:
    """The stream of a run."""
    return made_up(one.name, seed, length) if one.path is None else of_file(one.path, seed, length)


def made(job: CentralRun) -> Mapping[str, Any]:
    """One run."""
    if job.table == "hierarchies":
        return compare.hierarchies(THETA, job.epsilon, job.seed, job.events)
    stream = stream_of(job.stream, job.seed, HELD_OUT + job.events)
    if job.table == "smoothers":
        return compare.smoothed(stream, job.epsilon, job.block, job.seed)
    if job.table == "thresholds":
        return compare.thresholds(stream, job.epsilon, job.seed)
    return compare.end_to_end(stream, job.epsilon, job.seed)


def _jobs(
    tables: Sequence[str], streams: Sequence[StreamName], many: range, few: range, events: int
) -> Iterator[CentralRun]:  # fmt: skip
    """All runs, those of one stream and seed after each other."""
    if "hierarchies" in tables:
        yield from (CentralRun("hierarchies", seed, events) for seed in many)
    for stream in streams:
        for seed in sorted({*many, *few}):
            for epsilon in EPSILONS:
                if "smoothers" in tables and seed in few:
                    yield from (CentralRun("smoothers", seed, events, epsilon, stream, block) for block in BLOCKS)
                if "thresholds" in tables and seed in many:
                    yield CentralRun("thresholds", seed, events, epsilon, stream)
                if "end-to-end" in tables and seed in few:
                    yield CentralRun("end-to-end", seed, events, epsilon, stream)


def _lines(rows: Rows) -> Iterator[str]:
    yield from _hierarchies(rows)
    yield from _smoothers(rows)
    yield from _thresholds(rows)
    yield from _end_to_end(rows)


def _hierarchies(rows: Rows) -> Iterator[str]:
    for runs in (found for row, found in rows.items() if row[0] == "hierarchies"):
        yield f"Trees: squared error over theta^2 / epsilon^2, mean of {len(runs)} runs"
        yield "          found      +-   exact   known  the paper"
        for name in compare.HIERARCHIES:
            each = np.array([run[name] for run in runs])
            error = each.std() / len(each) ** 0.5
            known, says = KNOWN.get(name, 0), HIERARCHY[name]
            yield (f"{name:<6}{each.mean():>9,.0f}{error:>8,.0f}{exact(name):>8,.0f}{known or '-':>8}  {says}").rstrip()


def _smoothers(rows: Rows) -> Iterator[str]:
    kept = {row: runs for row, runs in rows.items() if row[0] == "smoothers"}
    names = (*SMOOTHERS, "H16c", compare.BASE)
    if kept:
        yield from ("", "Smoothers of blocks of 16^s events: squared error, theta = p95")
        yield "the paper: Recent is best or near it, and about ten times better than H16c"
        yield f"{'stream':<16}{'eps':>5} s" + "".join(f"{name[:7]:>8}" for name in names)
    for (_, stream, epsilon, block), runs in kept.items():
        yield f"{stream[:15]:<16}{epsilon:>5g} {block}" + "".join(f"{short(_mean(runs, name)):>8}" for name in names)


def _thresholds(rows: Rows) -> Iterator[str]:
    kept = {row: runs for row, runs in rows.items() if row[0] == "thresholds"}
    if kept:
        yield from ("", "Thresholds: the median, and the squared error by H16c and Recent at .05")
        yield "the paper: S-PAK and S-P are worse than NM-E by 4 to 8 orders, and than Base"
        yield f"{'stream':<16}{'eps':>5}" + "".join(f"{name:>17}" for name in compare.THRESHOLDS) + f"{'Base':>8}"
    for (_, stream, epsilon, _), runs in kept.items():
        line = f"{stream[:15]:<16}{epsilon:>5g}"
        for name in compare.THRESHOLDS:
            theta = float(np.median([run[name][0] for run in runs]))
            line += f"{short(theta):>9}{short(_mean(runs, name)):>8}"
        yield line + f"{short(_mean(runs, compare.BASE)):>8}"


def _end_to_end(rows: Rows) -> Iterator[str]:
    kept = {row: runs for row, runs in rows.items() if row[0] == "end-to-end"}
    names = (*compare.END_TO_END, compare.BASE)
    if kept:
        yield from ("", "Whole methods: squared error, and by how many orders PAK's is larger than ToPS's")
        yield "the paper: 6 to 10 orders (7 to 11 in its text)"
        yield f"{'stream':<16}{'eps':>5}" + "".join(f"{name[:9]:>10}" for name in names) + f"{'orders':>8}"
    for row, runs in kept.items():
        found = "".join(f"{short(_mean(runs, name)):>10}" for name in names)
        yield f"{row[1][:15]:<16}{row[2]:>5g}{found}{orders(runs, 'PAK', 'ToPS'):>8.1f}"


def _mean(runs: Sequence[Mapping[str, Any]], name: str) -> float:
    """The mean squared error of these runs."""
    return float(np.mean([run[name][1] if isinstance(run[name], tuple) else run[name] for run in runs]))


def short(number: float) -> str:
    """A number of any size in at most seven characters.

    >>> short(0.0), short(61.0), short(123456.0), short(1.5e17)
    ('0', '61', '1.2e5', '1.5e17')
    """
    return f"{number:.0f}" if number < 1e4 else f"{number:.1e}".replace("e+0", "e").replace("e+", "e")


def _record(row: Row, runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A row of --json."""
    table, stream, epsilon, block = row
    out: dict[str, Any] = {"table": table, "stream": stream, "epsilon": epsilon, "block": block, "runs": len(runs)}
    out["error"] = {name: _mean(runs, name) for name in runs[0]}
    if table == "thresholds":
        out["threshold"] = {name: [run[name][0] for run in runs] for name in runs[0]}
    return out
