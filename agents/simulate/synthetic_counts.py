# SPDX-License-Identifier: Apache-2.0
"""Synthetic streams as counts of users: LDP-IDS's three over two values, steps, and some over many values.

Contract: the same model, seed and sizes give the same stream; every period has the same users.  lns, sin and log are
synthetic.py's.  step stands still and jumps to U(.02, .3) with probability 1/100 a period.  Of many values: walks of
logits (sigma .02), sines of logits, jumps of all values at once, swaps of two of them.  It may use NumPy's
generators, since no values are real.  Not here: reports (simulated_answers.py), the assignment of values to users
(`CountsSource` draws it for a replay).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import erf, sqrt
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.replay.arrays import PeriodSource
from murmurate.agents.replay.synthetic import PACE, SPREAD, Model, probabilities
from murmurate.config.plan import Plan

Floats = NDArray[np.float64]
Jumped = NDArray[np.bool_]
Holders = NDArray[np.int64]

USERS, PERIODS = 200_000, 800
"""The paper's setting."""
RARE: Final = 1 / 100
"""The probability of a jump in a period."""
SIGMA: Final = 0.1
"""The standard deviation of numbers around their mean. The paper's 10 around means of .05 is impossible (ARCHITECTURE
section 5.7).
"""


@dataclass(frozen=True, eq=False)
class SyntheticStream:
    """The true counts of a stream."""

    holders: Holders
    """The number of users who hold each value: int64[periods, d]."""
    jumped: Jumped
    """The periods in which it jumped: bool[periods]."""

    @property
    def shares(self) -> Floats:
        """The true shares: float64[periods, d]."""
        return np.asarray(self.holders / self.holders.sum(axis=1, keepdims=True))


def stream(
    model: str,
    seed: int,
    *,
    d: int = 2,
    users: int = USERS,
    periods: int = PERIODS,
    spread: float = SPREAD,
    pace: float = PACE,
) -> SyntheticStream:
    """A stream of this kind: one of BINARY with d = 2, or one of SEVERAL."""
    generator = np.random.default_rng([seed, 2])
    if model in SEVERAL:
        shares, jumped = SEVERAL[model](generator, periods, d)
        return SyntheticStream(apportioned(shares, users), jumped)
    if model == "step":
        p, jumped = _step(generator, periods)
        return SyntheticStream(_two(p, users), jumped)
    p = probabilities(_known(model), periods, seed, spread=spread, pace=pace)
    return SyntheticStream(_two(p, users), np.zeros(periods, np.bool_))


def numbers(
    model: str,
    seed: int,
    *,
    cells: int,
    users: int = USERS,
    periods: int = PERIODS,
    spread: float = SPREAD,
    pace: float = PACE,
) -> SyntheticStream:
    """Numbers from 0 to 1 around the same path, as cells of a grid that has both ends; those outside count as the
    nearer end.
    """
    p = probabilities(_known(model), periods, seed, spread=spread, pace=pace)
    edges = (np.arange(cells + 1) - 0.5) / (cells - 1)
    below = np.vectorize(lambda z: (1 + erf(z / sqrt(2))) / 2)((edges - p[:, None]) / SIGMA)
    below[:, 0], below[:, -1] = 0, 1
    return SyntheticStream(apportioned(np.diff(below, axis=1), users), np.zeros(periods, np.bool_))


def apportioned(shares: Floats, users: int) -> Holders:
    """Whole numbers of users for these shares, with the same total in every period."""
    ends = np.rint(np.cumsum(shares, axis=1) * users).astype(np.int64)
    ends[:, -1] = users
    return np.diff(ends, axis=1, prepend=0)


class CountsSource(PeriodSource):
    """A source from counts: the holders of each value are drawn anew in each period. Numbers lie evenly over the
    stream's range, both ends among them.
    """

    def __init__(self, holders: Holders, seed: int, plan: Plan, stream: str) -> None:
        super().__init__(plan, stream, int(holders[0].sum()), len(holders))
        self._holders, self._seed = holders, seed
        self._codes = plan.stream(stream).measure.spread_over(holders.shape[1])

    def values(self) -> Iterator[NDArray[Any]]:
        """The values of all users: uint32[users] for each period."""
        generator = np.random.default_rng([self._seed, 4])
        for held in self._holders:
            yield generator.permutation(np.repeat(self._codes, held))


def _known(model: str) -> Model:
    return {"lns": "lns", "sin": "sin", "log": "log"}[model]  # type: ignore[return-value]


def _two(p: Floats, users: int) -> Holders:
    ones = np.rint(p * users).astype(np.int64)
    return np.stack((users - ones, ones), axis=1)


def _softmax(logits: Floats) -> Floats:
    odds = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=-1, keepdims=True))


def _jumps(generator: np.random.Generator, periods: int) -> Jumped:
    return generator.random(periods) < RARE


def _step(generator: np.random.Generator, periods: int) -> tuple[Floats, Jumped]:
    jumped = _jumps(generator, periods)
    levels = np.concatenate(([0.05], generator.uniform(0.02, 0.3, int(jumped.sum()))))
    return levels[np.cumsum(jumped)], jumped


def _walks(generator: np.random.Generator, periods: int, d: int) -> tuple[Floats, Jumped]:
    steps = generator.normal(0, 0.02, (periods, d))
    return _softmax(generator.normal(0, 1, d) + np.cumsum(steps, axis=0)), np.zeros(periods, np.bool_)


def _sines(generator: np.random.Generator, periods: int, d: int) -> tuple[Floats, Jumped]:
    t = np.arange(periods)[:, None]
    turn = 2 * np.pi * (t / generator.uniform(200, 800, d) + generator.random(d))
    return _softmax(generator.normal(0, 1, d) + 0.5 * np.sin(turn)), np.zeros(periods, np.bool_)


def _all_jump(generator: np.random.Generator, periods: int, d: int) -> tuple[Floats, Jumped]:
    jumped = _jumps(generator, periods)
    levels = _softmax(generator.normal(0, 1, (int(jumped.sum()) + 1, d)))
    return levels[np.cumsum(jumped)], jumped


def _two_swap(generator: np.random.Generator, periods: int, d: int) -> tuple[Floats, Jumped]:
    jumped = _jumps(generator, periods)
    shares, level = np.empty((periods, d)), _softmax(generator.normal(0, 1, d))
    for t in range(periods):
        if jumped[t]:
            two = generator.choice(d, 2, replace=False)
            level = level.copy()
            level[two] = level[two[::-1]]
        shares[t] = level
    return shares, jumped


BINARY: Final = ("lns", "sin", "log", "step")
SEVERAL: Final[dict[str, Callable[[np.random.Generator, int, int], tuple[Floats, Jumped]]]] = {
    "walks": _walks,
    "sines": _sines,
    "jumps": _all_jump,
    "swaps": _two_swap,
}
