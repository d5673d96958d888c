# SPDX-License-Identifier: Apache-2.0
"""From a decision to the release that subscribers read: names, errors, privacy, and how many reports came.

Contract (ARCHITECTURE rule 10): no clock, host or version; numbers rounded to six places, and null where nothing is
known; the same input gives the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from murmurate.aggregators.accounting.claim import MixedClaim
from murmurate.aggregators.accounting.fakes import FakesClaim
from murmurate.aggregators.accounting.window import NoClaim
from murmurate.aggregators.measures.result import ChosenItems, FoundNames, InTables, NamedFigures
from murmurate.aggregators.methods.method import Decision
from murmurate.aggregators.monitoring import reading
from murmurate.config.plan import Plan, StreamPlan
from murmurate.randomizers import Question
from murmurate.randomizers.frequency.appended import AUE
from murmurate.topics.messages import Rejected, Tallied
from murmurate.topics.promises import AgainstUsers, Periods, Privacy, Shuffled
from murmurate.topics.release import Release
from murmurate.topics.release_parts import PLACES, Discovery, ListedItems, Reading, Reports
from murmurate.topics.times import duration, instant


class Came(NamedTuple):
    """What came of a period's rounds."""

    slots: int
    """How many were asked in all of them."""
    tallies: Sequence[Tallied]
    """The tallies of all of them."""
    mixed: MixedClaim | FakesClaim | NoClaim
    """What the mixing is worth in the window that ends with the period."""
    alone: FakesClaim | None = None
    """What fakes are worth in that window against whoever knows all other users' reports."""
    fakes: int = 0
    """How many of the reports in the tallies are the mixing zone's."""


def release(plan: Plan, stream: StreamPlan, decision: Decision, came: Came) -> Release:
    """The release of a period."""
    result = stream.measure.result(decision, stream.post)
    figures = result.named
    return Release(
        deployment=plan.name,
        stream=stream.name,
        revision=stream.revision,
        t=decision.t,
        start=instant(decision.t * stream.every_ms),
        end=instant((decision.t + 1) * stream.every_ms),
        measure=stream.measure.name,
        decision="published" if decision.published else _not_published(figures),
        measured_t=decision.measured_t,
        unit=stream.unit,
        range=stream.range,
        estimate=_named(figures, figures.estimate),
        stderr=_named(figures, figures.stderr),
        unbiased=_named(figures, figures.unbiased),
        stderr_unbiased=_named(figures, figures.stderr_unbiased) if stream.stated_model else None,
        model=stream.stated_model,
        horizon=decision.horizon if stream.stated_model else None,
        names="found" if figures.found else None,
        selection=_selection(figures.chosen),
        discovery=_discovery(figures.names, figures.discovery),
        tables=tuple(one.table for one in result.filled) if isinstance(result, InTables) else None,
        thresholds=_readings(stream, figures),
        reports=_reports(came),
        privacy=Privacy(
            unit="user",
            epsilon=None if stream.unprotected else plan.spent_micro(stream.name) / 1e6,
            window=Periods(periods=stream.w) if plan.window_ms is None else duration(plan.window_ms),
            w=stream.w,
            **_mixed(plan, came),
            carry="always" if stream.carry_ms is None else None,
            unprotected_locally=True if stream.unprotected else None,
        ),
        mechanism=_mechanism(decision.question),
        method={**stream.method.described(), **stream.post.described()},
    )


def revised(stream: StreamPlan, decision: Decision, before: Release) -> Release:
    """The release of an older period with this decision's estimate of it: of two records of a period the one with the
    higher revision counts. Its reports, `unbiased` and the error of that stay as they were.
    """
    figures = stream.measure.result(decision.with_vector(best=decision.revised), stream.post).named
    own = _own_of(figures.names, before) if figures.found else {}
    return before.model_copy(update={
        "decision": before.decision if before.decision == "published" else _not_published(figures),
        "estimate": _named(figures, figures.estimate),
        "stderr": _named(figures, figures.stderr),
        "thresholds": _readings(stream, figures),
        "revision": before.revision + 1,
        **own,  # None for names that were not found then
    })  # fmt: skip


def _own_of(names: Sequence[str], before: Release) -> dict[str, dict[str, float | None] | None]:
    """What the method itself said of these names, some of which may not have been found then."""
    own = before.unbiased, before.stderr_unbiased
    first, second = (None if said is None else {name: said.get(name) for name in names} for said in own)
    return {"unbiased": first, "stderr_unbiased": second}


def _selection(chosen: ChosenItems | None) -> ListedItems | None:
    """How the items of the release were chosen from very many."""
    if chosen is None:
        return None
    threshold = None if chosen.threshold is None else round(chosen.threshold, PLACES)
    return ListedItems(**chosen._replace(errors=round(chosen.errors, PLACES), threshold=threshold)._asdict())


def _discovery(names: Sequence[str], found: FoundNames | None) -> Discovery | None:
    """How the names of the release were found, and how they fare."""
    if found is None:
        return None
    threshold = None if found.threshold is None else round(found.threshold, PLACES)
    since, seen = (dict(zip(names, periods, strict=True)) for periods in (found.since, found.seen))
    return Discovery(
        least=found.least,
        threshold=threshold,
        since=since,
        seen=seen,
        rose=found.rose,
        fell=found.fell,
        gone=found.gone,
    )


def _not_published(figures: NamedFigures) -> Literal["approximated", "unmeasured"]:
    """The `decision` of a release without reports of its own period: whether anything is known."""
    return "approximated" if figures.known else "unmeasured"


def _named(figures: NamedFigures, values: np.ndarray) -> dict[str, float | None]:
    pairs = zip(figures.names, values.tolist(), strict=True)
    return {name: None if math.isnan(value) else round(value, PLACES) + 0.0 for name, value in pairs}


def read_off(estimate: float, error: float, threshold: float, course: tuple[float, float] | None = None) -> Reading:
    """On which side of a threshold an estimate says that the truth is. course: mean and variance of those so far."""
    where = reading(estimate, error, threshold, course=course)
    side: Literal["above", "below"] = "above" if where.above else "below"
    return Reading(threshold=threshold, side=side, confidence=round(where.confidence, PLACES))


def _readings(stream: StreamPlan, figures: NamedFigures) -> dict[str, Reading] | None:
    """The readings of the monitored names whose estimates are known; None if there are none."""
    found = {}
    for name, threshold in stream.thresholds.items():
        if name not in figures.names:
            continue  # nothing was measured yet
        at = figures.names.index(name)
        estimate, error = float(figures.estimate[at]), float(figures.stderr[at])
        if math.isnan(estimate):
            continue
        course = None if figures.course is None else (float(figures.course[0, at]), float(figures.course[1, at]))
        found[name] = read_off(estimate, error, threshold, course)
    return found or None


def _reports(came: Came) -> Reports:
    """How many reports users sent: the fakes among them are the round's, so they are taken out."""
    tallies = came.tallies
    return Reports(
        slots=came.slots,
        received=sum(tally.received for tally in tallies) - came.fakes,
        counted=sum(tally.counted for tally in tallies) - came.fakes,
        rejected=Rejected(
            malformed=sum(tally.rejected.malformed for tally in tallies),
            undersized=any(tally.rejected.undersized for tally in tallies),
        ),
        missing=sum(len(tally.missing) for tally in tallies if tally.q == 0),
    )


def _mixed(plan: Plan, came: Came) -> dict[str, Any]:
    claim, alone = came.mixed, came.alone
    if not isinstance(claim, MixedClaim | FakesClaim):
        return {"shuffled": None, "unshuffled": claim}
    known = None if alone is None else AgainstUsers(epsilon=alone.epsilon, delta=alone.delta)
    shuffled = Shuffled(**claim._asdict(), per="window", assumed_corrupt=plan.assumed_corrupt, against_users=known)
    return {"shuffled": shuffled}


def _mechanism(mechanism: Question) -> dict[str, str | int | float]:
    """The question's spec, with only the names of parts that are tables themselves: the round holds the rest."""
    named = {key: value["name"] if isinstance(value, Mapping) else value for key, value in mechanism.spec().items()}
    spec = {key: value for key, value in named.items() if isinstance(value, str | int) and not key.endswith("_micro")}
    if isinstance(mechanism, AUE):  # there is no epsilon of a report
        return {**spec, "central": mechanism.central, "digest": mechanism.digest.hex()[:16]}
    return {**spec, "epsilon": mechanism.epsilon, "digest": mechanism.digest.hex()[:16]}
