# SPDX-License-Identifier: Apache-2.0
"""Synthetic streams of many kinds, on which the filter was not tuned: shares over time, for any domain.

Contract: the same kind, seed and sizes give the same shares; they are at least 0 and sum to 1.  Every kind is a way in
which a truth may move, with figures chosen once for what such streams look like, and none of them from what a filter
makes of it.  A day is DAY periods long.  It may use NumPy's generators, since no values are real.  Not here: the eight
streams of the papers' setting (synthetic_counts.py), real sequences (real_sequences.py), which kinds are tried
(configurations.py).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np

from murmurate.agents.simulate.synthetic_counts import Floats, Holders, apportioned

DAY: Final = 24
"""The number of periods of a season."""
Shares = Callable[[np.random.Generator, int, int], Floats]
"""A function from a generator, periods and d to shares, float64[periods, d]."""


def holders(kind: str, seed: int, *, d: int, users: int, periods: int) -> Holders:
    """The number of users who hold each value: int64[periods, d]."""
    generator = np.random.default_rng([seed, 5, *kind.encode()])
    return apportioned(KINDS[kind](generator, periods, d), users)


def softmax(logits: Floats) -> Floats:
    """Shares proportional to e^logit."""
    odds = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=-1, keepdims=True))


def _base(generator: np.random.Generator, d: int) -> Floats:
    """Logits of a constant level; with two values their shares are 88 and 12 %."""
    return np.array([np.log(0.88 / 0.12), 0.0]) if d == 2 else generator.normal(0, 1, d)


def _walk(generator: np.random.Generator, periods: int, d: int, sigma: float) -> Floats:
    return np.cumsum(generator.normal(0, sigma, (periods, d)), axis=0)


def _still(generator: np.random.Generator, periods: int, d: int) -> Floats:
    return softmax(np.tile(_base(generator, d), (periods, 1)))


def _people(generator: np.random.Generator, periods: int, d: int, *, people: int) -> Floats:
    """Shares among so many people, drawn anew in each period from the same population."""
    return np.asarray(generator.multinomial(people, softmax(_base(generator, d)), periods) / people)


def _wavering(generator: np.random.Generator, periods: int, d: int) -> Floats:
    """Logits that leave their level by .1 and come back within some five periods."""
    left, now = np.empty((periods, d)), generator.normal(0, 0.1, d)
    for t in range(periods):
        left[t] = now
        now = 0.8 * now + generator.normal(0, 0.06, d)
    return softmax(_base(generator, d) + left)


def _switches(generator: np.random.Generator, periods: int, chance: float, states: int) -> np.ndarray:
    """A state for each period, which changes to a random one with this probability."""
    new = generator.random(periods) < chance
    drawn = generator.integers(0, states, int(new.sum()) + 1)
    return np.asarray(drawn[np.cumsum(new)])


def _levels(generator: np.random.Generator, periods: int, d: int) -> Floats:
    """Three levels that recur."""
    three = np.log([[0.95, 0.05], [0.88, 0.12], [0.75, 0.25]]) if d == 2 else generator.normal(0, 1, (3, d))
    return softmax(three[_switches(generator, periods, 1 / 40, 3)])


def _drifts(generator: np.random.Generator, periods: int, d: int) -> Floats:
    """Logits that fall, rest or rise for some 40 periods, by .02 a period, and turn back where they have gone far."""
    speed = np.stack([_switches(generator, periods, 1 / 40, 3) - 1.0 for _ in range(d)], axis=1)
    path, now = np.empty((periods, d)), np.zeros(d)
    for t in range(periods):
        now = now + 0.02 * np.where(np.abs(now) > 1, -np.sign(now), speed[t])
        path[t] = now
    return softmax(_base(generator, d) + path)


def _volatility(generator: np.random.Generator, periods: int, d: int) -> Floats:
    """Walks that are quiet for some 50 periods and wild for others."""
    sigma = np.array([0.005, 0.08])[_switches(generator, periods, 1 / 50, 2)]
    return softmax(_base(generator, d) + _home(generator.normal(0, 1, (periods, d)) * sigma[:, None]))


def _heavy(generator: np.random.Generator, periods: int, d: int) -> Floats:
    """Moves with tails so heavy that they have no variance (Student's t with 1.5 degrees of freedom)."""
    return softmax(_base(generator, d) + np.clip(_home(0.01 * generator.standard_t(1.5, (periods, d))), -3, 3))


def _home(steps: Floats) -> Floats:
    """A random walk that ends where it began."""
    path, now = np.empty_like(steps), np.zeros(steps.shape[1])
    for t, step in enumerate(steps):
        now = 0.99 * now + step
        path[t] = now
    return path


def _bursts(generator: np.random.Generator, periods: int, d: int) -> Floats:
    """Values whose shares rise threefold or more at once, and return within some ten periods."""
    begins = generator.random((periods, d)) < 1 / (20 * d)
    sizes = generator.uniform(1, 2.5, (periods, d)) * begins
    path, now = np.empty((periods, d)), np.zeros(d)
    for t in range(periods):
        now = 0.85 * now + sizes[t]
        path[t] = now
    return softmax(_base(generator, d) + path)


def _white(generator: np.random.Generator, periods: int, d: int) -> Floats:
    """Shares that are independent from period to period."""
    if d == 2:
        p = generator.uniform(0.05, 0.35, periods)
        return np.stack((1 - p, p), axis=1)
    return generator.dirichlet(3 * d * softmax(_base(generator, d)), periods)


def _daily(generator: np.random.Generator, periods: int, d: int) -> Floats:
    """A smooth day, the same on all days, on logits that walk slowly."""
    turn = 2 * np.pi * np.arange(periods)[:, None] / DAY
    first, second = generator.uniform(0, 2 * np.pi, (2, d))
    day = 0.6 * np.sin(turn + first) + 0.3 * np.sin(2 * turn + second)
    return softmax(_base(generator, d) + day + _walk(generator, periods, d, 0.005))


def _timetable(generator: np.random.Generator, periods: int, d: int) -> Floats:
    """A daily profile whose periods are independent of each other."""
    hours = generator.normal(0, 0.4, (DAY, d))
    day = hours[np.arange(periods) % DAY]
    return softmax(_base(generator, d) + day + _walk(generator, periods, d, 0.005))


def _rare(generator: np.random.Generator, periods: int, d: int) -> Floats:
    """A long tail of rare values (Zipf, 1.5), or of two values one that two in a thousand hold; walking slowly."""
    level = np.log([0.998, 0.002]) if d == 2 else -1.5 * np.log(np.arange(1, d + 1))
    return softmax(generator.permutation(level) + _walk(generator, periods, d, 0.01))


def _walks(generator: np.random.Generator, periods: int, d: int) -> Floats:
    return softmax(_base(generator, d) + _walk(generator, periods, d, 0.02))


KINDS: Final[dict[str, Shares]] = {
    "still": _still,
    "people-4000": partial(_people, people=4_000),
    "people-1000": partial(_people, people=1_000),
    "wavering": _wavering,
    "levels": _levels,
    "drifts": _drifts,
    "volatility": _volatility,
    "heavy": _heavy,
    "bursts": _bursts,
    "white": _white,
    "daily": _daily,
    "timetable": _timetable,
    "rare": _rare,
    "walking": _walks,
}
"""The kinds of streams by name."""
