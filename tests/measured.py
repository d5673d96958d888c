# SPDX-License-Identifier: Apache-2.0
"""Measures of so many codes, and what they make of a decision: for tests that care for a mechanism alone."""

from __future__ import annotations

from typing import Any

from murmurate.aggregators.measures.distribution import Distribution
from murmurate.aggregators.measures.frequency import Frequency
from murmurate.aggregators.measures.mean import Mean
from murmurate.aggregators.measures.measure import Measure, Range
from murmurate.aggregators.measures.result import NamedFigures
from murmurate.aggregators.measures.total import Total
from murmurate.aggregators.methods.method import Decision, Vector
from murmurate.aggregators.postprocess.shaping import NORM_SUB, Shaping
from murmurate.randomizers import Question
from murmurate.topics.domains import Grid

_SIZED: dict[str, Any] = {kind.name: kind for kind in (Frequency, Mean, Total, Distribution)}


def sized(d: int, measure: str = "frequency", *, says_none: bool = True) -> Measure:
    """A measure of so many codes."""
    made: Measure = _SIZED[measure].of_size(d, says_none=says_none)
    return made


def vector_decision(
    t: int, published: bool, measured_t: int | None, unbiased: Any, variance: Any, question: Question, *told: Any,
    **more: Any,
) -> Decision:  # fmt: skip
    """A decision of a method that follows statistics."""
    return Decision(t, published, measured_t, question, Vector(unbiased, variance, *told, **more))


def figures(decision: Decision, range_: Range | None, shaping: Shaping = NORM_SUB) -> NamedFigures:
    """What a measure of the kind that a decision's mechanism serves says of it, over this range."""
    question_ = decision.question
    says_none, d = bool(question_.says_none), question_.layout[1]
    if question_.measure == Mean.name:
        return Mean(Grid(*(range_ or (-1.0, 1.0)), d - says_none, "points"), says_none).result(decision, shaping).named
    return sized(d, question_.measure, says_none=says_none).result(decision, shaping).named
