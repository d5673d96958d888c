# SPDX-License-Identifier: Apache-2.0
"""Federated learning by sparse signs: logistic regression from what mechanisms for sparse vectors tell of gradients.

Contract: the same arguments and seed give the same accuracy.  Examples are made up: features are normal numbers,
labels are the side of a plane on which they lie, some of them wrong.  Each user holds one example and answers once: in
each step other users report the signs of the s largest entries of their gradients, and the plane moves against the
estimated mean.  Supports are drawn for each coordinate from the exact law (sparse_laws.py).  Not here: learning
that anybody should use; it shows how far each mechanism's noise carries.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.simulate.sparse_errors import drawn_supports, law

Floats = NDArray[np.float64]

EXACT: Final = "no noise"
"""The name of learning from the signs themselves."""
TESTED: Final = 2_000


class Learning(NamedTuple):
    """The size of the problem."""

    d: int = 64
    s: int = 8
    users: int = 40_000
    steps: int = 10


def accuracy(name: str, epsilon: float, seed: int, of: Learning = Learning()) -> float:  # noqa: B008 - immutable
    """The share of right labels among examples that nobody learned from."""
    generator = np.random.default_rng([seed, of.d, of.s])  # the same examples for all mechanisms
    truth = generator.normal(size=of.d) * (1 + np.arange(of.d)) ** -0.5
    batch = of.users // of.steps
    noise = np.random.default_rng([seed, round(1e6 * epsilon)])
    line = np.zeros(of.d)
    for _ in range(of.steps):
        x, y = examples(batch, truth, generator)
        gradients = x * ((1 + np.tanh(x @ line / 2)) / 2 - y)[:, np.newaxis]
        line -= told(name, epsilon, of.s, gradients, noise)
    x, y = examples(TESTED, truth, generator)
    return float(np.mean((x @ line > 0) == (y > 0)))


def examples(n: int, truth: Floats, generator: np.random.Generator) -> tuple[Floats, Floats]:
    """Features and labels of n users: float64[n, d] and float64[n]."""
    x = generator.standard_normal((n, len(truth)))
    y = (x @ truth > 0) ^ (generator.random(n) < 0.05)
    return x, y.astype(np.float64)


def told(name: str, epsilon: float, s: int, gradients: Floats, generator: np.random.Generator) -> Floats:
    """The estimated mean of the signs of each user's s largest entries."""
    n, d = gradients.shape
    largest = np.argpartition(np.abs(gradients), d - s, axis=1)[:, d - s :]
    signs = np.take_along_axis(gradients, largest, axis=1) > 0
    up, down = (np.bincount(largest[which], minlength=d) for which in (signs, ~signs))
    found = None if name == EXACT else law(name, d, s, epsilon)
    if found is None:
        return np.asarray((up - down) / n)
    more = drawn_supports(found, up, down, n - up - down, generator)
    return np.asarray(more / (n * (found.own - found.opposite)))
