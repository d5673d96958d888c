# SPDX-License-Identifier: Apache-2.0
"""The quality of a replay's releases: error against the truth, bits, publications, refusals.

Contract, per stream, over the periods that have a release and a truth about at least one user: MRE, MSE and bits as
error_measures.py defines, over the statistics that the measure scores.  r is the release's `unbiased`: what the
papers measure, before any filter and projection.  Of `estimate`, which is what to use, there is the MSE, and how often
the truth lies within two of its standard errors.  A period in which one of the two is null, or the truth is, leaves
that figure alone; where all are, there is none.  A period with a round below min_batch leaves the bits alone, since
nothing says how many answered that (ARCHITECTURE rule 28).  Where names are found, nobody is taken to be of what was
not, and of the last only what was found counts; where a method searches for them, only what releases named counts.  A
period that was released twice counts as it was at first.  Overall figures weigh streams by the periods that count; bits
add up, since a user may serve them all.  A central stream has neither bits nor windows; truth is the exact sum of all
its events, and periods of a hold-out have no figures and count in no error.
Not here: the truth (truth.py), what is private about it: it never leaves the replay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.table import Table

from murmurate.agents.mixed_claims import LargestClaim, largest_claim, together_words
from murmurate.agents.replay.error_measures import SMALLEST, bits, mean_relative_error, mean_squared_error, report_bits
from murmurate.agents.replay.listed import found_figures, scored_figures
from murmurate.agents.replay.true_period import TruePeriod
from murmurate.agents.shortage import WORTH_SAYING, Shortages
from murmurate.config.enough import REMEDY, shortage, spaced
from murmurate.config.plan import AnyStreamPlan, CentralPlan, Plan, StreamPlan
from murmurate.randomizers import Branches

WIDTH: Final = 80

Release = Mapping[str, Any]


@dataclass(frozen=True)
class StreamScore:
    """The figures of one stream."""

    stream: str
    scale: str
    """The scale of its squared errors: the unit of a mean, or "share"."""
    periods: int
    """The number of periods with a measurement and a truth."""
    estimated: int
    """The number of periods with an estimate and a truth."""
    releases: int
    published: int
    unmeasured: int
    """The number of periods before the first answer."""
    published_per_window: float | None
    """The average number of publications in w periods; None for a central stream, which has no window."""
    mre: float | None
    """The mean relative error; None, like the other errors, where there is nothing to compare."""
    mse: float | None
    estimate_mse: float | None
    coverage: float | None
    """The share of truths within two standard errors of the estimate."""
    bits: float | None
    mixed: LargestClaim | None
    """The largest claim of what the mixing is worth; None for a central stream."""


@dataclass(frozen=True)
class Score:
    """The figures of all streams."""

    streams: tuple[StreamScore, ...]
    refused: Mapping[str, int]
    """Events refused, by reason."""

    @property
    def releases(self) -> int:
        """The number of releases."""
        return sum(stream.releases for stream in self.streams)

    @property
    def published(self) -> int:
        """The number of releases that are measured from reports of their own period."""
        return sum(stream.published for stream in self.streams)

    @property
    def unmeasured(self) -> int:
        """The number of releases without any figure, since nothing had been measured."""
        return sum(stream.unmeasured for stream in self.streams)

    @property
    def mre(self) -> float | None:
        """The mean over the periods of all streams."""
        return self._mean([(stream.mre, stream.periods) for stream in self.streams])

    @property
    def mse(self) -> float | None:
        """The mean over the periods of all streams; None where they have no common scale."""
        if len({stream.scale for stream in self.streams}) > 1:
            return None
        return self._mean([(stream.mse, stream.periods) for stream in self.streams])

    @property
    def estimate_mse(self) -> float | None:
        """The mean squared error of the estimates."""
        if len({stream.scale for stream in self.streams}) > 1:
            return None
        return self._mean([(stream.estimate_mse, stream.estimated) for stream in self.streams])

    @property
    def coverage(self) -> float | None:
        """The mean over the periods of all streams."""
        return self._mean([(stream.coverage, stream.estimated) for stream in self.streams])

    @property
    def bits(self) -> float | None:
        """The bits per user and period, all streams together."""
        known = [stream.bits for stream in self.streams if stream.bits is not None]
        return sum(known) if known else None

    def _mean(self, values: list[tuple[float | None, int]]) -> float | None:
        """The weighted mean of values, without those that are None."""
        pairs = [(value, n) for value, n in values if value is not None]
        return sum(value * n for value, n in pairs) / sum(n for _, n in pairs) if pairs else None


def score(
    plan: Plan, releases: Iterable[Release], truth: Iterable[TruePeriod], refused: Mapping[str, int] | None = None
) -> Score:
    """Compare releases (decoded records of the `releases` topic) with the truth."""
    true = {(period.stream, period.t): period for period in truth}
    by_stream: dict[str, list[Release]] = {}
    for release in releases:
        if release["revision"] == plan.any_stream(release["stream"]).revision:
            by_stream.setdefault(release["stream"], []).append(release)
    streams = tuple(_score(plan.any_stream(name), found, true) for name, found in sorted(by_stream.items()))
    return Score(streams, {reason: n for reason, n in sorted((refused or {}).items()) if n})


def table(score: Score) -> Table:
    """The figures for a terminal of 80 columns: one line per stream, and the refused events below.

    Where it is too narrow, names lose their ends, never figures: only a name may be wrapped, and it is one word.
    """
    refused = "   ".join(f"{reason} {count:,}".replace(",", " ") for reason, count in score.refused.items())
    shown = Table(
        width=WIDTH, box=box.SIMPLE_HEAD, show_edge=False, padding=0,
        caption=f"refused: {refused or 'none'}", caption_justify="left",
    )  # fmt: skip
    shown.add_column("stream", overflow="ellipsis")
    for heading in ("releases", "published\n(in w)", "MRE", "MSE", "MSE of\nestimate", "in\n2 se", "bits"):
        shown.add_column(heading, justify="right", no_wrap=True)
    for stream in score.streams:
        shown.add_row(
            stream.stream, str(stream.releases), _published(stream),
            _figure(stream.mre), _text(stream.mse, ".1e"), _text(stream.estimate_mse, ".1e"),
            _text(stream.coverage, ".0%"), _figure(stream.bits),
        )  # fmt: skip
    return shown


def claims(score: Score, *, serve_all: bool = False) -> list[str]:
    """One line for each stream: the largest claim of the run of what the mixing is worth. serve_all: whether every user
    answers for every stream, so that these add up to one line more.
    """
    mixed = {one.stream: one.mixed for one in score.streams if one.mixed is not None}
    lines = [f"{name}, after mixing: {largest.words}" for name, largest in mixed.items()]
    words = together_words(largest.claim for largest in mixed.values() if largest.claim is not None)
    together = f"all streams together, for a user who answers for each: at most {words}"
    return [*lines, together] if serve_all and words else lines


def _nothing_summed(plan: CentralPlan, score: StreamScore) -> list[str]:
    """Why a central stream has no sums, if it has none."""
    if score.unmeasured < score.releases:
        return []
    held = 0 if plan.holdout is None else plan.holdout.periods
    said = f"{plan.name}: nothing was measured in {spaced(score.releases)} periods"
    whole = held + (2 * plan.block if plan.block > 1 else 1)
    first = f"a hold-out of {spaced(held)} periods comes first" if held else "figures follow two complete blocks"
    return [f"{said}: {first}. It takes {spaced(whole)} periods to measure something."]


def _published(stream: StreamScore) -> str:
    each = stream.published_per_window
    return str(stream.published) if each is None else f"{stream.published} ({each:.1f})"


def shortfalls(plan: Plan, score: Score, releases: Iterable[Release], users: int) -> list[str]:
    """One line for each stream in which nothing was measured, or rounds in a row stayed below min_batch. users: all."""
    followed, lines = Shortages(plan), []
    for release in releases:
        followed.take(release)
    for stream in score.streams:
        if isinstance(one := plan.any_stream(stream.stream), CentralPlan):
            lines += _nothing_summed(one, stream)
            continue
        found, many = followed.of[stream.stream], stream.unmeasured == stream.releases
        if not many and found.longest < WORTH_SAYING:
            continue
        finding = f"nothing was measured in {spaced(stream.releases)} periods"
        if many and one.measure.is_searched and found.longest < WORTH_SAYING and not found.row:
            lines.append(f"{stream.stream}: {finding}, in which its search came to no end: replay more of them.")
            continue
        if not many:
            finding = f"up to {spaced(found.longest)} rounds in a row were below min_batch"
        less = f"; fewer reports came than the {spaced(plan.min_batch)} that a release needs" if found.longest else ""
        why = shortage(plan, one, users) or REMEDY
        lines.append(f"{stream.stream}: {finding}{less}. {why}")
    return lines


def _score(plan: AnyStreamPlan, releases: list[Release], true: Mapping[tuple[str, int], TruePeriod]) -> StreamScore:
    pairs = [
        (release, period)
        for release in releases
        if (period := true.get((plan.name, release["t"]))) is not None and (period.users or period.of == "events")
    ]
    decisions = Counter(release["decision"] for release in releases)
    measure, published = plan.measure, decisions["published"]
    names = measure.scored or measure.true_names
    searches = measure.is_searched
    if searches:
        raw, best, error, held = found_figures(pairs)
    elif measure.lists_largest:
        raw, best, error, held = scored_figures(pairs, names)
    else:
        raw, best, error = (_figures(pairs, what, names) for what in ("unbiased", "estimate", "stderr"))
        held = np.array([period.figures[: len(names)] for _, period in pairs]).reshape(len(pairs), len(names))
    if not measure.scored and not searches:
        raw, best = (_nobody(pairs, values) for values in (raw, best))
    own, known = (np.isfinite(held + values).all(axis=1) for values in (raw, best))
    mre = mse = estimate_mse = coverage = None
    if own.any():
        mre = mean_relative_error(raw[own], held[own], second=measure.two_sided, smallest=_smallest(plan, held))
        mse = mean_squared_error(raw[own], held[own])
    if known.any():
        estimate_mse = mean_squared_error(best[known], held[known])
        barred = np.isfinite(error[known])
        within = (np.abs(best - held) <= 2 * error)[known][barred]
        coverage = float(within.mean()) if len(within) else None
    window, of_reports = (plan.w, _bits(plan, pairs)) if isinstance(plan, StreamPlan) else (None, None)
    return StreamScore(
        stream=plan.name, scale=measure.scale(plan.name), periods=int(own.sum()), estimated=int(known.sum()),
        releases=len(releases), published=published, unmeasured=decisions["unmeasured"],
        published_per_window=None if window is None else published / len(releases) * window, mre=mre, mse=mse,
        estimate_mse=estimate_mse, coverage=coverage, bits=of_reports,
        mixed=largest_claim(releases),
    )  # fmt: skip


def _smallest(plan: AnyStreamPlan, held: NDArray[np.float64]) -> float:
    """What smaller figures count as in a relative error: of sums that part of the largest which a share is of all."""
    if isinstance(plan, StreamPlan):
        return SMALLEST
    return SMALLEST * float(np.nanmax(np.abs(held), initial=0)) or SMALLEST


def _figures(pairs: list[tuple[Release, TruePeriod]], what: str, names: Sequence[str]) -> NDArray[np.float64]:
    """The figures of these names in each period's release, NaN where a release has null: float64[periods, names]."""
    rows = [[release[what].get(name) for name in names] for release, _ in pairs]
    return np.array(rows, np.float64).reshape(len(pairs), len(names))


def _nobody(pairs: list[tuple[Release, TruePeriod]], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The figures with 0 for names that were not found, once something was measured."""
    measured = np.array([release["decision"] != "unmeasured" for release, _ in pairs], np.bool_)
    return np.where(np.isnan(values) & measured[:, None], 0.0, values)


def _spec(plan: StreamPlan, release: Release) -> Mapping[str, Any]:
    """The spec of a release's mechanism. A release does not list branches; they are those that the stream asks then."""
    described: Mapping[str, Any] = release["mechanism"]
    if described["name"] != Branches.name:
        return described
    question = plan.measure.question(plan.mechanism, described["epsilon"], plan.prefer)
    return question.spec() if question.digest.hex().startswith(described["digest"]) else described


def _bits(plan: StreamPlan, pairs: list[tuple[Release, TruePeriod]]) -> float | None:
    told = [(release, period) for release, period in pairs if not release["reports"]["rejected"].get("undersized")]
    if not told:
        return None
    answers = [(report_bits(_spec(plan, release), plan.d), release["reports"]["received"]) for release, _ in told]
    published = sum(release["decision"] == "published" for release, _ in told) / len(told)
    users = sum(period.users for _, period in told)
    return bits(answers, users, method=plan.method.name, published=published)


def places(value: float | None, count: int = 6) -> float | None:
    """A figure to so many places."""
    return None if value is None else round(value, count)


def _figure(value: float | None) -> str:
    """A figure in at most seven characters, except where it is very large: 0.625, 118.2, 1.2e+04."""
    large = value or 0
    return _text(value, ".3f" if large < 100 else ".1f" if large < 10_000 else ".1e")


def _text(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
