"""A stand-in for everything around a method: it asks slots of made-up users and answers with random counts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.methods.method import Answer, Decision, Method, Question, Setting
from murmurate.randomizers.mechanism import PureOracle

SEED = bytes(range(32))


@dataclass(frozen=True, eq=False)
class Asked:
    """A question and when it was asked."""

    t: int
    question: Question

    def mask(self, slots: int) -> NDArray[np.bool_]:
        return np.ones(slots, np.bool_) if self.question.asked is None else self.question.asked

    @property
    def digest(self) -> bytes:
        return hashlib.sha256(f"{self.t} {self.question.purpose}".encode()).digest()


def told(step: Question | Decision) -> tuple[object, ...]:
    """Everything a method said, comparable."""
    if isinstance(step, Question):
        return step.mechanism, None if step.asked is None else step.asked.tobytes(), step.purpose
    rest = step.unbiased.tobytes(), step.variance.tobytes(), step.mechanism
    return step.t, step.published, step.measured_t, *rest


def drive(method: Method, periods: range, answer: Callable[[Asked], Answer]) -> Iterator[Asked | Decision]:
    """Run these periods and yield every question and decision."""
    for t in periods:
        step = method.open(t)
        while isinstance(step, Question):
            asked = Asked(t, step)
            yield asked
            step = method.tally(answer(asked))
        yield step


def random_answers(setting: Setting, users: NDArray[np.int64], seed: int) -> Callable[[Asked], Answer]:
    """Answers of users per slot with frequencies that jump, some of them lost: a function of seed and question."""

    def answer(asked: Asked) -> Answer:
        purpose = 0 if asked.question.purpose == "dissimilarity" else 1
        rng = np.random.default_rng([seed, asked.t, purpose])
        n = int(users[asked.mask(setting.slots)].sum())
        if n < setting.min_batch or rng.random() < 0.15:
            return Answer(np.zeros(setting.d, np.int64), 0)
        c = np.random.default_rng([seed, asked.t // 3]).dirichlet(np.ones(setting.d))
        return Answer(counts(asked.question, rng.multinomial(n, c), rng), n)

    return answer


def counts(question: Question, holders: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Support counts drawn cell by cell, each with its exact distribution."""
    oracle = question.mechanism
    assert isinstance(oracle, PureOracle)
    n = int(holders.sum())
    return rng.binomial(holders, float(oracle.p)) + rng.binomial(n - holders, float(oracle.q))
