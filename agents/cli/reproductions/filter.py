# SPDX-License-Identifier: Apache-2.0
"""`murmurate reproduce filter`: the adaptive filter on many kinds of streams: errors, error bars, and what is missed.

Contract: the same seeds print the same; exit 1 where something is missed (verdicts.py says what must be).  Targets are
meant for 10 seeds of 400 periods; fewer show the way.  With --over-lpa the eight streams of the papers' setting beside
LPA's own series (over_lpa.py), which is what the pictures show.  Real sequences are read by path (real_sequences.py);
what of a folder is none is said.  Not here: what is measured (agents/simulate/filter_comparison.py).
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

import click
import orjson

from murmurate.agents.cli.replay import make_folder
from murmurate.agents.cli.reproductions.over_lpa import MODELS, pictured, printed
from murmurate.agents.cli.reproductions.progress import working
from murmurate.agents.cli.reproductions.runs import spread_out
from murmurate.agents.cli.reproductions.verdicts import excused, marks, missed, together
from murmurate.agents.replay.source import SourceError
from murmurate.agents.simulate import real_sequences
from murmurate.agents.simulate.configurations import MADE_UP, MOST, PERIODS, Configuration, of_files
from murmurate.agents.simulate.filter_comparison import PEERS, Compared, added, compared
from murmurate.errors import UsageError

FAILED: Final = 1
COLUMNS: Final = 80
OVER_LPA_PERIODS: Final = 800
REAL: Final = "real"
Row = tuple[Configuration, Compared]
Job = tuple[Configuration, int, int]


@click.command("filter")
@click.option("--seeds", type=click.IntRange(1), default=10, show_default=True, help="Runs behind each figure.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="The first of them.")
@click.option("--kinds", default=None, help="Only these kinds or streams, such as days,lns,real.")
@click.option(
    "--data", type=click.Path(path_type=Path, exists=True), multiple=True,
    help="Real sequences: a file, or a folder of which all files are taken that hold one.",
)  # fmt: skip
@click.option(
    "--periods", type=click.IntRange(40), default=None,
    help=f"Of each run.  [default: {PERIODS}, with --over-lpa {OVER_LPA_PERIODS}]",
)  # fmt: skip
@click.option(
    "--processes", type=click.IntRange(1), default=2, show_default=True, help="How many processes make the runs."
)
@click.option("--over-lpa", is_flag=True, help="The eight streams of the papers' setting beside LPA, instead.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Pictures of these eight (SVG), too.")
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
def command(
    seeds: int, seed: int, kinds: str | None, data: Sequence[Path], periods: int | None, processes: int, over_lpa: bool,
    out: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """The adaptive filter behind LPU on many kinds of streams: errors and error bars.

    Beside it raw LPU, the best of LSP, RescueDP, PeGaSus, FAST and LPA, and a linear filter that knows how the truth
    moves ("width/known": its error bars are the measure of ours). With 10 seeds five to ten minutes on two cores. Exit
    1: something is missed.
    """
    if over_lpa and data:
        raise UsageError("--data: found with --over-lpa; allowed: one of them")
    models = _models(kinds) if over_lpa else MODELS
    configurations = [] if over_lpa else _chosen(kinds, data)
    if out is not None:
        make_folder(out)
        pictured(models, seed, periods or OVER_LPA_PERIODS, out)
    each = range(seed, seed + seeds)
    if over_lpa:
        ok = printed(models, each, periods or OVER_LPA_PERIODS, processes, as_json=as_json)
    else:
        ok = _printed(configurations, each, periods or PERIODS, processes, as_json=as_json)
    sys.exit(0 if ok else FAILED)


def _models(kinds: str | None) -> tuple[str, ...]:
    named = tuple(kinds.split(",")) if kinds is not None else MODELS
    if set(named) - set(MODELS) or len(set(named)) < len(named):
        raise UsageError(f"--kinds: found {kinds!r}; allowed with --over-lpa: some of {', '.join(MODELS)}, each once")
    return named


def _chosen(kinds: str | None, data: Sequence[Path]) -> list[Configuration]:
    """The configurations to compare; files of a folder that are left out are named on standard error."""
    files = list[Path]()
    for path in data:
        inside = sorted(path.iterdir()) if path.is_dir() else [path]
        for file in inside:
            try:
                real_sequences.form_of(file)
            except SourceError as refused:
                if not path.is_dir():
                    raise
                click.echo(f"left out: {refused}", err=True)
            else:
                files.append(file)
    all_ = [*MADE_UP, *of_files(files)]
    names = {name for one in all_ for name in (one.kind, one.stream)}
    wanted = set(kinds.split(",")) if kinds is not None else names
    if wanted - names:
        raise UsageError(f"--kinds: found {kinds!r}; allowed: some of {', '.join(dict.fromkeys(_names(all_)))}")
    chosen = [one for one in all_ if {one.kind, one.stream} & wanted]
    if len(chosen) > MOST:
        raise UsageError(f"--data: found {len(chosen)} configurations; allowed: {MOST}, by fewer files or by --kinds")
    return chosen


def _names(configurations: Sequence[Configuration]) -> Iterator[str]:
    for one in configurations:
        yield one.kind
        yield one.stream


def _compared(job: Job) -> Compared:
    return compared(*job)


def _printed(
    configurations: Sequence[Configuration], seeds: range, periods: int, processes: int, *, as_json: bool
) -> bool:
    """Make the runs and print what came out. Whether nothing is missed."""
    jobs = [(one, seed, periods) for one in configurations for seed in seeds]
    found: list[Compared] = []
    with working(len(jobs), quiet=as_json) as tell:
        for result in spread_out(_compared, jobs, processes):
            found.append(result)
            tell()
    n = len(seeds)
    rows = [(one, added(found[i * n : (i + 1) * n])) for i, one in enumerate(configurations)]
    texts, exceptions = [*missed(rows), *together(rows)], list(excused(rows))
    if as_json:
        records = [record(*row) for row in rows]
        click.echo(orjson.dumps({"ok": not texts, "missed": texts, "exceptions": exceptions, "rows": records}))
        return not texts
    several = f"seeds {seeds[0]} to {seeds[-1]}" if n > 1 else f"seed {seeds[0]}"
    click.echo(f"LPU with the filter: {periods} periods; {several}")
    for line in (*lines(rows), "", *ranges(rows), ""):
        click.echo(line)
    for word, said in (("EXCEPTION", exceptions), ("MISSED", texts)):
        for text in said:
            click.echo(textwrap.fill(f"{word}: {text}", COLUMNS, subsequent_indent="   "))
    if not texts:
        click.echo("nothing is missed")
    return not texts


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """A block a kind; what is missed has a mark."""
    yield ""
    yield "                                      error over ...   within  width/ sure and"
    yield "stream                n   d   e  w  s   LPU   best one   2 se  known   right"
    for i, (one, found) in enumerate(rows):
        if not i or one.kind != rows[i - 1][0].kind:
            yield ""
            yield one.kind
        marked = marks(one, found)
        users = f"{one.users // 1000}k" if one.users % 1000 == 0 else str(one.users)
        shown = {
            "raw": f"{found.over_raw:.3f}", "best": f"{found.over_best:.3f}", "coverage": f"{found.coverage:.3f}",
            "wide": f"{found.wide:.2f}", "trusted": f"{found.trusted:.3f}" if found.readings else "-",
        }  # fmt: skip
        raw, best, coverage, wide, trusted = (text + ("!" if name in marked else " ") for name, text in shown.items())
        yield (
            f" {one.stream[:17]:<17}{users:>5}{one.d:>4}{one.epsilon:>4g}{one.w:>3}{one.season or '':>3}"
            f"{raw:>7}{best:>7}{PEERS[found.best].removeprefix('lp-')[:8]:<9}{coverage:>6}{wide:>6}{trusted:>8}"
        ).rstrip()


def ranges(rows: Sequence[Row]) -> Iterator[str]:
    """From the lowest to the highest, of made-up streams and of real sequences."""
    for name, real in (("made-up streams", False), ("real sequences", True)):
        of = [found for one, found in rows if (one.kind == REAL) is real]
        if not of:
            continue
        yield f"{name}, {len(of)} configurations: from, to, in the median"
        for title, figures in (
            ("error over raw LPU", [found.over_raw for found in of]),
            ("error over the best of the papers", [found.over_best for found in of]),
            ("error over LPA", [found.over_lpa for found in of]),
            ("within 2 standard errors", [found.coverage for found in of]),
        ):
            yield f"  {title:<35}{min(figures):>7.3f}{max(figures):>8.3f}{median(figures):>8.3f}"


def record(one: Configuration, found: Compared) -> dict[str, Any]:
    """A row of --json."""
    errors = dict(zip(PEERS, (found.peers / found.seeds).tolist(), strict=True))
    return {
        "kind": one.kind, "stream": one.stream, "users": one.users, "d": one.d, "epsilon": one.epsilon, "w": one.w,
        "season": one.season, "resting": one.resting, "error": found.filtered / found.seeds,
        "errors": {"lpu": found.raw / found.seeds} | errors, "over_lpu": found.over_raw, "over_best": found.over_best,
        "best": PEERS[found.best], "coverage": found.coverage, "coverage_shown": found.coverage_shown,
        "cells": found.counted, "width_over_told": found.wide if found.counted else None,
        "readings": found.readings, "right": found.right, "missed": sorted(marks(one, found)),
    }  # fmt: skip
