"""From a decision to the release that subscribers read: names, errors, privacy, all that was received.

Contract (ARCHITECTURE rule 10): no clock, host or version; numbers rounded to six places, and null where nothing is
known; the same input gives the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal

import numpy as np

from murmurate.aggregators.measures.result import InTables, NamedFigures
from murmurate.aggregators.methods.method import Decision
from murmurate.aggregators.monitoring import reading
from murmurate.config.plan import Plan, StreamPlan
from murmurate.randomizers import Question
from murmurate.topics.messages import Rejected, Tallied
from murmurate.topics.release import PLACES, Periods, Privacy, Reading, Release, Reports

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1))


def release(plan: Plan, stream: StreamPlan, decision: Decision, slots: int, tallies: Sequence[Tallied]) -> Release:
    """The release of a period. slots: asked in all its rounds; tallies: all that came back."""
    result = stream.measure.result(decision, stream.post)
    told = result.named
    return Release(
        deployment=plan.name,
        stream=stream.name,
        revision=stream.revision,
        t=decision.t,
        start=instant(decision.t * stream.every_ms),
        end=instant((decision.t + 1) * stream.every_ms),
        measure=stream.measure.name,
        decision="published" if decision.published else _known(told),
        measured_t=decision.measured_t,
        unit=stream.unit,
        range=stream.range,
        estimate=_named(told, told.estimate),
        stderr=_named(told, told.stderr),
        unbiased=_named(told, told.unbiased),
        names="found" if told.found else None,
        tables=tuple(one.table for one in result.filled) if isinstance(result, InTables) else None,
        thresholds=_readings(stream, told),
        reports=_reports(slots, tallies),
        privacy=Privacy(
            unit="user",
            epsilon=plan.epsilon_of(stream.name) / 1e6,
            window=Periods(periods=stream.w) if plan.window_ms is None else duration(plan.window_ms),
            w=stream.w,
            shuffled=None,
            carry="always" if stream.carry_ms is None else None,
        ),
        mechanism=_mechanism(decision.question),
        method={**stream.method.described(), **stream.post.described()},
    )


def revised(stream: StreamPlan, decision: Decision, before: Release) -> Release:
    """An older period once more, in the light of what is known at this decision: of two records of a period the one
    with the higher revision holds. What was asked and answered then, and `unbiased`, stay as they were.
    """
    told = stream.measure.result(decision.with_vector(best=decision.revised), stream.post).named
    own = {"unbiased": {name: before.unbiased.get(name) for name in told.names}} if told.found else {}
    return before.model_copy(update={
        "decision": before.decision if before.decision == "published" else _known(told),
        "estimate": _named(told, told.estimate),
        "stderr": _named(told, told.stderr),
        "thresholds": _readings(stream, told),
        "revision": before.revision + 1,
        **own,  # what was not found then had no figure
    })  # fmt: skip


def _known(told: NamedFigures) -> Literal["approximated", "unmeasured"]:
    """What a period is called that no reports of its own speak for."""
    return "approximated" if told.known else "unmeasured"


def instant(time_ms: int) -> str:
    """RFC 3339, with milliseconds only where there are some."""
    moment = _EPOCH + timedelta(milliseconds=time_ms)
    return moment.isoformat(timespec="milliseconds" if time_ms % 1000 else "seconds").replace("+00:00", "Z")


def duration(length_ms: int) -> str:
    """A duration as the config writes it: "1h", "90s"."""
    unit, size = next((unit, size) for unit, size in _UNITS if length_ms % size == 0)
    return f"{length_ms // size}{unit}"


def _named(told: NamedFigures, values: np.ndarray) -> dict[str, float | None]:
    pairs = zip(told.names, values.tolist(), strict=True)
    return {name: None if math.isnan(value) else round(value, PLACES) + 0.0 for name, value in pairs}


def _readings(stream: StreamPlan, told: NamedFigures) -> dict[str, Reading] | None:
    """Of what is monitored and known; None where there is nothing to say."""
    found = {}
    for name, threshold in stream.thresholds.items():
        at = told.names.index(name)
        estimate, error = float(told.estimate[at]), float(told.stderr[at])
        if math.isnan(estimate):
            continue
        course = None if told.course is None else (float(told.course[0, at]), float(told.course[1, at]))
        where = reading(estimate, error, threshold, course=course)
        side: Literal["above", "below"] = "above" if where.above else "below"
        found[name] = Reading(threshold=threshold, side=side, confidence=round(where.confidence, PLACES))
    return found or None


def _reports(slots: int, tallies: Sequence[Tallied]) -> Reports:
    return Reports(
        slots=slots,
        received=sum(tally.received for tally in tallies),
        counted=sum(tally.counted for tally in tallies),
        rejected=Rejected(
            malformed=sum(tally.rejected.malformed for tally in tallies),
            undersized=sum(tally.rejected.undersized for tally in tallies),
        ),
        missing=sum(len(tally.missing) for tally in tallies if tally.q == 0),
    )


def _mechanism(mechanism: Question) -> dict[str, str | int | float]:
    """Its spec; of parts that are tables themselves their names: the round says the rest."""
    named = {key: value["name"] if isinstance(value, Mapping) else value for key, value in mechanism.spec().items()}
    spec = {key: value for key, value in named.items() if isinstance(value, str | int) and key != "epsilon_micro"}
    return {**spec, "epsilon": mechanism.epsilon, "digest": mechanism.digest.hex()[:16]}
