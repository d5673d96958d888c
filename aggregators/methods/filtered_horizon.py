# SPDX-License-Identifier: Apache-2.0
"""A method of horizons with a filter behind it: asks what the method asks, and adds the best estimate to its decisions.

Contract: the requests, and the method's own estimates, are those of the method alone, to the bit.  The filter is given
each node that was told, with the variance that its reports show, and goes on from one horizon to the next; it begins
with the first horizon whose first round counts.  What is added is the filter's estimate as far as least squares bears
it out, statistic by statistic.  Where nodes are missing that least squares needs nothing can be borne out, and nothing
is added: the method's own last estimate stands.
Source: ARCHITECTURE section 5.18.  Not here: the filter (trees/residue_filter.py), how far it is trusted
(trees/least_squares_guard.py), that of all other methods (aggregators/filters/following.py).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from murmurate.aggregators.methods.around_horizon import AroundHorizon
from murmurate.aggregators.methods.horizons import HorizonMethod
from murmurate.aggregators.methods.method import Decision, Estimate, Request
from murmurate.aggregators.trees.least_squares_guard import LeastSquaresGuard
from murmurate.aggregators.trees.residue_filter import ResidueFilter
from murmurate.randomizers import ParameterError
from murmurate.randomizers.state import StateForm, dump, load

FORM: Final = StateForm("filtered horizon", 1)
MOST_COORDINATES: Final = 64
"""The most coordinates that are filtered: a period takes 1.6 ms for so many (.25 for one), its state 18 kB for each."""
_LARGEST_SPREAD: Final = 0.25
"""The variance of a bit among users, at most."""


class FilteredHorizon(AroundHorizon):
    """One stream's method of horizons, and its filter."""

    def __init__(self, method: HorizonMethod) -> None:
        if method.coordinates > MOST_COORDINATES:
            found = f"{method.coordinates} coordinates"
            raise ParameterError(f"filter: found adaptive with {found}; allowed: up to {MOST_COORDINATES}, or off")
        super().__init__(method)
        self._guard = LeastSquaresGuard(method.setting.measure.d_of_ones, method.tree.periods)
        self._filter: ResidueFilter | None = None
        """None until a horizon's first node is told: nobody knows before how many users there are."""

    def state(self) -> bytes:
        """All that must survive a crash."""
        arrays = {f"guard {name}": array for name, array in self._guard.arrays().items()}
        if self._filter is not None:
            arrays |= {f"filter {name}": array for name, array in self._filter.arrays().items()}
        facts = {} if self._filter is None else {"unit": self._filter.unit, "sampling": self._filter.sampling}
        return dump(FORM, facts, {"method": np.frombuffer(self.method.state(), np.uint8), **arrays})

    def load(self, state: bytes) -> None:
        """Go on from `state()`, given the same setting."""
        facts, arrays = load(FORM, state)
        self.method.load(arrays["method"].tobytes())
        parts = {
            part: {name.removeprefix(part): array for name, array in arrays.items() if name.startswith(part)}
            for part in ("guard ", "filter ")
        }
        self._guard.load(parts["guard "])
        self._filter = self._made(**facts) if facts else None
        if self._filter is not None:
            self._filter.load(parts["filter "])

    def _made(self, unit: float, sampling: float) -> ResidueFilter:
        return ResidueFilter(self.method.tree, self.method.coordinates, unit, sampling=sampling)

    def _seen(self, step: Request | Decision) -> Request | Decision:
        """1. Nothing while a question is open or before the first horizon. 2. The filter, which begins with the first
        node. 3. Both together, where the method's own least squares has an estimate of this period.
        """
        at, told = self.method.told_now()
        if isinstance(step, Request) or not at:
            return step
        if self._filter is None:
            if at > 1 or not told:
                return step
            users = self.method.crowd.users or 1.0
            self._filter = self._made(told[0].weighing, _LARGEST_SPREAD * self.method.cohorts / users)
        best = self._filter.close(told)
        own = self.method.standing
        if own.measured_t != step.t:
            return step
        measured = self.method.setting.measure.of_ones(best.estimate, best.variance)
        joined = self._guard.joined(measured, (own.unbiased, own.variance))
        return step.with_vector(best=Estimate(step.t, *joined))
