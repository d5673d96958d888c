"""Numbers told by a mechanism for a smaller grid: those above a threshold count as it, neighbours as one.

Contract: code c of a number is cell min(c, clip) // group of the inner mechanism, and *none* is its none: every code
has one cell, by itself and whoever holds it, and every cell of the inner mechanism some code.  So a report has the
inner law of its cell: reports, epsilon and counts are the inner mechanism's, to the byte.  Statistics are its own, of
the mean on its scale: -1 and 1 are the middles of the lowest and of the highest cell (`ends`).  The threshold is a
public parameter of a round.  Source: streams.md section 2.1 (mean, clip) and 5.  Not here: finding it
(aggregators/methods/holdout.py); frequencies.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import ParameterError, shown
from murmurate.randomizers.mechanism import Counts, Floats, Mechanism, Reports, whole
from murmurate.randomizers.numeric.hybrid import HM
from murmurate.randomizers.numeric.mean import GRID, MAX_GRID
from murmurate.randomizers.numeric.piecewise import PM
from murmurate.randomizers.numeric.presence import ValueAndPresence
from murmurate.randomizers.numeric.rounding import SR
from murmurate.randomizers.numeric.wave_mean import WaveMean, WaveMeanAndPresence
from murmurate.randomizers.randomness import Draw, DrawOne
from murmurate.randomizers.thresholds import Epsilon

INNER: Final[Mapping[str, type[Mechanism]]] = {
    kind.name: kind for kind in (HM, PM, SR, ValueAndPresence, WaveMean, WaveMeanAndPresence)
}
"""What may tell the cells: mechanisms for a mean."""


class Recoded(Mechanism):
    """Another mechanism's reports, of recoded numbers. `support` is the inner one's."""

    name = "recoded"
    max_domain = MAX_GRID + 1
    measure = "mean"

    def __init__(
        self, *, d: int = GRID, epsilon: Epsilon, inner: str = HM.name, clip: int | None = None, group: int = 1
    ) -> None:
        """clip: the highest code that counts as itself; None: all do. group: how many neighbouring codes are one cell,
        counted from the lowest.
        """
        if not isinstance(inner, str) or inner not in INNER:
            raise ParameterError(f"{self.name}: inner: found {shown(inner)}; allowed: {', '.join(sorted(INNER))}")
        kind = INNER[inner]
        top = d - 1 - bool(kind.says_none) if isinstance(d, int) else 0  # what is no domain is refused below
        self.clip = top if clip is None else whole(self.name, "clip", clip, 1, MAX_GRID - 1)
        self.group = whole(self.name, "group", group, 1, MAX_GRID - 1)
        self._kind = kind.name
        super().__init__(d=d, epsilon=epsilon)
        if self.clip > top or self.clip < self.group:
            raise ParameterError(
                f"{self.name}: found clip {self.clip} and group {self.group}; allowed: a clip of at most {top}, and at "
                "least group, so that there are two cells"
            )
        self.cells = self.clip // self.group + 1
        """Of the inner mechanism, those of numbers."""
        self.inner = kind(d=self.cells + bool(kind.says_none), epsilon=epsilon)
        """Whose reports they are."""
        vars(self)["says_none"] = kind.says_none  # of all others a fact of the class

    def spec(self) -> dict[str, str | int]:
        """With what the inner one is, the highest code that counts, and how many are one cell."""
        return {**super().spec(), "inner": self._kind, "clip": self.clip, "group": self.group}

    def cell(self, code: int) -> int:
        """The inner mechanism's value for a code."""
        code = self.checked(code)
        return self.cells if self.says_none and code == self.d - 1 else min(code, self.clip) // self.group

    def middle(self, cell: int) -> Fraction:
        """The middle of a cell's codes, as a code: of the highest, too, those up to the threshold."""
        last = min((cell + 1) * self.group - 1, self.clip)
        return Fraction(cell * self.group + last, 2)

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        """What -1 and 1 stand for, as codes: equally long cells from end to end."""
        half = Fraction(self.group - 1, 2)
        return half, (self.cells - 1) * self.group + half

    def within(self, low: float, high: float) -> tuple[float, float]:
        """The same as numbers, where the codes are points from low to high."""
        last = self.d - 1 - bool(self.says_none)
        lowest, highest = (low + float(end / last) * (high - low) for end in self.ends)
        return lowest, highest

    @property
    def wire_size(self) -> int:
        """Of the inner one."""
        return self.inner.wire_size

    @property
    def realised(self) -> Fraction:
        """Of the inner one: every cell of it is some code's."""
        return self.inner.realised

    @property
    def reports_possible(self) -> int:
        """Of the inner one."""
        return self.inner.reports_possible

    def perturb(self, values: NDArray[np.integer[Any]], draw: Draw) -> Reports:
        """The inner one's reports of the cells."""
        values = self._values(values, draw)
        cells = np.minimum(values, self.clip) // self.group
        if self.says_none:
            cells = np.where(values == self.d - 1, self.cells, cells)
        return self.inner.perturb(cells, draw)

    def perturb_one(self, value: int, draw: DrawOne) -> bytes:
        """The same in plain Python."""
        return self.inner.perturb_one(self.cell(self.checked_one(value, draw)), draw)

    def malformed(self, reports: Reports) -> NDArray[np.bool_]:
        """Reports that no cell gives."""
        return self.inner.malformed(reports)

    def law(self, value: int) -> Mapping[bytes, Fraction]:
        """The law of the value's cell."""
        return self.inner.law(self.cell(value))

    def evidence(self, reports: Reports, one: int, other: int) -> NDArray[np.bool_]:
        """What speaks for the one's cell against the other's."""
        return self.inner.evidence(reports, self.cell(one), self.cell(other))

    @property
    def telling(self) -> tuple[Fraction, Fraction]:
        """Lowest and last value are the inner one's."""
        return self.inner.telling

    # ---- the server's half ----

    @property
    def outcomes(self) -> int:
        """Of the inner one."""
        return self.inner.outcomes

    @property
    def statistics(self) -> int:
        """The mean; or the share of holders, and their total."""
        return self.inner.statistics

    def support(self, reports: Reports) -> Counts:
        """As the inner one counts."""
        return self.inner.support(reports)

    def estimate(self, support: Counts, n: int) -> Floats:
        """The statistics on the inner scale, unbiased and raw."""
        return self.inner.estimate(support, n)

    def variance(self, n: int, frequency: float | Floats) -> Floats:
        """The inner one's, on its scale."""
        return self.inner.variance(n, frequency)

    def profile(self, support: Counts, n: int) -> Floats:
        """The inner one's."""
        return self.inner.profile(support, n)

    def plausible(self, profile: Floats) -> Floats:
        """As of the inner one."""
        return self.inner.plausible(profile)

    def noise(self, profile: Floats) -> Floats:
        """As of the inner one."""
        return self.inner.noise(profile)

    def sampling(self, profile: Floats) -> Floats:
        """As of the inner one."""
        return self.inner.sampling(profile)
