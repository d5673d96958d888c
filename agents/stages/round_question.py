# SPDX-License-Identifier: Apache-2.0
"""The question of a round's descriptor, built once for all stages of a process: they read the same rounds; and the
descriptor of a method's request.
"""

from __future__ import annotations

from functools import lru_cache

from murmurate.agents.stages.summing import targets_of
from murmurate.aggregators.methods.method import Request
from murmurate.config.plan import Plan, StreamPlan
from murmurate.randomizers import Question, question
from murmurate.topics.messages import Round
from murmurate.topics.slots import Slots


@lru_cache(maxsize=64)
def question_of(round_: Round) -> Question:
    """The question that a round asks, with the public randomness of that round. ParameterError if it is no question."""
    return question(round_.mechanism).of_round(round_.digest)


def round_of(plan: Plan, stream: StreamPlan, t: int, request: Request) -> Round:
    """The round that a stream's method wants in a period."""
    return Round(
        stream=stream.name,
        t=t,
        slots=Slots.every(stream.slots) if request.asked is None else Slots.chosen(request.asked),
        mechanism=request.question.spec(),
        purpose=request.purpose,
        contributors=plan.partitions,
        targets=targets_of(request.question, plan.targets),
        patience_ms=plan.patience_ms,
        config=stream.config,
        revision=stream.revision,
    )
