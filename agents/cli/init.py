"""`murmurate init`: a deployment file that works and events that fit it. It asks nothing and overwrites nothing."""

from pathlib import Path

import click

from murmurate.config import samples
from murmurate.config.errors import InTheWayError
from murmurate.config.loader import FILE, load
from murmurate.config.planning import plan

EVENTS = "events.sample.jsonl"
DEFAULT = "telemetry"


@click.command("init")
@click.argument("folder", metavar="[DIR]", type=click.Path(file_okay=False, path_type=Path), default=".")
@click.option("--example", type=click.Choice(samples.names()), default=DEFAULT, show_default=True, help="Which one.")
def command(folder: Path, example: str) -> None:
    """Write a deployment file that works, and events that fit it, into DIR (here, unless named)."""
    config, sample = folder / FILE, folder / EVENTS
    for path in (config, sample):
        if path.exists() or path.is_symlink():
            raise InTheWayError(f"{path} is in the way; nothing was written")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with config.open("x", encoding="utf-8") as file:
            file.write(samples.example(example))
        with sample.open("xb") as lines:
            lines.writelines(samples.events(plan(load(config, {}))))
    except OSError as error:
        raise InTheWayError(f"{error.filename or folder}: {error.strerror}") from None
    click.echo(f"  wrote {config}  {sample}")
    click.echo("  next: murmurate check" if folder == Path() else f"  next: cd {folder} && murmurate check")
