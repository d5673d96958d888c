# SPDX-License-Identifier: Apache-2.0
"""The distinct values of a recording, where values are rows of words, and the number of users who hold each.

Contract: two values for which all statistics of the stream are equal count as one, and the first row stands for both:
of strings with the same prefix one is kept.  So memory is bounded by the largest plan: FIGURES numbers, one for each
value and statistic.  A recording of more values is refused in one line.  Not here: users' values over time
(replay/truth.py), what is simulated with the counts (simulated_answers.py).
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.replay.source import SourceError
from murmurate.config.plan import StreamPlan

Rows = NDArray[np.uint32]
Floats = NDArray[np.float64]

FIGURES: Final = 17 << 20
"""The most numbers held, one for each value and statistic: 136 MB, enough for every prefix of 12 bits."""
_ROWS_AT_ONCE: Final = 1 << 12
"""The number of rows examined at once, which bounds the memory for their statistics."""


class Different:
    """The distinct values found so far, each with its index."""

    def __init__(self, stream: StreamPlan) -> None:
        self._stream, self._measure = stream, stream.measure
        self._most = FIGURES // stream.d
        self._places: dict[bytes, int] = {}
        self._rows: list[NDArray[np.uint32]] = []

    def shares(self, rows: Rows) -> Floats:
        """The share of users for each value found so far; later periods may have more entries."""
        different, counts = np.unique(rows, axis=0, return_counts=True)
        held = np.zeros(len(self._places) + len(different), np.int64)
        for start in range(0, len(different), _ROWS_AT_ONCE):
            lane = different[start : start + _ROWS_AT_ONCE]
            places = [self._place(*pair) for pair in zip(self._measure.told_apart(lane), lane, strict=True)]
            np.add.at(held, places, counts[start : start + _ROWS_AT_ONCE])
        return held[: len(self._places)] / len(rows)

    def _place(self, figures: NDArray[np.uint8], row: NDArray[np.uint32]) -> int:
        place = self._places.setdefault(figures.tobytes(), len(self._places))
        if place == len(self._rows):
            if place == self._most:
                raise SourceError(
                    f"source: found more than {self._most} different values of stream {self._stream.name!r}; allowed: "
                    f"{self._most} that its {self._stream.d} statistics tell apart, or --drift instead of --like"
                )
            self._rows.append(row.copy())
        return place

    def all(self, found: list[Floats]) -> tuple[Floats, Rows]:
        """The results of `shares` of all periods as float64[periods, values], and the values, *none* last."""
        shares, domain = np.zeros((len(found), len(self._rows) + 1)), self._stream.domain
        for known, row in zip(found, shares, strict=True):
            row[: len(known)] = known
        if not self._stream.says_none:
            return shares[:, :-1], np.array(self._rows, np.uint32)
        none = np.array([domain.nothing], np.uint32)
        at = self._places.get(self._measure.told_apart(none)[0].tobytes(), len(self._rows))
        order = [place for place in range(len(self._rows)) if place != at]
        return shares[:, [*order, at]], np.vstack((*(self._rows[place] for place in order), none))
