"""`murmurate plan`: what errors to expect of a stream by each method and mechanism, which to take, and why.

Contract: nothing is contacted, no secret is read; the same question prints the same, in however many processes.  Not
here: what the file promises (check.py), how errors are predicted (agents/replay/prediction.py).
"""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import orjson

from murmurate.agents.cli.reproductions.progress import working
from murmurate.agents.cli.reproductions.runs import spread_out
from murmurate.agents.replay.prediction import DRIFT, TIE, Assumed, Expected, Outlook, Prospect, jobs, outlook, prospect
from murmurate.agents.replay.shapes import recorded
from murmurate.agents.replay.sources import open_source
from murmurate.config.errors import ConfigError
from murmurate.config.explain import COLUMNS
from murmurate.config.loader import FILE, load
from murmurate.config.plan import Plan, StreamPlan
from murmurate.config.planning import plan as planned
from murmurate.errors import UsageError

MISTAKES = 2
WITHIN = 0.03


@click.command("plan")
@click.argument("stream", required=False)
@click.option("--users", type=click.IntRange(1, 1_000_000_000), required=True, help="Of the whole deployment.")
@click.option(
    "--drift", type=click.FloatRange(0, 0.5),
    help=f"What a share moves in a period, or a mean as a part of its range: root mean square.  [default: {DRIFT}]",
)  # fmt: skip
@click.option(
    "--presence", type=click.FloatRange(0, 1, min_open=True), help="The share of users with a value.  [default: 1]"
)
@click.option("--like", metavar="SOURCE", help="Take the truth from a recording, or what else `replay` takes.")
@click.option(
    "-c", "--config", type=click.Path(path_type=Path), default=FILE, show_default=True, help="The deployment."
)
@click.option(
    "--within", type=click.FloatRange(0.01, 1), default=WITHIN, show_default=True,
    help="How well to know simulated errors, as a part of them. Half of it takes four times as long.",
)  # fmt: skip
@click.option(
    "--processes", type=click.IntRange(1), default=os.cpu_count() or 1, show_default="one a core", help="To work in."
)
@click.option("--json", "as_json", is_flag=True, help="One line of JSON.")
def command(
    stream: str | None, users: int, drift: float | None, presence: float | None, like: str | None, config: Path,
    within: float, processes: int, as_json: bool,
) -> None:  # fmt: skip
    """Predict the errors of STREAM (without it, of all streams) by every method and mechanism, and recommend one."""
    try:
        plan = planned(load(config))
    except ConfigError as error:  # a line for each mistake, as `check` prints them
        click.echo(str(error), err=True)
        sys.exit(MISTAKES)
    if like is not None and (drift is not None or presence is not None):
        raise UsageError("--like: found with --drift or --presence; allowed: alone, since a recording has both")
    documents = list[dict[str, Any]]()
    for one in _streams(plan, stream):
        assumed = _assumed(plan, one, users, drift, presence, like)
        work, found = jobs(plan, one, users, assumed, within=within), list[Prospect | str]()
        with working(len(work), quiet=as_json) as done:
            for result in spread_out(prospect, work, processes):
                found.append(result)
                done()
        said = outlook(plan, one, users, found)
        truth = like or {"drift": assumed.drift, "presence": assumed.presence}
        documents.append({**said.document(), "truth": truth, "within": within})
        if not as_json:
            click.echo("\n" * (len(documents) > 1) + "\n".join(lines(plan, one, said, users, assumed, like)))
    if as_json:
        click.echo(orjson.dumps({"users": users, "streams": documents}))


def lines(
    plan: Plan, stream: StreamPlan, said: Outlook, users: int, assumed: Assumed, like: str | None
) -> Iterator[str]:
    """What to expect of a stream, for a terminal."""
    of = f"{said.users:,} users".replace(",", " ")
    what = f"{stream.measure} of {len(stream.names)} values" if stream.range is None else stream.measure
    yield f"{said.stream}: {what}, {of}, epsilon {said.epsilon:g}, w = {said.w}"
    yield from _wrapped(_taken(stream, assumed, like), "  ")
    yield f"  {'method':<12} {'mechanism':<14} {'standard error':>19} {'published':>10} {'bits a user':>11}"
    yield f"  {'':<12} {'':<14} {'filter':>9} {'series':>9} {'per window':>10} {'and period':>11}"
    named = said.recommended
    for one in said.prospects:
        note = "  starves" if one.starves else "  <-" if named and one is named[0] else ""
        errors = f"{_figure(one.best.filtered):>9} {_figure(one.best.series):>9}"
        costs = f"{one.published:>10.1f} {_figure(one.best.bits):>11}"
        yield f"  {one.method:<12} {one.best.mechanism:<14} {errors} {costs}{note}"
    if named is not None:
        if len(named[0].mechanisms) > 1:
            yield from _mechanisms(*named)
        yield from _wrapped(f"Take {named[0].method} with {named[1].mechanism}: {why(said, *named)}.", "  ")
    yield from _warnings(plan, said, users)


def why(said: Outlook, method: Prospect, expected: Expected) -> str:
    """Why this method and mechanism, in words."""
    able = [one for one in said.prospects if not one.starves]
    least, near = able[0], f"within {TIE - 1:.0%} of".replace("%", " %")
    best = f"the smallest error with the filter, {_figure(expected.filtered)}"
    if method is not least:
        cheaper = round(method.best.bits, 4) < round(least.best.bits, 4)
        reason = "for fewer bits" if cheaper else "for as few bits, and simpler"
        best = (
            f"its error with the filter, {_figure(method.best.filtered)}, is {near} the smallest one ({least.method}, "
            f"{_figure(least.best.filtered)}) as far as simulation can tell, {reason}"
        )
    if expected.mechanism != method.best.mechanism:
        best += f"; {expected.mechanism} because it is {near} {method.best.mechanism} and asks less of a device"
    if method.method != said.method:
        mine = next((one for one in said.prospects if one.method == said.method), None)
        if mine is not None:
            best += f". The file names {said.method}: {_figure(mine.best.filtered)}"
    return best


def _streams(plan: Plan, name: str | None) -> tuple[StreamPlan, ...]:
    if name is None:
        return plan.streams
    if all(stream.name != name for stream in plan.streams):
        allowed = ", ".join(stream.name for stream in plan.streams)
        raise UsageError(f"STREAM: found {name!r}; allowed: {allowed}")
    return (plan.stream(name),)


def _assumed(
    plan: Plan, stream: StreamPlan, users: int, drift: float | None, presence: float | None, like: str | None
) -> Assumed:
    if like is not None:
        source = open_source(like, plan, stream.name)
        return Assumed(like=recorded(plan, source, stream.name, users))
    if presence is not None and presence < 1 and not stream.says_none:
        raise UsageError(f"--presence: found {presence:g}; allowed: 1, since values of {stream.name} stand for ever")
    return Assumed(DRIFT if drift is None else drift, 1.0 if presence is None else presence)


def _taken(stream: StreamPlan, assumed: Assumed, like: str | None) -> str:
    unit = f"; errors in {stream.unit}" if stream.unit and stream.measure == "mean" else ""
    if stream.method.get("clip") == "found":
        unit += "; in the whole range, before a threshold is found"
    if like is not None:
        return f"if the truth is like {like}{unit}"
    users = "all users" if assumed.presence == 1 else f"{assumed.presence * 100:g} % of the users"
    held = f", {users} with a value" if stream.says_none else ""
    what = "of its range " if stream.measure == "mean" else ""
    return f"if it wanders by {assumed.drift:g} {what}a period{held}{unit}"


def _mechanisms(method: Prospect, taken: Expected) -> Iterator[str]:
    """All mechanisms under the recommended method."""
    yield f"  {method.method:<12} {'mechanism':<14} {'filter':>9} {'series':>9} {'bytes':>10} {'bits':>11}"
    for one in sorted(method.mechanisms, key=lambda one: one.filtered):
        errors = f"{_figure(one.filtered):>9} {_figure(one.series):>9}"
        note = "  <-" if one is taken else ""
        yield f"  {'with':<12} {one.mechanism:<14} {errors} {one.wire_bytes:>10} {_figure(one.bits):>11}{note}"


def _warnings(plan: Plan, said: Outlook, users: int) -> Iterator[str]:
    hungry = sorted((one.users_needed, one.method) for one in said.prospects if one.starves)
    if hungry:
        each = ", ".join(f"{name} {needed:,}".replace(",", " ") for needed, name in hungry)
        yield from _wrapped(
            f"warning: {users:,}".replace(",", " ") + " users starve some methods: their smallest rounds would often "
            f"be asked, spent and not released, being below min_batch = {plan.min_batch}. Enough for it are: {each}.",
            "  ",
        )
    if not any(not one.starves for one in said.prospects):
        yield from _wrapped("No method is recommended: allow a smaller min_batch or longer periods.", "  ")
    for line in said.impossible:
        yield from _wrapped(f"not possible: {line}", "  ")


def _figure(number: float) -> str:
    """Three digits that say something."""
    return f"{number:#.3g}".rstrip(".")


def _wrapped(text: str, lead: str) -> list[str]:
    return textwrap.wrap(text, COLUMNS, initial_indent=lead, subsequent_indent=lead, break_on_hyphens=False)
