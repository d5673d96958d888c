# SPDX-License-Identifier: Apache-2.0
"""`murmurate replay SOURCE`: a recorded or synthetic stream through every stage, embedded; it touches no broker,
ever.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import orjson
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from murmurate.agents.embedded.runtime import Keys
from murmurate.agents.library.run_folder import WRITTEN, write
from murmurate.agents.replay.known_keys import known_secrets as known_secrets
from murmurate.agents.replay.run import Frame, Outcome, Replay, keys
from murmurate.agents.replay.score import claims, table
from murmurate.agents.replay.source import Source
from murmurate.agents.replay.sources import FORMATS, open_source
from murmurate.agents.shortage import Shortages
from murmurate.agents.stages.stage import Out
from murmurate.agents.whole_vectors import WholeVectors
from murmurate.config.enough import shortage
from murmurate.config.errors import ConfigError
from murmurate.config.loader import FILE, load
from murmurate.config.plan import CentralPlan, Plan
from murmurate.config.planning import plan as planned
from murmurate.config.secrets import NAMES, generate
from murmurate.errors import UsageError

MISTAKES, INTERRUPTED = 2, 130
WIDTH = 80
LEGEND = (
    "published (in w): releases with reports of their own period, and how many of those a window has; "
    "MRE, MSE: mean relative and mean squared error of what was measured; "
    "MSE of estimate: of the best estimate so far; in 2 se: truths within two standard errors of it; "
    "bits: sent per user and period"
)
Tell = Callable[[Frame], None]


format_option = click.option(
    "--format", "form", type=click.Choice(FORMATS), help="What SOURCE is, where its name does not say it."
)


@click.command("replay")
@click.argument("source")
@click.option("--stream", help="Which stream the source is of; needed where the deployment has several topics.")
@click.option(
    "-c", "--config", type=click.Path(path_type=Path), default=FILE, show_default=True, help="The deployment file."
)
@format_option
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), help="Write releases, truth, summary and report."
)
@click.option(
    "--whole", type=click.Path(path_type=Path, file_okay=False),
    help="Write what each round says of every item, a .npz file each, of streams of items.",
)  # fmt: skip
@click.option(
    "--repeatable", is_flag=True, help="Known keys instead of fresh ones: the same bytes every time, and no privacy."
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as one line of JSON.")
def command(
    source: str, stream: str | None, config: Path, form: str | None, out: Path | None, whole: Path | None,
    repeatable: bool, as_json: bool,
) -> None:  # fmt: skip
    """Replay SOURCE: a .jsonl or .csv file (also .gz or .zst), .parquet, .arrow, .feather, .npy, - for standard input,
    or synthetic:lns|sin|log|sets|..[,n=..][,periods=..][,seed=..].

    Exit 1: nothing in it could be used. Ctrl-C ends it with what is done so far. A stream whose rounds have too few
    reports for a release is named, beforehand where the source says how many users there are.
    """
    plan = _planned(config)
    opened = open_source(source, plan, stream, form)
    if out is not None:
        make_folder(out)
    frames, console, short = list[Frame](), Console(stderr=True), TooFew(plan, opened)
    for line in short.beforehand():
        warn(console, line)
    with bar(console, opened, quiet=as_json) as show:

        def tell(frame: Frame) -> None:
            show(frame)
            if (line := short.now(frame)) is not None:
                warn(console, line)
            if out is not None and frame["type"] != "progress":
                frames.append(frame)

        replay = Replay(plan, opened, _keys(plan.name, repeatable=repeatable), tell)
        _write_whole(replay, plan, whole)
        with _ctrl_c(replay.stop):
            outcome = replay.run()
    if as_json:
        click.echo(orjson.dumps(outcome.summary(plan)))
    else:
        show_outcome(plan, opened, outcome)
    if out is not None:
        _write_named(out, plan, outcome, frames)
    if outcome.interrupted:
        sys.exit(INTERRUPTED)


def _planned(config: Path) -> Plan:
    """The plan of a deployment file; its mistakes, a line for each as `check` prints them, end the process."""
    try:
        return planned(load(config))
    except ConfigError as error:
        click.echo(str(error), err=True)
        sys.exit(MISTAKES)


def _keys(deployment: str, *, repeatable: bool) -> Keys:
    """Fresh keys, or known ones."""
    return keys(known_secrets(deployment) if repeatable else generate(NAMES), deployment)


def _write_whole(replay: Replay, plan: Plan, folder: Path | None) -> None:
    """Write the estimates of each round in this folder as soon as its tallies are there."""
    if folder is None:
        return
    make_folder(folder)
    vectors = WholeVectors(plan)

    def take(records: Sequence[Out]) -> None:
        for one in vectors.follow(records):
            one.write(folder)

    replay.follow(take)


def show_outcome(plan: Plan, source: Source, outcome: Outcome) -> None:
    """The table at the end, and what was wrong with the source."""
    score = outcome.score(plan)
    console = Console(width=WIDTH)
    with console.capture() as shown:  # printed by click, since rich ends with another code where nobody reads it
        console.print(table(score))
    click.echo(shown.get(), nl=False)
    click.echo(click.wrap_text(LEGEND, WIDTH, subsequent_indent="  "))
    for line in claims(score, serve_all=plan.split == "budget"):
        click.echo(click.wrap_text(line, WIDTH, subsequent_indent="  "))
    rate = round(outcome.events / max(outcome.seconds, 1e-9))
    done = f"{grouped(outcome.events)} events in {outcome.seconds:.1f} s ({grouped(rate)} a second)"
    click.echo(f"{done}   reports over budget: {outcome.over_budget}")
    for line in (*source.complaint_lines(), *outcome.shortfalls(plan)):
        click.echo(click.wrap_text(line, WIDTH, subsequent_indent="  "))
    if outcome.interrupted:
        click.echo("interrupted: this is what was done so far")


class TooFew:
    """Names each stream once whose rounds have too few reports for a release, as soon as that is known."""

    def __init__(self, plan: Plan, source: Source) -> None:
        self._plan, self._source, self._followed = plan, source, Shortages(plan)
        self._said: set[str] = set()

    def beforehand(self) -> Iterator[str]:
        """The lack of users for each stream of a source that knows its number of users."""
        users = self._source.users()
        if users is None:
            return
        for name in self._source.streams:
            if isinstance(self._plan.any_stream(name), CentralPlan):
                continue  # nobody is asked about it
            if (said := shortage(self._plan, self._plan.stream(name), users)) is not None:
                self._said.add(name)
                yield f"{name}: {said}"

    def now(self, frame: Frame) -> str | None:
        """The lack of reports that the releases so far show, once for each stream."""
        if frame["type"] != "release":
            return None
        name, said = frame["release"]["stream"], self._followed.take(frame["release"])
        if said is None or name in self._said:
            return None
        self._said.add(name)
        return f"{name}: {said}"


def warn(console: Console, line: str) -> None:
    """A line beside the progress bar."""
    console.print(click.wrap_text(f"warning: {line}", WIDTH, subsequent_indent="  "), highlight=False, markup=False)


def grouped(number: int) -> str:
    """Digits in threes: 60 000."""
    return f"{number:,}".replace(",", " ")


def make_folder(out: Path) -> None:
    """The folder of an `--out`, before the runs rather than after them."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out: found {str(out)!r}: {error.strerror}; allowed: a folder to write in") from None


@contextmanager
def _ctrl_c(stop: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C calls `stop`; a second one ends the process as usual."""

    def once(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, before)
        stop()

    before = signal.signal(signal.SIGINT, once)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class bar:  # noqa: N801 - reads as a verb in `with bar(...)`
    """A progress bar over a run's frames; nothing where nobody watches."""

    def __init__(self, console: Console, source: Source, *, quiet: bool) -> None:
        self._source = source
        self._bar = Progress(
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[events]}"),
            TextColumn("{task.fields[releases]}"),
            console=console,
            disable=quiet or not console.is_terminal,
            transient=True,
        )
        self._task = self._bar.add_task("", total=1.0, events="", releases="")

    def __enter__(self) -> Tell:
        self._bar.start()
        return self._tell

    def __exit__(self, *what: Any) -> None:
        self._bar.stop()

    def _tell(self, frame: Frame) -> None:
        if frame["type"] == "progress":
            self._bar.update(
                self._task,
                completed=self._source.fraction() or 0.0,
                events=f"{frame['events_per_second'] / 1e6:.2f} M events/s",
                releases=f"{frame['releases']} releases",
            )


def _write_named(out: Path, plan: Plan, outcome: Outcome, frames: list[Frame]) -> None:
    """Write the files, and say which: on one line if they fit."""
    write(out, plan, outcome, frames)
    written = [str(out / name) for name in WRITTEN]
    fits = sum(len(path) + 2 for path in written) <= WIDTH
    click.echo("  " + ("  " if fits else "\n  ").join(written), err=True)
