"""Square Wave, bucketised first (B-R): a cell number, likelier within b of the value, for whole distributions.

Contract: d values, width 2 floor(b d) + 1, outputs 0..d + 2 floor(b d) - 1; an output within floor(b d) of the value
has p = e^eps / (width e^eps + d - 1), any other q = p / e^eps, as integer levels (window.py): at most e^epsilon, never
more.  The distribution is found from `support`, the histogram of outputs, by EM (aggregators/distribution.py);
`estimate` is its mean, exactly unbiased, as the window's is.  Source: streams.md section 5, erratum E13 (printed b
equals the right one at eps = 1 only).  Not here: continuous reports (R-B), which would put floats on the device.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from murmurate.randomizers.mechanism import Counts, Reports
from murmurate.randomizers.numeric.piecewise import WindowMean
from murmurate.randomizers.packing import unpack_ints
from murmurate.randomizers.thresholds import MICRO, Epsilon, exp_floor, micro_nats


@dataclass(frozen=True, slots=True)
class Wave:
    """The continuous wave of an epsilon: density p within b of the value, q elsewhere in [-b, 1 + b]."""

    b: Fraction
    p: Fraction
    q: Fraction

    @classmethod
    def of(cls, epsilon: Epsilon) -> "Wave":
        """B = (eps e^eps - e^eps + 1) / (2 e^eps (e^eps - 1 - eps)), p = e^eps / (2 b e^eps + 1), q = p / e^eps."""
        micro = micro_nats(epsilon)
        nats, ratio = Fraction(micro, MICRO), exp_floor(micro)
        b = (nats * ratio - ratio + 1) / (2 * ratio * (ratio - 1 - nats))
        return cls(b, ratio / (2 * b * ratio + 1), 1 / (2 * b * ratio + 1))


class SW(WindowMean):
    """A cell number of one to three bytes. `support` is int64[d + 2 floor(b d)]: how many reports name each cell."""

    name = "sw"
    measure = "distribution"

    def __init__(self, *, d: int = 1024, epsilon: Epsilon) -> None:
        super().__init__(d=d, epsilon=epsilon)

    def _width(self) -> int:
        return 2 * int(Wave.of(Fraction(self.epsilon_micro, MICRO)).b * self.d) + 1

    @property
    def reach(self) -> int:
        """Cells on either side of the value that are likely: floor(b d)."""
        return self.window.width // 2

    @property
    def p(self) -> Fraction:
        """The probability of a cell within reach (the middle one has up to `width` words of 2^64 more)."""
        return self.window.chance(0, 0) if self.reach else self.window.inside

    @property
    def q(self) -> Fraction:
        """The probability of a cell out of reach."""
        return self.window.outside / self.window.width

    @property
    def outcomes(self) -> int:
        """Cells of the output."""
        return self.window.cells

    def support(self, reports: Reports) -> Counts:
        """How many reports name each cell: int64[d + 2 floor(b d)]."""
        return np.bincount(unpack_ints(self._well_formed(reports)), minlength=self.window.cells)

    def _total(self, support: Counts, n: int) -> Fraction:
        return self.sum_worth(int(support @ np.arange(self.window.cells)), n)
