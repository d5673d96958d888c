# SPDX-License-Identifier: Apache-2.0
"""`murmurate reproduce ldp-ids`: table 2 and the figures of LDP-IDS (SIGMOD'22) again, with our methods' own code.

Contract: the same seeds print the same; exit 1 where something is not reproduced (judged.py says what that is).  Only
the paper's sizes are judged, and figures from FEWEST seeds on.  Not here: which runs there are (figures.py), making
them (runs.py).
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import orjson

from murmurate.agents.cli.replay import grouped, make_folder
from murmurate.agents.cli.reproductions.drawings import drawing
from murmurate.agents.cli.reproductions.figures import FIGURES, Figure, chosen, figure
from murmurate.agents.cli.reproductions.judged import Cell, disorder, far, table, table_cases
from murmurate.agents.cli.reproductions.progress import working
from murmurate.agents.cli.reproductions.published import METHODS, SETTINGS, STREAMS
from murmurate.agents.cli.reproductions.recorded import RecordedFile, recorded
from murmurate.agents.cli.reproductions.runs import Case, Lab
from murmurate.agents.simulate.simulated_answers import MOST_USERS
from murmurate.agents.simulate.synthetic_counts import PERIODS, USERS
from murmurate.errors import UsageError

FAILED, COLUMNS = 1, 80
FEWEST = 3
"""Seeds from which chance is known well enough to judge figures."""
EPILOG = """\b
On one core: table 2 about one minute with 5 seeds, all figures about a
quarter of an hour. With --users-path a run of the paper's size takes a
minute, and table 2 has 63 a seed: --users and --periods make it shorter.
"""


@click.command("ldp-ids", epilog=EPILOG)
@click.option("--table", "tables", type=click.Choice(["2"]), help="Only table 2 (and the --figures said).")
@click.option("--figures", "said", help="Only these figures (and the --table said), such as 3-8,10,11.")
@click.option(
    "--data", type=click.Path(path_type=Path, exists=True, dir_okay=False), multiple=True,
    help="A recording to run over, too, in table 2 and figures 3-5, 8 and 11; not in 6, 7 and 10 (of means): integers "
    "[periods, users] as .npy, a sequence of events, baskets, check-ins or rising shares, or what --config reads.",
)  # fmt: skip
@click.option(
    "-c", "--config", type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="The deployment file whose one stream says how to read --data.",
)  # fmt: skip
@click.option("--seeds", type=click.IntRange(1), default=5, show_default=True, help="Runs behind each figure.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="The first of them.")
@click.option(
    "--users",
    type=click.IntRange(1000, MOST_USERS),
    default=USERS,
    show_default=True,
    help="Number of users of made-up streams and of sequences.",
)
@click.option(
    "--periods",
    type=click.IntRange(20),
    default=PERIODS,
    show_default=True,
    help="Number of periods of made-up streams and of sequences.",
)
@click.option("--users-path", is_flag=True, help="Every user answers for themselves, through all stages.")
@click.option(
    "--processes", type=click.IntRange(1), default=1, show_default=True, help="How many processes make the runs."
)
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Write a picture of each figure (SVG).")
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
def command(
    tables: str | None, said: str | None, data: Sequence[Path], config: Path | None, seeds: int, seed: int, users: int,
    periods: int, users_path: bool, processes: int, out: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """Table 2 and figures 3-8, 10 and 11 of LDP-IDS, beside what is known of them.

    Exit 1: something is not reproduced.
    """
    numbers = chosen(said) if said is not None else () if tables else FIGURES
    recordings = _recordings(data, config, users, periods)
    plain = Case("lns", "lbu", users=users, periods=periods)
    judge = (users, periods) == (USERS, PERIODS)
    figures = [figure(number, plain, tuple(recordings)) for number in numbers]
    streams = (*STREAMS, *recordings)
    of_table = table_cases(plain, streams).values() if tables or said is None else ()
    if out is not None:
        make_folder(out)

    lab = Lab(range(seed, seed + seeds), stages=users_path, processes=processes, data=recordings)
    jobs = lab.jobs([*of_table, *(case for each in figures for case in each.cases())])
    with working(len(jobs), quiet=as_json) as tell:
        lab.work(jobs, tell)

    cells = table(lab, plain, streams, judge=judge) if of_table else []
    missed = [_named(cell) for cell in cells if cell.missed]
    if judge and seeds >= FEWEST:
        missed += [text for each in figures for text in (*far(lab, each), *disorder(lab, each))]
    if out is not None:
        for each in figures:
            (out / f"ldp-ids-{each.number}.svg").write_text(drawing(lab, each), encoding="utf-8")
    if as_json:
        click.echo(orjson.dumps(_record(lab, cells, figures, missed)))
    else:
        several = f"seeds {seed} to {seed + seeds - 1}" if seeds > 1 else f"seed {seed}"
        click.echo(f"LDP-IDS: n = {grouped(users)}, T = {periods}; {several}")
        for line in (*_table_lines(cells, streams), *(line for each in figures for line in _lines(lab, each))):
            click.echo(line)
        for line in _verdict(missed, judge=judge, few=bool(figures) and seeds < FEWEST):
            click.echo(line)
    sys.exit(FAILED if missed else 0)


def _recordings(data: Sequence[Path], config: Path | None, users: int, periods: int) -> dict[str, RecordedFile]:
    found = dict[str, RecordedFile]()
    for recording in (RecordedFile(path, config, users, periods) for path in data):
        if recording.name in STREAMS:
            others = f"other names than {', '.join(STREAMS)}"
            raise UsageError(f"--data: found a file named {recording.name!r} as a made-up stream is; allowed: {others}")
        if recording.name in found:
            raise UsageError(f"--data: found two files named {recording.name!r}; allowed: names that are all different")
        found[recording.name] = recording
    for recording in found.values():
        recorded(recording)  # what is wrong with it is said before anything is run
    return found


def _named(cell: Cell) -> str:
    epsilon, w = cell.setting
    return f"table 2, epsilon {epsilon:g}, w {w}, {cell.stream}, {cell.method}: {cell.found:.4f} ({cell.off:+.1%})"


def _table_lines(cells: Sequence[Cell], streams: Sequence[str]) -> Iterator[str]:
    """Blocks of three streams: found, the paper's, the simulated one, and how far off the nearer one is."""
    if cells:
        yield ""
        yield "Table 2: bits per user and period: found, paper, simulated, % off the nearer"
    if any(cell.paper and not cell.judged for cell in cells):
        yield "Of a recording the paper's own trace of that name, at LBU's or LPU's bits here"
    for setting in SETTINGS if cells else ():
        for start in range(0, len(streams), 3):
            shown = streams[start : start + 3]
            yield ""
            yield f"e {setting[0]:g}  w {setting[1]}".ljust(10) + "".join(f"{name[:20]:<25}" for name in shown).rstrip()
            for method in METHODS:
                row = [c for c in cells if c.setting == setting and c.method == method and c.stream in shown]
                yield f"{method:<5}" + "".join(map(_cell, row)).rstrip()


def _cell(cell: Cell) -> str:
    paper = "-" if not cell.paper else f"{cell.paper:.4f}" if cell.paper < 10 else _short(cell.paper)
    known = paper.rjust(7) + (_short(cell.simulated) if cell.simulated else "-").rjust(7)
    off = "    " if cell.off is None else f"{cell.off * 100:+4.1f}"
    return f"{_short(cell.found):>5}{known}{off:>5}{'!' if cell.missed else ' '}"


def _lines(lab: Lab, figure: Figure) -> Iterator[str]:
    """A block a panel: a line a curve, with what was expected below it."""
    yield ""
    yield f"Figure {figure.number}: {figure.title}"
    for panel in figure.panels:
        yield ""
        wide = max(8, *(len(step) + 1 for step in panel.steps)) if len(panel.steps) < 9 else 6
        yield f"{panel.title[:12]:<13}" + "".join(f"{step:>{wide}}" for step in panel.steps) + f"  {panel.over}"
        for name, cases in panel.curves.items():
            found = "".join(f"{_short(lab.mean(case, figure.what)):>{wide}}" for case in cases)
            yield f"{name:<13}{found}"
            if name in panel.expected:
                yield f"{'  expected':<13}" + "".join(f"{_short(known):>{wide}}" for known in panel.expected[name])


def _verdict(missed: Sequence[str], *, judge: bool, few: bool) -> Iterator[str]:
    yield ""
    if not judge:
        yield f"other sizes than the paper's ({USERS} users, {PERIODS} periods) are not judged"
        return
    if few:
        yield f"figures are judged from {FEWEST} seeds on"
    for text in missed:
        yield from textwrap.wrap(f"NOT REPRODUCED: {text}", COLUMNS)
    if not missed and not few:
        yield "all of it is reproduced"


def _short(number: float) -> str:
    """Four characters or five: 1.547, .0905, 12.3.

    >>> _short(1.5470), _short(0.0905), _short(12.34), _short(118.0)
    ('1.547', '.0905', '12.34', '118.0')
    """
    if number >= 100:
        return f"{number:.1f}"
    text = f"{number:.{2 if number >= 10 else 3 if number >= 1 else 4}f}"
    return text.removeprefix("0") if number < 1 else text


def _record(lab: Lab, cells: Sequence[Cell], figures: Sequence[Figure], missed: Sequence[str]) -> dict[str, Any]:
    """The content of --json."""
    return {
        "ok": not missed,
        "missed": missed,
        "seeds": [lab.seeds.start, lab.seeds.stop - 1],
        "table2": [
            {
                "epsilon": c.setting[0], "w": c.setting[1], "method": c.method, "stream": c.stream, "bits": c.found,
                "paper": c.paper, "expected": c.simulated, "off": c.off,
            }
            for c in cells
        ],
        "figures": [
            {
                "figure": each.number, "title": each.title, "what": each.what,
                "panels": [
                    {
                        "title": panel.title, "over": panel.over, "steps": panel.steps,
                        "curves": {
                            name: [lab.mean(case, each.what) for case in cases] for name, cases in panel.curves.items()
                        },
                        "expected": panel.expected,
                    }
                    for panel in each.panels
                ],
            }
            for each in figures
        ],
    }  # fmt: skip
