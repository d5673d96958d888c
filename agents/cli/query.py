# SPDX-License-Identifier: Apache-2.0
"""`murmurate query QUESTION`: how much, how often, what part over a stretch of time, and how sure that is.

Contract: from released records alone: those on Kafka, a replay's releases.jsonl, or what a page's server has.  With
`--json` the bytes are the same wherever it is asked; without, a table of at most 80 columns with what a reader has to
know below it.  Not here: the language and its answers (aggregators/queries).
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click
import orjson

from murmurate.agents.cli.deployment import Opened, config_option, opened, run
from murmurate.agents.queries import index_of
from murmurate.aggregators.queries import QueryRefusedError, ReleaseIndex, answer, parse
from murmurate.aggregators.queries.answers import MAX_USERS
from murmurate.aggregators.queries.errors import ReleaseFormatError
from murmurate.topics.names import stream_partition, topic

COLUMNS: Final = 80
WHEN, NAME, VALUE, ERROR, PERIODS = 16, 18, 15, 13, 15
"""Columns of the parts of a row."""
DIGITS: Final = 6


@click.command("query")
@click.argument("question")
@config_option
@click.option(
    "--from", "source", metavar="SOURCE",
    help="A file of releases, a replay's folder, or the address of a page; Kafka if left out.",
)  # fmt: skip
@click.option(
    "--users", type=click.IntRange(1, MAX_USERS), help="Multiply sums and counts of a local stream by so many users."
)
@click.option("--running", is_flag=True, help="With `every`: totals from the beginning of the stretch.")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as one line of JSON.")
def command(question: str, config: Path, source: str | None, users: int | None, running: bool, as_json: bool) -> None:
    """Answer QUESTION from releases: "sum of revenue over 2026-11-18T09:00Z .. 12:00Z every 1h".

    sum|mean|share|count of STREAM[.NAME] over T1 .. T2 | last 3h | all, and if wanted: every 15m
    """
    parse(question)
    if source is not None and source.startswith(("http://", "https://")):
        from murmurate.agents.web.query_client import asked_at

        body = run(asked_at(source, question, users=users, running=running))
    else:
        index = run(on_kafka(opened(config), parse(question).stream)) if source is None else index_of(source)
        body = answer(index, question, users=users, running=running).canonical()
    if as_json:
        click.echo(body)
        return
    for line in table(orjson.loads(body)):
        click.echo(line)


async def on_kafka(this: Opened, stream: str) -> ReleaseIndex:
    """The releases of a stream, from the first to the newest. What is no release is passed over, as `watch` does."""
    from murmurate.agents.kafka.client import Place  # here, so that a question to a file loads no Kafka
    from murmurate.agents.kafka.collect import span

    names = [each.name for each in this.plan.everything]
    if stream not in names:
        raise QueryRefusedError(f"query: found stream {stream!r}; allowed: {', '.join(names)}")
    index = ReleaseIndex()
    place = Place(topic(this.plan.name, "releases"), stream_partition(stream, this.plan.tallies))
    async with this.client.reader() as reader:
        async for got in span(reader, await reader.bounds([place])):
            _take(index, got.value or b"", stream)
    return index


def _take(index: ReleaseIndex, value: bytes, stream: str) -> None:
    try:
        found = orjson.loads(value)
        if isinstance(found, dict) and found.get("stream") == stream:
            index.add(found)
    except (orjson.JSONDecodeError, ReleaseFormatError):  # counted where the page follows (kafka/release_reader.py)
        return


# ---- the table ----


def table(document: Mapping[str, Any]) -> list[str]:
    """An answer in lines of at most 80 columns: the question, the rows, and what a reader has to know."""
    rows: list[Mapping[str, Any]] = document["rows"]
    pieces, named = len({row["from"] + row["to"] for row in rows}) > 1, len({row["name"] for row in rows}) > 1
    unit = f" in {document['unit']}" if document["unit"] else ""
    head = f"{rows[0]['name']}{unit}, times in UTC" if not named else f"{document['stream']}{unit}, times in UTC"
    lines = [*textwrap.wrap(document["query"], COLUMNS, subsequent_indent="  "), *textwrap.wrap(head, COLUMNS)]
    titles = [f"{'from':<{WHEN}}  "] + ([f"{'name':<{NAME}}"] if named else [f"{'to':<{WHEN}}  "])
    lines.append("".join(titles) + f"{'value':>{VALUE}}{'std error':>{ERROR}}{'periods':>{PERIODS}}")
    exact = any(not row[end].endswith(":00Z") for row in rows for end in ("from", "to"))
    lines += [_line(row, named=named, exact=exact) for row in rows]
    lines += _below(rows, pieces=pieces)
    for note in document["notes"]:
        lines += textwrap.wrap(note, COLUMNS, subsequent_indent="  ")
    return lines


def _line(row: Mapping[str, Any], *, named: bool, exact: bool) -> str:
    """A row; exact: times show seconds, and no year."""
    second = f"{_cut(row['name']):<{NAME}}" if named else f"{_clock(row['to'], exact=exact):<{WHEN}}  "
    covered = f"{row['periods']} of {row['asked']}"
    numbers = f"{_number(row['value']):>{VALUE}}{_number(row['stderr']):>{ERROR}}{covered:>{PERIODS}}"
    return f"{_clock(row['from'], exact=exact):<{WHEN}}  {second}{numbers}"


def _below(rows: Sequence[Mapping[str, Any]], *, pieces: bool) -> list[str]:
    """What single rows say beside their numbers, together."""
    said = []
    if missing := {reason: count for row in rows for reason, count in row.get("missing", {}).items()}:
        said.append("missing: " + ", ".join(why if pieces else f"{count} {why}" for why, count in missing.items()))
    most_of = {key: max(row.get(key, 0) for row in rows) for key in ("interpolated", "carried")}
    said += [f"{key}: {'some' if pieces else n} of the periods" for key, n in most_of.items() if n]
    if (most := max((row.get("stderr_at_most", 0.0) for row in rows), default=0.0)) > 0:
        said.append(f"standard error at most{' of any row' if len(rows) > 1 else ''}: {_number(most)}")
    return [line for text in said for line in textwrap.wrap(text, COLUMNS, subsequent_indent="  ")]


def _clock(text: str, *, exact: bool) -> str:
    """An instant, to the minute or without its year."""
    return text[5:].rstrip("Z").replace("T", " ")[:WHEN] if exact else text[:16].replace("T", " ")


def _number(number: float | None) -> str:
    """A number to at least six digits, and to what a release says of it at most."""
    if number is None:
        return "not known"
    text = f"{number:.{DIGITS}g}" if abs(number) < 10**DIGITS else f"{number:.0f}"
    if "e" in text and abs(number) < 1:
        text = f"{number:.9f}"
    return text if len(text) < ERROR else f"{number:.6e}"


def _cut(text: str) -> str:
    return text if len(text) < NAME else f"{text[: NAME - 4]}..."
