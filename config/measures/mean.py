# SPDX-License-Identifier: Apache-2.0
"""The table of a stream that measures a mean.

Contract: with a step, numbers are points of a coarse grid, and every method can ask for them; without one they lie on a
fine grid, of which a change would be thousands of changes in a horizon.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final, Literal

from murmurate.aggregators.measures.mean import Mean
from murmurate.config.errors import Mistake
from murmurate.config.kinds import AnyNumber, seen
from murmurate.config.measures.amounts import AmountsStream
from murmurate.randomizers.numeric.mean import GRID
from murmurate.randomizers.sessions.exsub_online import MAX_NUMBER
from murmurate.randomizers.sessions.level import MAX_CHANGES
from murmurate.randomizers.sessions.ones import MAX_COORDINATES
from murmurate.topics.domains import Grid

FINEST: Final = GRID - 1
"""The most steps that a range is cut into."""
NEAR: Final = 1e-9
"""How far a whole number of steps may be off in floating point, as a part of it."""


class MeanStream(AmountsStream):
    """The mean of a number over the users who have one, and how many have."""

    measured = Mean
    measure: Literal["mean"]
    """What is measured."""
    step: Annotated[float, AnyNumber()] | None = None
    """To what numbers are rounded, counted from the low end of the range, such as 1 for whole numbers; methods of
    horizons need it. Left out: 1/65 536 of the range.
    """

    @property
    def steps(self) -> float:
        """How many steps the range is long."""
        return FINEST if self.step is None else (self.range[1] - self.range[0]) / self.step

    @property
    def grid(self) -> Grid:
        """The points that numbers are rounded to."""
        return Grid(*self.range, round(self.steps) + 1, "points")

    def statistic(self) -> Mean:
        """The mean of its numbers."""
        return Mean(self.grid, self.says_none, self.unit)

    def _mistakes(self) -> Iterator[Mistake]:
        low, high = self.range
        if self.step is not None:
            if not self.step > 0 or not 1 - NEAR <= self.steps <= FINEST + NEAR:
                allowed = f"a number from {(high - low) / FINEST:g} to {high - low:g}, for this range"
                yield Mistake("step", seen(self.step), allowed)
                return
            if not _is_whole(self.steps):
                allowed = f"a number that the length of the range, {high - low:g}, holds whole times"
                yield Mistake("step", seen(self.step), allowed)
                return
            if self.initial is not None and not _is_whole((self.initial - low) / self.step):
                yield Mistake("initial", seen(self.initial), f"{low:g} and whole steps of {self.step:g} above it")
        yield from super()._mistakes()

    def _horizon_mistakes(self) -> Iterator[Mistake]:
        """Everybody has a value, of few enough steps, and nothing is asked beforehand."""
        said, steps, periods = f"with method = {self.method.name}", round(self.steps), self._periods
        if self.says_none:
            yield Mistake("missing", "users who may have no value", f'{{ carry = "always" }}, {said}')
        if self.step is None:
            yield Mistake("step", "nothing", f"a step such as 1 for whole numbers, {said}: a change of a step is told")
        elif steps > MAX_COORDINATES or steps > (MAX_NUMBER - MAX_CHANGES) // periods:
            most = min(MAX_COORDINATES, (MAX_NUMBER - MAX_CHANGES) // periods)
            found = f"{self.step:g}, {steps} steps in the range"
            yield Mistake("step", found, f"at most {most} steps, {said} and {periods} periods in a horizon")
        if self.clip != "declared":
            yield Mistake("clip", seen(self.clip), f"declared, {said}")


def _is_whole(number: float) -> bool:
    """Whether it is whole but for rounding."""
    return abs(number - round(number)) <= NEAR * max(1.0, abs(number))
