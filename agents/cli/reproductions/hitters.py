# SPDX-License-Identifier: Apache-2.0
"""`murmurate reproduce hitters`: what is frequent when nobody knows the list, beside what the literature finds.

Contract: the same --seed prints the same; exit 1 where something is not reproduced.  Each part is a module with its
jobs (`planned`, `made`), its tables (`lines`) and its verdicts (`missed`, `excused`).  --strict excuses nothing by
chance.  Files are read by path and stay in this process.  Not here: what a part searches for (hitters_strings.py).
"""

from __future__ import annotations

import sys
import textwrap
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import click
import orjson

from murmurate.agents.cli.reproductions import (
    hitters_sets,
    hitters_sets_verdicts,
    hitters_strings,
    hitters_strings_verdicts,
)
from murmurate.agents.cli.reproductions.progress import working
from murmurate.agents.cli.reproductions.runs import spread_out

FAILED: Final = 1
COLUMNS: Final = 80
PARTS: Final[dict[str, tuple[Any, Any]]] = {
    "strings": (hitters_strings, hitters_strings_verdicts),
    "sets": (hitters_sets, hitters_sets_verdicts),
}
"""The modules of each part: its searches, and what they are held to."""
FILES: Final = (hitters_strings.FILE, *hitters_sets.FILES)


@click.command("hitters")
@click.option(
    "--part", "parts", multiple=True, type=click.Choice(tuple(PARTS)), help="Only this part; may be repeated."
)
@click.option("--runs", type=click.IntRange(2), default=20, show_default=True, help="Searches behind each figure.")
@click.option("--few", type=click.IntRange(0), default=2, show_default=True, help="Searches that take long, of each.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="The first of them.")
@click.option(
    "--data", type=click.Path(path_type=Path, exists=True, file_okay=False),
    help=f"A folder with some of {', '.join(FILES)}: figures on these, too.",
)  # fmt: skip
@click.option("--processes", type=click.IntRange(1), default=2, show_default=True, help="How many make the runs.")
@click.option("--strict", is_flag=True, help="Exit 1 for every figure more than 15 % off, chance or not.")
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
def command(
    parts: tuple[str, ...], runs: int, few: int, seed: int, data: Path | None, processes: int, strict: bool,
    as_json: bool,
) -> None:  # fmt: skip
    """Searches for frequent strings, items and itemsets: chapters 4 and 5 of Wang 2021.

    About two minutes on two quiet cores. Exit 1: something is not reproduced.
    """
    chosen = list(dict.fromkeys(parts)) or list(PARTS)
    jobs = [(part, job) for part in chosen for job in PARTS[part][0].planned(runs, few, seed, data)]
    rows: dict[str, dict[Any, list[Any]]] = {part: defaultdict(list) for part in chosen}
    with working(len(jobs), quiet=as_json) as tell:
        for (part, job), found in zip(jobs, spread_out(made, jobs, processes), strict=True):
            rows[part][job.row].append(found)
            tell()
    texts = [text for part in chosen for text in PARTS[part][1].missed(rows[part], strict=strict)]
    exceptions = [text for part in chosen for text in PARTS[part][1].excused(rows[part])]
    if as_json:
        records = [record for part in chosen for record in _records(part, rows[part])]
        click.echo(orjson.dumps({"ok": not texts, "missed": texts, "exceptions": exceptions, "rows": records}))
    else:
        for part in chosen:
            for line in (*PARTS[part][0].lines(rows[part]), ""):
                click.echo(line)
        for word, said in (("EXCEPTION", exceptions), ("NOT REPRODUCED", texts)):
            for text in said:
                click.echo(textwrap.fill(f"{word}: {text}", COLUMNS, subsequent_indent="   "))
        if not texts:
            click.echo("all of it is reproduced")
    sys.exit(FAILED if texts else 0)


def made(job: tuple[str, Any]) -> Any:
    """One run of one part."""
    part, of = job
    return PARTS[part][0].made(of)


def _records(part: str, rows: dict[Any, list[Any]]) -> Iterator[dict[str, Any]]:
    """The rows of --json, each with all its runs."""
    for (table, of, search), scores in rows.items():
        yield {"part": part, "table": table, "of": of, **asdict(search), "runs": [asdict(each) for each in scores]}
