# SPDX-License-Identifier: Apache-2.0
"""`murmurate reproduce sao2`: horizons of changes, again, beside what SaO2 prints of them.

Contract: the same --seed prints the same; exit 1 where something is not reproduced (sao2_verdicts.py).  Parts: table 3,
as printed and in the product's own way; older protocols through the same tree; horizons that keyed devices really tell;
figure 1; portions of users; figures 6 and 12, stocks told without a tree.  Tables 2 and 4 are in `reproduce vectors`.
Not here: errors (agents/simulate), how tables are written (sao2_lines.py).
"""

from __future__ import annotations

import math
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import click
import numpy as np
import orjson

from murmurate.agents.cli.replay import make_folder
from murmurate.agents.cli.reproductions import sao2_reference as reference
from murmurate.agents.cli.reproductions.progress import working
from murmurate.agents.cli.reproductions.runs import spread_out
from murmurate.agents.cli.reproductions.sao2_lines import lines
from murmurate.agents.cli.reproductions.sao2_pictures import pictures
from murmurate.agents.cli.reproductions.sao2_verdicts import missed
from murmurate.agents.cli.reproductions.vectors import FAILED, PartToCompute
from murmurate.agents.cli.reproductions.vectors_lines import COLUMNS
from murmurate.agents.simulate import sparse_laws as laws
from murmurate.agents.simulate.price_records import direct_errors, made_up_prices, read_prices, told_steps
from murmurate.agents.simulate.residue_errors import (
    FORMS,
    PROTOCOLS,
    SIGNS,
    HorizonOfBits,
    horizon_errors,
    portion_ratio,
)
from murmurate.agents.simulate.told_horizons import told_errors
from murmurate.aggregators.trees import GOALS, ResidueTask, portions
from murmurate.randomizers.residue_tree import ResidueTree
from murmurate.randomizers.thresholds import MICRO

TOLD: Final = {"ExSub": "exsub_online", **SIGNS}
"""The product's protocols that devices tell."""
DEVICES: Final = 5_000
STOCK_RUNS: Final = 5
"""Collections behind an error of the stocks; a few more than 150 000 records hardly leave anything to chance."""


@click.command("sao2")
@click.option("--runs", type=click.IntRange(2), default=20_000, show_default=True, help="Drawn horizons of an error.")
@click.option("--horizons", type=click.IntRange(1), default=40, show_default=True, help="Horizons told by devices.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="The same seed, the same tables.")
@click.option(
    "--stocks", type=click.Path(path_type=Path, exists=True),
    help="Daily prices, a file or a folder of them, with columns Date and Close; made-up ones unless it is given.",
)  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="A folder for pictures.")
@click.option("--processes", type=click.IntRange(1), default=2, show_default=True, help="How many make the runs.")
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
def command(
    runs: int, horizons: int, seed: int, stocks: Path | None, out: Path | None, processes: int, as_json: bool
) -> None:  # fmt: skip
    """Horizons of changes: table 3 of SaO2, its figures 1, 6 and 12, portions of users, and older protocols.

    Some twenty seconds on two quiet cores. Exit 1: something is not reproduced.
    """
    if out is not None:
        make_folder(out)
    told = told_steps(made_up_prices(seed) if stocks is None else read_prices(stocks))
    jobs = [PartToCompute(key, horizons if key[0] == "told" else runs, seed) for key in planned()]
    found: dict[tuple[Any, ...], Any] = dict(formulas())
    with working(len(jobs), quiet=as_json) as tell:
        for job, value in zip(jobs, spread_out(made, jobs, processes), strict=True):
            found[job.key] = value
            tell()
    for epsilon in reference.STOCK_EPSILONS:
        for name in ("ExSub", "majority", *reference.OLDER):
            found["stocks", name, epsilon] = direct_errors(told, name, epsilon, STOCK_RUNS, seed)
    if out is not None:
        for name, text in pictures(found):
            (out / name).write_text(text, encoding="utf-8")
    texts = list(missed(found, runs, horizons))
    if as_json:
        rows = [{"part": key[0], "of": [_plain(of) for of in key[1:]], "value": value} for key, value in found.items()]
        click.echo(
            orjson.dumps({"ok": not texts, "missed": texts, "exceptions": reference.EXCEPTIONS, "rows": rows},
                         default=list)
        )  # fmt: skip
    else:
        for line in lines(found, len(told), runs, horizons):
            click.echo(line)
        for text in texts:
            click.echo(textwrap.fill(f"NOT REPRODUCED: {text}", COLUMNS, subsequent_indent="   "))
        if not texts:
            click.echo("all that is judged is reproduced")
    sys.exit(FAILED if texts else 0)


def _plain(of: object) -> object:
    return float(of) if isinstance(of, Fraction) else of


def planned() -> Iterator[tuple[Any, ...]]:
    """The keys of all that is drawn."""
    for epsilon in reference.EPSILONS:
        for r in reference.FANOUTS:
            for name in PROTOCOLS if r == reference.FANOUTS[0] else ("ExSub", "DDRM"):
                yield from (("horizon", name, form, r, epsilon) for form in FORMS)
            yield from (("still", name, r, epsilon) for name in ("ExSub", "DDRM"))
    yield from (("told", name) for name in TOLD)


def made(job: PartToCompute) -> Any:
    """What stands under a key."""
    part, name, *of = job.key
    if part == "told":
        told = [told_errors(TOLD[name], Fraction(1), DEVICES, job.seed << 20 | at)[:2] for at in range(job.runs)]
        return tuple(np.mean(told, axis=0).tolist())
    form, r, epsilon = of if part == "horizon" else ("printed", *of)
    bits = HorizonOfBits(reference.PERIODS, r, reference.CHANGES, epsilon, reference.USERS)
    return horizon_errors(name, form, bits, job.runs, job.seed, moving=part == "horizon")


def formulas() -> Iterator[tuple[tuple[Any, ...], Any]]:
    """All that takes no time: errors by the length of reports, and portions."""
    number, s, epsilon = reference.LENGTHS
    by_length = laws.subset(number - s, s, epsilon)
    with np.errstate(divide="ignore", invalid="ignore"):  # a report of all coordinates tells no shares
        means, shares = (
            np.log(number * laws.averaged(moments, number, s))
            for moments in (by_length.mean_moments, by_length.share_moments)
        )
    for kind, errors in (("best", means), ("best for shares", shares)):
        m = int(np.argmin(np.where(np.isfinite(errors), errors, np.inf)))
        yield ("length", kind), (m + 1, float(errors[m]))
    for m in reference.SHOWN_LENGTHS:
        yield ("length", m), (float(means[m - 1]), float(shares[m - 1]))
    for of in reference.PORTIONS:
        tree, task = ResidueTree(of.periods, 2), ResidueTask(of.d, of.changes, of.d, MICRO)
        for rule, rooted in of.figures:
            yield (
                ("portions", of.periods, rule, rooted),
                tuple(portion_ratio(tree, task, goal, rule, rooted=rooted) if _told_apart(rule, goal) else math.nan
                      for goal in GOALS),
            )  # fmt: skip
        each = [[portions(one, replace(task, goal=goal)).error for goal in GOALS]
                for one in (tree, replace(tree, every=True))]  # fmt: skip
        yield ("portions", of.periods, "every", False), tuple((np.array(each[1]) / each[0]).tolist())


def _told_apart(rule: str, goal: str) -> bool:
    """Whether a rule says anything else of a goal than "uniform" does."""
    return rule == "uniform" or goal != "mean"
