# SPDX-License-Identifier: Apache-2.0
"""The prefixes that were large lately, and what they measured since: so a search need not begin anew in every period.

Contract: at most `room` candidates of one length have a place, those whose averages over recent periods are the most
standard errors above zero.  Each has two averages, in which a measurement counts by its precision and keeps MEMORY of
its weight from period to period: one with the measurement that made it enter, by which places are given, and one
without, which no selection has made large; where nobody holds the candidate, that one errs by chance alone.  Variances
of averages are exact for independent errors.  A candidate whose measurement is far off its average begins anew.  Post-processing: it costs no privacy.
Not here: the search itself (prefix_search.py).
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.methods.method import Floats
from murmurate.randomizers.state import Arrays

MEMORY: Final = 15 / 16
"""The part of its weight that a measurement keeps after another period."""
Rows = NDArray[np.uint32]
_ENTERED, _SINCE = 0, 1
CHANGED: Final = 4.0
"""A measurement so many standard errors off its average is another share: the average begins anew."""


class Remembered:
    """The candidates of one length that have a place."""

    def __init__(self, words: int, room: int) -> None:
        self.room = room
        self.rows: Rows = np.zeros((0, words), np.uint32)
        """The candidates, in the order of their numbers: uint32[k, words]."""
        self.sums: Floats = np.zeros((2, 3, 0))
        """For both averages the sums of weighted shares, of weights, and of squared weights times variances."""

    def age(self, periods: int) -> None:
        """Go on to a later period."""
        kept = MEMORY**periods
        self.sums *= np.array([kept, kept, kept * kept])[:, np.newaxis]

    def joined(self, rows: Rows, shares: Floats, noise: float) -> Floats:
        """Both averages' sums for each of these candidates, with the present measurements of this variance: float64[2,
        3, rows].
        """
        place = {row.tobytes(): at for at, row in enumerate(rows)}
        at = np.array([place.get(row.tobytes(), -1) for row in self.rows], np.int64)
        mean, variance = average(self.sums[_ENTERED])
        changed = (at >= 0) & (np.abs(shares[at] - mean) > CHANGED * np.sqrt(noise + variance))
        self.forget(changed)
        at, sums = at[~changed], np.zeros((2, 3, len(rows)))
        sums[:, :, at[at >= 0]] = self.sums[:, :, at >= 0]
        sums += np.stack((shares / noise, np.full(len(rows), 1 / noise), np.full(len(rows), 1 / noise)))
        return sums

    def forget(self, these: NDArray[np.bool_]) -> None:
        """Take their places from some candidates."""
        self.rows, self.sums = self.rows[~these], self.sums[:, :, ~these]

    def keep(self, rows: Rows, sums: Floats) -> None:
        """Give the places to the candidates whose averages are largest, in standard errors. Whoever is new has no
        average yet but the one that it entered by.
        """
        known = {row.tobytes() for row in self.rows}
        best = np.sort(np.argsort(-in_errors(sums[_ENTERED]), kind="stable")[: self.room])
        new = np.array([row.tobytes() not in known for row in rows[best]], np.bool_)
        self.rows, self.sums = rows[best], sums[:, :, best]
        self.sums[_SINCE][:, new] = 0

    def arrays(self, name: str) -> Arrays:
        """The whole state."""
        return {f"{name} rows": self.rows, f"{name} sums": self.sums}

    def load(self, name: str, arrays: Arrays) -> None:
        """Take over `arrays`."""
        self.rows, self.sums = arrays[f"{name} rows"].copy(), arrays[f"{name} sums"].copy()


def average(sums: Floats) -> tuple[Floats, Floats]:
    """Mean and variance of each average: two float64[rows]."""
    total, weight, squares = sums
    return total / weight, squares / weight**2


def in_errors(sums: Floats) -> Floats:
    """Each average in its own standard errors."""
    return np.asarray(sums[0] / np.sqrt(sums[2]))
