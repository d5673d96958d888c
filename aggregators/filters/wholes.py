"""Which of the statistics that a filter follows are shares of one whole, so that they sum to 1: none, all, or groups.

Contract: wholes follow each other and cover all statistics; a whole of one statistic is a share by itself, whose sum
nobody knows.  What is said of one whole is what was said of a whole alone: other wholes change nothing of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from murmurate.aggregators.filters.models import Floats, Models

LEAST = 1e-30


class Wholes:
    """Shares in groups."""

    def __init__(self, lengths: Sequence[int], *, ordered: bool = False) -> None:
        """lengths: how many statistics each whole has. ordered: of cells in a row, which move and err with their
        neighbours, and not by how large they are.
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
        """What each share is where all of its whole are alike: float64[statistics]."""

    def independent(self, statistics: int) -> float:
        """The share of so many statistics that are observations of their own: of each whole one is what is left."""
        return (statistics - len(self.slices)) / statistics

    def summed(self, estimates: Floats, variances: Floats) -> Floats:
        """Shares that sum to 1: values learn at different speeds, so that those of the filter nearly do.  What is
        missing goes to each by its standard error, as if all errors were as like their sum; bars take no credit for it.
        Of two values each is what the other leaves.
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
        """What drifts are multiples of, at each value's own pace. Two values of a whole have the same one."""
        if self._ordered or not self.statistics:
            return unit
        found = unit.copy()
        for whole in self.slices:
            if whole.stop - whole.start > 2:
                found[whole] *= models.pace(mean[whole])
        if len(self._alone) > 1:
            found[self._alone] *= models.pace(mean[self._alone])
        return found
