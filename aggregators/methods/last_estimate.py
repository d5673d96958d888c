# SPDX-License-Identifier: Apache-2.0
"""The estimate measured last, which later periods release again, with its variance as an estimate of the present.

Contract: variances are per statistic, as errors of the estimate *of period t*.  Freshly measured: the mechanism's
exact variance at the nearest shares of the same sum (`Question.likely`), so that their mean is right also where few
users answered, and the sampling of n of n_hat users where slots were drawn.  Older: the measured drift is added.
Nothing measured: zeros, with variance 1, since the error is then the statistic itself, at most 1 (1/4 would bound only
deviations from one half).  Where numbers are measured the answer itself is kept: a release needs more of it than the
statistics.  Not here: whether to publish.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from murmurate.aggregators.methods.dissimilarity import finite_population_factor
from murmurate.aggregators.methods.method import (
    Answer,
    Decision,
    Estimate,
    Finding,
    Floats,
    FoundValues,
    Outcome,
    TableEstimates,
    Vector,
)
from murmurate.randomizers import Question, question
from murmurate.randomizers.state import Arrays, StateForm, dump, load
from murmurate.topics.release_parts import HorizonStep

FORM: Final = StateForm("decision", 1)
"""The version of the form in which a decision is kept."""
_FILTERED = ("best", "revised")
_OF_TABLES = ("estimates", "errors")
_OF_FOUND = ("values", "estimates", "errors", "unbiased", "unbiased_errors")
_OF_FINDING = ("since", "seen", "moved", "gone")
_OWN: Final = "own variance"
"""The array of the variance without drift, where that is another one."""


@dataclass(frozen=True, eq=False)
class LastEstimate:
    """An estimate and the period whose reports it comes from."""

    measured_t: int | None
    unbiased: Floats
    variance: Floats
    """The variance of each statistic at `measured_t`, without drift."""
    mechanism: Question
    answer: Answer | None = None
    """The reports behind the estimate, where numbers are measured."""
    users: float | None = None
    """The number of users of whom those who answered are a sample; None if they are no sample."""

    def decision(self, t: int, *, mean_square: float | None = None) -> Decision:
        """The estimate as release of period t. `mean_square` estimates the mean over the statistics of (c_t - r)^2,
        noise of r and drift together; each statistic gets at least that as its variance, or its own if larger.

        That is right for their mean. One cell alone may have drifted by up to d times as much, which a mean cannot
        show; and if a period is approximated *because* this number was small, it is small by selection.
        """
        variance = self.variance
        if mean_square is not None:
            # Frequencies sum to 1, so their mean square is at least 1/d^2: the least error that zeros can have.
            least = np.full_like(variance, 1 / len(variance) ** 2) if self.measured_t is None else variance
            variance = np.maximum(least, mean_square)
        outcome = Vector(self.unbiased, variance, self.answer, self.users, own_variance=self.variance)
        return Decision(t, self.measured_t == t, self.measured_t, self.mechanism, outcome)

    def facts(self) -> dict[str, Any]:
        """The part of the state that is no array."""
        counted = self.answer.counted if self.answer else None
        spec = self.mechanism.spec()
        return {"measured_t": self.measured_t, "mechanism": spec, "counted": counted, "users": self.users}

    def arrays(self) -> Arrays:
        """The arrays of the state."""
        support = {"support": self.answer.support} if self.answer else {}
        return {"unbiased": self.unbiased, "variance": self.variance, **support}


def packed(decision: Decision) -> bytes:
    """A decision as bytes, to be kept in a state."""
    outcome = decision.outcome
    facts: dict[str, Any] = {"t": decision.t, "published": decision.published}
    if decision.horizon is not None:
        facts["horizon"] = decision.horizon.model_dump_json()
    if isinstance(outcome, Vector):
        own = decision.measured_t, outcome.unbiased, outcome.variance, decision.question, outcome.answer, outcome.users
        last = LastEstimate(*own)
        facts, arrays = facts | last.facts() | {"clipped": outcome.clipped}, last.arrays()
        if not np.array_equal(outcome.measured_variance, outcome.variance):
            arrays[_OWN] = outcome.measured_variance
        for name in _FILTERED:
            if (estimate := getattr(outcome, name)) is not None:
                course = np.zeros((0, len(estimate.statistics))) if estimate.course is None else estimate.course
                facts[name] = [estimate.t, estimate.of_reports]
                arrays[name] = np.vstack((estimate.statistics, estimate.variance, course))
        return dump(FORM, facts, arrays)
    facts |= {"measured_t": decision.measured_t, "mechanism": decision.question.spec()}
    if isinstance(outcome, FoundValues):
        arrays = {what: kept for what in _OF_FOUND if (kept := getattr(outcome, what)) is not None}
        if (finding := outcome.finding) is not None:
            facts["threshold"] = finding.threshold
            arrays |= {what: getattr(finding, what) for what in _OF_FINDING}
        return dump(FORM, {**facts, "outcome": "found"}, arrays)
    pairs = enumerate(zip(outcome.estimates, outcome.errors, strict=True))
    arrays = {f"{what} {k}": table for k, both in pairs for what, table in zip(_OF_TABLES, both, strict=True)}
    return dump(FORM, {**facts, "outcome": "tables", "tables": len(outcome.estimates)}, arrays)


def unpacked(kept: bytes) -> Decision:
    """The decision of these bytes, from `packed`."""
    facts, arrays = load(FORM, kept)
    outcome: Outcome
    kind = facts.get("outcome")
    if kind is None:
        last = restored(facts, arrays)
        filtered: dict[str, Estimate] = {}
        for name in _FILTERED:
            if name in facts:
                (t, of_reports), (estimate, error, *course) = facts[name], arrays[name]
                filtered[name] = Estimate(
                    t, estimate.copy(), error.copy(), of_reports, np.array(course) if course else None
                )
        own = last.unbiased, last.variance, last.answer, last.users
        measured_variance = arrays[_OWN].copy() if _OWN in arrays else None
        outcome = Vector(*own, filtered.get("best"), filtered.get("revised"), facts["clipped"], measured_variance)
    elif kind == "found":
        finding = None
        if "threshold" in facts:
            finding = Finding(facts["threshold"], *(arrays[what].copy() for what in _OF_FINDING))
        values, estimates, errors = (arrays[what].copy() for what in _OF_FOUND[:3])
        unbiased, unbiased_errors = (arrays[what].copy() if what in arrays else None for what in _OF_FOUND[3:])
        outcome = FoundValues(values, estimates, errors, unbiased, unbiased_errors, finding)
    else:
        tables = (tuple(arrays[f"{what} {k}"].copy() for k in range(facts["tables"])) for what in _OF_TABLES)
        outcome = TableEstimates(*tables)
    horizon = HorizonStep.model_validate_json(facts["horizon"]) if "horizon" in facts else None
    return Decision(facts["t"], facts["published"], facts["measured_t"], question(facts["mechanism"]), outcome, horizon)


def nothing(mechanism: Question) -> LastEstimate:
    """The estimate before anything is measured. mechanism: the one that would have been used."""
    return LastEstimate(None, np.zeros(mechanism.statistics), np.ones(mechanism.statistics), mechanism)


def measured(t: int, mechanism: Question, answer: Answer, users: float | None, *, kept: bool = True) -> LastEstimate:
    """The estimate from the answer of period t. `users`: of how many its reports are a sample; None if everybody was
    asked. kept: whether a release needs the answer itself.
    """
    n = answer.counted
    raw = mechanism.profile(answer.support, n)
    near = mechanism.likely(raw)
    variance = mechanism.noise(near) / n + mechanism.added_variance(n, near[: mechanism.statistics])
    if users is not None:
        variance = variance + mechanism.sampling(near) / n * finite_population_factor(n, users)
    reports = (answer, users) if kept else (None, None)
    return LastEstimate(t, raw[: mechanism.statistics], variance, mechanism, *reports)


def restored(facts: dict[str, Any], arrays: Arrays) -> LastEstimate:
    """The estimate that `facts` and `arrays` describe."""
    counted = facts["counted"]
    answer = None if counted is None else Answer(arrays["support"].copy(), counted)
    unbiased, variance = arrays["unbiased"].copy(), arrays["variance"].copy()
    return LastEstimate(facts["measured_t"], unbiased, variance, question(facts["mechanism"]), answer, facts["users"])
