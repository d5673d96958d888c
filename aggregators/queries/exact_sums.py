# SPDX-License-Identifier: Apache-2.0
"""Sums over any run of places of a long row of whole numbers, exact and in constant time.

Contract: `between(low, high)` is the sum of the numbers at low..high-1, as a whole number of any size: it does not
depend on what stands before `low`, as differences of rounded sums would.  So a row that begins elsewhere gives the same
bytes.  Not here: which numbers.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

MILLION: Final = 10**6
_LIMB: Final = 32
_MASK: Final = (1 << _LIMB) - 1


def millionths(values: NDArray[np.float64]) -> NDArray[Any]:
    """Figures of a release in whole millionths, the last place that a release says: int64, or Python's integers where
    one of them does not fit.
    """
    scaled = np.rint(values * MILLION)
    if not len(scaled) or np.abs(scaled).max() < 2.0**62:
        return scaled.astype(np.int64)
    return np.array([int(value) for value in scaled.tolist()] + [None], object)[:-1]  # None: no array of floats


def squares(numbers: NDArray[Any]) -> NDArray[Any]:
    """The squares of whole numbers, as whole numbers."""
    small = numbers.dtype != object and (not len(numbers) or np.abs(numbers).max() < 1 << 31)
    return (numbers if small else numbers.astype(object)) ** 2


class ExactSums:
    """The row.

    >>> ExactSums(np.array([5, -7, 1 << 60])).between(1, 3) == (1 << 60) - 7
    True
    """

    def __init__(self, numbers: NDArray[Any]) -> None:
        """`numbers`: int64[n], or Python's integers."""
        limbs = [numbers] if numbers.dtype == object else [numbers & _MASK, numbers >> _LIMB]
        self._limbs = [_before(limb) for limb in limbs]

    def between(self, low: int, high: int) -> int:
        """The sum of the numbers at low..high-1; 0 where there are none."""
        if high <= low:
            return 0
        return sum(int(limb[high] - limb[low]) << (_LIMB * place) for place, limb in enumerate(self._limbs))


def _before(numbers: NDArray[Any]) -> NDArray[Any]:
    """For each place, the sum of what stands before it."""
    sums = np.zeros(len(numbers) + 1, numbers.dtype)
    np.cumsum(numbers, out=sums[1:])
    return sums
