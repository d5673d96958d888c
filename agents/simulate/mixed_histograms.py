# SPDX-License-Identifier: Apache-2.0
"""Histograms of mixed reports and their errors: made-up ones and files by path, for the comparison of Wang 2021, ch. 9.

Contract: the same histogram, way, runs and seed give the same error.  `expected_error` is exact; `squared_error` is the
mean of so many drawn collections.  Supports of different values are drawn independently, which leaves the mean of
their squared errors as it is.  Made-up histograms have the users and values of the dissertation's data and fall as
powers of the rank, which were read off real ones.  Files are read by path, and never kept.  Not here: which chances a
method has at a central target (agents/cli/reproductions/shuffle_ways.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.replay.source import SourceError

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Histogram:
    """How many users hold each value."""

    name: str
    counts: Counts

    @property
    def n(self) -> int:
        """The number of users."""
        return int(self.counts.sum())

    @property
    def d(self) -> int:
        """The number of values."""
        return len(self.counts)


class Shape(NamedTuple):
    """A made-up histogram."""

    n: int
    d: int
    power: float
    """Shares fall as this power of the rank."""


SHAPES: Final = {"cities": Shape(602_325, 915, 1.0), "pages": Shape(990_002, 42_178, 1.2)}
"""What stands for the cities of IPUMS 1940 and for the pages of Kosarak."""
STRINGS: Final = Shape(657_427, 120_978, 0.75)
"""What stands for the queries of AOL, of six characters each."""


def made_up(name: str, shape: Shape | None = None) -> Histogram:
    """One of the SHAPES, or of another shape; what rounding leaves belongs to the first value."""
    shape = shape or SHAPES[name]
    shares = np.arange(1, shape.d + 1) ** -shape.power
    counts = np.floor(shares / shares.sum() * shape.n).astype(np.int64)
    counts[0] += shape.n - counts.sum()
    return Histogram(name, counts)


def of_file(path: Path, seed: int) -> Histogram:
    """The values of a file of whole numbers, a user a line: of several, one is drawn."""
    try:
        with path.open(encoding="ascii") as lines:
            sets = [np.array(line.split(), np.int64) for line in lines if line.strip()]
    except (OSError, ValueError):
        sets = []
    if len(sets) < 2:
        raise SourceError(f"{path.name}: found no users; allowed: a line of whole numbers for each")
    sizes = np.array([len(items) for items in sets])
    drawn = (np.random.default_rng([seed, 9]).random(len(sets)) * sizes).astype(np.int64)
    every = np.concatenate(sets)
    domain, numbers = np.unique(every, return_inverse=True)
    first = np.cumsum(sizes) - sizes
    return Histogram(path.stem, np.bincount(numbers[first + drawn], minlength=len(domain)))


class HistogramMethod(NamedTuple):
    """How frequencies come about."""

    kind: Literal["reports", "added", "noise", "uniform"]
    """Reports that support a value with p or q; users' own bits and added ones; Laplace noise; no data at all."""
    p: float = 0.0
    """The probability that a report supports its own value, or of an added one; the noise's scale, in users."""
    q: float = 0.0
    """The probability that a report supports one certain other value."""


def squared_error(histogram: Histogram, way: HistogramMethod, runs: int, seed: int) -> float:
    """The mean over values and collections of squared errors of frequencies."""
    generator = np.random.default_rng([seed, 8])
    return float(np.mean([_squared_error(histogram, way, generator) for _ in range(runs)]))


def _squared_error(histogram: Histogram, way: HistogramMethod, generator: np.random.Generator) -> float:
    counts, n = histogram.counts, histogram.n
    errors: Floats
    if way.kind == "reports":
        support = generator.binomial(counts, way.p) + generator.binomial(n - counts, way.q)
        errors = (support / n - way.q) / (way.p - way.q) - counts / n
    elif way.kind == "added":
        errors = (generator.binomial(n, way.p, histogram.d) - n * way.p) / n
    elif way.kind == "noise":
        errors = generator.laplace(0, way.p, histogram.d) / n
    else:
        errors = 1 / histogram.d - counts / n
    return float((errors**2).mean())


def expected_error(histogram: Histogram, way: HistogramMethod) -> float:
    """The mean of `squared_error`, exactly."""
    counts, n = histogram.counts, histogram.n
    if way.kind == "reports":
        own, others = way.p * (1 - way.p), way.q * (1 - way.q)
        return float((counts * own + (n - counts) * others).mean()) / (n * (way.p - way.q)) ** 2
    if way.kind == "added":
        return way.p * (1 - way.p) / n
    if way.kind == "noise":
        return 2 * (way.p / n) ** 2
    return float(((1 / histogram.d - counts / n) ** 2).mean())
