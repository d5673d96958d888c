# SPDX-License-Identifier: Apache-2.0
"""`murmurate dead`: what could not be read, why and where it stands; and a second chance for records of source topics.

Contract: a dead letter shows reason, topic, partition and offset, never what the record says.  Lines of at most 80
columns.  Not here: what a retry may do (kafka/retry.py).
"""

from __future__ import annotations

import sys
import textwrap
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import orjson

from murmurate.agents.cli.deployment import Opened, config_option, opened, run
from murmurate.agents.cli.replay import grouped
from murmurate.agents.kafka.client import Got
from murmurate.agents.kafka.errors import RefusedError
from murmurate.agents.kafka.retry import Retried, check, letters, retry
from murmurate.errors import UsageError
from murmurate.topics.messages import Dead
from murmurate.topics.names import ZONES, Zone

COLUMNS = 80
FAILED = 1
Found = dict[Zone, list[tuple[Got, Dead]]]
SAID = {
    "appended": "appended again",
    "late": "appended again, and late: the door will count it and drop it",
    "future": "appended again, and too far ahead: the door will count it and drop it",
    "refused": "left alone: the door would refuse it again",
    "gone": "gone: its topic keeps it no longer",
    "empty": "left alone: it has no value, so there is nothing to read",
}


@click.group("dead")
def command() -> None:
    """What could not be read: list it by reason, or give records of source topics a second chance."""


@command.command("list")
@config_option
@click.option("--zone", type=click.Choice(ZONES), help="Only this zone's; all that we may read by default.")
@click.option("--last", "count", type=click.IntRange(0, 10_000), default=10, show_default=True,
              help="Show the places of so many of the newest.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
def show(config: Path, zone: Zone | None, count: int, as_json: bool) -> None:
    """Count dead letters by reason, and show where the newest of them stand."""
    this = opened(config)
    found, hidden = run(_letters(this, zone))
    if as_json:
        click.echo(orjson.dumps({"ok": not hidden, **as_table(found, count), "hidden": hidden}))
        return
    for line in lines(found, count):
        click.echo(line)
    for one in hidden:
        for part in textwrap.wrap(f"hidden  {one}", COLUMNS, subsequent_indent="        "):
            click.echo(part)


async def _letters(this: Opened, zone: Zone | None) -> tuple[Found, list[str]]:
    found: Found = {}
    hidden = []
    for each in (zone,) if zone else ZONES:
        try:
            found[each] = await letters(this.client, this.plan, each)
        except RefusedError as error:
            if zone:
                raise
            hidden.append(str(error))
    return found, hidden


@command.command("retry")
@config_option
@click.option("--zone", type=click.Choice(ZONES), required=True, help="edge: records of source topics.")
@click.option("--topic", "name", required=True, help="The source topic.")
@click.option("--partition", type=click.IntRange(0), required=True)
@click.option("--offset", type=click.IntRange(0), required=True, help="Where the record stands.")
@click.option("--to", type=click.IntRange(0), help="Retry every record from --offset to this one that a letter names.")
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
def again(
    config: Path, zone: Zone, name: str, partition: int, offset: int, to: int | None, as_json: bool
) -> None:  # fmt: skip
    """Append records that a dead letter names to their source topic once more, unchanged, for a door that understands
    them by now. A late event stays late. Running this twice appends twice. Exit 1: nothing was appended.
    """
    this = opened(config)
    end = offset if to is None else to
    if end < offset:
        raise UsageError(f"--to: found {end}; allowed: {offset} and above")
    check(this.plan, zone, name)
    now_ms = time.time_ns() // 1_000_000 if this.deployment.time.clock == "wall" else None
    done = run(retry(this.client, this.plan, name, partition, range(offset, end + 1), now_ms=now_ms))
    appended = sum(one.at is not None for one in done)
    if as_json:
        records = [{"offset": one.offset, "what": one.what, "reason": one.reason, "at": one.at} for one in done]
        click.echo(orjson.dumps({"ok": appended > 0, "topic": name, "partition": partition, "records": records}))
    else:
        for line in retried(name, partition, done):
            click.echo(line)
        _hint(this, name, appended)
    sys.exit(0 if appended else FAILED)


def _hint(this: Opened, name: str, appended: int) -> None:
    if appended and any(stream.topic == name and stream.fields.time is None for stream in this.plan.everything):
        click.echo("events without a time of their own happen now")


# ---- lines ----


def as_table(found: Found, count: int) -> dict[str, Any]:
    """Counts and places, for JSON."""
    return {
        "zones": {
            zone: {
                "count": len(theirs),
                "reasons": [
                    {"reason": reason, "topic": topic, "count": n} for (reason, topic), n in _reasons(theirs).items()
                ],
                "last": [
                    {"reason": d.reason, "topic": d.topic, "partition": d.partition, "offset": d.offset}
                    for _, d in (theirs[-count:] if count else [])
                ],
            }
            for zone, theirs in found.items()
        }
    }


def _reasons(theirs: Sequence[tuple[Got, Dead]]) -> Counter[tuple[str, str]]:
    counted = Counter((letter.reason, letter.topic) for _, letter in theirs)
    return Counter(dict(sorted(counted.items(), key=lambda one: (-one[1], one[0]))))


def lines(found: Found, count: int) -> Iterator[str]:
    """A table by zone and reason, then the newest places."""
    if not any(found.values()):
        yield "no dead letters"
        return
    yield f"{'zone':<10}{'reason':<12}{'count':>10}  topic"
    for zone, theirs in found.items():
        for (reason, topic), n in _reasons(theirs).items():
            yield _cut(f"{zone:<10}{reason:<12}{grouped(n):>10}  {topic}")
    newest = [(zone, letter) for zone, theirs in found.items() for _, letter in (theirs[-count:] if count else [])]
    if newest:
        yield ""
        yield f"{'zone':<10}{'reason':<12}{'partition':>10}{'offset':>14}  topic"
    for zone, letter in newest:
        yield _cut(f"{zone:<10}{letter.reason:<12}{letter.partition:>10}{letter.offset:>14}  {letter.topic}")


def retried(name: str, partition: int, done: Sequence[Retried]) -> Iterator[str]:
    """A line for each record, and one for all."""
    for one in done:
        where = "" if one.at is None else f" at {one.at}"
        why = f" ({one.reason})" if one.reason else ""
        text = SAID[one.what].replace("appended again", f"appended again{where}")
        yield from textwrap.wrap(f"{one.offset:>12}  {text}{why}", COLUMNS, subsequent_indent=" " * 14,
                                 drop_whitespace=True)  # fmt: skip
    appended = sum(one.at is not None for one in done)
    yield from textwrap.wrap(
        f"{name} {partition}: {grouped(appended)} of {grouped(len(done))} appended; their dead letters stay, and a "
        "second run would append them again", COLUMNS, subsequent_indent="  ",
    )  # fmt: skip


def _cut(text: str) -> str:
    return text if len(text) <= COLUMNS else f"{text[: COLUMNS - 3]}..."
