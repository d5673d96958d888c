# SPDX-License-Identifier: Apache-2.0
"""The channel of a sliding window as a banded matrix: applied to frequencies, and inverted, in linear time.

Contract: `forward` is y_j = q + (p - q) (the sum of x over j - width + 1 .. j), the chance of each output where the
frequencies of the cells are x, and `inverse` is exactly unbiased: inverse(forward(x)) = x for every x, the raw ones
too.  Neighbours differ by (p - q) (x_j - x_{j - width}), so that a chain of every width-th difference from the left
edge gives x_j, and one to the right edge gives it again; they share no output, and are mixed by the inverses of their
variances where the frequencies are even, which depends on no data.  There no linear inverse is better by more than
0.6 / cells on average (tests/randomizers/numeric/test_band.py).  Source: derived here; ARCHITECTURE section 5.4 for
the band.  Not here: EM, which is better where the frequencies are smooth (aggregators/distribution.py).
"""

import numpy as np

from murmurate.randomizers.mechanism import Floats


class Band:
    """A banded channel: of cells + width - 1 outputs the `width` from the value's own on have probability p each, the
    others q.
    """

    def __init__(self, cells: int, width: int, p: float, q: float) -> None:
        self.cells, self.width, self.p, self.q = cells, width, p, q
        even = _pairs(self.forward(np.full(cells, 1 / cells)))
        left, right = self._chains(even, even[::-1])
        self._left, self._right = right / (left + right), left / (left + right)
        self._constant = self.inverse(np.zeros(cells + width - 1))

    def forward(self, x: Floats) -> Floats:
        """The probability of each output: float64[cells + width - 1] of float64[cells]."""
        sums = np.zeros(self.cells + 2 * self.width - 1)  # zeros, the prefix sums of x, then their total on and on
        np.cumsum(x, out=sums[self.width : self.width + self.cells])
        sums[self.width + self.cells :] = sums[self.width + self.cells - 1]
        return np.asarray(self.q + (self.p - self.q) * (sums[self.width :] - sums[: -self.width]), np.float64)

    def inverse(self, y: Floats) -> Floats:
        """Frequencies from shares of the outputs: float64[cells] of float64[cells + width - 1]."""
        left, right = self._chains(np.diff(y, prepend=self.q), np.diff(y[::-1], prepend=self.q))
        return np.asarray((self._left * left + self._right * right) / (self.p - self.q), np.float64)

    def variance(self, x: Floats) -> Floats:
        """The variance of each entry of `inverse` from one report, mechanism and sampling, at these frequencies.

        An entry is a sum of coefficients a over the outputs and a constant c: the sum of a^2 y - (x - c)^2.
        """
        return np.asarray(self._squares(self.forward(x)) - (x - self._constant) ** 2, np.float64)

    @property
    def own(self) -> Floats:
        """The variance of each cell where everybody holds its own value."""
        alone = 1 if self.width == 1 else self._left**2 + self._right**2
        squares = self._squares(np.full(self.cells + self.width - 1, self.q)) + alone / (self.p - self.q)
        return np.asarray(squares - (1 - self._constant) ** 2, np.float64)

    def _squares(self, y: Floats) -> Floats:
        """The sum of a^2 y for each entry."""
        if self.width == 1:  # a chain cancels but for its first output
            return np.asarray(y / (self.p - self.q) ** 2, np.float64)
        left, right = self._chains(_pairs(y), _pairs(y[::-1]))
        return np.asarray((self._left**2 * left + self._right**2 * right) / (self.p - self.q) ** 2, np.float64)

    def _chains(self, left: Floats, right: Floats) -> tuple[Floats, Floats]:
        """The sums of every width-th term up to each cell, from the left edge and, of terms in mirror order, from the
        right one.
        """
        rows = -(-self.cells // self.width)
        room = np.zeros((2, rows * self.width))
        room[:, : self.cells] = left[: self.cells], right[: self.cells]
        sums = room.reshape(2, rows, self.width).cumsum(axis=1).reshape(2, -1)[:, : self.cells]
        return sums[0], sums[1, ::-1]


def _pairs(y: Floats) -> Floats:
    """Each entry with the one before it; before the first stands 0."""
    both = y.copy()
    both[1:] += y[:-1]
    return both
