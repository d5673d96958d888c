# SPDX-License-Identifier: Apache-2.0
"""Real sequences as shares over time, from files of plain form, to test the filter besides synthetic streams.

Contract: the form is found from what is in the file, and one that is none of these is refused, with what it is not:
  .npy, one row of integers: a value an event, in their order;
  .npy, integers [periods, users]: a recording (agents/cli/reproductions/recorded.py reads those, too), here as shares;
  .npy, one row of rising shares that end near 1: how a population lies over a range; each period draws other people;
  lines of integers apart by spaces: the items of an event, of which each counts;
  CSV with columns `day`, `hour` and `category`: an event a line, in weeks; files of several weeks of many people are
  dealt out to as many weeks as are needed.
Events in their order are cut into equal parts, one a period; the d - 1 most frequent values are kept and the others are
one value.  A file in which nearly all neighbours are alike was sorted, and is no sequence.  What is in a file stays in
this process.  Not here: users.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.replay.source import SourceError
from murmurate.agents.simulate.synthetic_counts import Floats, Holders, apportioned

Values = NDArray[Any]
Kind = Literal["events", "items", "recording", "population", "weeks"]
Tried = tuple[int, float, int, int | None]
"""The settings to test: d, epsilon, w, and the periods of a declared season."""
DAY, WEEK = 24, 168
PEOPLE: Final = 4_000
"""The number of people drawn from a population in a period."""
FEWEST_CHANGES: Final = 0.05
"""The smallest share of neighbours in a sequence that must differ."""
ALLOWED: Final = (
    ".npy of integers or of rising shares, lines of integers, or CSV with day, hour and category; in the order of time"
)
_TRIED: Final[dict[Kind, tuple[Tried, ...]]] = {
    "events": ((8, 1.0, 20, None), (16, 2.5, 20, None)),
    "items": ((8, 1.0, 50, None), (64, 1.0, 20, None)),
    "recording": ((0, 1.0, 20, None),),
    "population": ((8, 2.5, 20, None),),
    "weeks": ((10, 1.0, 20, None), (10, 1.0, 20, DAY)),
}


_SHOWN: Final[dict[Kind, int]] = {"events": 8, "items": 64, "population": 5, "weeks": 10}
"""The number of values with which a sequence is plotted; for a population as many as the taxi data of LDP-IDS have."""


@dataclass(frozen=True, eq=False)
class SequenceFile:
    """The content of a file."""

    kind: Kind
    values: Values
    """The values. Of events and items one each; of weeks the hour of the week, the category, and a number that events
    which belong together share: [events, 3].
    """

    @property
    def values_shown(self) -> int:
        """The default number of values."""
        return max(2, int(self.values.max()) + 1) if self.kind == "recording" else _SHOWN[self.kind]

    @property
    def tried(self) -> tuple[Tried, ...]:
        """The settings d, epsilon and w to test."""
        if self.kind == "recording":
            return tuple((self.values_shown, epsilon, w, season) for _, epsilon, w, season in _TRIED[self.kind])
        return _TRIED[self.kind]


def holders(path: Path, seed: int, *, d: int, users: int, periods: int) -> Holders:
    """The number of users who hold each value: int64[periods, d]. It depends on the seed only where people are drawn
    from a population.
    """
    form = form_of(path)
    if form.kind == "population":
        edges = np.interp(np.linspace(0, 1, d + 1)[1:-1], np.linspace(0, 1, len(form.values) + 1)[1:], form.values)
        shares = np.diff(np.concatenate(([0.0], edges, [1.0])))
        drawn = np.random.default_rng([seed, 6]).multinomial(PEOPLE, shares, periods)
        return apportioned(np.asarray(drawn / PEOPLE), users)
    if form.kind == "recording":
        return apportioned(_tabulated(list(form.values[:periods]), d), users)
    if form.kind == "weeks":
        return apportioned(_weekly(form.values, d, periods), users)
    kept = _most_frequent(form.values, d)
    return apportioned(_tabulated(np.array_split(kept, periods), d), users)


@lru_cache(maxsize=32)
def form_of(path: Path) -> SequenceFile:
    """Read a file and detect its form."""
    try:
        form = _array(path) if path.suffix == ".npy" else _table(path) if path.suffix == ".csv" else _lines(path)
    except (OSError, ValueError, KeyError, EOFError):
        raise SourceError(f"{path.name}: found no sequence; allowed: {ALLOWED}") from None
    if form.kind in ("events", "items") and float((np.diff(form.values) != 0).mean()) < FEWEST_CHANGES:
        raise SourceError(f"{path.name}: found values in long runs, as in a sorted file; allowed: {ALLOWED}")
    return form


def _array(path: Path) -> SequenceFile:
    array = np.load(path, allow_pickle=False)
    if array.ndim == 1 and array.dtype.kind in "iu" and len(array):
        return SequenceFile("events", array)
    if array.ndim == 2 and array.dtype.kind in "iu" and array.size and array.min() >= 0:
        return SequenceFile("recording", array)
    rising = array.ndim == 1 and array.dtype.kind == "f" and len(array) > 1 and bool((np.diff(array) >= 0).all())
    if rising and array[0] >= 0 and 0.9 <= array[-1] <= 1:
        return SequenceFile("population", array)
    raise ValueError


def _lines(path: Path) -> SequenceFile:
    with path.open(encoding="ascii") as lines:
        head = [line.split() for line in islice(lines, 100)]
    if not head or not all(word.isdigit() for line in head for word in line):
        raise ValueError
    return SequenceFile("items", np.array(path.read_text(encoding="ascii").split(), np.int64))


def _table(path: Path) -> SequenceFile:
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    if not rows or any(None in row.values() for row in rows):
        raise ValueError
    first = next(iter(rows[0]))
    found = [(int(row[first]), int(row["day"]) % 7 * DAY + int(row["hour"]), int(row["category"])) for row in rows]
    return SequenceFile("weeks", np.array(found, np.int64))


def _weekly(events: Values, d: int, periods: int) -> Floats:
    """Weeks of events, in which events that belong together share a week; an hour without events repeats the one
    before.
    """
    table = np.asarray(events, np.int64)
    weeks = -(-periods // WEEK)
    _, group = np.unique(table[:, 0], return_inverse=True)
    at = group % weeks * WEEK + table[:, 1]
    kept = _most_frequent(table[:, 2], d)
    return _tabulated([kept[at == t] for t in range(periods)], d)


def _most_frequent(values: Values, d: int) -> NDArray[np.int64]:
    """Codes of the d - 1 most frequent values, the first ones of equally frequent ones; d - 1 for all others."""
    known, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    if len(known) <= d:
        return np.asarray(codes, np.int64)
    rank = np.full(len(known), d - 1)
    rank[np.argsort(-counts, kind="stable")[: d - 1]] = np.arange(d - 1)
    return np.asarray(rank[codes], np.int64)


def _tabulated(parts: list[Values], d: int) -> Floats:
    """The shares of the values in each part."""
    shares = np.full((len(parts), d), 1 / d)
    for t, part in enumerate(parts):
        if len(part):
            shares[t] = np.bincount(part, minlength=d) / len(part)
        elif t:
            shares[t] = shares[t - 1]
    return shares
