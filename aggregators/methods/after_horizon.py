# SPDX-License-Identifier: Apache-2.0
"""A method of horizons whose releases are revised once: by what the whole horizon told.

Contract: the requests and the method's own releases are those of the method alone, to the bit.  When a horizon of T
periods has ended its nodes are kept, and in each period of the next one the decision holds the least-squares value of
T periods before, with its exact variance: one a period, never a burst.  What the nodes of a horizon do not determine is
not revised, nor is a horizon that has not ended.  Kept are the nodes of two horizons: 8 T numbers a coordinate at most.
Source: ARCHITECTURE section 5.18.  Not here: the solution (trees/residue_squares.py), the release of it (publish.py).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from murmurate.aggregators.methods.around_horizon import AroundHorizon
from murmurate.aggregators.methods.horizons import HorizonMethod
from murmurate.aggregators.methods.method import Decision, Estimate, Request
from murmurate.aggregators.trees.residue import NodeEstimate
from murmurate.aggregators.trees.residue_squares import RevisedHorizon
from murmurate.randomizers.state import Arrays, StateForm, dump, load

FORM: Final = StateForm("after horizon", 1)


class AfterHorizon(AroundHorizon):
    """One stream's method of horizons, and the values of the horizon before."""

    def __init__(self, method: HorizonMethod) -> None:
        super().__init__(method)
        self._nodes: list[NodeEstimate] = []
        """The nodes that have been told in the present horizon."""
        self._ended: tuple[list[NodeEstimate], RevisedHorizon] | None = None
        """The nodes of the horizon before, and their solution, while it is being revised."""

    def state(self) -> bytes:
        """All that must survive a crash."""
        facts: dict[str, Any] = {}
        arrays: Arrays = {"method": np.frombuffer(self.method.state(), np.uint8)}
        for name, nodes in (("now", self._nodes), ("ended", self._ended[0] if self._ended else None)):
            if nodes is not None:
                facts[name] = [[one.level, one.node, one.weighing] for one in nodes]
                arrays[name] = np.zeros((2, len(nodes), self.method.coordinates))
                for at, one in enumerate(nodes):
                    arrays[name][:, at] = one.estimate, one.actual_variance
        return dump(FORM, facts, arrays)

    def load(self, state: bytes) -> None:
        """Go on from `state()`, given the same setting."""
        facts, arrays = load(FORM, state)
        self.method.load(arrays["method"].tobytes())
        told = {
            name: [
                NodeEstimate(level, node, estimate.copy(), weighing, variance.copy())
                for (level, node, weighing), estimate, variance in zip(nodes, *arrays[name], strict=True)
            ]
            for name, nodes in facts.items()
        }
        self._nodes, self._ended = told["now"], self._solved(told["ended"]) if "ended" in told else None

    def _solved(self, nodes: list[NodeEstimate]) -> tuple[list[NodeEstimate], RevisedHorizon]:
        return nodes, RevisedHorizon(self.method.tree, nodes, self.method.coordinates)

    def _seen(self, step: Request | Decision) -> Request | Decision:
        """1. Nothing while a question is open or before the first horizon. 2. Revise this step of the horizon before.
        3. Keep what this one tells; when it ends, it is the one before.
        """
        at, told = self.method.told_now()
        if isinstance(step, Request) or not at:
            return step
        revised = None if self._ended is None else self._revised(self._ended[1], at, step.t)
        self._nodes += told
        if at == self.method.tree.periods:
            self._ended, self._nodes = self._solved(self._nodes), []
        return step if revised is None else step.with_vector(revised=revised)

    def _revised(self, ended: RevisedHorizon, at: int, t: int) -> Estimate | None:
        """The value at this step of the horizon before period t's; None if its nodes do not determine it."""
        value, variance = ended.sum(at, at)
        if not np.isfinite(variance).all():
            return None
        return Estimate(t - ended.tree.periods, *self.method.setting.measure.of_ones(value, variance))
