# SPDX-License-Identifier: Apache-2.0
"""What stands around a method of horizons: it asks what the method asks, and sees each of its steps.

Contract: the requests are those of the method alone, to the bit; whoever stands around it may add to its decisions.
Not here: what is added (after_horizon.py, filtered_horizon.py), the state of either.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from murmurate.aggregators.accounting.schedules import WindowRounds
from murmurate.aggregators.methods.horizons import HorizonMethod
from murmurate.aggregators.methods.method import Answer, Decision, Request


class AroundHorizon(ABC):
    """A method of horizons, and somebody who sees what it does."""

    def __init__(self, method: HorizonMethod) -> None:
        self.method = method

    def open(self, t: int) -> Request | Decision:
        """Begin period t."""
        return self._seen(self.method.open(t))

    def tally(self, answer: Answer) -> Request | Decision:
        """Take the whole answer to the question that is open."""
        return self._seen(self.method.tally(answer))

    def later(self, t: int) -> Request | None:
        """What `open` will ask of a period that has not been opened, where that is known by now."""
        return self.method.later(t)

    def most_rounds(self) -> WindowRounds:
        """What the method may ask."""
        return self.method.most_rounds()

    @abstractmethod
    def _seen(self, step: Request | Decision) -> Request | Decision:
        """The step, with what is added to it."""
