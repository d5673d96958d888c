# SPDX-License-Identifier: Apache-2.0
"""`murmurate feed SOURCE`: a recording into a source topic on Kafka, with its own clock. The only verb that writes to
live topics.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from pathlib import Path

import click
import orjson
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from murmurate.agents.cli.deployment import Opened, config_option, opened, run
from murmurate.agents.cli.replay import format_option, grouped
from murmurate.agents.kafka.agreement import compare
from murmurate.agents.kafka.feed import WAIT_S, Fed, Feeder
from murmurate.agents.replay.source import Source
from murmurate.agents.replay.sources import open_source
from murmurate.config.agreement import first_sources
from murmurate.errors import UsageError

INTERRUPTED = 130


class Speed(click.ParamType):
    """10x, or max."""

    name = "speed"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float | None:
        """Seconds of the recording per second; None for max."""
        text = str(value)
        if text == "max":
            return None
        try:
            speed = float(text.removesuffix("x"))
        except ValueError:
            speed = 0.0
        if not 0 < speed <= 1e9:
            self.fail(f"found {text!r}; allowed: 1x, 10x and so on, or max", param, ctx)
        return speed


@click.command("feed")
@click.argument("source")
@click.option("--stream", help="Which stream the source is of; needed where the deployment has several topics.")
@click.option(
    "--speed", type=Speed(), default="max", show_default=True, help="1x is real time; max waits for releases."
)
@format_option
@click.option("--again", is_flag=True, help="Feed it although periods of it were fed before: what is late is refused.")
@config_option
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
def command(
    source: str, stream: str | None, speed: float | None, form: str | None, again: bool, config: Path, as_json: bool
) -> None:
    """Write the recording SOURCE to its source topic, as `replay` reads it, for workers whose clock is the feed's."""
    this = opened(config)
    if this.deployment.time.clock != "feed":
        raise UsageError(
            'time.clock: found "wall"; allowed: "feed", to feed a recording. A deployment keeps its clock for life: '
            "feed into one of another name"
        )
    opened_source = open_source(source, this.plan, stream, form)
    sys.exit(run(_feed(this, opened_source, speed, again=again, as_json=as_json)))


async def _feed(this: Opened, source: Source, speed: float | None, *, again: bool, as_json: bool) -> int:
    console = Console(stderr=True)
    bar = Progress(
        BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[said]}"), console=console,
        disable=as_json or not console.is_terminal, transient=True,
    )  # fmt: skip
    shown = bar.add_task("", total=1.0, said="")

    def tell(fed: Fed) -> None:
        rate = fed.events / max(fed.seconds, 1e-9)
        said = "waiting for releases: does a worker run?" if fed.waiting else f"{rate:,.0f} events/s".replace(",", " ")
        bar.update(shown, completed=source.fraction() or 0.0, said=said)

    await this.client.wait(WAIT_S)
    sources = first_sources((await compare(this.client, this.plan, {}, fed=True)).record, this.plan)
    feeder = Feeder(this.plan, source, this.client, sources, speed, tell, again=again)
    feeding = asyncio.ensure_future(feeder.run())
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, feeding.cancel)
    with bar, contextlib.suppress(asyncio.CancelledError):
        await feeding
    fed = feeder.fed
    if as_json:
        complaints = list(source.complaint_lines())
        click.echo(orjson.dumps({
            "ok": not feeding.cancelled(), "events": fed.events, "seconds": round(fed.seconds, 3),
            "complaints": complaints,
        }))  # fmt: skip
        return INTERRUPTED if feeding.cancelled() else 0
    rate = grouped(round(fed.events / max(fed.seconds, 1e-9)))
    click.echo(f"fed {grouped(fed.events)} events in {fed.seconds:.1f} s ({rate} a second)")
    for line in source.complaint_lines():
        click.echo(line)
    if feeding.cancelled():
        click.echo("interrupted: this is what was written so far")
        return INTERRUPTED
    return 0
