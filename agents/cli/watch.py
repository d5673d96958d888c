"""`murmurate watch STREAM`: releases as they are committed, a line each, until Ctrl-C (exit 130).

Contract: lines of at most 80 columns; where a release has more statistics than fit, the smallest are left out and
counted.  Whoever wants all of it takes `--json`, the records as they are.  Not here: following for the page
(kafka/follow.py).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import click

from murmurate.agents.cli.deployment import Opened, config_option, opened, run
from murmurate.agents.cli.replay import grouped
from murmurate.agents.kafka.client import Got, Place
from murmurate.agents.kafka.collect import last
from murmurate.agents.stages.release import instant
from murmurate.config.plan import StreamPlan
from murmurate.errors import UsageError
from murmurate.topics.codec import decode
from murmurate.topics.errors import WireError
from murmurate.topics.names import stream_partition, topic
from murmurate.topics.release import Release
from murmurate.topics.times import Clock

COLUMNS = 80
DAY_MS, MINUTE_MS = 86_400_000, 60_000
GAP = "  "
LEAST = 8
"""Columns of the shortest statistic, its gap aside."""


@click.command("watch")
@click.argument("stream")
@config_option
@click.option(
    "--last", "history", type=click.IntRange(0, 10_000), default=1, show_default=True,
    help="First show so many that are there already.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="The releases themselves, one line of JSON each.")
def command(stream: str, config: Path, history: int, as_json: bool) -> None:
    """Show the releases of STREAM as they come. Ctrl-C ends it."""
    this = opened(config)
    names = [each.name for each in this.plan.streams]
    if stream not in names:
        raise UsageError(f"watch: found stream {stream[:40]!r}; allowed: {', '.join(names)}")
    run(_watch(this, this.plan.stream(stream), history, as_json=as_json))


async def _watch(this: Opened, stream: StreamPlan, history: int, *, as_json: bool) -> None:
    if not as_json:
        click.echo(heading(stream))
    day = ""
    async for value, release in releases(this, stream, history):
        if as_json:
            click.echo(value)
            continue
        if release.start[:10] != day and stream.every_ms < DAY_MS:
            day = release.start[:10]
            click.echo(f"{day} UTC")
        click.echo(line(release, stream))


async def releases(this: Opened, stream: StreamPlan, history: int) -> AsyncIterator[tuple[bytes, Release]]:
    """The last ones that are there, then those that come; each as it was read, and decoded."""
    place = Place(topic(this.plan.name, "releases"), stream_partition(stream.name, this.plan.tallies))

    def its_own(got: Got) -> bool:
        return _release(got.value, stream.name) is not None

    async with this.client.reader() as reader:
        ends, there = await last(reader, [place], history, its_own)
        reader.at(ends)
        found = there[place]
        while True:
            for got in found:
                release = _release(got.value, stream.name)
                if release is not None:
                    yield got.value or b"", release
            found = await reader.poll()


def _release(value: bytes | None, stream: str) -> Release | None:
    try:
        found = decode(value or b"")
    except WireError:
        return None
    return found if isinstance(found, Release) and found.stream == stream else None


# ---- lines ----


def heading(stream: StreamPlan) -> str:
    """What follows, in a line."""
    return f"{stream.name}: {stream.measure} of {stream.d} values; the estimate and its standard error"


def line(release: Release, stream: StreamPlan) -> str:
    """One release: when, decision, as many statistics as there is room for, reports that count."""
    when = clock(release.start, stream.every_ms)
    head = f"  {when}  {_decision(release, stream.every_ms):<{len('as of ') + len(when)}}{GAP}"
    tail = f"n {grouped(release.reports.counted)}"
    names = [name for name in stream.names if name in release.estimate]
    names += [name for name in release.estimate if name not in names]
    return head + _statistics(release, names, COLUMNS - len(head) - len(tail) - len(GAP)) + GAP + tail


def _decision(release: Release, every_ms: int) -> str:
    if release.decision == "published":
        return "published"
    if release.measured_t is None:
        return "nothing yet"
    start = _milliseconds(release.start) - (release.t - release.measured_t) * every_ms
    return f"as of {_clock(start, every_ms)}"


def _statistics(release: Release, names: Sequence[str], room: int) -> str:
    """All in their order if they fit; else the largest of them, in their order, and how many are missing."""
    largest = sorted(names, key=lambda name: -release.estimate[name])
    for count in range(min(len(names), room // LEAST), 0, -1):
        kept = set(largest[:count])
        shown = [_statistic(release, name) for name in names if name in kept]
        text = GAP.join([*shown, *([f"+{len(names) - count}"] if count < len(names) else [])])
        if len(text) <= room:
            return f"{text:<{room}}"
    return f"{f'+{len(names)}':<{room}}"


def _statistic(release: Release, name: str) -> str:
    estimate, error = release.estimate[name], release.stderr[name]
    if release.measure == "frequency":
        return f"{_cut(name)} {100 * estimate:.1f}% ±{100 * error:.1f}"
    unit = f" {release.unit}" if release.unit else ""
    return f"{_cut(name)} {estimate:.4g} ±{error:.2g}{unit}"


def _cut(name: str) -> str:
    return name if len(name) <= 20 else f"{name[:17]}..."


def clock(text: str, every_ms: int = 1000) -> str:
    """The part of an instant that tells periods of this length apart.

    >>> clock("2026-11-18T09:01:00Z", 60_000), clock("2026-11-18T09:01:30Z", 10_000)
    ('09:01', '09:01:30')
    >>> clock("2026-11-18T00:00:00Z", 86_400_000)
    '2026-11-18'
    """
    return _clock(_milliseconds(text), every_ms)


def _milliseconds(text: str) -> int:
    return Clock().milliseconds(text)


def _clock(time_ms: int, every_ms: int) -> str:
    text = instant(time_ms)
    if every_ms % DAY_MS == 0:
        return text[:10]
    if every_ms % MINUTE_MS == 0:
        return text[11:16]
    return text[11:19] if every_ms % 1000 == 0 else text[11:].removesuffix("Z")
