# SPDX-License-Identifier: Apache-2.0
"""`murmurate state`: what stands in the state topics, and how a stage goes on where somebody else wrote there.

Contract: nothing of what a state says is shown but how far it is.  Lines of at most 80 columns.  Not here: which record
may be taken (kafka/restore.py).
"""

from __future__ import annotations

import sys
import textwrap
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import click
import orjson

from murmurate.agents.cli.deployment import Opened, config_option, opened, run
from murmurate.agents.cli.replay import grouped
from murmurate.agents.kafka.agreement import first_counts
from murmurate.agents.kafka.errors import RefusedError
from murmurate.agents.kafka.provision import sources
from murmurate.agents.kafka.restore import Inspected, inspect, restore
from murmurate.agents.kafka.topic_watch import TopicWatch
from murmurate.agents.kafka.topology import Topology, zone_keys
from murmurate.agents.stages.table import TABLE
from murmurate.config.quantities import age
from murmurate.config.secrets import load
from murmurate.errors import UsageError

COLUMNS = 80
FAILED = 1


@click.group("state")
def command() -> None:
    """Look at the state topics; restore a state in whose place somebody else wrote."""


@command.command("inspect")
@config_option
@click.option("--stage", type=click.Choice(list(TABLE)), help="This stage's only; all that we may read by default.")
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
def show(config: Path, stage: str | None, as_json: bool) -> None:
    """Show the newest record of each state. Exit 1: one of them is no state."""
    this = opened(config)
    found, hidden = run(_inspected(this, [stage] if stage else list(TABLE)))
    wrong = [one for one in found if one.fault is not None]
    if as_json:
        click.echo(orjson.dumps({"ok": not wrong, "states": [_row(one) for one in found], "hidden": hidden}))
    else:
        for line in lines(found, hidden, time.time_ns() // 1_000_000):
            click.echo(line)
    sys.exit(FAILED if wrong else 0)


async def _inspected(this: Opened, stages: Sequence[str]) -> tuple[list[Inspected], list[str]]:
    found, hidden = list[Inspected](), list[str]()
    for stage in stages:
        try:
            found += await inspect(this.client, this.plan, stage)
        except RefusedError as error:
            hidden.append(str(error))
    return found, hidden


def _row(one: Inspected) -> dict[str, object]:
    return {**asdict(one), "place": f"{one.place.topic}/{one.place.partition}"}


def lines(found: Sequence[Inspected], hidden: Sequence[str], now_ms: int) -> Iterator[str]:
    """A line for each state, and for each that is none what can be done."""
    yield f"{'stage':<12}{'partition':>9}{'offset':>14}{'bytes':>12}   {'written'}"
    for one in found:
        written = f"{age(max(0, now_ms - one.written_ms))} ago"
        yield (
            f"{one.stage:<12}{one.place.partition:>9}{grouped(one.offset):>14}{grouped(one.size):>12}   {written}"
            f"{'' if one.fault is None else '   NO STATE'}"
        )
    for one in found:
        if one.fault is not None:
            way = (
                f"the one at offset {one.readable} can be read: murmurate state restore --stage {one.stage} "
                f"--partition {one.place.partition}"
                if one.readable is not None
                else "none that can be read is left there: a deployment of another name"
            )
            yield from _wrapped(f"{one.fault}; {way}", "wrong   ")
    for line in hidden:
        yield from _wrapped(line, "hidden  ")


def _wrapped(text: str, lead: str) -> list[str]:
    return textwrap.wrap(
        text, COLUMNS, initial_indent=lead, subsequent_indent=" " * len(lead), break_on_hyphens=False
    )  # fmt: skip


@command.command("restore")
@config_option
@click.option("--stage", type=click.Choice(list(TABLE)), required=True)
@click.option("--partition", type=click.IntRange(0), required=True, help="Of the state topic, as `inspect` shows it.")
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
def again(config: Path, stage: str, partition: int, as_json: bool) -> None:
    """Write the last state that the stage itself wrote once more, behind what somebody else wrote. Needs the secrets of
    the stage's zone, and that no worker runs the stage meanwhile: one that does is ended. Nothing is restored that a
    worker could not have gone on from.
    """
    this = opened(config)
    done = run(_restored(this, stage, partition))
    if as_json:
        offsets = None if done is None else {"from": done[0], "to": done[1]}
        click.echo(orjson.dumps({"ok": True, "stage": stage, "partition": partition, "restored": offsets}))
    elif done is None:
        click.echo(f"{stage} {partition}: its newest record is a state: nothing to restore")
    else:
        click.echo(f"{stage} {partition}: the state of offset {done[0]} stands at offset {done[1]} again")


async def _restored(this: Opened, stage: str, partition: int) -> tuple[int, int] | None:
    zone = TABLE[stage].zone
    keys = zone_keys(load(this.deployment, (zone,)), this.plan.name)
    now = await sources(this.client, this.plan) if zone == "edge" else {}
    where = await first_counts(this.client, this.plan, now) if now else {}
    ids = await TopicWatch(this.client, this.plan, (zone,)).begin()
    topology = Topology(this.plan, keys, where, fed=this.deployment.time.clock == "feed", ids=ids)
    wirings = {wiring.partition: wiring for wiring in topology.wirings(stage, now)}
    if partition not in wirings:
        raise UsageError(f"--partition: found {partition}; allowed: one of {', '.join(map(str, sorted(wirings)))}")
    return await restore(this.client, wirings[partition])
