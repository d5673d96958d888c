# SPDX-License-Identifier: Apache-2.0
"""`murmurate serve RUN`: a recorded run on the page, as a live one is shown.

Contract: reads the files once and keeps nothing open; it touches no broker.  Questions are answered from the
recorded releases, on the page and by `query --from`.  Ctrl-C and SIGTERM end it alike.  Not here: what is read
(web/recorded.py).
"""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import click

PORT = 8000


@click.command("serve")
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="Port of the page; 0: any free port."
)
def command(run: Path, port: int) -> None:
    """Show RUN on the page: a folder that `replay --out` wrote, or a file of releases."""
    asyncio.run(_show(run, port))


async def _show(run: Path, port: int) -> None:
    from murmurate.agents.web.feed import Feed
    from murmurate.agents.web.recorded import recorded_frames
    from murmurate.agents.web.server import serve

    feed, loop, stop = Feed(), asyncio.get_running_loop(), asyncio.Event()
    for frame in recorded_frames(run):
        feed.put(frame)
    running = await serve(feed, "127.0.0.1", port)
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop.set)
        count = f"{feed.last - 2:,}".replace(",", " ")
        click.echo(f"  {count} releases of {', '.join(feed.streams)}\n  Page  {running.url}   (Ctrl-C stops)")
        await stop.wait()
    finally:
        await running.stop()
