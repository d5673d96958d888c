# SPDX-License-Identifier: Apache-2.0
"""A controller that turns errors into feedback: some of the newest one, and some of the mean of the last few.

Contract: 0.9 times the newest error and 0.1 times the mean of the last `memory` ones, itself among them.  The gain of
the difference is 0 in FAST and RescueDP alike and left out.  Source: ARCHITECTURE section 5.2.
"""

from __future__ import annotations

PROPORTIONAL, INTEGRAL = 0.9, 0.1


class Pid:
    """Feedback of errors that come one after the other."""

    def __init__(self, memory: int) -> None:
        self._memory = memory
        self._errors: list[float] = []

    def feedback(self, error: float) -> float:
        """Delta, after one more error."""
        self._errors = [*self._errors, error][-self._memory :]
        return PROPORTIONAL * error + INTEGRAL * sum(self._errors) / len(self._errors)

    def facts(self) -> list[float]:
        """The whole state."""
        return self._errors

    def load(self, facts: list[float]) -> None:
        """Take over `facts`."""
        self._errors = list(facts)
