# SPDX-License-Identifier: Apache-2.0
"""A stand-in for everything around a method: it asks slots of made-up users and answers with random counts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.methods.method import Answer, Decision, Method, Request, Setting
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.aggregators.methods.registry import method as made
from murmurate.randomizers import Key, Question
from murmurate.randomizers.mechanism import PureOracle

SEED = bytes(range(32))
KEY = Key(hashlib.sha256(b"reports of made-up users").digest(), deployment="test")
MOST_REPORTS = 200
"""So many users at most really report numbers; more are only counted."""


@dataclass(frozen=True, eq=False)
class Asked:
    """A question and when it was asked."""

    t: int
    request: Request

    def mask(self, slots: int) -> NDArray[np.bool_]:
        return np.ones(slots, np.bool_) if self.request.asked is None else self.request.asked

    @property
    def digest(self) -> bytes:
        return hashlib.sha256(f"{self.t} {self.request.purpose}".encode()).digest()


def method(spec: Mapping[str, Any], setting: Setting) -> Method:
    """The method that words describe: its name and its options."""
    return made(MethodOptions(**{"name": None, **spec}), setting)


def ask(step: Request | Decision) -> Request:
    assert isinstance(step, Request)
    return step


def decided(step: Request | Decision) -> Decision:
    assert isinstance(step, Decision)
    return step


def told(step: Request | Decision) -> tuple[object, ...]:
    """Everything a method said, comparable."""
    if isinstance(step, Request):
        return step.question, None if step.asked is None else step.asked.tobytes(), step.purpose
    answer = (step.vector.answer.support.tobytes(), step.vector.answer.counted) if step.vector.answer else None
    rest = step.vector.unbiased.tobytes(), step.vector.variance.tobytes(), step.question, answer, step.vector.users
    return step.t, step.published, step.measured_t, *rest


def drive(method: Method, periods: range, answer: Callable[[Asked], Answer]) -> Iterator[Asked | Decision]:
    """Run these periods and yield every question and decision."""
    for t in periods:
        step = method.open(t)
        while isinstance(step, Request):
            asked = Asked(t, step)
            yield asked
            step = method.tally(answer(asked))
        yield step


def random_answers(setting: Setting, users: NDArray[np.int64], seed: int) -> Callable[[Asked], Answer]:
    """Answers of users per slot with frequencies that jump, some of them lost: a function of seed and question."""

    def answer(asked: Asked) -> Answer:
        purpose = 0 if asked.request.purpose == "dissimilarity" else 1
        rng = np.random.default_rng([seed, asked.t, purpose])
        n = int(users[asked.mask(setting.slots)].sum())
        mechanism = asked.request.question
        if n < setting.min_batch or rng.random() < 0.15:
            return Answer(np.zeros(mechanism.outcomes, np.int64), 0)
        still = np.random.default_rng([seed, asked.t // 3])
        if mechanism.measure == "frequency":
            return Answer(counts(asked.request, rng.multinomial(n, still.dirichlet(np.ones(setting.d))), rng), n)
        n = min(n, MOST_REPORTS)
        return Answer(support(mechanism, still.uniform(0, 1), n, rng), n)

    return answer


def counts(request: Request, holders: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Support counts drawn cell by cell, each with its exact distribution."""
    oracle = request.question
    assert isinstance(oracle, PureOracle)
    n = int(holders.sum())
    return rng.binomial(holders, float(oracle.p)) + rng.binomial(n - holders, float(oracle.q))


def support(mechanism: Question, middle: float, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The support of n real reports of numbers around a middle between 0 and 1; every fifth user says none."""
    last = mechanism.layout[1] - 1
    ends = last - bool(mechanism.says_none)
    codes = np.rint(np.clip(rng.normal(middle, 0.2, n), 0, 1) * ends).astype(np.int64)
    if mechanism.says_none:
        codes[::5] = last
    draw = KEY.draw(rng.integers(0, 256, (n, 16), np.uint8), round=hashlib.sha256(rng.bytes(8)).digest())
    return mechanism.support(mechanism.perturb(codes, draw))
