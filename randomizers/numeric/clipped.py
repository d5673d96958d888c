# SPDX-License-Identifier: Apache-2.0
"""Numbers reported on a smaller grid: those above a threshold count as it, and neighbours share a cell.

Contract: code c of a number is cell min(c, clip) // group of the inner mechanism, and *none* is its none: every code
has one cell, by itself and whoever holds it, and every cell of the inner mechanism some code.  Statistics are of the
mean on its scale: -1 and 1 are the middles of the lowest and of the highest cell (`ends`).  The threshold is a public
parameter of a round, whose spec is a flat table named "recoded".  Source: ARCHITECTURE sections 5.1 and 5.4.
Not here: finding it (aggregators/methods/holdout.py); frequencies.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

import numpy as np

from murmurate.randomizers.errors import ParameterError, shown
from murmurate.randomizers.layouts import CodeLayout
from murmurate.randomizers.mechanism import Mechanism, whole
from murmurate.randomizers.numeric.hybrid import HM
from murmurate.randomizers.numeric.mean import GRID, MAX_GRID
from murmurate.randomizers.numeric.piecewise import PM
from murmurate.randomizers.numeric.presence import ValueAndPresence
from murmurate.randomizers.numeric.rounding import SR
from murmurate.randomizers.numeric.wave_mean import WaveMean, WaveMeanAndPresence
from murmurate.randomizers.question import Question, Value, Values
from murmurate.randomizers.randomness import Draw
from murmurate.randomizers.thresholds import Epsilon, micro_nats
from murmurate.randomizers.viewed import Viewed
from murmurate.randomizers.views import Codes, View

NAME: Final = "recoded"
"""The name of a clipped question in a round."""
INNER: Final[Mapping[str, type[Mechanism]]] = {
    kind.name: kind for kind in (HM, PM, SR, ValueAndPresence, WaveMean, WaveMeanAndPresence)
}
"""The mechanisms for a mean that may report the cells."""


class Clipped(View):
    """A view from the code of a number to its cell, clipped at a threshold."""

    name = "clipped"

    def __init__(self, size: int, clip: int | None = None, group: int = 1, *, says_none: bool = False) -> None:
        """size: of the domain, none included. clip: the highest code that counts as itself; None: all do. group: how
        many neighbouring codes are one cell, counted from the lowest.
        """
        whole(NAME, "d", size, 2, MAX_GRID + 1)
        top = size - 1 - says_none
        self.clip = top if clip is None else whole(NAME, "clip", clip, 1, MAX_GRID - 1)
        self.group = whole(NAME, "group", group, 1, MAX_GRID - 1)
        if self.clip > top or self.clip < self.group:
            raise ParameterError(
                f"{NAME}: found clip {self.clip} and group {self.group}; allowed: a clip of at most {top}, and at "
                "least group, so that there are two cells"
            )
        self.of, self.size, self.says_none = CodeLayout(size), size, says_none
        self.cells = self.clip // self.group + 1
        """The number of cells of numbers that the inner mechanism has."""
        self.d = self.cells + says_none

    def parameters(self) -> dict[str, Any]:
        """The threshold and the group size."""
        return {"clip": self.clip, "group": self.group, "says_none": int(self.says_none)}

    def spec_with(self, mechanism: Mechanism) -> dict[str, Any]:
        """The description as one flat table, the inner mechanism's fields included."""
        claim = {"name": NAME, "d": self.size, "epsilon_micro": mechanism.epsilon_micro}
        return {**claim, "inner": mechanism.name, "clip": self.clip, "group": self.group}

    def codes(self, values: Values, draw: Draw) -> Codes:
        """The cell of each code."""
        cells = np.minimum(values, self.clip) // self.group
        return np.where(values == self.size - 1, self.cells, cells) if self.says_none else cells

    def code(self, value: Value) -> int:
        """The cell of one code."""
        return self.cells if self.says_none and value == self.size - 1 else min(int(value), self.clip) // self.group

    @property
    def extremes(self) -> tuple[Value, Value]:
        """The lowest and the last code."""
        return 0, self.size - 1

    def middle(self, cell: int) -> Fraction:
        """The middle of a cell's codes, as a code: of the highest, too, those up to the threshold."""
        last = min((cell + 1) * self.group - 1, self.clip)
        return Fraction(cell * self.group + last, 2)

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        """The codes for which -1 and 1 stand, if cells are equally long."""
        half = Fraction(self.group - 1, 2)
        return half, (self.cells - 1) * self.group + half

    def within(self, low: float, high: float) -> tuple[float, float]:
        """The numbers at both ends of the inner grid, where the codes are points from low to high."""
        last = self.size - 1 - self.says_none
        lowest, highest = (low + float(end / last) * (high - low) for end in self.ends)
        return lowest, highest


def clipped(
    *, d: int = GRID, epsilon: Epsilon, inner: str = HM.name, clip: int | None = None, group: int = 1
) -> Viewed:
    """A mechanism for a mean over clipped numbers, from the parameters of its flat table."""
    if not isinstance(inner, str) or inner not in INNER:
        raise ParameterError(f"{NAME}: inner: found {shown(inner)}; allowed: {', '.join(sorted(INNER))}")
    kind = INNER[inner]
    micro_nats(epsilon)  # what is no epsilon is refused before what is no threshold
    view = Clipped(d, clip, group, says_none=bool(kind.says_none))
    return Viewed(view, kind(d=view.d, epsilon=epsilon))


def view_clipped(question: Question) -> Clipped | None:
    """The threshold at which a question clips numbers; None if it does not."""
    return question.view if isinstance(question, Viewed) and isinstance(question.view, Clipped) else None
