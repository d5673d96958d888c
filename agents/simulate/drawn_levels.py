# SPDX-License-Identifier: Apache-2.0
"""What groups of users tell of their strings' prefixes, drawn for all users at once.

Contract: supports have the law of reports that support their own value with p and another one with q, each candidate
by itself; a user tells in one group only.  The time is that of candidates and of different strings, whatever the
number of users.  Not here: searches (aggregators/hitters), which strings there are (held_strings.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.simulate.held_strings import Strings
from murmurate.agents.simulate.mixed_histograms import HistogramMethod
from murmurate.aggregators.hitters.candidates import Rows, numbered
from murmurate.randomizers.layouts import BitsLayout

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
Numbers = NDArray[np.uint64]


def local_hashing(epsilon: float) -> HistogramMethod:
    """OLH with the best number of cells, and p for that number."""
    e = math.exp(epsilon)
    cells = max(2, round(e + 1))
    return HistogramMethod("reports", e / (e + cells - 1), 1 / cells)


class UsersLeft:
    """The users of strings who have told nothing yet."""

    def __init__(self, strings: Strings, generator: np.random.Generator) -> None:
        self.strings, self._generator = strings, generator

    def group(self, share: float) -> Strings:
        """A random group of this share of those who are left, who are then not left any more."""
        taken = self._generator.binomial(self.strings.counts, share)
        self.strings = self.strings._replace(counts=self.strings.counts - taken)
        return self.strings._replace(counts=taken)

    def equal_groups(self, parts: int) -> Callable[[], Strings]:
        """A function that gives one group after the other, of so many of which each is equally large on average."""
        left = iter(range(parts, 0, -1))
        return lambda: self.group(1 / next(left))


@dataclass(frozen=True, eq=False)
class DrawnLevel:
    """A level whose users tell a prefix once, when the level is asked."""

    layout: BitsLayout
    bits: int
    """The length of the prefixes."""
    users: Callable[[], Strings]
    """Gives the users of the level, when it is asked."""
    way: HistogramMethod
    generator: np.random.Generator

    def estimate(self, rows: Rows) -> tuple[Floats, Floats]:
        """The estimated shares of prefixes, with the variance of each at a share of 0."""
        users = self.users()
        held = held_by(users, numbered(self.layout, rows, self.bits), self.bits)
        shares = drawn_shares(held, users.n, self.way, self.generator)
        return shares, np.full(len(rows), usual_variance(self.way, users.n))


def held_by(users: Strings, prefixes: Numbers, bits: int) -> Counts:
    """How many users hold each of these prefixes."""
    known = users.shortened(bits)
    at = np.minimum(np.searchsorted(known.codes, prefixes), len(known.codes) - 1)
    return np.where(known.codes[at] == prefixes, known.counts[at], 0)


def drawn_shares(held: Counts, n: int, way: HistogramMethod, generator: np.random.Generator) -> Floats:
    """Estimates of the shares of values that so many of n users hold, as reports or added bits give them."""
    if way.kind == "added":
        return np.asarray((held + generator.binomial(n, way.p, len(held)) - n * way.p) / n)
    support = generator.binomial(held, way.p) + generator.binomial(n - held, way.q)
    return np.asarray((support / n - way.q) / (way.p - way.q))


def usual_variance(way: HistogramMethod, n: int) -> float:
    """The variance of the estimated share of a value that nobody holds."""
    if way.kind == "added":
        return way.p * (1 - way.p) / n
    return way.q * (1 - way.q) / (n * (way.p - way.q) ** 2)
