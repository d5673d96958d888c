# SPDX-License-Identifier: Apache-2.0
"""`murmurate reproduce shuffle`: what mixing is worth by the literature, again, beside what is printed and proven.

Contract: the same --seed prints the same; exit 1 where something is not reproduced (shuffle_verdicts.py).  Five parts:
table 9.2 and figure 9.3 of Wang 2021 by its closed forms, with errors of so many drawn collections and, for SOLH, what
its choice is really worth; its figure 9.4 (shuffle_strings.py), and our chooser's choices beside its rule
(shuffle_choices.py); figure 2 of SaO2; epsilons of many mechanisms that other code computed.  Files are read by path
and stay in this process.
"""

from __future__ import annotations

import math
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import click
import orjson

from murmurate.agents.cli.replay import make_folder
from murmurate.agents.cli.reproductions import shuffle_choices, shuffle_strings
from murmurate.agents.cli.reproductions import shuffle_reference as reference
from murmurate.agents.cli.reproductions.progress import working
from murmurate.agents.cli.reproductions.runs import spread_out
from murmurate.agents.cli.reproductions.shuffle_blankets import closed, exsub, named
from murmurate.agents.cli.reproductions.shuffle_pictures import drawing
from murmurate.agents.cli.reproductions.shuffle_verdicts import missed
from murmurate.agents.cli.reproductions.shuffle_ways import DELTA, METHODS, of_table, rare_variance, ways
from murmurate.agents.simulate.held_strings import Strings, made_up_strings, strings_of
from murmurate.agents.simulate.mixed_histograms import (
    SHAPES,
    Histogram,
    HistogramMethod,
    expected_error,
    made_up,
    of_file,
    squared_error,
)
from murmurate.aggregators.accounting import blanket_epsilon, literature
from murmurate.errors import UsageError
from murmurate.randomizers.question import Blanket, one_apart

FAILED: Final = 1
COLUMNS: Final = 80
PAGES: Final = "pages"
FIGURE: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Central epsilons of figure 9.3."""
FILES: Final = ("census.txt", "kosarak.dat", "kosarak_sets_max5.txt")
"""Files of a --data folder: a user a line, of whole numbers."""
STRINGS: Final = "aol_query_6bytes_sorted.txt.gz"
"""A file of such a folder: a string, a tab and its users a line, compressed."""
ONLINE: Final = (1_000, 2_000, 3_000, 4_000, 5_000)


@dataclass(frozen=True, eq=False)
class ErrorToMeasure:
    """Drawn collections of one method at one central epsilon."""

    histogram: Histogram
    way: HistogramMethod
    seed: int
    runs: int


@dataclass(frozen=True)
class EpsilonToFind:
    """An epsilon to work out."""

    blanket: Blanket
    n: int
    delta: float
    local: float


Job = ErrorToMeasure | EpsilonToFind | shuffle_strings.StringsToFind | shuffle_choices.ChoiceToMake


@click.command("shuffle")
@click.option("--runs", type=click.IntRange(1), default=20, show_default=True, help="Collections behind each error.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="The same seed, the same tables.")
@click.option(
    "--data", type=click.Path(path_type=Path, exists=True, file_okay=False),
    help=f"A folder with some of {', '.join((*FILES, STRINGS))}: figures on these, too.",
)  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="A folder for figure 9.3 as a picture.")
@click.option("--processes", type=click.IntRange(1), default=2, show_default=True, help="How many make the runs.")
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
def command(runs: int, seed: int, data: Path | None, out: Path | None, processes: int, as_json: bool) -> None:
    """What mixing is worth: table 9.2, figures 9.3 and 9.4 of Wang 2021, figure 2 of SaO2, bounds of many mechanisms.

    Some forty seconds on two quiet cores. Exit 1: something is not reproduced.
    """
    histograms, strings = [*map(made_up, SHAPES)], [made_up_strings()]
    if data is not None:
        more, files = read(data, seed)
        histograms, strings = histograms + more, strings + files
    if out is not None:
        make_folder(out)
    found, choices = worked_out(list(planned(histograms, strings, runs, seed)), processes, quiet=as_json)
    if out is not None:
        (out / "shuffle-9.3.svg").write_text(drawing(found, histograms, FIGURE), encoding="utf-8")
    texts = [
        *missed(found, histograms, runs), *shuffle_choices.missed(choices, histograms),
        *(text for one in strings for text in shuffle_strings.missed(found, one)),
    ]  # fmt: skip
    if as_json:
        rows: list[dict[str, Any]] = [{"part": key[0], "of": key[1:], "value": value} for key, value in found.items()]
        rows += [{"part": shuffle_choices.PART, "of": key, "value": list(value)} for key, value in choices.items()]
        click.echo(orjson.dumps({"ok": not texts, "missed": texts, "rows": rows}))
    else:
        for line in lines(found, choices, histograms, strings, runs):
            click.echo(line)
        for text in texts:
            click.echo(textwrap.fill(f"NOT REPRODUCED: {text}", COLUMNS, subsequent_indent="   "))
        if not texts:
            click.echo("all of it is reproduced")
    sys.exit(FAILED if texts else 0)


def worked_out(
    planned: list[tuple[tuple[Any, ...], Job]], processes: int, *, quiet: bool
) -> tuple[dict[tuple[Any, ...], float], dict[tuple[str, float], shuffle_choices.ExactChoice]]:
    """All numbers by their keys, and the choices by histogram and target."""
    found: dict[tuple[Any, ...], float] = {}
    choices: dict[tuple[str, float], shuffle_choices.ExactChoice] = {}
    keys, jobs = [key for key, _ in planned], [job for _, job in planned]
    with working(len(jobs), quiet=quiet) as tell:
        for key, value in zip(keys, spread_out(made, jobs, processes), strict=True):
            if isinstance(value, shuffle_choices.ExactChoice):
                choices[key[1:]] = value
            else:
                found[key] = value
            tell()
    return found, choices


def read(folder: Path, seed: int) -> tuple[list[Histogram], list[Strings]]:
    """The histograms and strings of a folder."""
    found = [of_file(folder / name, seed) for name in FILES if (folder / name).is_file()]
    strings = [strings_of(folder / STRINGS)] if (folder / STRINGS).is_file() else []
    if not found and not strings:
        raise UsageError(f"--data: found none of {', '.join((*FILES, STRINGS))}; allowed: a folder with one of them")
    return found, strings


def made(job: Job) -> float | shuffle_choices.ExactChoice:
    """A mean of squared errors, an epsilon, a share of strings, or a choice."""
    if isinstance(job, shuffle_strings.StringsToFind):
        return shuffle_strings.made(job)
    if isinstance(job, shuffle_choices.ChoiceToMake):
        return shuffle_choices.made(job)
    if isinstance(job, EpsilonToFind):
        return blanket_epsilon(job.blanket, job.n, job.delta, job.local, 5)
    return squared_error(job.histogram, job.way, job.runs, job.seed)


def planned(
    histograms: list[Histogram], strings: list[Strings], runs: int, seed: int
) -> Iterator[tuple[tuple[Any, ...], Job]]:
    """All that is computed, by its key: a part of the output, then what stands in it."""
    pages = next(histogram for histogram in histograms if histogram.name == PAGES)
    for row in reference.TABLE:
        for target in reference.TARGETS:
            yield ("table 9.2", row, target), ErrorToMeasure(pages, of_table(row, target, pages.n), seed, runs)
    for histogram in histograms:
        for target in FIGURE:
            for name, way in ways(target, histogram.n, histogram.d).items():
                yield ("figure 9.3", histogram.name, target, name), ErrorToMeasure(histogram, way, seed, runs)
            chosen = literature.target_solh(target, histogram.n, DELTA)
            blanket = one_apart(*_cells(chosen.local, chosen.cells))
            yield ("worth", histogram.name, target), EpsilonToFind(blanket, histogram.n, DELTA, chosen.local)
            yield (shuffle_choices.PART, histogram.name, target), shuffle_choices.ChoiceToMake(histogram, target)
    for one in strings:
        yield from shuffle_strings.planned(one, runs, seed)
    signs = exsub(1000, 20, 2, Fraction(math.e))
    for n in ONLINE:
        yield ("figure 2", "blanket", n), EpsilonToFind(signs, n, reference.ONLINE_DELTA, 1)
    for name, (blanket, local) in named().items():
        for n, delta in reference.AT:
            yield ("amplified", name, n), EpsilonToFind(blanket, n, delta, local)


def _cells(local: float, cells: int) -> tuple[Fraction, Fraction, int]:
    ratio = Fraction(math.exp(local))
    return 1 / (ratio + cells - 1), ratio, cells


def lines(
    found: dict[tuple[Any, ...], float], choices: shuffle_choices.Choices, histograms: list[Histogram],
    strings: list[Strings], runs: int,
) -> Iterator[str]:  # fmt: skip
    """All tables, at most COLUMNS wide."""
    yield from _table(found, next(one for one in histograms if one.name == PAGES), runs)
    for histogram in histograms:
        yield from _figure(found, histogram, runs)
        yield from shuffle_choices.lines(choices, histogram, FIGURE)
    for one in strings:
        yield from shuffle_strings.lines(found, one)
    yield "SaO2, figure 2: ExSub of 2 signs, d' = 1000, s = 20, epsilon 1, delta 1e-5"
    yield f"{'users':<16}" + "".join(f"{n:>9}" for n in ONLINE)
    for name, told in reference.FIGURE_2.items():
        values = [found.get(("figure 2", name, n)) or closed(name, n, reference.ONLINE_DELTA) for n in ONLINE]
        beside = dict(zip(reference.ONLINE, told, strict=True))
        yield f"{name:<16}" + "".join(f"{value:>9.3g}" for value in values)
        yield f"{'   expected':<16}" + "".join(f"{beside.get(n, ''):>9}" for n in ONLINE)
    yield ""
    yield "central epsilons beside those of other code (n, delta)"
    yield " " * 24 + "".join(f"{f'{n:.0e}, {delta:.0e}':>14}" for n, delta in reference.AT)
    for name, expected in reference.AMPLIFIED.items():
        values = [found.get(("amplified", name, n)) or closed(name, n, delta) for n, delta in reference.AT]
        yield f"{name:<24}" + "".join(f"{value:>14.5g}" for value in values)
        yield f"{'   expected':<24}" + "".join(f"{value:>14.5g}" for value in expected)
    yield ""


def _table(found: dict[tuple[Any, ...], float], pages: Histogram, runs: int) -> Iterator[str]:
    yield f"Wang 2021, table 9.2: variance of a rare frequency, n = {pages.n}, delta {DELTA:g}"
    yield f"printed, by formula, and the mean of squared errors of {runs} collections ({pages.name})"
    yield f"{'central epsilon':<28}" + "".join(f"{target:>12g}" for target in reference.TARGETS)
    cells = [literature.target_solh(target, pages.n, DELTA).cells for target in reference.TARGETS]
    yield f"{'cells, printed':<28}" + "".join(f"{number:>12}" for number in reference.CELLS)
    yield f"{'       by formula':<28}" + "".join(f"{number:>12}" for number in cells)
    for row, printed in reference.TABLE.items():
        of = [rare_variance(of_table(row, target, pages.n), pages.n) for target in reference.TARGETS]
        shown = [reference.MISPRINTED.get((row, t), p) for t, p in zip(reference.TARGETS, printed, strict=True)]
        measured = [found["table 9.2", row, target] for target in reference.TARGETS]
        for name, values in ((f"{row}, printed", shown), ("       by formula", of), ("       measured", measured)):
            yield f"{name:<28}" + "".join(f"{value:>12.2e}" for value in values)
    for row, target in reference.MISPRINTED:
        right = reference.TABLE[row][reference.TARGETS.index(target)]
        yield f"({row} at {target:g} is a misprint for {right:.2e})"
    yield ""


def _figure(found: dict[tuple[Any, ...], float], histogram: Histogram, runs: int) -> Iterator[str]:
    least = math.sqrt(literature.binomial_constant(DELTA) * histogram.d / (histogram.n - 1))
    yield f"figure 9.3: {histogram.name}, n = {histogram.n}, d = {histogram.d}; MSE of {runs} collections"
    yield f"SH amplifies from {least:.4f} on, as it says; 'real': what SOLH's choice is worth"
    yield f"{'eps':<5}" + "".join(f"{name:>8}" for name in METHODS[1:]) + f"{'real':>8}"
    for target in FIGURE:
        values = [found.get(("figure 9.3", histogram.name, target, name)) for name in METHODS[1:]]
        shown = "".join(f"{'-':>8}" if value is None else f"{value:>8.1e}" for value in values)
        yield f"{target:<5g}{shown}{found['worth', histogram.name, target]:>8.3f}"
    base = expected_error(histogram, HistogramMethod("uniform"))
    yield f"Base, which says 1 / d whatever it is told: {base:.2e}"
    yield ""
