# SPDX-License-Identifier: Apache-2.0
"""`murmurate init`: a deployment file that works, events that fit it, what runs and watches it; overwrites nothing.

The deployment is called like its folder, and its events are those of the last hour, so that a first replay looks like a
stream of today.  Not here: the examples and their events (config/samples.py).
"""

import re
import shlex
import time
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import click

from murmurate.config import dashboards, samples
from murmurate.config.errors import InTheWayError
from murmurate.config.loader import FILE, load
from murmurate.config.planning import plan

EVENTS = "events.sample.jsonl"
DEFAULT = "telemetry"


@click.command("init")
@click.argument("folder", metavar="[DIR]", type=click.Path(file_okay=False, path_type=Path), default=".")
@click.option(
    "--example", type=click.Choice(samples.names()), default=DEFAULT, show_default=True, help="Which example to write."
)
@click.option(
    "--users", type=click.IntRange(1, 1_000_000),
    help="How many users its sample of events has.  [default: 8000, of journeys 800]",
)  # fmt: skip
@click.option(
    "--until", type=click.DateTime(["%Y-%m-%dT%H:%M:%SZ"]), metavar="TIME",
    help="When the sample ends, such as 2026-11-18T10:00:00Z; now, unless said.",
)  # fmt: skip
def command(folder: Path, example: str, users: int | None, until: datetime | None) -> None:
    """Write a deployment that works, an hour of events that fit it, and a compose file with dashboards into DIR (here,
    unless named). The deployment is called like the folder.
    """
    names = (FILE, "compose.yaml", "dashboards/murmurate.json", "dashboards/alerts.yaml", EVENTS)
    config, compose, dashboard, alerts, sample = paths = [folder / name for name in names]
    for path in paths:
        if path.exists() or path.is_symlink():
            raise InTheWayError(f"{path} is in the way; nothing was written")
    now_ms = time.time_ns() // 10**6 if until is None else int(until.replace(tzinfo=UTC).timestamp() * 1000)
    try:
        dashboard.parent.mkdir(parents=True, exist_ok=True)
        _write(config, [samples.example(example, name_of(folder.resolve().name)).encode()])
        made = plan(load(config, {}))
        _write(compose, [dashboards.compose().encode()])
        _write(dashboard, [dashboards.dashboard().encode()])
        _write(alerts, [dashboards.alerts(made).encode()])
        size = samples.first(made).ending(now_ms, made)
        _write(sample, samples.events(made, replace(size, users=users or size.users)))
    except OSError as error:
        raise InTheWayError(f"{error.filename or folder}: {error.strerror}") from None
    click.echo(f"  wrote {'  '.join(map(str, paths))}")
    there = "" if folder == Path() else f"cd {shlex.quote(str(folder))} && "
    click.echo(f"  next: {there}murmurate check")


def name_of(folder: str) -> str | None:
    """The name of a deployment in a folder of this name; None where nothing of it may stand in one."""
    words = re.sub("[^a-z0-9]+", "-", folder.lower()).strip("-")
    return re.sub("^[^a-z]+", "", words)[:32].strip("-") or None


def _write(path: Path, parts: Iterable[bytes]) -> None:
    with path.open("xb") as file:
        file.writelines(parts)
