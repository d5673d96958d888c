# SPDX-License-Identifier: Apache-2.0
"""`murmurate plan`: what errors to expect of a stream by each method and mechanism, which to take, and why.

Contract: nothing is contacted, no secret is read; the same question prints the same, in however many processes.  Not
here: what the file promises (check.py), how errors are predicted (agents/simulate/prediction.py), central streams
(plan_central.py).
"""

from __future__ import annotations

import math
import os
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import orjson

from murmurate.agents.cli.plan_central import planned_central
from murmurate.agents.cli.plan_horizons import horizon_lines
from murmurate.agents.cli.reproductions.progress import working
from murmurate.agents.cli.reproductions.runs import spread_out
from murmurate.agents.replay.sources import open_source
from murmurate.agents.simulate.horizon_outlook import horizon_outlook
from murmurate.agents.simulate.prediction import (
    DRIFT,
    Assumed,
    Expected,
    Outlook,
    Prospect,
    jobs,
    outlook,
    prospect,
    serving_users,
)
from murmurate.agents.simulate.simulated_answers import MOST_USERS
from murmurate.agents.simulate.trial_truths import recorded
from murmurate.aggregators.postprocess.selection import Selection
from murmurate.aggregators.postprocess.shaping import NORM_SUB
from murmurate.config.enough import asks_everybody_first
from murmurate.config.errors import ConfigError
from murmurate.config.explain import promises
from murmurate.config.explain_mixed import mixed_facts, mixed_lines, mixed_promise
from murmurate.config.explain_streams import COLUMNS
from murmurate.config.loader import FILE, load
from murmurate.config.plan import AnyStreamPlan, CentralPlan, Plan, StreamPlan
from murmurate.config.planning import chosen_post
from murmurate.config.planning import plan as planned
from murmurate.config.unprotected import SHOWN
from murmurate.errors import UsageError

MISTAKES = 2
WITHIN = 0.03


@click.command("plan")
@click.argument("stream", required=False)
@click.option(
    "--users", type=click.IntRange(1, MOST_USERS),
    help="Number of users of the whole deployment; needed where the file does not say population.users.",
)  # fmt: skip
@click.option(
    "--drift", type=click.FloatRange(0, 0.5),
    help=f"Root mean square change in a period, of a share, or of a number as a part of its range.  [default: {DRIFT}]",
)  # fmt: skip
@click.option(
    "--presence", type=click.FloatRange(0, 1, min_open=True), help="The share of users with a value.  [default: 1]"
)
@click.option("--like", metavar="SOURCE", help="Take the truth from a recording or another source that `replay` reads.")
@click.option(
    "-c", "--config", type=click.Path(path_type=Path), default=FILE, show_default=True, help="The deployment file."
)
@click.option(
    "--within", type=click.FloatRange(0.01, 1), default=WITHIN, show_default=True,
    help="Relative precision of simulated errors. Halving it takes four times as long.",
)  # fmt: skip
@click.option(
    "--processes",
    type=click.IntRange(1),
    default=os.cpu_count() or 1,
    show_default="one a core",
    help="How many processes work at once.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
def command(
    stream: str | None, users: int | None, drift: float | None, presence: float | None, like: str | None, config: Path,
    within: float, processes: int, as_json: bool,
) -> None:  # fmt: skip
    """Predict the errors of STREAM (without it, of all streams) by every method and mechanism, and recommend one; of a
    central stream by its tree and by others, and by the methods that ToPS is compared with.
    """
    try:
        plan = planned(load(config))
    except ConfigError as error:  # a line for each mistake, as `check` prints them
        click.echo(str(error), err=True)
        sys.exit(MISTAKES)
    of = _streams(plan, stream)
    local = any(isinstance(one, StreamPlan) and not one.measure.is_searched for one in of)
    users = _checked(users or plan.users, drift, presence, like, within) if local else 0
    documents = list[dict[str, Any]]()
    document: dict[str, Any]
    for one in of:
        if one.measure.is_searched:
            document, text = {"stream": one.name, "prospects": [], "recommended": None}, _searched(one)
        elif isinstance(one, CentralPlan):
            document, text = planned_central(plan, one, like)
        else:
            assumed = _assumed(plan, one, users, drift, presence, like)
            document, text = _local(plan, one, users, assumed, like, within, processes, quiet=as_json)
        if not as_json:
            click.echo("\n" * bool(documents) + "\n".join(text))
        documents.append(document)
    if as_json:
        click.echo(orjson.dumps({"users": users, "streams": documents}))


def _local(
    plan: Plan, stream: StreamPlan, users: int, assumed: Assumed, like: str | None, within: float, processes: int, *,
    quiet: bool,
) -> tuple[dict[str, Any], list[str]]:  # fmt: skip
    """What to expect of a local stream, for JSON and for a terminal."""
    work, found = jobs(plan, stream, users, assumed, within=within), list[Prospect | str]()
    with working(len(work), quiet=quiet) as done:
        for result in spread_out(prospect, work, processes):
            found.append(result)
            done()
    prediction = outlook(plan, stream, users, found)
    truth = like or {"drift": assumed.drift, "presence": assumed.presence}
    post = _post(plan, stream, users, assumed)
    document = {**prediction.document(), "truth": truth, "within": within, "post": asdict(post) if post else None}
    taken = _taken(plan, stream, assumed, like)
    horizons = horizon_outlook(plan, stream, users, prediction)
    document["horizons"] = None if horizons is None else horizons.document()
    changes = [] if horizons is None else [*horizon_lines(horizons, stream.w)]
    document["mixed"] = asdict(mixing := mixed_facts(plan, stream))
    shown = [said for said in promises(plan)[0][:1] if stream.unprotected]
    mixed = [line for said in (*shown, *mixed_promise(plan), *mixed_lines(mixing)) for line in _wrapped(said, "  ")]
    return document, [*lines(plan, stream, prediction, users, taken, within), *_shaping(stream, post), *changes, *mixed]


def lines(plan: Plan, stream: StreamPlan, prediction: Outlook, users: int, taken: str, within: float) -> Iterator[str]:
    """What to expect of a stream, for a terminal. taken: what was assumed of the truth."""
    of = f"{prediction.users:,} users".replace(",", " ")
    spends = SHOWN if prediction.epsilon is None else f"epsilon {prediction.epsilon:g}"
    yield from _wrapped(f"{prediction.stream}: {stream.measure.brief}, {of}, {spends}, w = {prediction.w}", "")
    yield from _wrapped(taken, "  ")
    yield f"  {'method':<12} {'mechanism':<14} {'standard error':>19} {'published':>10} {'bits a user':>11}"
    yield f"  {'':<12} {'':<14} {'filter':>9} {'series':>9} {'per window':>10} {'and period':>11}"
    named = prediction.recommended
    for one in prediction.prospects:
        note = " starves" if one.starves else "  <-" if named and one is named[0] else ""
        both = ("-", "-") if one.starves else (_figure(one.best.filtered), _figure(one.best.series))
        errors = f"{both[0]:>9} {both[1]:>9}"
        costs = f"{one.published:>10.1f} {_figure(one.best.bits):>11}"
        yield f"  {one.method:<12} {one.best.mechanism:<14} {errors} {costs}{note}"
    if named is not None:
        if len(named[0].mechanisms) > 1:
            yield from _mechanisms(*named)
        yield from _wrapped(f"Take {named[0].method} with {named[1].mechanism}: {why(prediction, *named)}.", "  ")
    yield from _warnings(plan, prediction, users, within)


def why(prediction: Outlook, method: Prospect, expected: Expected) -> str:
    """Why this method and mechanism, in words."""
    able = [(one, it) for one in prediction.prospects if not one.starves for it in one.mechanisms]
    least, best = min(able, key=lambda pair: pair[1].error)
    what = "with the filter" if expected.helped else "of its own series"
    if expected is best:
        words = f"the smallest error {what}, {_figure(expected.error)}"
    else:
        cheaper = round(expected.bits, 4) < round(best.bits, 4)  # never more: of those within TIE it is the cheapest
        reason = "for fewer bits" if cheaper else "for as few bits, and simpler"
        other = best.mechanism if least is method else f"{least.method} with {best.mechanism}"
        words = (
            f"its error {what}, {_figure(expected.error)}, is {_above(expected.error, best.error)} the smallest one "
            f"({other}, {_figure(best.error)}), {reason}"
        )
    if not expected.helped:
        words += '. The filter would not help it: say filter = "off"'
    own = prediction.named
    if own is not None and (
        method.method != prediction.method or prediction.mechanism not in ("auto", expected.mechanism)
    ):
        named = (
            prediction.method if prediction.mechanism == "auto" else f"{prediction.method} with {prediction.mechanism}"
        )
        fate = ", which starves" if own[0].starves else f": {_figure(own[1].error)}"
        words += f". The file names {named}{fate}"
    return words


def _above(error: float, least: float) -> str:
    """Where an error lies beside the smallest one."""
    gap = f"{100 * (error / least - 1):.2g}" if least else "0"
    return "as small as" if float(gap) == 0 else f"{gap} % above"


def _streams(plan: Plan, name: str | None) -> tuple[AnyStreamPlan, ...]:
    many = {one.name for one in plan.everything if one.measure.lists_largest}
    if name in many or (name is None and len(many) == len(plan.everything)):
        found = f"{name or ', '.join(sorted(many))}, whose releases list few of very many items"
        raise UsageError(f"STREAM: found {found}; allowed: one with every item (items = 1024 has about its errors)")
    if name is None:
        return tuple(one for one in plan.everything if one.name not in many)
    if all(stream.name != name for stream in plan.everything):
        allowed = ", ".join(stream.name for stream in plan.everything)
        raise UsageError(f"STREAM: found {name!r}; allowed: {allowed}")
    return (plan.any_stream(name),)


def _searched(stream: AnyStreamPlan) -> list[str]:
    """What is said of a stream whose values are searched for."""
    return _wrapped(f"{stream.name}: {stream.measure.brief}: what a search finds is not predicted", "")


def _assumed(
    plan: Plan, stream: StreamPlan, users: int, drift: float | None, presence: float | None, like: str | None
) -> Assumed:
    serving = serving_users(plan, stream, users)
    if like is not None:
        truth = recorded(plan, open_source(like, plan, stream.name), stream.name, serving)
        if stream.says_none and truth.holders[:, :-1].sum() < len(truth.holders):
            raise UsageError(f"--like: found less than one user of {stream.name} with a value a period; allowed: more")
        return Assumed(like=truth.holders, values=truth.values)
    if presence is not None and presence < 1 and not stream.says_none:
        raise UsageError(f"--presence: found {presence:g}; allowed: 1, since values of {stream.name} stand for ever")
    if presence is not None and serving * presence < 1:
        raise UsageError(
            f"--presence: found {presence:g}; allowed: 1 / {serving} or more: one user of {stream.name} with a value"
        )
    return Assumed(DRIFT if drift is None else drift, 1.0 if presence is None else presence)


def _taken(plan: Plan, stream: StreamPlan, assumed: Assumed, like: str | None) -> str:
    measured_in = not all(map(stream.measure.is_share, stream.measure.scored))
    unit = f"; errors in {stream.unit}" if stream.unit and measured_in else ""
    if asks_everybody_first(plan, stream):
        unit += "; in the whole range, before a threshold is found"
    if like is not None:
        return f"assumed: a truth like {like}{unit}"
    users = "all users" if assumed.presence == 1 else f"{assumed.presence * 100:g} % of the users"
    held = f", {users} with a value" if stream.says_none else ""
    measure = stream.measure
    return f"assumed: {measure.moving} moves by {assumed.drift:g} {measure.drifts}a period{held}{unit}"


def _post(plan: Plan, stream: StreamPlan, users: int, assumed: Assumed) -> Selection | None:
    """How to shape the estimates of a frequency: for shares of several shapes, or those of the recording."""
    if not stream.measure.shaped:
        return None
    shares = None if assumed.like is None else assumed.like.sum(axis=0) / assumed.like.sum()
    return chosen_post(plan, stream.name, users, shares)


def _shaping(stream: StreamPlan, chosen: Selection | None) -> Iterator[str]:
    if chosen is None:
        return
    gain = chosen.errors[chosen.name] / chosen.errors[NORM_SUB.name]
    beside = "" if chosen.name == NORM_SUB.name else f", which leaves {_figure(gain)} of norm-sub's squared error"
    named = "" if stream.post.name == chosen.name else f" The file names {stream.post.name}."
    yield from _wrapped(f'Shape estimates by post = "{chosen.name}"{beside}.{named}', "  ")


def _mechanisms(method: Prospect, taken: Expected) -> Iterator[str]:
    """All mechanisms under the recommended method."""
    yield f"  {method.method:<12} {'mechanism':<14} {'filter':>9} {'series':>9} {'bytes':>10} {'bits':>11}"
    for one in sorted(method.mechanisms, key=lambda one: one.filtered):
        errors = f"{_figure(one.filtered):>9} {_figure(one.series):>9}"
        note = "  <-" if one is taken else ""
        yield f"  {'with':<12} {one.mechanism:<14} {errors} {one.wire_bytes:>10} {_figure(one.bits):>11}{note}"


def _warnings(plan: Plan, prediction: Outlook, users: int, within: float) -> Iterator[str]:
    if loose := [one for one in prediction.prospects if not one.starves and one.within > within]:
        each = ", ".join(f"{one.method} {100 * one.within:.3g} %" for one in loose)
        yield from _wrapped(f"warning: not known within {100 * within:.2g} %, but within: {each}.", "  ")
    if hurt := [one.method for one in prediction.prospects if not one.starves and not one.best.helped]:
        verb = "has" if len(hurt) == 1 else "have"
        yield from _wrapped(f"The filter would not help {', '.join(hurt)}, whose own series {verb} less error.", "  ")
    hungry = sorted((one.users_needed, one.method) for one in prediction.prospects if one.starves)
    if hungry:
        each = ", ".join(f"{name} {needed:,}".replace(",", " ") for needed, name in hungry)
        yield from _wrapped(
            f"warning: {users:,}".replace(",", " ") + " users starve some methods: their smallest rounds would often "
            f"be asked, spent and not released, being below min_batch = {plan.min_batch}. Enough for it are: {each}.",
            "  ",
        )
    if not any(not one.starves for one in prediction.prospects):
        yield from _wrapped("No method is recommended: allow a smaller min_batch or longer periods.", "  ")
    for line in prediction.impossible:
        yield from _wrapped(f"not possible: {line}", "  ")


def _figure(number: float) -> str:
    """Three digits that say something."""
    return f"{number:#.3g}".rstrip(".")


def _wrapped(text: str, lead: str) -> list[str]:
    return textwrap.wrap(text, COLUMNS, initial_indent=lead, subsequent_indent=lead, break_on_hyphens=False)


def _checked(users: int | None, drift: float | None, presence: float | None, like: str | None, within: float) -> int:
    """The number of users, once the options make sense together."""
    if users is None:
        raise UsageError("--users: found nothing; allowed: a number, here or as population.users in the file")
    if like is not None and (drift is not None or presence is not None):
        raise UsageError("--like: found with --drift or --presence; allowed: alone, since a recording has both")
    for option, given, allowed in (
        ("--drift", drift, "from 0 to 0.5"), ("--presence", presence, "above 0, up to 1"),
        ("--within", within, "from 0.01 to 1"),
    ):  # fmt: skip
        if given is not None and math.isnan(given):  # which is neither below nor above a range
            raise UsageError(f"{option}: found nan; allowed: a number {allowed}")
    return users
