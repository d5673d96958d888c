# SPDX-License-Identifier: Apache-2.0
"""`murmurate status`: who works, how far each stage is, which rounds are open, what was released last.

Contract: at most 80 columns.  Exit 0; 1 if something is wrong (a topic is missing, a stage has no worker); 3 if no
broker answers.  Not here: where that is read (kafka/status.py).
"""

from __future__ import annotations

import sys
import textwrap
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import click
import orjson

from murmurate.agents.cli.deployment import config_option, opened, run
from murmurate.agents.cli.fingerprints import known_fingerprints
from murmurate.agents.cli.replay import grouped
from murmurate.agents.cli.watch import clock
from murmurate.agents.kafka.client import Place
from murmurate.agents.kafka.status import StageStatus, Status, status
from murmurate.agents.kafka.stream_status import StreamStatus
from murmurate.agents.mixed_claims import mixed_words, together_words
from murmurate.agents.shortage import lacking
from murmurate.config.quantities import age
from murmurate.topics.release import Release
from murmurate.topics.times import instant

COLUMNS = 80
FAILED = 1
LAG, WORKERS = 24, 24  # columns
LISTED = 8
"""Partitions that lag, in words; the rest as a number."""


@click.command("status")
@config_option
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
def command(config: Path, as_json: bool) -> None:
    """Show workers, lags, open rounds and last releases. Exit 1: something is wrong; the output names it."""
    this = opened(config)
    now_ms = time.time_ns() // 1_000_000
    known = known_fingerprints(this.deployment, ())
    found = run(status(this.client, this.deployment, this.plan, known, now_ms=now_ms))
    if as_json:
        click.echo(orjson.dumps(as_table(found, this.plan.name, now_ms)))
    else:
        serve_all = this.plan.split == "budget"
        for line in lines(found, this.plan.name, this.plan.min_batch, now_ms, serve_all=serve_all):
            click.echo(line)
    sys.exit(FAILED if found.wrong else 0)


def _stage_table(one: StageStatus) -> dict[str, Any]:
    """One stage, for JSON."""
    return {
        "stage": one.stage,
        "zone": one.zone,
        "instances": one.instances,
        "group": one.group,
        "workers": {name: [f"{p.topic}/{p.partition}" for p in own] for name, own in one.workers.items()},
        "unowned": [f"{p.topic}/{p.partition}" for p in one.unowned],
        "lag": {f"{p.topic}/{p.partition}": n for p, n in one.lag.items()},
        "retention": {f"{p.topic}/{p.partition}": round(share, 4) for p, share in one.retention.items()},
        "lost": {f"{p.topic}/{p.partition}": n for p, n in one.lost.items()},
        "refused": one.refused,
        "config": one.config,
    }


def _release_table(release: Release) -> dict[str, Any]:
    """A stream's newest release, for JSON: when, and what it claims of the mixing where it says so."""
    privacy = release.model_dump(include={"privacy"})["privacy"] or {}
    claimed = {key: privacy[key] for key in ("shuffled", "unshuffled") if key in privacy}
    return {"t": release.t, "end": release.end, "decision": release.decision, **claimed}


def as_table(found: Status, deployment: str, now_ms: int = 0) -> dict[str, Any]:
    """All of it, for JSON."""
    return {
        "ok": not found.wrong,
        "deployment": deployment,
        "stages": [_stage_table(each) for each in found.stages],
        "streams": [
            {
                "stream": each.stream,
                "first": each.first,
                "settled": each.settled,
                "open": [{"t": one.t, "purpose": one.purpose, "round": one.digest.hex()} for one in each.open],
                "release": each.release and _release_table(each.release),
                "age_ms": each.age_ms,
            }
            for each in found.streams
        ],
        "config": found.config,
        "config_from": None if found.until_ms is None else instant(found.until_ms),
        "transactions": [
            {
                "topic": one.place.topic,
                "partition": one.place.partition,
                "offset": one.offset,
                "seconds": (now_ms - one.since_ms) // 1000,
            }
            for one in found.transactions
        ],
        "wrong": found.wrong,
    }


def lines(found: Status, deployment: str, min_batch: int, now_ms: int = 0, *, serve_all: bool = False) -> Iterator[str]:
    """The tables, what waits and what is wrong, and of which stream the newest round had too few reports. serve_all:
    whether every user answers for every stream.
    """
    yield deployment
    yield f"{'stage':<10}{'zone':<10}{'instances':>9}   {'behind':<{LAG}}{'workers'}"
    for stage in found.stages:
        yield from _stage(stage, deployment)
    for stage in found.stages:
        yield from _lagging(stage, deployment)
    yield f"{'stream':<14}{'begun at':>12}{'settled':>12}{'open':>6}   {'last release'}"
    for stream in found.streams:
        yield _stream(stream)
    yield from _mixed(found.streams, serve_all=serve_all)
    for one in found.transactions:
        yield from _wrapped(
            f"{one.place.topic}/{one.place.partition}: a producer's transaction has been open at offset {one.offset} "
            f"for {age(now_ms - one.since_ms)}; what stands behind it waits", "waits",
        )  # fmt: skip
    for place, n in [each for stage in found.stages for each in stage.lost.items()]:
        what = f"{grouped(n)} offsets were gone before they were read, and skipped"
        yield from _wrapped(f"{place.topic}/{place.partition}: {what}", "lost")
    yield from _config(found, now_ms)
    for stream in found.streams:
        reports = stream.release.reports if stream.release else None
        if reports and (lack := lacking(reports.model_dump(), min_batch)):
            yield from _wrapped(f"{stream.stream}: {lack}", "short")
    for kind, complaints in (("wrong", found.wrong), ("hidden", [r for s in found.stages for r in s.refused])):
        for line in complaints:
            yield from _wrapped(line, kind)
    if not found.wrong:
        yield "ok"


def _stage(found: StageStatus, deployment: str) -> Iterator[str]:
    """One line, or as many as its workers need."""
    totals: dict[str, int] = {}
    for place, n in found.lag.items():
        name = place.topic.removeprefix(f"{deployment}.")
        totals[name] = totals.get(name, 0) + n
    behind = [f"{name} {grouped(n)}" for name, n in totals.items()] or ["?" if found.refused else "nothing written"]
    several = len({place.topic for own in found.workers.values() for place in own}) > 1
    workers = [f"{name}: {_owned(own, several=several)}" for name, own in sorted(found.workers.items())]
    if found.group not in ("Stable", "Dead", "Empty"):
        workers.append(f"({found.group})")
    head = f"{found.stage:<10}{found.zone:<10}{found.instances:>9}   "
    left = [piece for part in behind for piece in textwrap.wrap(part, LAG - 1)]
    right = [piece for part in workers or ["none"] for piece in textwrap.wrap(part, WORKERS)]
    for number, (lag, who) in enumerate(zip_longest(left, right, fillvalue="")):
        yield f"{head if not number else ' ' * len(head)}{lag:<{LAG}}{who}".rstrip()


def _owned(own: Sequence[Place], *, several: bool) -> str:
    """`0-2 5`, with the topic where there is more than one."""
    if not own:
        return "-"
    names = dict.fromkeys(place.topic for place in own)
    parts = [(name, ranges(place.partition for place in own if place.topic == name)) for name in names]
    return " ".join(f"{name} {numbers}" if several else numbers for name, numbers in parts)


def ranges(numbers: Iterable[int]) -> str:
    """Numbers, those in a row as one.

    >>> ranges([0, 1, 2, 5])
    '0-2 5'
    """
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return " ".join(f"{first}-{end}" if end > first else f"{first}" for first, end in runs)


def _lagging(found: StageStatus, deployment: str) -> Iterator[str]:
    """The partitions that lag, where there is more than one to tell apart."""
    slow = [(place, n) for place, n in found.lag.items() if n]
    if len(found.lag) < 2 or not slow:
        return
    worst = sorted(slow, key=lambda one: -one[1])[:LISTED]
    words = [f"{p.topic.removeprefix(f'{deployment}.')}/{p.partition} {grouped(n)}" for p, n in worst]
    more = [f"and {len(slow) - len(worst)} more"] if len(slow) > len(worst) else []
    yield from _wrapped("   ".join([*words, *more]), f"  {found.stage} behind")


def _stream(found: StreamStatus) -> str:
    first = "-" if found.first is None else found.first
    settled = "-" if found.settled is None else found.settled
    release = found.release
    what = "none"
    if release is not None and found.age_ms is not None:
        what = f"{clock(release.start)} {release.decision}, {age(found.age_ms)} ago"
    line = f"{found.stream:<14}{first:>12}{settled:>12}{len(found.open):>6}   {what}"
    return line if len(line) <= COLUMNS else f"{line[: COLUMNS - 3]}..."


def _mixed(streams: Iterable[StreamStatus], *, serve_all: bool) -> Iterator[str]:
    """What the newest release of each stream claims of the mixing: under a heading, since a row is full. Where users
    serve all streams, also what these claims add up to.
    """
    newest = {one.stream: one.release.model_dump() for one in streams if one.release}
    said = {name: mixed_words(release, reports=True) for name, release in newest.items()}
    told = {name: words for name, words in said.items() if words is not None}
    if told:
        yield "after mixing"
    for name, words in told.items():
        yield from _wrapped(words, f"{name:<12}")
    privacies = [release["privacy"] or {} for release in newest.values()]
    claims = [claim for privacy in privacies if (claim := privacy.get("shuffled")) is not None]
    if serve_all and (both := together_words(claims)) is not None:
        yield from _wrapped(f"every user answers for all of these, so claims add up: {both}", f"{'together':<12}")


def _wrapped(text: str, verb: str) -> list[str]:
    lead = f"{verb}  "
    return textwrap.wrap(
        text, COLUMNS, initial_indent=lead, subsequent_indent=" " * len(lead), break_on_hyphens=False
    )  # fmt: skip


def _config(found: Status, now_ms: int) -> Iterator[str]:
    """Whose workers have not been started since the config record changed, and how long is left for it."""
    written = {each.stage: each.config for each in found.stages if each.config is not None}
    older = [f"{stage} {number}" for stage, number in written.items() if number < (found.config or 0)]
    left_ms = 0 if found.until_ms is None else found.until_ms - now_ms
    held = "is in force" if left_ms <= 0 else f"holds from {instant(now_ms + left_ms)} on, in {age(left_ms)}"
    if older:
        yield from _wrapped(
            f"{found.config} {held}, and these stages last wrote under an older one: {', '.join(older)}. Restart "
            "their workers that have not been started since", "config",
        )  # fmt: skip
    elif left_ms > 0:
        yield f"config  {found.config} {held}; every stage has been started again with it"
