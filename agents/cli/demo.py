# SPDX-License-Identifier: Apache-2.0
"""`murmurate demo`: the bundled recording through every stage, with a live page beside it."""

from __future__ import annotations

import asyncio
import signal
import threading

import click
from rich.console import Console

from murmurate.agents.cli.replay import bar, grouped, known_secrets
from murmurate.agents.replay.arrays import RECORDING, RECORDING_CONFIG
from murmurate.agents.replay.run import Frame, Outcome, Replay, keys
from murmurate.agents.replay.source import Source
from murmurate.agents.replay.sources import open_source
from murmurate.agents.web.feed import Feed
from murmurate.agents.web.server import serve
from murmurate.config.loader import load
from murmurate.config.plan import Plan
from murmurate.config.planning import plan as planned

PAUSE_S = 0.15  # after each period, so that a day takes three quarters of a minute to watch


@click.command("demo")
@click.option("--once", is_flag=True, help="Run as fast as it goes, and end when the day is over.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="Port of the page; 0: any free port."
)
def command(once: bool, port: int) -> None:
    """Watch a recorded day: which screen of an app are 60 000 people on, released privately every five minutes."""
    plan = planned(load(RECORDING_CONFIG, {}))
    asyncio.run(_show(plan, open_source(str(RECORDING), plan), once, port))


async def _show(plan: Plan, source: Source, once: bool, port: int) -> None:
    feed, console = Feed(), Console(stderr=True)
    running = await serve(feed, "127.0.0.1", port)
    try:
        click.echo(f"  Replaying the bundled recording: {grouped(source.users() or 0)} users, through every stage.")
        click.echo(f"  Live page  {running.url}   ({'ends by itself' if once else 'Ctrl-C stops'})")
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        with bar(console, source, quiet=False) as show:

            def tell(frame: Frame) -> None:
                show(frame)
                feed.put(frame)

            def end() -> None:
                stop.set()
                replay.stop()

            replay = Replay(plan, source, keys(known_secrets(plan.name), plan.name), tell)
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, end)
            done: asyncio.Future[Outcome] = loop.create_future()
            thread = threading.Thread(target=_run, args=(replay, 0.0 if once else PAUSE_S, loop, done), daemon=True)
            thread.start()
            outcome = await done
        click.echo(_summary(outcome, plan))
        if not once and not stop.is_set():
            click.echo("  The page stays up until Ctrl-C.")
            await stop.wait()
    finally:
        await running.stop()


def _summary(outcome: Outcome, plan: Plan) -> str:
    """The figures at the end, in three lines."""
    found = outcome.summary(plan)
    releases, published = found["releases"], found["published"]
    if not releases:
        return "  stopped before the first release"
    unmeasured = found["unmeasured"]
    counts = f"{published} published, {releases - published - unmeasured} approximated"
    if found["mse"] is None or found["estimate_mse"] is None:
        return f"  released {releases} ({counts}, {unmeasured} unmeasured): nothing to compare with the truth yet"
    measured, estimated = (100 * found[name] ** 0.5 for name in ("mse", "estimate_mse"))
    counts += f", {unmeasured} unmeasured" if unmeasured else ""
    return "\n".join(
        (
            f"  released {releases} ({counts})   error (MRE) {found['mre']:.3f}",
            f"  rms error {measured:.2f} points as measured, {estimated:.2f} as estimated   "
            f"within 2 errors {found['coverage']:.0%}",
            f"  bits per user and period {found['bits_per_user_per_period']:.2f}   "
            f"{found['events_per_second'] / 1e6:.1f} M events/s   reports over budget: {found['over_budget']}",
        )
    )


def _run(replay: Replay, pause_s: float, loop: asyncio.AbstractEventLoop, done: asyncio.Future[Outcome]) -> None:
    """In a thread of its own, so that the page is served meanwhile."""
    try:
        outcome = replay.run(pause_s=pause_s)
    except BaseException as error:
        loop.call_soon_threadsafe(done.set_exception, error)
    else:
        loop.call_soon_threadsafe(done.set_result, outcome)
