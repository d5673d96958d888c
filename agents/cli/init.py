# SPDX-License-Identifier: Apache-2.0
"""`murmurate init`: a deployment file that works, events that fit it, what runs and watches it; overwrites nothing."""

from collections.abc import Iterable
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
def command(folder: Path, example: str) -> None:
    """Write a deployment that works, events that fit it, and a compose file with dashboards into DIR (here, unless
    named).
    """
    names = (FILE, "compose.yaml", "dashboards/murmurate.json", "dashboards/alerts.yaml", EVENTS)
    config, compose, dashboard, alerts, sample = paths = [folder / name for name in names]
    for path in paths:
        if path.exists() or path.is_symlink():
            raise InTheWayError(f"{path} is in the way; nothing was written")
    try:
        dashboard.parent.mkdir(parents=True, exist_ok=True)
        _write(config, [samples.example(example).encode()])
        made = plan(load(config, {}))
        _write(compose, [dashboards.compose().encode()])
        _write(dashboard, [dashboards.dashboard().encode()])
        _write(alerts, [dashboards.alerts(made).encode()])
        _write(sample, samples.events(made))
    except OSError as error:
        raise InTheWayError(f"{error.filename or folder}: {error.strerror}") from None
    click.echo(f"  wrote {'  '.join(map(str, paths))}")
    click.echo("  next: murmurate check" if folder == Path() else f"  next: cd {folder} && murmurate check")


def _write(path: Path, parts: Iterable[bytes]) -> None:
    with path.open("xb") as file:
        file.writelines(parts)
