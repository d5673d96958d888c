# SPDX-License-Identifier: Apache-2.0
"""`murmurate peek TOPIC`: what kinds of records a topic holds: headers, counts and control records.

Contract: never a row.  Of blocks with rows or sums one sees the header, of a source topic that there is a record, of
state marks and sizes: no user, no pseudonym, no value, and no length that depends on one.  With --whole the tallies of
streams of items become files of estimates (whole_vectors.py).  Not here: dead letters by
reason (cli/dead.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import orjson

from murmurate.agents.cli.deployment import Opened, config_option, opened, run
from murmurate.agents.kafka.client import Got, Place
from murmurate.agents.kafka.collect import last, places
from murmurate.agents.kafka.errors import TopicsError
from murmurate.agents.kafka.skew import KEY
from murmurate.agents.kafka.state import StateRecord
from murmurate.agents.stages.errors import StateError
from murmurate.agents.whole_vectors import WholeVectors
from murmurate.config.plan import Plan
from murmurate.errors import UsageError
from murmurate.topics.block import BatchBlock, Block, RawBlock, ReportBlock, SumsBlock, TallyBlock, raw_width
from murmurate.topics.codec import decode_record
from murmurate.topics.errors import WireError
from murmurate.topics.message import Message
from murmurate.topics.names import stream_id, topic, topics

COLUMNS = 80
MOST = 10_000
SHORT = 12
"""Digits of a round that are shown."""
FIRST = (
    "stream", "t", "decision", "purpose", "reason", "contributor", "q", "sent", "total", "rows", "bytes", "received",
    "counted", "contributors", "topic", "partition", "offset", "time", "end", "marks", "snapshot", "small", "round",
)  # fmt: skip
"""The fields that a line shows first, in this order; then the other fields, as far as they fit."""
HIDDEN = ("kind", "descriptor", "deployment", "config", "schema")
"""The fields that no line shows, since the round or the command has them."""


@click.command("peek")
@click.argument("name", metavar="TOPIC")
@click.option("--last", "count", type=click.IntRange(1, MOST), default=10, show_default=True,
              help="How many of the newest records of each partition to show.")  # fmt: skip
@click.option("--partition", type=click.IntRange(0), help="Show this partition only; all by default.")
@click.option(
    "--whole",
    type=click.Path(path_type=Path, file_okay=False),
    help="With the topic tallies: write what its rounds say of every item, of streams of items, a file each.",
)
@config_option
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for each record.")
def command(name: str, count: int, partition: int | None, whole: Path | None, config: Path, as_json: bool) -> None:
    """Show headers, counts and control records of TOPIC, such as raw, rounds or state.perturb; never a row."""
    this = opened(config)
    if whole is not None:
        if name.removeprefix(f"{this.plan.name}.") != "tallies":
            raise UsageError(f"peek: --whole: found topic {name[:60]!r}; allowed: tallies")
        for path in run(_whole(this, partition, count, whole)):
            click.echo(path)
        return
    full = full_name(this.plan, name, fed=this.deployment.time.clock == "feed")
    found = run(_newest(this, full, partition, count))
    if not found and not as_json:
        click.echo(f"{full}{'' if partition is None else f' {partition}'}: no records")
    for got in found:
        said = describe(this.plan, got)
        click.echo(orjson.dumps({"partition": got.place.partition, "offset": got.offset, **said}) if as_json
                   else line(got, said))  # fmt: skip


def full_name(plan: Plan, name: str, *, fed: bool) -> str:
    """The topic that is meant: one of the deployment's, with or without its prefix, or a source."""
    sources = sorted({stream.topic for stream in plan.everything})
    ours = [row.name for row in topics(fed=fed, central=bool(plan.central), latest=plan.latest) if row.name != "events"]
    if name in sources:
        return name
    short = name.removeprefix(f"{plan.name}.")
    if short in ours:
        return topic(plan.name, short)
    if topic(plan.name, "events") in sources and short == "events":
        return topic(plan.name, "events")
    raise UsageError(f"peek: found topic {name[:60]!r}; allowed: {', '.join([*sources, *ours])}")


async def _newest(this: Opened, full: str, partition: int | None, count: int) -> list[Got]:
    there = (await places(this.client, [full])).get(full)
    if there is None:
        raise TopicsError(f"{full}: found no such topic, or none that we may see (see `murmurate topics create`)")
    wanted = [place for place in there if partition in (None, place.partition)]
    if not wanted:
        raise UsageError(f"--partition: found {partition}; allowed: 0 to {len(there) - 1}")
    async with this.client.reader() as reader:
        _, found = await last(reader, wanted, count)
    return [got for place in wanted for got in found[place]]


async def _whole(this: Opened, partition: int | None, count: int, folder: Path) -> list[Path]:
    """Write the estimates of the rounds whose tallies are among the newest records, as far as `rounds` holds them."""
    vectors, written = WholeVectors(this.plan), list[Path]()
    for name, at, most in (("rounds", None, MOST), ("tallies", partition, count)):
        for got in await _newest(this, topic(this.plan.name, name), at, most):
            written += [one.write(folder) for one in vectors.fold(name, got.value or b"", got.offset)]
    return written


# ---- what is said of a record ----


def describe(plan: Plan, got: Got) -> dict[str, Any]:
    """The fields of a record that may be shown, by its topic."""
    name = got.place.topic.removeprefix(f"{plan.name}.")
    if got.place.topic in {stream.topic for stream in plan.everything}:
        return {"kind": "event"}
    if name.startswith("state."):
        return _state(got)
    try:
        found = decode_record(got.value or b"")
    except WireError as error:
        reason = type(error).__name__.removesuffix("Error").lower()
        return {"kind": "unreadable", "reason": reason}
    return _message(found) if isinstance(found, Message) else _block(plan, found)


def _block(plan: Plan, found: Block) -> dict[str, Any]:
    match found:
        case RawBlock():
            rows = len(found.users)
            return {"kind": "raw block", "stream": _named(plan, found.stream), "sequence": found.sequence, "rows": rows,
                    "bytes": rows * raw_width(found.words)}  # fmt: skip
        case SumsBlock():
            return {"kind": "sums block", "stream": _named(plan, found.stream), "contributor": found.contributor,
                    "t": found.t, "sums": len(found.sums)}  # fmt: skip
        case TallyBlock():
            return {"kind": "tally block", "round": found.round.hex(), "q": found.q, "sequence": found.sequence,
                    "counts": len(found.counts)}  # fmt: skip
        case ReportBlock():
            whose = {"contributor": found.contributor}
            kind = "reports block"
        case BatchBlock():
            whose = {"q": found.q}
            kind = "batch block"
    rows, width = found.reports.shape
    return {"kind": kind, "round": found.round.hex(), **whose, "sequence": found.sequence, "rows": rows,
            "bytes": rows * width}  # fmt: skip


def _named(plan: Plan, identity: bytes) -> str:
    return next((stream.name for stream in plan.everything if stream_id(stream.name) == identity), "unknown")


def _message(found: Message) -> dict[str, Any]:
    fields: dict[str, Any] = orjson.loads(found.canonical())
    kind = str(fields.pop("schema")).split("/")[1]
    digest = getattr(found, "digest", None)
    named = {"round": digest.hex()} if isinstance(digest, bytes) else {}
    return {"kind": kind, **named, **fields}


def _state(got: Got) -> dict[str, Any]:
    """Marks and sizes. A snapshot is sealed, and its size is that of the state."""
    size = len(got.value or b"")
    key = (got.key or b"").decode("ascii", "replace")[:40]
    if key.startswith(KEY.decode()):
        return {"kind": "clock", "key": key}
    if not key.endswith("/state"):
        return {"kind": "snapshot", "key": key, "bytes": size}
    try:
        found = StateRecord.load(got.value or b"", "state")
    except StateError:
        return {"kind": "unreadable", "reason": "state"}
    marks = {f"{log.topic}/{log.partition}": offset for log, offset in found.marks.items()}
    pointer = found.snapshot and {"offset": found.snapshot.offset, "chunks": found.snapshot.chunks}
    return {"kind": "state", "marks": marks, "small": len(found.small), "snapshot": pointer, "bytes": size}


# ---- lines ----


def line(got: Got, said: Mapping[str, Any]) -> str:
    """One record in at most 80 columns: its place, its kind and its fields."""
    place: Place = got.place
    keys = [key for key in FIRST if key in said] + [key for key in said if key not in (*FIRST, *HIDDEN)]
    words = " ".join(_words({key: said[key] for key in keys}))
    text = f"{place.partition:>3} @{got.offset:<8} {said['kind']:<13} {words}".rstrip()
    return text if len(text) <= COLUMNS else f"{text[: COLUMNS - 3]}..."


def _words(table: Mapping[str, Any]) -> Iterator[str]:
    for key, value in table.items():
        if key == "round" and isinstance(value, str):
            yield f"round {value[:SHORT]}"
        elif isinstance(value, dict):
            words = " ".join(_words(value))
            yield f"{key} ({words})" if words else f"{key} null"  # every value of it is
        elif isinstance(value, list):
            yield f"{key} [{' '.join(map(str, value))}]"
        elif value is not None:
            yield f"{key} {value}"
