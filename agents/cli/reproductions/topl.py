# SPDX-License-Identifier: Apache-2.0
"""`murmurate reproduce topl`: how ToPL (CCS'21) finds its threshold, with the product's own reports.

Contract: the same --seed prints the same; exit 1 where something is not reproduced: SW-W must be better than Base in
every stream and at every epsilon, by the mean of squared errors, and better than SW alone in most (a share of
MOSTLY).  Only streams of the paper's length are judged.  Files are read by path and stay in this process.  Not here:
how errors come about (agents/simulate/local_comparison.py).
"""

from __future__ import annotations

import sys
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click
import numpy as np
import orjson

from murmurate.agents.cli.reproductions.progress import working
from murmurate.agents.cli.reproductions.runs import spread_out
from murmurate.agents.cli.reproductions.stream_options import of_runs, of_streams
from murmurate.agents.cli.reproductions.tops import COLUMNS, FAILED, StreamName, chosen_streams, short, stream_of
from murmurate.agents.cli.reproductions.tops_verdicts import orders
from murmurate.agents.simulate.central_comparison import BASE
from murmurate.agents.simulate.local_comparison import FOUND, SUM_EPSILON, local_thresholds
from murmurate.agents.simulate.value_streams import HELD_OUT, RANGE

EPSILONS: Final = (0.2, 0.6, 1.0, 1.6, 2.0)
MOSTLY: Final = 0.8
"""The part of the rows in which SW-W must be better than SW."""
Rows = dict[tuple[str, float], list[Mapping[str, tuple[float, float]]]]


@dataclass(frozen=True)
class LocalRun:
    """One run of one row of the table."""

    stream: StreamName
    epsilon: float
    seed: int
    events: int


@click.command("topl")
@of_streams
@click.option("--runs", type=click.IntRange(1), default=5, show_default=True, help="Runs behind each figure.")
@of_runs
def command(
    streams: str | None, data: Sequence[Path], runs: int, seed: int, events: int, processes: int, as_json: bool
) -> None:
    """Thresholds from private reports, and sums of numbers clipped there.

    Squared errors of 200 random stretches of a million events that report at epsilon 1. Some twenty seconds on two
    quiet cores; each --data some five more. Exit 1: something is not reproduced.
    """
    named, each = chosen_streams(streams, data), range(seed, seed + runs)
    for one in named:
        stream_of(one, seed, HELD_OUT + events)
    jobs = [LocalRun(one, epsilon, at, events) for one in named for at in each for epsilon in EPSILONS]
    rows: Rows = defaultdict(list)
    with working(len(jobs), quiet=as_json) as tell:
        for job, found in zip(jobs, spread_out(made, jobs, processes), strict=True):
            rows[job.stream.name, job.epsilon].append(found)
            tell()
    judged = events == RANGE
    texts = list(missed(rows)) if judged else []
    if as_json:
        click.echo(orjson.dumps({"ok": not texts, "missed": texts, "rows": [_record(*row) for row in rows.items()]}))
    else:
        for line in (*_lines(rows, runs), ""):
            click.echo(line)
        for text in texts:
            click.echo(textwrap.fill(f"NOT REPRODUCED: {text}", COLUMNS, subsequent_indent="   "))
        if not judged:
            click.echo(f"streams of another length than the paper's ({RANGE:,} events) are not judged")
        elif not texts:
            click.echo("all of it is reproduced")
    sys.exit(FAILED if texts else 0)


def made(job: LocalRun) -> Mapping[str, tuple[float, float]]:
    """One run."""
    return local_thresholds(stream_of(job.stream, job.seed, HELD_OUT + job.events), job.epsilon, job.seed)


def missed(rows: Rows) -> Iterator[str]:
    """A line for all that is not reproduced."""
    better = 0
    for (stream, epsilon), runs in rows.items():
        if (gain := orders(runs, BASE, "SW-W")) <= 0:
            yield f"{stream}, epsilon {epsilon:g}: SW-W better than Base by 10^{gain:.1f}; above 10^0"
        better += orders(runs, "SW", "SW-W") > 0
    if better < MOSTLY * len(rows):
        yield f"SW-W better than SW in {better} of {len(rows)} rows; at least {MOSTLY:.0%}"


def _lines(rows: Rows, runs: int) -> Iterator[str]:
    yield f"Thresholds from reports, median of {runs}, and squared error of sums (epsilon {SUM_EPSILON})"
    yield "the paper: SW-W beats SW and Base, by up to 3 orders where values are heaped low"
    yield f"{'stream':<16}{'eps':>5}" + "".join(f"{name:>18}" for name in FOUND) + f"{'Base':>9}{'orders':>8}"
    for (stream, epsilon), found in rows.items():
        line = f"{stream[:15]:<16}{epsilon:>5g}"
        for name in FOUND:
            theta = float(np.median([run[name][0] for run in found]))
            line += f"{short(theta):>9}{short(_mean(found, name)):>9}"
        yield line + f"{short(_mean(found, BASE)):>9}{orders(found, 'SW', 'SW-W'):>8.1f}"


def _mean(runs: Sequence[Mapping[str, tuple[float, float]]], name: str) -> float:
    return float(np.mean([run[name][1] for run in runs]))


def _record(row: tuple[str, float], runs: Sequence[Mapping[str, tuple[float, float]]]) -> dict[str, Any]:
    """A row of --json."""
    return {
        "stream": row[0], "epsilon": row[1], "runs": len(runs),
        "threshold": {name: [run[name][0] for run in runs] for name in runs[0]},
        "error": {name: _mean(runs, name) for name in runs[0]},
    }  # fmt: skip
