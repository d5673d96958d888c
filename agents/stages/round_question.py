"""The question of a round's descriptor, built once for all stages of a process: they read the same rounds."""

from __future__ import annotations

from functools import lru_cache

from murmurate.randomizers import Question, question
from murmurate.topics.messages import Round


@lru_cache(maxsize=64)
def question_of(round_: Round) -> Question:
    """The question that a round asks, with the public randomness of that round. ParameterError if it is no question."""
    return question(round_.mechanism).of_round(round_.digest)
