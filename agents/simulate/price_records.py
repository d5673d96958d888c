# SPDX-License-Identifier: Apache-2.0
"""Records of prices as -1, 0 and +1 a day: by how much each has moved since it was last told, direct, without a tree.

Contract: the same files, or the same seed, give the same records.  A record is 32 closing prices in a row; a day is +1
or -1 where the price is over 2 % above or below that of the last such day, or of the record's first; after six such
days nothing is told.  Files are those of SaO2's data set: a header line with Date and Close, then a line a day.
All users tell all days by one report: its errors are drawn from counts of supports, as in sparse_errors.py.
Source: Wang et al. 2023 (SaO2), sections 7.1 and 7.3.  Not here: horizons through a tree (residue_errors.py).
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.simulate.residue_errors import PROTOCOLS, online_law
from murmurate.agents.simulate.sparse_errors import drawn_supports, law
from murmurate.agents.simulate.sparse_laws import SparseLaw
from murmurate.errors import UsageError
from murmurate.randomizers.thresholds import MICRO

DAYS: Final = 32
MOST: Final = 6
"""The most changes that a record tells."""
STEP: Final = 0.02
FIRST, LAST = "2014", "2018"
"""Days of years before the last one, from the first one on."""
STOCKS: Final = 5_000
"""Made-up stocks of a thousand days: as many records as the paper has."""

Records = NDArray[np.int8]


class DirectErrors(NamedTuple):
    """Errors of the means of all days together."""

    total: float
    """The drawn sum of all distances between estimate and truth."""
    largest: float
    """The largest of them, drawn."""
    expected: float
    """The expected sum, from exact variances."""


def told_steps(prices: NDArray[np.float64]) -> Records:
    """What records tell: int8[n, 32] of float64[n, 32].

    >>> told_steps(np.array([[100.0, 101.0, 102.1, 101.0, 100.0] + [100.0] * 27]))[0, :6].tolist()
    [0, 0, 1, 0, -1, 0]
    """
    told = np.zeros(prices.shape, np.int8)
    last, left = prices[:, 0].copy(), np.full(len(prices), MOST)
    for day in range(1, prices.shape[1]):
        moved = prices[:, day] / last - 1
        tells = (np.abs(moved) > STEP) & (left > 0)
        told[tells, day] = np.sign(moved[tells])
        last[tells] = prices[tells, day]
        left -= tells
    return told


def made_up_prices(seed: int, stocks: int = STOCKS) -> NDArray[np.float64]:
    """Records of made-up stocks: a common market, and steps of their own of 0.5 % to 3 % a day."""
    generator = np.random.default_rng([seed, stocks])
    days = DAYS * (1000 // DAYS)
    sizes = np.exp(generator.uniform(np.log(0.005), np.log(0.03), stocks))
    market = generator.normal(0.0004, 0.008, days)
    steps = market + sizes[:, np.newaxis] * generator.normal(size=(stocks, days))
    return np.exp(np.cumsum(steps, axis=1)).reshape(-1, DAYS)


def read_prices(where: Path) -> NDArray[np.float64]:
    """The records of a file, or of all text files of a folder: runs of 32 days, one after the other."""
    files = sorted(path for path in where.iterdir() if path.suffix in (".txt", ".csv")) if where.is_dir() else [where]
    runs = [run for path in files for run in _runs(path)]
    if not runs:
        raise UsageError(f"--stocks: found no record; allowed: files of Date and Close, {DAYS} days from {FIRST} on")
    return np.array(runs)


def _runs(path: Path) -> Iterator[list[float]]:
    run: list[float] = []
    with path.open(encoding="utf-8", newline="") as lines:
        for number, row in enumerate(csv.DictReader(lines), start=2):
            try:
                date, price = row["Date"], float(row["Close"])
            except (KeyError, TypeError, ValueError):
                raise UsageError(f"{path.name}, line {number}: found no Date and Close; allowed: both") from None
            if FIRST <= date < LAST and price > 0:
                run.append(price)
            if len(run) == DAYS:
                yield run
                run = []


def direct_errors(told: Records, name: str, epsilon: float, runs: int, seed: int) -> DirectErrors:
    """The errors of a protocol, or of one of sparse_errors.py, whose users tell all days of these records."""
    n, days = told.shape
    if name in PROTOCOLS:
        of = online_law(name, days, MOST, Fraction(repr(epsilon)))
    else:
        of = cast(SparseLaw, law(name, days, MOST, epsilon))  # SUCCINCT alone has none
    up, down = (told > 0).sum(axis=0), (told < 0).sum(axis=0)
    absent, held = of.mean_moments
    variances = (absent + (up + down) / n * (held - absent)) / n
    generator = np.random.default_rng([seed, round(MICRO * epsilon)])
    distances = np.empty((runs, days))
    for run in range(runs):
        supports = drawn_supports(of, up, down, n - up - down, generator)
        distances[run] = np.abs(supports / (n * (of.own - of.opposite)) - (up - down) / n)
    expected = float(np.sqrt(2 / math.pi * variances).sum())
    return DirectErrors(float(distances.sum(axis=1).mean()), float(distances.max(axis=1).mean()), expected)
