# SPDX-License-Identifier: Apache-2.0
"""Errors of mechanisms for sparse vectors, by name: exact expectations, and drawn ones, for tables of the literature.

Contract: the same arguments and seed give the same errors.  Each of n users holds s random ones of d coordinates, +1 or
-1 with equal chances.  The total error is the sum over coordinates of distances between estimate and truth, the largest
error their maximum; expected ones are those of normal errors with the exact variances (sparse_laws.py), drawn ones come
of drawn counts of supports, whatever s is, or of reports of the product's mechanisms.  Not here: what is printed and
what is judged (agents/cli/reproductions).
"""

from __future__ import annotations

import hashlib
import math
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.simulate import sparse_laws as laws
from murmurate.agents.simulate.sparse_laws import SparseLaw, averaged
from murmurate.randomizers import Key
from murmurate.randomizers.layouts import FILLER, UNIT

Floats = NDArray[np.float64]

MEANS: Final = ("ExSub", "majority", "CoCo", "Collision", "SUCCINCT", "PCKV-AGRR", "PCKV-UE", "PCKV-GRR", "KVUE",
                "PrivKV", "DDRM", "EFMRTT", "FutureRand")  # fmt: skip
"""The mechanisms whose means are compared."""
SHARES: Final = ("ExSub", "CoCo", "Collision", "PCKV-AGRR", "PCKV-UE", "PCKV-GRR", "KVUE", "PrivKV")
"""The mechanisms that tell shares of holders, too."""
_CHUNK: Final = 8192


class Errors(NamedTuple):
    """Two errors of all estimates together."""

    total: float
    """The sum of all distances, which papers call TVE."""
    largest: float
    """The largest distance, MAE."""


@lru_cache(maxsize=4096)
def law(name: str, d: int, s: int, epsilon: float, parameter: int | None = None) -> SparseLaw | None:
    """The law of a mechanism, at the parameter with the smallest error of a mean unless another is given; None for
    SUCCINCT, which supports no signs.
    """
    ratio = math.exp(epsilon)
    if name in ("ExSub", "majority"):
        accepted = laws.any_true if name == "ExSub" else laws.majority
        m = parameter or laws.best_signs(d, s, epsilon, accepted)
        return laws.at(laws.subset(d, s, epsilon, accepted), m - 1)
    if name == "Collision":
        return laws.collision(s, epsilon, parameter or laws.best_buckets(d, s, epsilon))
    if name == "CoCo":
        return laws.coco(s, epsilon, parameter or laws.best_pairs(d, s, epsilon))
    if name == "SUCCINCT":
        return None
    if name.startswith("PCKV"):
        if name == "PCKV-UE":
            return laws.pckv_unary(s, epsilon)
        return laws.pckv_response(d, s, ratio if name == "PCKV-GRR" else s * (ratio - 1) + 1)
    if name in ("KVUE", "PrivKV"):
        return laws.kvue(d, epsilon) if name == "KVUE" else laws.privkv(d, epsilon)
    if name == "FutureRand":
        return laws.all_signs(laws.future_gap(s, epsilon))
    return laws.all_signs(math.tanh(epsilon / 2 / s) if name == "DDRM" else math.tanh(epsilon / 2) / s)


def mean_square(name: str, d: int, s: int, epsilon: float, n: int, parameter: int | None = None) -> float:
    """The exact squared error of one user's part of a mean, over the d coordinates; SUCCINCT's as its paper has it,
    without what clipping takes.
    """
    found = law(name, d, s, epsilon, parameter)
    if found is None:
        return laws.succinct(s, epsilon, n)[0] - s / d
    return averaged(found.mean_moments, d, s)


def share_square(name: str, d: int, s: int, epsilon: float, parameter: int | None = None) -> float:
    """The exact squared error of one user's part of a share of holders, at the parameter that is best for it."""
    if parameter is None and name in ("ExSub", "CoCo"):
        best = laws.best_signs if name == "ExSub" else laws.best_pairs
        parameter = best(d, s, epsilon, shares=True)
    found = law(name, d, s, epsilon, parameter)
    return math.inf if found is None else averaged(found.share_moments, d, s)


def item_square(name: str, d: int, s: int, epsilon: float, parameter: int | None = None) -> float:
    """The exact squared error of the share of holders of +1, or of -1: half of the share and half of the mean."""
    found = law(name, d, s, epsilon, parameter)
    if found is None:
        return math.inf
    return (averaged(found.share_moments, d, s) + averaged(found.mean_moments, d, s)) / 4


def expected(square: float, n: int, figures: int) -> Errors:
    """What so many normal errors, of one user's square, come to on average."""
    deviation = math.sqrt(square / n)
    return Errors(figures * math.sqrt(2 / math.pi) * deviation, _largest_of(figures) * deviation)


@lru_cache(maxsize=16)
def _largest_of(figures: int) -> float:
    """The mean of the largest of so many distances of normal numbers: an integral over all x of who exceeds x."""
    x = np.arange(0, 10, 1e-3) + 5e-4
    inside = np.array([math.erf(each / math.sqrt(2)) for each in x])
    return float(np.sum(-np.expm1(figures * np.log(inside)))) * 1e-3


def drawn(name: str, d: int, s: int, epsilon: float, n: int, runs: int, seed: int) -> Errors:
    """The mean errors of so many drawn collections."""
    generator = np.random.default_rng([seed, d, s, round(1e6 * epsilon)])
    found, errors = law(name, d, s, epsilon), np.empty((runs, 2))
    for run in range(runs):
        held = generator.binomial(n, s / d, d)
        up = generator.binomial(held, 0.5)
        true = (2 * up - held) / n
        if found is None:
            square, left = laws.succinct(s, epsilon, n)
            estimate = left * true + generator.normal(size=d) * math.sqrt((square - s / d) / n)
        else:
            estimate = drawn_supports(found, up, held - up, n - held, generator) / (n * (found.own - found.opposite))
        errors[run] = np.abs(estimate - true).sum(), np.abs(estimate - true).max()
    return Errors(*errors.mean(axis=0).tolist())


def drawn_supports(
    found: SparseLaw, up: Any, down: Any, nothing: Any, generator: np.random.Generator
) -> NDArray[np.int64]:  # fmt: skip
    """For each coordinate, how many more reports support +1 than -1."""
    more = np.zeros(len(up), np.int64)
    for users, one, other, both in (
        (up, found.own, found.opposite, found.both_held),
        (down, found.opposite, found.own, found.both_held),
        (nothing, found.absent, found.absent, found.both_absent),
    ):
        chances = np.maximum([one - both, other - both, 0.0], 0.0)
        chances[2] = max(0.0, 1 - chances[0] - chances[1])
        counts = generator.multinomial(users, chances)
        more += counts[:, 0] - counts[:, 1]
    return more


def reported(question: Any, n: int, seed: int) -> Errors:
    """Errors of the means of n reports of one of the product's mechanisms, with its own coins."""
    d, s = question.d, question.s
    generator = np.random.default_rng([seed, d, s])
    round_ = hashlib.sha256(b"vectors %d" % seed).digest()
    question = question.of_round(round_)
    key = Key(hashlib.sha256(b"murmurate reproduce vectors %d" % seed).digest(), deployment="reproduce")
    support, true = np.zeros(question.outcomes, np.int64), np.zeros(d)
    for start in range(0, n, _CHUNK):
        size = min(_CHUNK, n - start)
        items, signs = held_at_random(d, s, size, generator)
        np.add.at(true, items, signs)
        rows = np.full((size, question.of.words), FILLER, np.uint32)
        rows[:, 0 : 2 * s : 2], rows[:, 1 : 2 * s : 2] = items, UNIT + UNIT * signs
        users = np.zeros((size, 16), np.uint8)
        users[:, :8] = np.arange(start, start + size).view(np.uint8).reshape(size, 8)
        draw = key.draw(users, round=round_)
        support += question.support(question.perturb(rows, draw))
    distance = np.abs(question.estimate(support, n)[:d] - true / n)
    return Errors(float(distance.sum()), float(distance.max()))


def held_at_random(
    d: int, s: int, n: int, generator: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:  # fmt: skip
    """Rising coordinates of each of n users, and their signs: int64[n, s] each."""
    items = np.sort(np.argpartition(generator.random((n, d)), s - 1, axis=1)[:, :s], axis=1)
    return items, 2 * generator.integers(0, 2, (n, s)) - 1
