# SPDX-License-Identifier: Apache-2.0
"""Which of the statistics that a filter follows are shares of one whole, so that they sum to 1: none, all, or groups.

Contract: wholes follow each other and cover all statistics; a whole of one statistic is a share by itself, without a
known sum.  Each whole is treated as if it were the only one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.filters.models import Floats, Models

LEAST = 1e-30


class Wholes:
    """Shares in groups."""

    def __init__(self, lengths: Sequence[int], *, ordered: bool = False) -> None:
        """lengths: how many statistics each whole has. ordered: whether they are cells in a row, which move and err
        with their neighbours, not by their size.
        """
        ends = list(accumulate(lengths))
        self.statistics = ends[-1] if ends else 0
        self.slices = tuple(slice(end - n, end) for n, end in zip(lengths, ends, strict=True) if n > 1)
        """Where each whole of several statistics begins and ends."""
        self.apart = () if ordered else self.slices
        """The wholes whose statistics err independently, or so that errors sum to 0."""
        self._alone = np.array([end - 1 for n, end in zip(lengths, ends, strict=True) if n == 1], np.int64)
        self._ordered = ordered
        self.even = np.repeat([1 / max(n, 2) for n in lengths], lengths) if ends else np.zeros(0)
        """Each share if all shares of its whole are equal, and 1/2 for a share by itself: float64[statistics]."""

    def independent(self, statistics: int) -> float:
        """The share of so many statistics that are independent: in each whole one follows from the others."""
        return (statistics - len(self.slices)) / statistics

    def summed(self, estimates: Floats, variances: Floats) -> Floats:
        """The estimates, made to sum to 1: each value has its own gain, so that the filter's nearly do.  Each takes of
        the difference in proportion to its standard error; the error bars stay as they are.  Two values always sum to 1
        already, as each mirrors the other.
        """
        found = estimates.copy()
        for whole in self.slices:
            if not self._ordered and whole.stop - whole.start == 2:
                continue
            part = np.sqrt(variances[..., whole])
            part /= np.maximum(part.sum(axis=-1, keepdims=True), LEAST)
            found[..., whole] += part * (1 - found[..., whole].sum(axis=-1, keepdims=True))
        return found

    def paced(self, unit: Floats, models: Models, mean: Floats) -> Floats:
        """The units of drifts and of fluctuations: the unit times each value's own pace, float64[2, d]. Two values of a
        whole have the same pace.
        """
        found = np.stack((unit, unit))
        if self._ordered or not self.statistics:
            return found
        groups: list[slice | NDArray[np.int64]] = [whole for whole in self.slices if whole.stop - whole.start > 2]
        if len(self._alone) > 1:
            groups.append(self._alone)
        for group in groups:
            pace = models.pace(mean[group])
            found[0, group] *= models.drifting(pace)
            found[1, group] *= pace
        return found
