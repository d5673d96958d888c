# SPDX-License-Identifier: Apache-2.0
"""The matrices of Square Wave as what they are, a constant and a band: products in time linear in the cells.

`Buckets`  bucketised first (B-R), as `SW` reports: M[j, i] = p if i <= j <= i + 2 reach, else q
`BucketsAndNone`  the same with none, the last of inputs and outputs, as `WaveAndPresence` reports
`WaveChannel`     reported first (R-B), a continuous report on [-b, 1 + b] in `outputs` cells, a value uniform in its
cell
Contract: M[j, i] = P[output cell j | input cell i], columns sum to 1; `forward` is M x and `backward` M' w.  Source:
ARCHITECTURE section 5.4 (public code is wrong where a cell is not small against b).  Not here: EM.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers import ParameterError
from murmurate.randomizers.numeric import Wave as Shape
from murmurate.randomizers.numeric import WaveHistogram
from murmurate.randomizers.thresholds import Epsilon

Floats = NDArray[np.float64]


def channel_of(mechanism: WaveHistogram) -> Buckets | BucketsAndNone:
    """The channel of a mechanism's reports: from all its values to all that its support counts."""
    return BucketsAndNone(mechanism) if mechanism.says_none else Buckets(mechanism)


class Buckets:
    """The channel of a bucketised Square Wave from cells to cells. It keeps room for its sums: not for two threads at
    once.
    """

    def __init__(self, mechanism: WaveHistogram) -> None:
        self.inputs, self.outputs = mechanism.points, mechanism.cells
        self.cells = self.inputs
        self._width = mechanism.window.width
        self._q = float(mechanism.q)
        self._step = float(mechanism.p - mechanism.q)
        self._sums = np.zeros(self.outputs + self._width)  # zeros, the prefix sums of x, then their total on and on
        self._back = np.zeros(self.outputs + 1)

    def forward(self, x: Floats) -> Floats:
        """(M x)[j] = q sum x + (p - q) (the sum of x over j - 2 reach .. j), of x or of each column of it."""
        if x.ndim > 1:
            return self._columns(x)
        sums, width = self._sums, self._width
        np.cumsum(x, out=sums[width : width + self.inputs])
        total = sums[width + self.inputs - 1]
        sums[width + self.inputs :] = total
        out = sums[width:] - sums[: self.outputs]
        out *= self._step
        out += self._q * total
        return out

    def _columns(self, x: Floats) -> Floats:
        sums = np.zeros((self.outputs + self._width, x.shape[1]))
        np.cumsum(x, axis=0, out=sums[self._width : self._width + self.inputs])
        sums[self._width + self.inputs :] = sums[self._width + self.inputs - 1]
        return np.asarray((sums[self._width :] - sums[: self.outputs]) * self._step + self._q * sums[-1])

    def backward(self, w: Floats) -> Floats:
        """(M' w)[i] = q sum w + (p - q) (the sum of w over i .. i + 2 reach)."""
        sums = self._back
        np.cumsum(w, out=sums[1:])
        out = sums[self._width :] - sums[: self.inputs]
        out *= self._step
        out += self._q * sums[-1]
        return out


class BucketsAndNone:
    """The channel with none: cells have q of those who hold nothing, and none's report has one chance of holders."""

    def __init__(self, mechanism: WaveHistogram) -> None:
        self._cells = Buckets(mechanism)
        self.inputs, self.outputs = mechanism.d, mechanism.outcomes
        self.cells = self._cells.inputs
        self._q = float(mechanism.q)
        self._silent, self._taken = float(mechanism.window.inside), float(mechanism.window.outside)

    def forward(self, x: Floats) -> Floats:
        """The cells of holders with q for each of none; none from both. Of x, or of each column of it."""
        out = np.empty((self.outputs, *x.shape[1:]))
        out[:-1] = self._cells.forward(x[:-1])
        out[:-1] += self._q * x[-1]
        out[-1] = self._taken * x[:-1].sum(axis=0) + self._silent * x[-1]
        return out

    def backward(self, w: Floats) -> Floats:
        """The transpose."""
        out = np.empty(self.inputs)
        out[:-1] = self._cells.backward(w[:-1])
        out[:-1] += self._taken * w[-1]
        out[-1] = self._q * w[:-1].sum() + self._silent * w[-1]
        return out


class WaveChannel:
    """The channel of a continuous Square Wave: any number of cells on either side. It keeps room for its sums, too."""

    def __init__(self, epsilon: Epsilon, *, inputs: int, outputs: int) -> None:
        for name, found in (("inputs", inputs), ("outputs", outputs)):
            if isinstance(found, bool) or not isinstance(found, int) or found < 1:
                raise ParameterError(f"{name}: found {found!r}; allowed: a whole number, at least 1")
        shape = Shape.of(epsilon)
        b = float(shape.b)
        self.inputs, self.outputs = inputs, outputs
        self._height = (1 + 2 * b) / outputs  # of an output cell
        self._q = float(shape.q)
        self._step = float(shape.p - shape.q)
        ins, outs = np.linspace(0, 1, inputs + 1), np.linspace(-b, 1 + b, outputs + 1)
        self._from_outputs = _Places(np.concatenate((outs + b, outs - b)), 0.0, 1 / inputs, inputs)
        self._from_inputs = _Places(np.concatenate((ins + b, ins - b)), -b, self._height, outputs)

    def forward(self, x: Floats) -> Floats:
        """What values spread over their cells give: the integral of the overlap with each output cell."""
        return self._overlaps(self._from_outputs, x)

    def backward(self, w: Floats) -> Floats:
        """The transpose, by the same integrals with the roles swapped."""
        return self._overlaps(self._from_inputs, w)

    def _overlaps(self, places: _Places, x: Floats) -> Floats:
        points = places.second_integral(x)
        half = len(points) // 2
        lines = points[:half] - points[half:]
        out = lines[1:] - lines[:-1]
        out *= self._step * self.inputs
        out += self._q * self._height * x.sum()
        return np.asarray(out)


class _Places:
    """Fixed points at which the second integral of a function that is constant on equal cells is wanted.

    The integral is second + first t + value t^2 / 2, t beyond the left edge of the point's cell.
    """

    def __init__(self, points: Floats, left: float, size: float, cells: int) -> None:
        self._cells, self._size = cells, size
        where = (points - left) / size
        self._cell = np.clip(np.floor(where).astype(np.int64), -1, cells) + 1  # 0 and cells + 1: before and after
        start = left + (self._cell - 1) * size
        self._beyond = np.where(self._cell == 0, 0.0, points - start)
        self._half = self._beyond**2 / 2
        self._values, self._first, self._second = (np.zeros(cells + 2) for _ in range(3))
        self._out, self._part = np.empty(len(points)), np.empty(len(points))

    def second_integral(self, x: Floats) -> Floats:
        """The integral at each point: 0 before the left end, a straight line after the right one. Overwritten by the
        next.
        """
        values, first, second, size = self._values, self._first, self._second, self._size
        values[1:-1] = x
        np.cumsum(x, out=first[2:])
        first[2:] *= size  # at the left edge of each cell
        np.cumsum(first[1:-1] * size + values[1:-1] * (size * size / 2), out=second[2:])
        out, part = self._out, self._part
        np.take(values, self._cell, out=out, mode="clip")
        out *= self._half
        np.take(first, self._cell, out=part, mode="clip")
        part *= self._beyond
        out += part
        np.take(second, self._cell, out=part, mode="clip")
        out += part
        return out
