# SPDX-License-Identifier: Apache-2.0
"""Error bars of horizons hold what they say: with real devices and keys, over several kinds of truth.

Two standard errors are to hold 95.4 % of all errors of the value of a period (as it is released), and, once a horizon
is over, of sums from its beginning and over stretches.  Errors of one horizon hang together, so the short form allows
more than 93 to 97 %; seeds are fixed.
"""

from __future__ import annotations

import hashlib

import numpy as np

from murmurate.aggregators.measures.frequency import Frequency
from murmurate.aggregators.methods.horizons import HorizonMethod
from murmurate.aggregators.methods.method import Answer, Decision, Request, Setting
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.aggregators.methods.registry import method
from murmurate.aggregators.trees.residue import NodeEstimate
from murmurate.aggregators.trees.residue_squares import RevisedHorizon
from murmurate.randomizers import Ask, DeviceArray, Grant
from tests.cases import every
from tests.randomizers.guards import SECRETS, people
from tests.randomizers.sessions.horizons import STREAM, terms

USERS, D, PERIODS, CHANGES = 2_000, 6, 16, 5
KINDS = ("still", "each twice", "all at once", "rare", "back and forth")
"""Truths in which nobody changes more often than a horizon lets tell: a first value, and two changes."""


def truth(kind: str, rng: np.random.Generator) -> np.ndarray:
    """Everybody's value in each period of a horizon: int64[periods, users]."""
    values = np.repeat(rng.choice(D, (1, USERS), p=np.arange(1, D + 1) / 21), PERIODS, axis=0)
    turns = np.sort(rng.integers(1, PERIODS, (2, USERS)), axis=0)
    steps = np.arange(PERIODS)[:, np.newaxis]
    if kind == "each twice":
        values = (values + (steps >= turns[0]) + 2 * (steps >= turns[1])) % D
    elif kind == "all at once":
        values = (values + (steps >= PERIODS // 2)) % D
    elif kind == "rare":
        values = np.where((rng.random(USERS) < 0.02) & (steps >= turns[0]), D - 1, 0)
    elif kind == "back and forth":
        values = np.where((steps >= turns[0]) & (steps < turns[1]), 0, values)
    return np.asarray(values, np.int64)


class Server:
    """A method of horizons whose nodes real devices answer; one cohort, whose horizons follow one another."""

    def __init__(self, seed: int, form: str | None) -> None:
        measure = Frequency.of_size(D, says_none=False)
        self.of = Setting(measure, 2_000_000, 1, 200, first_t=1, seed=bytes(32), min_batch=2)
        options = MethodOptions(
            "sao2", horizon=str(PERIODS), changes=str(CHANGES), fanout="2", goal="mean", users=str(USERS), form=form
        )
        made = method(options, self.of)
        assert isinstance(made, HorizonMethod)
        self.method, self.t, self.seed = made, 0, seed
        self.array = DeviceArray(terms(made._horizons[0], 1), STREAM, SECRETS)
        self.array.enrol(people(USERS))

    def horizon(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, RevisedHorizon]:
        """Estimates and variances as released, and all nodes of one horizon."""
        said, told = list[Decision](), list[NodeEstimate]()
        for of_period in values:
            self.t += 1
            step = self.method.open(self.t)
            while isinstance(step, Request):
                step = self.method.tally(self._answer(step, of_period))
            told += self.method._told
            said.append(step)
            self.array.look(self.t, of_period)
            self.array.end_sessions(self.t)
        tree = self.method._levels.tree
        vectors = [one.vector for one in said]
        return (
            np.array([one.unbiased for one in vectors]),
            np.array([one.variance for one in vectors]),
            RevisedHorizon(tree, told, D),
        )

    def _answer(self, request: Request, values: np.ndarray) -> Answer:
        assert request.asked is not None
        digest = hashlib.sha256(request.question.digest + b"%d %d" % (self.seed, self.t)).digest()
        ask = Ask(STREAM, self.t, self.of.slots, request.asked, request.question, digest)
        grant = self.array.charge(ask)
        assert isinstance(grant, Grant)
        reports = self.array.answer(grant, values)[2]
        return Answer(request.question.support(reports), len(reports))


def covered(kind: str, horizons: int, seed: int, form: str | None) -> dict[str, float]:
    """The share of errors within two standard errors: of periods, of sums from the beginning, of stretches."""
    server, rng = Server(seed, form), np.random.default_rng(seed)
    held: dict[str, list[np.ndarray]] = {"periods": [], "prefixes": [], "ranges": []}
    for _ in range(horizons):
        values = truth(kind, rng)
        true = np.array([np.bincount(of_period, minlength=D) for of_period in values]) / USERS
        estimate, variance, revised = server.horizon(values)
        held["periods"].append((estimate - true) ** 2 <= 4 * variance)
        for what, first in (("prefixes", 1), ("ranges", int(rng.integers(2, PERIODS // 2)))):
            for last in range(PERIODS // 2, PERIODS + 1):
                found, of_sum = revised.sum(first, last)
                held[what].append((found - true[first - 1 : last].sum(axis=0)) ** 2 <= 4 * of_sum)
    return {what: float(np.concatenate([one.ravel() for one in found]).mean()) for what, found in held.items()}


@every(
    ("kind", "horizons", "form"),
    [("each twice", 20, None), ("back and forth", 8, "majority")],
    long=[*((kind, 100, None) for kind in KINDS), ("each twice", 100, "majority")],
)
def test_two_standard_errors_hold_what_they_should(kind: str, horizons: int, form: str | None) -> None:
    low, high = (0.93, 0.97) if horizons >= 100 else (0.90, 0.985)
    for what, share in covered(kind, horizons, 1, form).items():
        assert low < share < high, (kind, what)
