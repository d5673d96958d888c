# SPDX-License-Identifier: Apache-2.0
"""Streams of whole numbers, one an event, for the comparisons of ToPS and ToPL: made-up ones, and files by path.

Contract: the same kind, seed and length give the same numbers.  The made-up kinds have about the percentiles of the
paper's four data sets (table 1) and move over time as what they are named for does; no figure was chosen for what comes
out.  Files are read, and never kept:
  .npy, one row of whole numbers: a value an event, in their order;
  NAME_cdf.npy, rising shares that end near 1, with NAME_bin.npy, where its cells begin: events are drawn from it;
  lines of whole numbers apart by spaces: a basket a line, of which its size counts.
A file that is too short goes on backwards from its end, and so on, as in the paper's runs.  Not here: what is done with
them (central_comparison.py, local_comparison.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.replay.source import SourceError

Numbers = NDArray[np.int64]

HELD_OUT: Final = 1 << 16
"""The number m of first events by which thresholds are found."""
RANGE: Final = 1 << 20
"""The number r of events after those that are held out, over which stretches are summed."""
TOPS: Final = {"pos_length": 1657, "google_1k": 500, "retail": 16470, "taxi201801_fare": 30000}
"""The largest number there may be in files of known names, as published."""
FURTHER: Final = 10
"""How much further than its largest number a file's range goes, where it is not known."""
ALLOWED: Final = ".npy of whole numbers, NAME_cdf.npy of rising shares with NAME_bin.npy, or lines of whole numbers"


@dataclass(frozen=True, eq=False)
class ValueStream:
    """A stream of events."""

    name: str
    values: Numbers
    """A number for each event, from 0 to `top`: first those that are held out."""
    top: int
    """The largest number there may be."""

    def __post_init__(self) -> None:
        if len(self.values) < 2 or not 0 <= int(self.values.min()) <= int(self.values.max()) <= self.top:
            raise SourceError(
                f"{self.name}: found numbers outside 0 to {self.top}, or fewer than 2; allowed: more of them"
            )


def made_up(kind: str, seed: int, length: int = HELD_OUT + RANGE) -> ValueStream:
    """A stream of one of the KINDS."""
    draw, top = KINDS[kind]
    generator = np.random.default_rng([seed, 7, *kind.encode()])
    values = np.clip(np.rint(draw(generator, length)), 1, top).astype(np.int64)
    return ValueStream(kind, values, top)


def of_file(path: Path, seed: int, length: int = HELD_OUT + RANGE) -> ValueStream:
    """What is in a file."""
    name = path.stem.removesuffix("_cdf")
    try:
        if path.suffix == ".npy":
            values = _array(path, seed, length)
        else:
            with path.open(encoding="ascii") as lines:
                values = np.array(
                    [len([int(word) for word in line.split()]) for line in lines if line.strip()], np.int64
                )
        if not len(values) or values.min() < 0:
            raise ValueError
    except (OSError, ValueError, EOFError):
        raise SourceError(f"{path.name}: found no stream of numbers; allowed: {ALLOWED}") from None
    top = TOPS.get(name, FURTHER * max(1, int(values.max())))
    return ValueStream(name, reflected(values, length), max(top, int(values.max())))


def reflected(values: Numbers, length: int) -> Numbers:
    """As many numbers as are asked for: these, then backwards from the last but one, then forwards again, and on.

    >>> reflected(np.array([1, 2, 3]), 8).tolist()
    [1, 2, 3, 2, 1, 2, 3, 2]
    """
    there_and_back = np.concatenate((values, values[-2:0:-1]))
    return np.asarray(np.resize(there_and_back, length), np.int64)


def _array(path: Path, seed: int, length: int) -> Numbers:
    array: NDArray[Any] = np.load(path, allow_pickle=False)
    if array.ndim != 1 or not len(array):
        raise ValueError
    if array.dtype.kind in "iu":
        return array.astype(np.int64)
    if array.dtype.kind != "f" or not (np.diff(array) >= 0).all() or array[0] < 0 or not 0.9 <= array[-1] <= 1:
        raise ValueError
    edges = np.load(path.with_name(path.name.replace("_cdf.npy", "_bin.npy")), allow_pickle=False)
    if edges.shape != (len(array) + 1,) or not (np.diff(edges) > 0).all():
        raise ValueError
    uniform = np.random.default_rng([seed, 8]).random(length)
    return np.asarray(np.rint(np.interp(uniform, np.concatenate(([0.0], array)), edges)), np.int64)


def _baskets(generator: np.random.Generator, n: int) -> NDArray[np.float64]:
    """Sizes of baskets: a few things, seldom many, and from one month to the next a few per cent more or fewer."""
    season = np.interp(np.arange(n), np.linspace(0, n, 25), generator.normal(0, 0.12, 25))
    return np.asarray(np.exp(np.log(5) + season + generator.normal(0, 0.86, n)))


def _fares(generator: np.random.Generator, n: int) -> NDArray[np.float64]:
    """Fares in tenths: short rides, one in eleven to an airport; whoever comes next has nothing to do with the last."""
    short = np.exp(np.log(175) + generator.normal(0, 0.5, n))
    return np.where(generator.random(n) < 0.09, generator.normal(1000, 300, n), short)


def _clicks(generator: np.random.Generator, n: int) -> NDArray[np.float64]:
    """Pages of a visit: mostly a few, with a tail as of a power law, up to some thousands."""
    return np.asarray(np.minimum(3 * (1 - generator.random(n)) ** (-1 / 1.4), 2500))


def _queries(generator: np.random.Generator, n: int) -> NDArray[np.float64]:
    """Queries a second: days and nights, each second near the last."""
    day = 1 + 0.6 * np.sin(2 * np.pi * np.arange(n) / (n / 14))
    slow = np.interp(np.arange(n), np.linspace(0, n, 2001), generator.normal(0, 0.15, 2001))
    return np.asarray(34 * day * np.exp(slow + generator.normal(0, 0.4, n)))


KINDS: Final[dict[str, tuple[Callable[[np.random.Generator, int], NDArray[np.float64]], int]]] = {
    "baskets": (_baskets, 1657),
    "fares": (_fares, 30000),
    "clicks": (_clicks, 41270),
    "queries": (_queries, 2000),
}
"""What draws each made-up kind, and the largest number there may be."""
