# SPDX-License-Identifier: Apache-2.0
"""`murmurate reproduce vectors`: errors of mechanisms for sparse vectors, again, beside what is printed of them.

Contract: the same --seed prints the same; exit 1 where something is not reproduced (vectors_verdicts.py).  Five parts:
tables 2 and 4 of SaO2; the errors and reductions of Collision and CoCo, section 8; which mechanism is best by d, s and
epsilon; what mixing changes, at a central target; and federated learning from signs of gradients, as an example.
Errors are exact for laws at the epsilon itself.  Not here: the product's mechanisms, whose tests compare them with
these laws; how tables are written (vectors_lines.py).
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import click
import numpy as np
import orjson

from murmurate.agents.cli.replay import make_folder
from murmurate.agents.cli.reproductions import vectors_reference as reference
from murmurate.agents.cli.reproductions.progress import working
from murmurate.agents.cli.reproductions.runs import spread_out
from murmurate.agents.cli.reproductions.vectors_lines import COLUMNS, LEARNERS, LEARNING_EPSILONS, lines
from murmurate.agents.cli.reproductions.vectors_mixed import CENTRAL_WAYS, amplified, at_target
from murmurate.agents.cli.reproductions.vectors_pictures import pictures
from murmurate.agents.cli.reproductions.vectors_rank import LETTERS, RANK
from murmurate.agents.cli.reproductions.vectors_verdicts import missed
from murmurate.agents.simulate import sparse_laws as laws
from murmurate.agents.simulate.federated import EXACT, accuracy
from murmurate.agents.simulate.sparse_errors import SHARES, drawn, mean_square, reported, share_square
from murmurate.randomizers.registry import VECTORS, question

FAILED: Final = 1
REPORTED: Final = "2"
"""The table that is also made of reports of the product's own mechanisms; the other one has too many entries."""
OF_MEANS: Final = tuple(LETTERS.values())
OF_SHARES: Final = tuple(name for name in OF_MEANS if name in SHARES)


@dataclass(frozen=True)
class PartToCompute:
    """One number, or a few, by the key under which they are printed."""

    key: tuple[Any, ...]
    runs: int
    seed: int


@click.command("vectors")
@click.option("--runs", type=click.IntRange(1), default=20, show_default=True, help="Collections behind each error.")
@click.option("--few", type=click.IntRange(1), default=10, show_default=True, help="Runs of federated learning.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="The same seed, the same tables.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="A folder for pictures.")
@click.option("--processes", type=click.IntRange(1), default=2, show_default=True, help="How many make the runs.")
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
def command(runs: int, few: int, seed: int, out: Path | None, processes: int, as_json: bool) -> None:
    """Sparse vectors: tables 2 and 4 of SaO2, section 8 of Collision and CoCo, ranks, mixing, and gradients.

    Some thirty seconds on two quiet cores. Exit 1: something is not reproduced.
    """
    if out is not None:
        make_folder(out)
    jobs = [PartToCompute(key, few if key[0] == "learned" else runs, seed) for key in planned()]
    found: dict[tuple[Any, ...], Any] = {("rank", *at): ranked(*at, handed) for at, handed in handed_in()}
    with working(len(jobs), quiet=as_json) as tell:
        for job, value in zip(jobs, spread_out(made, jobs, processes), strict=True):
            found[job.key] = value
            tell()
    if out is not None:
        for name, text in pictures(found):
            (out / name).write_text(text, encoding="utf-8")
    texts = list(missed(found, runs))
    if as_json:
        rows = [{"part": key[0], "of": key[1:], "value": value} for key, value in found.items()]
        click.echo(orjson.dumps({"ok": not texts, "missed": texts, "rows": rows}, default=list))  # of named tuples
    else:
        for line in lines(found, runs, few):
            click.echo(line)
        for text in texts:
            click.echo(textwrap.fill(f"NOT REPRODUCED: {text}", COLUMNS, subsequent_indent="   "))
        if not texts:
            click.echo("all of it is reproduced")
    sys.exit(FAILED if texts else 0)


def planned() -> Iterator[tuple[Any, ...]]:
    """The keys of all that takes time."""
    for number, table in reference.TABLES.items():
        for name in table.rows:
            yield from (("drawn", number, name, epsilon) for epsilon in reference.EPSILONS)
            if number == REPORTED and name.lower() in VECTORS:
                yield from (("reported", number, name, epsilon) for epsilon in reference.EPSILONS)
    for s, n in reference.AMPLIFIED:
        yield from (("amplified", s, n, epsilon) for epsilon in reference.AMPLIFIED_EPSILONS)
    for way in CENTRAL_WAYS:
        yield from (("central", way, target) for target in reference.CENTRAL)
    for name in LEARNERS:
        yield from (("learned", name, epsilon) for epsilon in LEARNING_EPSILONS)
    yield "learned", EXACT, 0.0


def made(job: PartToCompute) -> Any:
    """What stands under a key."""
    part, *of = job.key
    if part == "drawn":
        number, name, epsilon = of
        table = reference.TABLES[number]
        return drawn(name, table.d, table.s, epsilon, table.n, job.runs, job.seed)
    if part == "reported":
        number, name, epsilon = of
        table = reference.TABLES[number]
        layout = ("signed", table.d, table.s, 0)
        spec = {"name": name.lower(), "layout": layout, "epsilon": Fraction(repr(epsilon))}
        return reported(question(spec), table.n, job.seed)
    if part == "amplified":
        s, n, epsilon = of
        return amplified(s, n, epsilon, reference.AMPLIFIED_DELTA)
    if part == "central":
        way, target = of
        return at_target(way, 128, 8, target, reference.CENTRAL_USERS, reference.CENTRAL_DELTA)
    name, epsilon = of
    return float(np.mean([accuracy(name, epsilon, job.seed + run) for run in range(job.runs)]))


def handed_in() -> Iterator[tuple[tuple[int, int, float], tuple[str, ...]]]:
    """Other code's lines by d, s and epsilon."""
    for line in RANK.strip().splitlines():
        at, *handed = (part.strip() for part in line.split("|"))
        d, s, epsilon = at.split()
        yield (int(d), int(s), float(epsilon)), tuple(handed)


def ranked(d: int, s: int, epsilon: float, handed: tuple[str, ...]) -> tuple[Any, ...]:
    """What was handed in, the two smallest errors of means and of shares with their names, and the five parameters."""
    means = {name: mean_square(name, d, s, epsilon, 1) for name in OF_MEANS}
    shares = {name: share_square(name, d, s, epsilon) for name in OF_SHARES}
    parameters = (
        laws.best_signs(d, s, epsilon), laws.best_signs(d, s, epsilon, shares=True), laws.best_buckets(d, s, epsilon),
        laws.best_pairs(d, s, epsilon), laws.best_pairs(d, s, epsilon, shares=True),
    )  # fmt: skip
    best = tuple(sorted(each.items(), key=lambda one: one[1])[:2] for each in (means, shares))
    return handed, best, parameters
