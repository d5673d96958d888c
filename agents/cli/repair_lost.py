# SPDX-License-Identifier: Apache-2.0
"""`murmurate repair skip-lost`: go on without events that their source deleted before they were read.

Contract: says what is lost before anything is done, and does it only when told to.  Lines of at most 80 columns.  Not
here: what may be skipped, and how (kafka/repair_lost.py).
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import orjson

from murmurate.agents.cli.deployment import Opened, config_option, opened, run
from murmurate.agents.cli.replay import grouped
from murmurate.agents.kafka.repair_lost import Lost, lost, skip

COLUMNS = 80
FAILED = 1


@click.command("skip-lost")
@config_option
@click.option("--yes", is_flag=True, help="Skip without asking.")
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
def command(config: Path, yes: bool, as_json: bool) -> None:
    """Go on without events that their source deleted before they were read: retention was too short. Says which they
    are, and asks. Ledgers, values and the promise stay as they are. Needs the edge's principal. Exit 1: something is
    lost and was not skipped.
    """
    this = opened(config)
    fed = this.deployment.time.clock == "feed"
    found, refused = run(lost(this.client, this.plan, fed=fed))
    if not as_json:
        for line in told(found, refused):
            click.echo(line)
    if found and not yes and not as_json and sys.stdin.isatty():
        yes = click.confirm("Go on without them?")
    done = run(_skipped(this, found, fed=fed)) if found and yes else []
    if as_json:
        lines = {"lost": [_row(one) for one in found], "skipped": [_row(one) for one in done], "refused": refused}
        click.echo(orjson.dumps({"ok": len(done) == len(found) and not refused, **lines}))
    elif found and not done:
        click.echo("nothing was skipped (see --yes)")
    for one in done if not as_json else ():
        what = f"{_where(one)}: {grouped(one.offsets)} offsets; its door goes on at offset {one.end}"
        for line in _wrapped(what, "skipped  "):
            click.echo(line)
    sys.exit(FAILED if refused or len(done) < len(found) else 0)


async def _skipped(this: Opened, found: Sequence[Lost], *, fed: bool) -> list[Lost]:
    """One after the other; what is gone meanwhile is skipped too."""
    return [done for one in found if (done := await skip(this.client, this.plan, one, fed=fed)) is not None]


def told(found: Sequence[Lost], refused: Sequence[str]) -> Iterator[str]:
    """What is lost, and what nobody may skip."""
    for one in found:
        span = f"offsets {one.start} to {one.end - 1} are gone before they were read"
        yield from _wrapped(f"{_where(one)}: {span}, {grouped(one.offsets)} records at most", "lost     ")
        read = "nothing was read" if one.since_ms is None else f"what had come by {_time(one.since_ms)} was read"
        there = "nothing is there" if one.until_ms is None else f"the first that is there is of {_time(one.until_ms)}"
        yield from _wrapped(f"{read}; {there}", " " * 9)
        for stream, (first, last) in one.periods.items():
            upto = "on" if last is None else f"to {max(first, last)}"
            yield from _wrapped(f"stream {stream}: events of periods from {first} {upto} may be missing", " " * 9)
    for line in refused:
        yield from _wrapped(line, "refused  ")
    if not found and not refused:
        yield "nothing that a door needs is lost"


def _where(one: Lost) -> str:
    return f"{one.place.topic} {one.place.partition}"


def _row(one: Lost) -> dict[str, Any]:
    return {"topic": one.place.topic, "partition": one.place.partition, "offsets": one.offsets} | {
        key: value for key, value in asdict(one).items() if key not in ("place", "state")
    }


def _time(ms: int) -> str:
    return datetime.fromtimestamp(ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _wrapped(text: str, lead: str) -> list[str]:
    return textwrap.wrap(
        text, COLUMNS, initial_indent=lead, subsequent_indent=" " * 9, break_on_hyphens=False, break_long_words=False
    )
