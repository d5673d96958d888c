# SPDX-License-Identifier: Apache-2.0
"""`murmurate config apply`: change values of a deployment that runs, from an instant on, during a rolling restart.

Contract: says in words what changes and from when.  The file has the new values; the table [until] with the values
before and the instant is put at its end, in place of an earlier one, once the config record stands in `rounds`.
Workers with the old file go on, and start again, until then.  Not here: which values may change so (config/switch.py),
writing the record (kafka/applying.py).
"""

from __future__ import annotations

import re
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click
import orjson

from murmurate.agents.cli.deployment import config_option, opened, run
from murmurate.agents.cli.fingerprints import known_fingerprints
from murmurate.agents.kafka.applying import Applied, apply, cancel
from murmurate.config.quantities import Duration, age
from murmurate.config.switch import table
from murmurate.config.until import InstantKind
from murmurate.errors import UsageError
from murmurate.topics.times import instant

COLUMNS: Final = 80
SECOND_MS: Final = 1000
_TABLE: Final = re.compile(r"^\[until\][^\n]*\n(?:(?!\[)[^\n]*\n?)*", re.MULTILINE)


@click.group("config")
def command() -> None:
    """Change values of a deployment that runs."""


@command.command("apply")
@config_option
@click.option("--from", "from_", metavar="TIME", help="An instant, or how long from now (30m); 10 minutes by default.")
@click.option("--cancel", "back", is_flag=True, help="Take a change back that has not come yet.")
@click.option("--dry-run", is_flag=True, help="Say what would change, and change nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
def make(config: Path, from_: str | None, back: bool, dry_run: bool, as_json: bool) -> None:
    """Let min_batch, patience and future be as the file has them from an instant on. Workers are started again with the
    file one by one until then. Exit 2: something else differs.
    """
    this, now_ms = opened(config), time.time_ns() // 1_000_000
    fed, known = this.deployment.time.clock == "feed", known_fingerprints(this.deployment, ())
    if back:
        done = run(cancel(this.client, this.plan, known, fed=fed, now_ms=now_ms, dry_run=dry_run))
    else:
        if fed and from_ is None:
            raise UsageError("--from: found nothing; allowed: an instant of the recording, whose time nobody knows")
        from_ms = None if from_ is None else _time(from_, now_ms, fed=fed)
        done = run(apply(this.client, this.plan, known, fed=fed, from_ms=from_ms, now_ms=now_ms, dry_run=dry_run))
    if not dry_run:
        _write(config, done)
    if as_json:
        until = None if done.record.until is None else instant(done.record.until.time)
        changes = [{"key": one.key, "before": one.allowed, "then": one.found} for one in done.changes]
        click.echo(orjson.dumps({
            "ok": True, "dry_run": dry_run, "config": done.record.number, "from": until, "changes": changes,
        }))  # fmt: skip
        return
    for line in _words(done, config, now_ms, fed=fed, dry_run=dry_run):
        click.echo(line)


def _time(text: str, now_ms: int, *, fed: bool) -> int:
    """An instant from what --from says."""
    for read, start in ((InstantKind().read, 0), (Duration("1s", "4000d").read, now_ms)):
        if start and fed:
            break
        try:
            return -(-(int(read(text)) + start) // SECOND_MS) * SECOND_MS  # the table says whole seconds
        except ValueError:
            continue
    raise UsageError(f"--from: found {text!r}; allowed: {InstantKind().allowed}{'' if fed else ', or 30m from now'}")


def _write(config: Path, done: Applied) -> None:
    """Put the table into the file, or take it out."""
    text = _TABLE.sub("", config.read_text()).rstrip("\n") + "\n"
    config.write_text(text if done.record.until is None else f"{text}\n{table(done.record.until)}")


def _words(done: Applied, config: Path, now_ms: int, *, fed: bool, dry_run: bool) -> Iterator[str]:
    """What was done, or would be."""
    until, would = done.record.until, "would be " if dry_run else ""
    if until is None:
        yield f"taken back  config {done.record.number} {would}what held before"
        for one in done.changes:
            yield f"stays       {one.key} = {one.found}"
        yield f"file        [until] {would}taken out of {config}; put the old values back into it"
        return
    left = "" if fed else f", in {age(until.time - now_ms)}"
    yield f"agreed   config {done.record.number} {would}in force from {instant(until.time)} on{left}"
    for one in done.changes:
        yield f"changes  {one.key}: {one.allowed} until then, {one.found} from then on"
    yield f"file     [until] {would}at the end of {config}"
    yield from textwrap.wrap(
        "start every worker again with this file until then: whoever still has the old one stops at that instant "
        "(`murmurate status` says who)", COLUMNS, initial_indent="next     ", subsequent_indent=" " * 9,
    )  # fmt: skip
