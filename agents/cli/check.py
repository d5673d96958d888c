"""`murmurate check`: what a deployment file promises, in words. Nothing is contacted and no secret is read."""

import sys
from pathlib import Path

import click
import orjson

from murmurate.config.errors import ConfigError
from murmurate.config.explain import explain
from murmurate.config.loader import FILE, load
from murmurate.config.planning import plan

MISTAKES = 2


@click.command("check")
@click.option("-c", "--config", type=click.Path(path_type=Path), default=FILE, show_default=True, help="The file.")
@click.option("--users", type=click.IntRange(1), help="Warn where so many users would give too few reports.")
@click.option("--json", "as_json", is_flag=True, help="One line of JSON.")
def command(config: Path, users: int | None, as_json: bool) -> None:
    """Say in words what a deployment promises. Exit 2: a line for each mistake."""
    try:
        facts = explain(plan(load(config)), users)
    except ConfigError as error:
        if as_json:
            click.echo(orjson.dumps({"ok": False, "mistakes": error.mistakes}))
        else:
            click.echo(str(error), err=True)
        sys.exit(MISTAKES)
    if as_json:
        click.echo(orjson.dumps(facts.document()))
    else:
        for line in facts.lines():
            click.echo(line)
