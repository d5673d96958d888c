# SPDX-License-Identifier: Apache-2.0
"""`murmurate check`: what a deployment file promises, in words; and what it would change in a deployment that runs.

Contract: no secret is shown.  Without --against nothing is contacted and no secret is read; with it, the secrets that
can be read here are compared by their fingerprints.  Exit 0 if every change is free.  Not here: which change has
which effect (config/changes.py), what is read from the brokers (against.py).
"""

import sys
import textwrap
from pathlib import Path

import click
import orjson

from murmurate.config.changes import Change, compare
from murmurate.config.errors import ConfigError
from murmurate.config.explain import explain
from murmurate.config.explain_streams import COLUMNS
from murmurate.config.loader import FILE, load
from murmurate.config.planning import plan
from murmurate.config.settings import Deployment

FAILED, MISTAKES = 1, 2
WORDS = {"free": "free", "revision": "new revision", "refused": "refused"}
NOT_YET = (
    "No worker can go over to a new revision yet: it stops at a state of another config. Until then a new revision "
    "needs a deployment of another name."
)


@click.command("check")
@click.option(
    "-c", "--config", type=click.Path(path_type=Path), default=FILE, show_default=True, help="The deployment file."
)
@click.option("--users", type=click.IntRange(1), help="Warn of streams for which so many users are too few.")
@click.option(
    "--against",
    metavar="BROKERS|FILE",
    help='Show what would change from brokers (HOST:PORT, or "config" for the file\'s own) or from another file.',
)
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
def command(config: Path, users: int | None, against: str | None, as_json: bool) -> None:
    """Say in words what a deployment promises, or what it would change. Exit 1: the change is refused; 2: the file has
    mistakes, which are printed one a line.
    """
    try:
        deployment = load(config)
        facts = explain(plan(deployment), users)
        if against is not None:
            sys.exit(_against(deployment, against, as_json=as_json))
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


def _against(deployment: Deployment, against: str, *, as_json: bool) -> int:
    """What would change, and how to say it to a shell."""
    if Path(against).is_file():
        changes, known = compare(load(against), deployment), ["Every key of the two files was compared."]
    else:
        from murmurate.agents.cli.against import running  # here, so that a check of a file loads no Kafka

        changes, known = running(deployment, None if against == "config" else against)
    good = all(change.effect == "free" for change in changes)
    if as_json:
        click.echo(orjson.dumps({"ok": good, "changes": changes, "known": known}))
    else:
        for line in _lines(changes, known):
            click.echo(line)
    return 0 if good else FAILED


def _lines(changes: list[Change], known: list[str]) -> list[str]:
    lines = [] if changes else ["nothing changes"]
    for change in changes:
        lines += _wrapped(f"{change.key}: {change.old} -> {change.new}", f"{WORDS[change.effect]:<12}  ")
        lines += _wrapped(change.why, " " * 14)
    if any(change.effect == "revision" for change in changes):
        lines += _wrapped(NOT_YET, "")
    return lines + [line for sentence in known for line in _wrapped(sentence, "")]


def _wrapped(text: str, lead: str) -> list[str]:
    return textwrap.wrap(text, COLUMNS, initial_indent=lead, subsequent_indent=" " * len(lead), break_on_hyphens=False)
