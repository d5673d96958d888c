# SPDX-License-Identifier: Apache-2.0
"""`murmurate repair clock`: set back doors whose clocks stand ahead.

Contract: says first which they are and what cannot be mended, and does it only with --yes.  Lines of at most 80
columns.  Not here: what may be set back, and how (kafka/repair_clock.py).
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import click
import orjson

from murmurate.agents.cli.deployment import config_option, opened, run
from murmurate.agents.kafka.repair_clock import ClocksAhead, find_ahead, mend
from murmurate.config.plan import Plan

COLUMNS = 80
FAILED = 1


@click.command("clock")
@config_option
@click.option("--to", type=click.DateTime(["%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S"]),
              help="Set back to this time (UTC) what is beyond it; by default to when a door last wrote.")  # fmt: skip
@click.option("--yes", is_flag=True, help="Do it.")
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
def command(config: Path, to: datetime | None, yes: bool, as_json: bool) -> None:
    """Set back doors whose clocks stand ahead, so that what comes next is not refused as late. What is closed stays
    closed. The edge's workers must be stopped. Exit 1: a clock stands ahead and was not set back.
    """
    this = opened(config)
    to_ms = None if to is None else round(to.replace(tzinfo=UTC).timestamp() * 1000)
    found = run(find_ahead(this.client, this.plan, fed=this.deployment.time.clock == "feed", to_ms=to_ms))
    if found.doors and yes:
        run(mend(this.client, this.plan, found.doors))
    if as_json:
        click.echo(orjson.dumps(as_table(found, mended=yes)))
    else:
        for line in lines(found, this.plan, mended=yes):
            click.echo(line)
    sys.exit(FAILED if found.doors and not yes else 0)


def as_table(found: ClocksAhead, *, mended: bool) -> dict[str, object]:
    """All of it, for JSON."""
    doors = [
        {"topic": one.source.topic, "partition": one.source.partition, "clock": one.clock_ms, "to": one.to_ms}
        for one in found.doors
    ]
    return {"ok": mended or not doors, "mended": mended and bool(doors), "doors": doors, "open": dict(found.closed)}


def lines(found: ClocksAhead, plan: Plan, *, mended: bool) -> Iterator[str]:
    """In words."""
    for one in found.doors:
        ahead = (one.clock_ms - one.to_ms) / 1000
        where = f"{one.source.topic} {one.source.partition}"
        done = "was set back" if mended else "would be set back"
        yield from _wrapped(
            f"{where}: its clock stood at {_time(one.clock_ms)}, {ahead:.1f} s ahead, and {done} to {_time(one.to_ms)}",
            "ahead",
        )
    for name, first in found.closed.items():
        until = _time(first * plan.any_stream(name).every_ms)
        yield from _wrapped(
            f"stream {name}: its periods before {first} are closed, since all its sources stood ahead. They stay so, "
            f"and what comes for them is late: up to {until}",
            "closed",
        )
    if not found.doors:
        yield "no door's clock stands ahead"
    elif not mended:
        yield "nothing was changed (see --yes)"


def _time(ms: int) -> str:
    return datetime.fromtimestamp(ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _wrapped(text: str, lead: str) -> list[str]:
    return textwrap.wrap(text, COLUMNS, initial_indent=f"{lead:<8}", subsequent_indent=" " * 8, break_long_words=False)
