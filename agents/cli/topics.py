# SPDX-License-Identifier: Apache-2.0
"""`murmurate topics`: the deployment's topics on the brokers: make them, describe them, say who may do what.

Contract: `create` may run as often as one likes, and exits 1 if something is wrong that it may not put right; nothing
is ever deleted.  `acl` contacts nobody.  Lines have at most 80 columns.  Not here: what there has to be
(kafka/provision.py, kafka/rights.py).
"""

from __future__ import annotations

import sys
import textwrap
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import click
import orjson

from murmurate.agents.cli.deployment import Opened, config_option, opened, run
from murmurate.agents.cli.fingerprints import known_fingerprints
from murmurate.agents.kafka.client import Described
from murmurate.agents.kafka.provision import Report, complaints, create, wanted
from murmurate.agents.kafka.rights import acl
from murmurate.config.quantities import in_words, shortest
from murmurate.topics.names import TOPICS

COLUMNS = 80
FAILED = 1


@click.group("topics")
def command() -> None:
    """Make the topics of a deployment, describe them, print who may do what."""


@command.command("create")
@config_option
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@click.option(
    "--fingerprints",
    "told",
    multiple=True,
    type=click.Path(dir_okay=False, allow_dash=True),
    help="Fingerprints of secrets that cannot be read here, as `murmurate keys fingerprint` prints them.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
def make(config: Path, dry_run: bool, told: Sequence[str], as_json: bool) -> None:
    """Make the topics that are missing, correct settings, and write down what every worker compares before it joins.
    Exit 1: something is wrong that stays wrong.
    """
    this = opened(config)
    now_ms = time.time_ns() // 1_000_000
    known = known_fingerprints(this.deployment, told)
    report = run(create(this.client, this.deployment, this.plan, known, now_ms=now_ms, dry_run=dry_run))
    if as_json:
        click.echo(orjson.dumps({"ok": not report.refused, "dry_run": dry_run, **asdict(report)}))
    else:
        for line in _done(report, this.plan.name, dry_run=dry_run):
            click.echo(line)
    sys.exit(FAILED if report.refused else 0)


@command.command("describe")
@config_option
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
def describe(config: Path, as_json: bool) -> None:
    """A table of the topics and what is wrong with them. Exit 1: something is."""
    this = opened(config)
    rows, wrong = run(_described(this))
    if as_json:
        click.echo(orjson.dumps({"ok": not wrong, "topics": [row._asdict() for row in rows], "complaints": wrong}))
    else:
        for line in (*_table(rows), *(part for one in wrong for part in _wrapped(one, "wrong"))):
            click.echo(line)
    sys.exit(FAILED if wrong else 0)


@command.command("acl")
@config_option
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
def rights(config: Path, as_json: bool) -> None:
    """Print the commands of kafka-acls that let each zone do its part and nothing else. Nobody is contacted."""
    this = opened(config)
    commands = acl(this.deployment, this.plan)
    if as_json:
        click.echo(orjson.dumps({"ok": True, "commands": commands}))
        return
    for line in commands:
        parts = textwrap.wrap(line, COLUMNS - 2, subsequent_indent="    ", break_on_hyphens=False,
                              break_long_words=False)  # fmt: skip
        click.echo(" \\\n".join(parts))


class TopicRow(NamedTuple):
    """A topic as the brokers have it; None where it is not there."""

    topic: str
    partitions: int | None
    cleanup: str | None
    retention: str | None
    carries: str
    zone: str
    retention_ms: int | None = None
    """How long records are kept; None where they are for ever, or the topic is not there."""

    @property
    def kept(self) -> str:
        """How long records are kept, as people say it."""
        if self.partitions is None:
            return "-"
        return "for ever" if self.retention_ms is None else in_words(self.retention_ms)


async def _described(this: Opened) -> tuple[list[TopicRow], list[str]]:
    plan, ours = this.plan, f"{this.plan.name}.events"
    named = sorted({stream.topic for stream in plan.everything})
    async with this.client.admin() as admin:
        have = await admin.describe(named)
        want = wanted(this.deployment, plan, {name: found.partitions for name, found in have.items()})
        have |= await admin.describe(want)
    absent = [name for name in named if name not in have and name != ours]
    wrong = [f"{name}: found no such topic, or none that we may see; allowed: your application's" for name in absent]
    known = [name for name in want if not (absent and name.endswith(".state.door"))]  # it follows from the sources
    wrong += [line for name in known for line in complaints(name, have.get(name), want[name])]
    names = [*(name for name in named if name not in want), *want]
    return [_row(plan.name, name, have.get(name)) for name in names], wrong


def _row(deployment: str, name: str, have: Described | None) -> TopicRow:
    row = TOPICS.get(name.removeprefix(f"{deployment}."), TOPICS["events"])
    if have is None:
        return TopicRow(name, None, None, None, row.carries, row.zone)
    cleanup, kept = have.settings.get("cleanup.policy"), int(have.settings.get("retention.ms", -1))
    lasts = None if kept < 0 or cleanup == "compact" else kept
    told = "for ever" if lasts is None else shortest(lasts)
    return TopicRow(name, have.partitions, cleanup, told, row.carries, row.zone, lasts)


def _table(rows: list[TopicRow]) -> Iterator[str]:
    """What does not fit is left out at the right: --json has it whole."""
    wide = max(len(row.topic) for row in rows)
    lasts = max(len("for ever"), *(len(row.kept) for row in rows))
    lines = [f"{'topic':<{wide}}  parts  cleanup  {'kept':<{lasts}}  zone      carries"]
    for row in rows:
        parts, cleanup = ("-", "missing") if row.partitions is None else (row.partitions, row.cleanup)
        begins = f"{row.topic:<{wide}}  {parts!s:>5}  {cleanup!s:<7}  {row.kept:<{lasts}}"
        lines.append(f"{begins}  {row.zone:<8}  {row.carries}")
    for line in lines:
        yield line if len(line) <= COLUMNS else f"{line[: COLUMNS - 3]}..."


def _done(report: Report, deployment: str, *, dry_run: bool) -> Iterator[str]:
    made = _short(report.created, deployment)
    if made:
        yield from _wrapped(" ".join(made), "would create" if dry_run else "created")
    if report.right:
        yield f"right    {len(report.right)} topics"
    for verb, lines in (("would correct" if dry_run else "corrected", report.corrected), ("refused", report.refused)):
        for line in lines:
            yield from _wrapped(line, verb)
    if report.config is not None:
        yield f"{'would agree' if dry_run else 'agreed'}   config {report.config}"
    for stream, t in report.started.items():
        yield f"{'would begin' if dry_run else 'begins'}  {stream} with period {t}"
    if report.uncompared:
        names = ", ".join(report.uncompared)
        yield from _wrapped(
            f"{names}: no fingerprint is known, so whoever holds them does not join (--fingerprints, or where they can "
            "be read)", "without",
        )  # fmt: skip


def _short(created: Mapping[str, int], deployment: str) -> Iterable[str]:
    """`shop.raw(8)`, and all state topics as one word where they have as many partitions."""
    state = {n for name, n in created.items() if name.startswith(f"{deployment}.state.")}
    one = len(state) == 1
    words = [f"{name}({n})" for name, n in created.items() if not (one and name.startswith(f"{deployment}.state."))]
    return [*words, f"{deployment}.state.*({state.pop()})"] if one else words


def _wrapped(text: str, verb: str) -> list[str]:
    lead = f"{verb}  "
    return textwrap.wrap(
        text, COLUMNS, initial_indent=lead, subsequent_indent=" " * len(lead), break_on_hyphens=False,
        break_long_words=False,
    )  # fmt: skip
