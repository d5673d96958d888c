# SPDX-License-Identifier: Apache-2.0
"""`murmurate watch STREAM`: releases as they are committed, a line each, until Ctrl-C (exit 130).

Contract: lines of at most 80 columns, at least one figure in each: first those that have a threshold, then the largest;
how many are left out is counted.  What does not fit is said more shortly (FORMS) before it is left out.  A distribution
is a row of blocks in the order of the range, as high as its stretches, with the figures of those that are monitored and
of the highest.  What is not known has no figure; where nothing is yet, it is said how many reports came, of how many
that a release needs.  Whoever wants all of it takes `--json`, the records as they are.  Not here: names that
are searched for (watch_found.py), lines under a release (remarks.py), reading them (kafka/followed.py).
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import AsyncIterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Final, NamedTuple

import click
import orjson

from murmurate.agents.cli.deployment import Opened, config_option, opened, run
from murmurate.agents.cli.remarks import Remarks
from murmurate.agents.cli.replay import grouped
from murmurate.agents.cli.watch_found import KEY, found_line
from murmurate.agents.kafka.client import Place
from murmurate.agents.kafka.followed import FollowedReleases
from murmurate.agents.shortage import lacking
from murmurate.aggregators.measures.measure import Measure
from murmurate.aggregators.postprocess.query import Query
from murmurate.aggregators.postprocess.reading import read_for
from murmurate.config.plan import AnyStreamPlan
from murmurate.errors import UsageError
from murmurate.topics.names import stream_partition, topic
from murmurate.topics.release import Release
from murmurate.topics.release_parts import MAX_NAMES, PLACES, Reading
from murmurate.topics.times import InstantReader, instant

COLUMNS = 80
DAY_MS, MINUTE_MS = 86_400_000, 60_000
GAP = "  "
LEAST = 8
"""Columns of the shortest statistic, its gap aside."""
BLOCKS = "▁▂▃▄▅▆▇█"
QUESTIONS: Final = ("point", "top-k", "subset", "range")
SAID: Final[Mapping[str, str]] = {
    "point": "the estimate for single values", "top-k": "the most frequent ones",
    "subset": "the estimate for totals", "range": "the estimate for totals of neighbours",
}  # fmt: skip
WIDTHS = 16, 8, 4
"""The most blocks that show a distribution; fewer, or none, where a figure has no room beside them."""


class StatisticForm(NamedTuple):
    """The columns of a statistic besides its estimate and its standard error."""

    name: int = 20
    """Columns of its name, at most."""
    unit: bool = True
    threshold: bool = True
    """The columns that say on which side of its threshold the truth is, and how sure that is."""
    exponent: bool = False
    """Whether numbers have one, however many digits they have."""


FORMS: Final = (
    StatisticForm(),
    StatisticForm(unit=False),
    StatisticForm(12, unit=False),
    StatisticForm(8, unit=False),
    StatisticForm(12, unit=False, threshold=False),
    StatisticForm(4, unit=False, threshold=False),
    StatisticForm(4, unit=False, threshold=False, exponent=True),
)
"""From the longest to the shortest. A long name loses its end before a threshold goes: that is what is waited for."""


@click.command("watch")
@click.argument("stream")
@config_option
@click.option(
    "--last", "history", type=click.IntRange(0, 10_000), default=1, show_default=True,
    help="How many releases that are there already to show first.",
)  # fmt: skip
@click.option(
    "--for", "question", type=click.Choice(QUESTIONS),
    help="Shape a frequency's estimates for single values, the most frequent ones, or totals.",
)  # fmt: skip
@click.option(
    "--k",
    type=click.IntRange(1, MAX_NAMES),
    help="How many of the most frequent values to show; for other questions, how many values have users.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the releases themselves, one line of JSON each.")
def command(stream: str, config: Path, history: int, question: Query | None, k: int | None, as_json: bool) -> None:
    """Show the releases of STREAM as they come. Ctrl-C ends it."""
    this = opened(config)
    names = [each.name for each in this.plan.everything]
    if stream not in names:
        raise UsageError(f"watch: found stream {stream[:40]!r}; allowed: {', '.join(names)}")
    plan = this.plan.any_stream(stream)
    if question is not None and (as_json or not plan.measure.shaped):
        found = "--json" if as_json else f"a {plan.measure.name}"
        raise UsageError(f"watch: --for: found {found}; allowed: lines of a frequency")
    if k is not None and question not in ("top-k", "point"):
        raise UsageError("watch: --k: found alone; allowed: with --for top-k or --for point")
    run(_watch(this, plan, history, question, k, as_json=as_json))


async def _watch(
    this: Opened, stream: AnyStreamPlan, history: int, question: Query | None, k: int | None, *, as_json: bool
) -> None:
    if not as_json:
        click.echo(heading(stream, question))
    day, remarks, explained = "", Remarks(this.plan), False
    async for value, release in releases(this, stream, history):
        if as_json:
            click.echo(value)
            continue
        if release.start[:10] != day and stream.every_ms < DAY_MS:
            day = release.start[:10]
            click.echo(f"{day} UTC")
        if release.discovery is not None and not explained:
            explained = True
            click.echo(f"{GAP}{KEY}")
        shown = release if question is None else shaped(release, question, k)
        click.echo(line(shown, stream, this.plan.min_batch))
        for said in remarks.take(orjson.loads(value)):
            click.echo(said)


async def releases(this: Opened, stream: AnyStreamPlan, history: int) -> AsyncIterator[tuple[bytes, Release]]:
    """The last ones that are there, then those that come; each as it was read, and decoded."""
    place = Place(topic(this.plan.name, "releases"), stream_partition(stream.name, this.plan.tallies))
    async for found in FollowedReleases(this.client, [place], stream.name).read(history):
        if found is not None:
            yield found


# ---- lines ----


def shaped(release: Release, question: Query, k: int | None) -> Release:
    """The release with estimates for this question; names that are none of the k have no figures."""
    read = read_for(question, release, k=None if k is None else min(k, len(release.estimate)))
    estimate = {name: read.values.get(name) for name in release.estimate}
    stderr = {name: release.stderr[name] if value is not None else None for name, value in estimate.items()}
    return release.model_copy(update={"estimate": estimate, "stderr": stderr})


def heading(stream: AnyStreamPlan, question: Query | None = None) -> str:
    """What follows, in a line or two."""
    said = stream.measure.shown_as
    if question is not None:
        said = f"{SAID[question]}, and the standard error before it was shaped"
    text = f"{stream.name}: {stream.measure.name} of {stream.measure.what}; {said}"
    return "\n".join(textwrap.wrap(text, COLUMNS, subsequent_indent=GAP, break_on_hyphens=False))


def line(release: Release, stream: AnyStreamPlan, min_batch: int) -> str:
    """One release: when, decision, as many statistics as there is room for, reports that count."""
    when = clock(release.start, stream.every_ms)
    if release.decision == "unmeasured":
        return _nothing(release, when, min_batch)
    said = "revised" if release.revision > stream.revision else _decision(release, stream.every_ms)
    head = f"  {when}  {said:<{len('as of ') + len(when)}}{GAP}"
    tail = _tail(release)
    room = COLUMNS - len(head) - len(tail) - len(GAP)
    declared = dict.fromkeys(stream.names)
    if release.discovery is not None:
        return head + found_line(release, release.discovery, room) + GAP + tail
    names = [name for name in declared if name in release.known]
    names += [name for name in release.known if name not in declared]
    if not names:  # they are found, and nothing was
        return f"{head}{'nothing found':<{room}}{GAP}{tail}"
    shown = (_shape if stream.measure.ordered else _fitted)(release, stream.measure, names, room)
    return head + shown + GAP + tail


def _tail(release: Release) -> str:
    """How many reports count; of a central stream, which has none, its epsilon."""
    if release.reports is None:
        return f"eps {release.central.epsilon:g}" if release.central else ""
    return f"n {grouped(release.reports.counted)}"


def _nothing(release: Release, when: str, min_batch: int) -> str:
    """The line before the first answer."""
    tail = _tail(release)
    room = COLUMNS - len(GAP) - len(when) - 2 * len(GAP) - len(tail)
    lack, held = None if release.reports is None else lacking(release.reports.model_dump(), min_batch), release.holdout
    said = "nothing yet" if held is None else f"hold-out: period {held.period} of {held.periods}"
    if lack is not None:
        whole = f"{said}: {lack}"
        said = next(text for text in (whole, whole.removesuffix(" that a release needs"), said) if len(text) <= room)
    return f"{GAP}{when}{GAP}{said:<{room}}{GAP}{tail}"


def _decision(release: Release, every_ms: int) -> str:
    if release.decision == "published":
        return "published"
    if release.measured_t is None:
        return "estimated"
    start = _milliseconds(release.start) - (release.t - release.measured_t) * every_ms
    return f"as of {_clock(start, every_ms)}"


def _shape(release: Release, measure: Measure, names: Sequence[str], room: int) -> str:
    """A row of blocks; then what is monitored, the highest stretch, and how many have no value."""
    stretches = [name for name in names if name != "none"]
    shares = [release.known[name][0] for name in stretches]
    highest, held = stretches[shares.index(max(shares))], _held(release)
    shown = [highest, *(name for name in names if name != highest and (name in held or name == "none"))]
    rows = [*(f"{_blocks(shares, width)} " for width in WIDTHS), ""]
    return _fitted(release, measure, shown, room, rows, top="" if highest in held else highest)


def _blocks(shares: Sequence[float], widest: int) -> str:
    """A block for each stretch, or for the highest of some neighbours where there are many."""
    each = math.ceil(len(shares) / widest)
    groups = [max(shares[at : at + each]) for at in range(0, len(shares), each)]
    top = max(groups)
    return "".join(BLOCKS[min(int(share / top * len(BLOCKS)), len(BLOCKS) - 1) if top > 0 else 0] for share in groups)


def _fitted(
    release: Release, measure: Measure, names: Sequence[str], room: int, rows: Sequence[str] = (), top: str = ""
) -> str:
    """What is monitored, in the longest form in which all of it fits, and as many others as have room beside it, where
    they are ranked the largest: each in their order.

    rows: what may stand before them, the widest first; without it those left out are counted.  top: is called "max".
    """
    held, known, first = _held(release), release.known, set(measure.scored or names) if measure.ranked else set[str]()
    order = sorted(names, key=lambda name: (name not in held, name not in first, -abs(known[name][0]) if first else 0))
    most = min(len(order), room // LEAST)
    for least in range(max(1, min(most, len(held))), 0, -1):
        for form, row, count in product(FORMS, rows or [""], range(most, least - 1, -1)):
            kept = sorted(order[:count], key=lambda name: (name not in held, names.index(name)))
            said = [_statistic(release, measure, name, form, "max" if name == top else "") for name in kept]
            missing = [f"+{len(order) - count}"] if count < len(order) and not rows else []
            text = row + GAP.join([*said, *missing])
            if len(text) <= room:
                return f"{text:<{room}}"
    return f"{f'+{len(order)}':<{room}}"


def _held(release: Release) -> Mapping[str, Reading]:
    """What is monitored, and where it is."""
    return release.thresholds or {}


def _statistic(release: Release, measure: Measure, name: str, form: StatisticForm, called: str) -> str:
    estimate, error = release.known[name]
    called = called or _cut(name, form.name)
    held = _held(release).get(name) if form.threshold else None
    if measure.is_share(name):
        side = _side(held, f"{100 * held.threshold:.12g}%") if held else ""
        return f"{called} {100 * estimate:.1f}% ±{100 * error:.1f}{side}"
    if form.exponent:
        return f"{called} {estimate:.2e} ±{error:.1e}"
    unit = f" {_cut(release.unit, 12)}" if release.unit and form.unit and measure.unit_of(name) else ""
    side = _side(held, f"{held.threshold:.12g}") if held else ""
    return f"{called} {_digits(estimate, 4)} ±{_digits(error, 2)}{unit}{side}"


def _side(held: Reading, threshold: str) -> str:
    """Where it is, and how sure that is: never more than it is."""
    return f" {'>' if held.side == 'above' else '<'} {threshold} ({math.floor(100 * held.confidence)}% sure)"


def _digits(number: float, count: int) -> str:
    """A number to so many digits that say something, and never with an exponent."""
    power = math.floor(math.log10(abs(number))) if number else 0
    return f"{number:.{min(PLACES, max(0, count - 1 - power))}f}"


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: room - 3]}..."


def clock(text: str, every_ms: int = 1000) -> str:
    """The part of an instant that tells periods of this length apart.

    >>> clock("2026-11-18T09:01:00Z", 60_000), clock("2026-11-18T09:01:30Z", 10_000)
    ('09:01', '09:01:30')
    >>> clock("2026-11-18T00:00:00Z", 86_400_000)
    '2026-11-18'
    """
    return _clock(_milliseconds(text), every_ms)


def _milliseconds(text: str) -> int:
    return InstantReader().milliseconds(text)


def _clock(time_ms: int, every_ms: int) -> str:
    text = instant(time_ms)
    if every_ms % DAY_MS == 0:
        return text[:10]
    if every_ms % MINUTE_MS == 0:
        return text[11:16]
    return text[11:19] if every_ms % 1000 == 0 else text[11:].removesuffix("Z")
