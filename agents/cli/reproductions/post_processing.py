# SPDX-License-Identifier: Apache-2.0
"""`murmurate reproduce post-processing`: the comparison of Wang 2021, chapter 8, again, beside the reference.

Contract: the same --runs and --seed print the same table; exit 1 if a figure is not reproduced.  A figure is, if it is
within 15 % of what it is compared with.  Base and Norm are linear and their errors known exactly: that is what they are
compared with, for the reference's two totals of raw values stand 14 and 15 % below it (one sum of noise a run: the mean
of its 30 squares has a standard error of 26 %).  All others are compared with the reference.  Few runs are excused by
chance: 4 standard errors of both tables, taken from the spread of ours, more where runs are few (Student).  --strict
excuses nothing.
Source: post_processing_reference.py.  Not here: the methods; anybody's data (all of it is made up, by NumPy's generator
with a seed).
"""

import math
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

import click
import numpy as np
import orjson
from numpy.typing import NDArray

from murmurate.agents.cli.reproductions import post_processing_reference as reference
from murmurate.agents.cli.reproductions.progress import working
from murmurate.agents.cli.reproductions.runs import spread_out
from murmurate.aggregators.postprocess.context import Context, Floats
from murmurate.aggregators.postprocess.registry import METHODS

FAILED = 1
COLUMNS = 80
D, N, ZIPF, EPSILON = 1024, 1_000_000, 1.5, 1.0
SETS = 10
"""Random sets a run and size. The reference does not say how many it drew."""
SHARES = (0.1, 0.5, 0.9)
TOPS = (10, 32)
NEAR, ERRORS = 0.15, 4.0
"""A figure may be so far off, as a share or in standard errors of both tables."""


@click.command("post-processing")
@click.option("--runs", type=click.IntRange(5), default=4000, show_default=True, help="Simulated collections.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="The same seed, the same table.")
@click.option(
    "--processes", type=click.IntRange(1), default=2, show_default=True, help="How many processes make the runs."
)
@click.option("--strict", is_flag=True, help="Exit 1 for every figure more than 15 % off, chance or not.")
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
def command(runs: int, seed: int, processes: int, strict: bool, as_json: bool) -> None:
    """Mean squared errors of the ways to post-process an estimate, on a Zipf distribution."""
    jobs, squares = [(seed, first, min(BATCH, runs - first)) for first in range(0, runs, BATCH)], list[Floats]()
    with working(len(jobs), quiet=as_json) as tell:
        for batch in spread_out(collected, jobs, processes):
            squares.append(batch)
            tell()
    found = compare(np.concatenate(squares))
    failed = found.far if strict else found.off
    if as_json:
        rows = {name: found.mse[i].tolist() for i, name in enumerate(METHODS_SHOWN)}
        said = {"ok": not failed.any(), "runs": runs, "seed": seed, "metrics": reference.METRICS, "mse": rows}
        click.echo(orjson.dumps({**said, "far": named(found.far), "off": named(found.off)}))
    else:
        click.echo(f"Zipf({ZIPF}), d = {D}, n = {N:,}, epsilon {EPSILON:g}, OLH; {runs} runs, seed {seed}; MSE")
        for line in lines(found):
            click.echo(line)
    sys.exit(FAILED if failed.any() else 0)


def chances() -> tuple[float, float]:
    """The probabilities p and q of OLH: that a report supports its own value, and another one."""
    g = round(math.exp(EPSILON) + 1)
    return math.exp(EPSILON) / (math.exp(EPSILON) + g - 1), 1 / g


def expected() -> Floats:
    """What is known exactly, in the table's form: of Base and Norm. Estimates of single values err independently."""
    (p, q), shares = chances(), zipf() / N
    variance = (p * (1 - p) * shares + q * (1 - q) * (1 - shares)) / (N * (p - q) ** 2)
    total, sizes = float(variance.sum()), [round(share * D) / D for share in SHARES]
    tops = [float(variance[:top].mean()) for top in TOPS]
    known = {
        "base": [total / D, *(total * size for size in sizes), *tops],
        "norm": [
            total / D * (1 - 1 / D),
            *(total * size * (1 - size) for size in sizes),
            *(top * (1 - 2 / D) + total / D**2 for top in tops),
        ],
    }
    return np.array([known.get(name, [math.nan] * len(reference.METRICS)) for name in METHODS_SHOWN])


METHODS_SHOWN = tuple(reference.MSE)
NAMES = (*METHODS_SHOWN, "mle-apx")
BATCH = 50
"""How many runs are made at a time."""
REFERENCE: Floats = np.array([reference.MSE[name] for name in METHODS_SHOWN])


@dataclass(frozen=True)
class Comparison:
    """Our table beside the reference: arrays are [method, metric] in the reference's order."""

    runs: int
    mse: Floats
    error: Floats
    """The standard error of our figures, as a share of them."""
    reference_error: Floats
    """The standard error of the reference's figures, if its runs spread like ours."""
    mle: float
    """How far MLE-Apx is from Norm-Sub at most, as a share."""

    @property
    def ratio(self) -> Floats:
        """Ours over what they are compared with."""
        return self.mse / COMPARED

    @property
    def far(self) -> NDArray[np.bool_]:
        """More than 15 % off."""
        return np.abs(self.ratio - 1) > NEAR

    @property
    def off(self) -> NDArray[np.bool_]:
        """More than 15 % off, and further than chance goes; of what is known exactly, all that chance does not do."""
        chance = np.hypot(self.error, np.where(EXACT, 0, self.reference_error))
        return (self.far | EXACT) & (np.abs(np.log(self.ratio)) > self.allowed * chance)

    @property
    def allowed(self) -> float:
        """The number of standard errors by which figures may differ: as unlikely for Student's t as 4 are for a normal
        one, to third order.
        """
        z, freedom = ERRORS, self.runs - 1
        orders = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96, (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
        return z + math.fsum(order / freedom**i for i, order in enumerate(orders, 1))


def collected(job: tuple[int, int, int]) -> Floats:
    """Squared errors of simulated collections (seed, the first one, how many): float64[runs, method, metric]."""
    seed, first, count = job
    return np.array([_run(NAMES, np.random.default_rng([seed, run])) for run in range(first, first + count)])  # noqa: TID251 - made-up data needs chance of its own, with a seed


def compare(squares: Floats) -> Comparison:
    """The table of what was `collected`."""
    runs, mean = len(squares), squares.mean(axis=0)
    spread = squares.std(axis=0, ddof=1) / mean
    shown = slice(0, len(METHODS_SHOWN))
    norm_sub = mean[NAMES.index("norm-sub")]
    return Comparison(
        runs=runs,
        mse=mean[shown],
        error=spread[shown] / math.sqrt(runs),
        reference_error=spread[shown] / math.sqrt(reference.RUNS),
        mle=float(np.abs(mean[-1] / norm_sub - 1).max()),
    )


def zipf() -> NDArray[np.int64]:
    """How many of N users hold each of the D values: shares of rank^-1.5, rounded by largest remainders."""
    shares = np.arange(1, D + 1) ** -ZIPF
    exact = N * shares / shares.sum()
    counts: NDArray[np.int64] = np.floor(exact).astype(np.int64)
    counts[np.argsort(counts - exact, kind="stable")[: N - int(counts.sum())]] += 1
    return counts


EXPECTED = expected()
EXACT = ~np.isnan(EXPECTED)
COMPARED: Floats = np.where(EXACT, EXPECTED, REFERENCE)
"""What our figures are compared with."""


def _run(names: tuple[str, ...], generator: np.random.Generator) -> list[list[float]]:  # noqa: TID251 - see `compare`
    """One collection: the squared error of every method in every metric."""
    counts = zipf()
    p, q = chances()
    context = Context(p=p, q=q, n=N, d=D)
    # OLH's support of a value: each holder speaks for it with p, each other user with 1/g, one by one.
    support = generator.binomial(counts, p) + generator.binomial(N - counts, q)
    estimate, truth = (support / N - q) / (p - q), counts / N
    every = np.tile(np.arange(D), (SETS, 1))
    sets = [generator.permuted(every, axis=1) < round(share * D) for share in SHARES]
    rows = []
    for name in names:
        error = METHODS[name](estimate, context) - truth
        totals = [float(np.mean((chosen @ error) ** 2)) for chosen in sets]
        rows.append([float(np.mean(error**2)), *totals, *(float(np.mean(error[:top] ** 2)) for top in TOPS)])
    return rows


def named(cells: NDArray[np.bool_]) -> list[str]:
    """The cells that are true, as words."""
    return [f"{METHODS_SHOWN[i]}, {reference.METRICS[j]}" for i, j in zip(*np.nonzero(cells), strict=True)]


def lines(found: Comparison) -> Iterator[str]:
    """The table, three metrics wide, and its verdicts."""
    for start in range(0, len(reference.METRICS), 3):
        columns = range(start, min(start + 3, len(reference.METRICS)))
        yield ""
        yield " " * 8 + "".join(f"{reference.METRICS[j]:>9}{'ref.':>8}{'ratio':>6} " for j in columns).rstrip()
        for i, name in enumerate(METHODS_SHOWN):
            cells = (
                f"{_short(found.mse[i, j]):>9}{_short(COMPARED[i, j]):>8}{'=' if EXACT[i, j] else ' '}"
                f"{found.ratio[i, j]:5.2f}{_mark(found, i, j)}"
                for j in columns
            )
            yield (f"{name:<8}" + "".join(cells)).rstrip()
    yield ""
    yield f"MLE-Apx within {found.mle:.1%} of Norm-Sub (reference: within {reference.MLE_NEAR_NORM_SUB:.0%})"
    chance, figures = int((found.far & ~found.off).sum()), found.far.size
    further = f"; {chance} further off, but within {found.allowed:.1f} standard errors (~)" if chance else ""
    yield from textwrap.wrap(
        f"{figures - int(found.far.sum())} of {figures} figures within {NEAR:.0%} of the reference ({reference.RUNS} "
        f"runs), or of the exact error where that is known (=){further}",
        COLUMNS,
    )
    wrong = np.abs(REFERENCE / COMPARED - 1)
    i, j = divmod(int(wrong.argmax()), wrong.shape[1])
    yield from textwrap.wrap(
        f"There the reference itself is up to {wrong.max():.0%} off ({METHODS_SHOWN[i]}, {reference.METRICS[j]}: "
        f"{_short(float(REFERENCE[i, j]))})",
        COLUMNS,
    )
    for cell in named(found.off):
        yield f"NOT REPRODUCED: {cell} (!)"


def _mark(found: Comparison, i: int, j: int) -> str:
    return "!" if found.off[i, j] else "~" if found.far[i, j] else " "


def _short(number: float) -> str:
    """Three digits and a power of ten without zeros: 3.72e-6."""
    digits, power = f"{number:.2e}".split("e")
    return f"{digits}e{int(power)}"
