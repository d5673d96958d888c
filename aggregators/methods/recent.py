# SPDX-License-Identifier: Apache-2.0
"""Amounts spent in the last periods: those that share a window with the present one.

Contract: a window of w periods that ends now holds now and the w - 1 periods before; `before` is about those, so that
what fits into the rest of the promise now fits into every window.  Nothing older is remembered.  Source:
ARCHITECTURE erratum E1: the paper's sum over publications begins at -w + 1, before time.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

Amount = TypeVar("Amount", int, float)


class Recent(Generic[Amount]):
    """Amounts by period, the newest w of them at most. Steps count periods as the paper does, from 1."""

    def __init__(self, w: int) -> None:
        self.w = w
        self._noted: list[tuple[int, Amount]] = []

    def note(self, step: int, amount: Amount) -> None:
        """Note the amount of this period."""
        self._noted = [(at, known) for at, known in self._noted if at > step - self.w]
        self._noted.append((step, amount))

    def before(self, step: int) -> list[Amount]:
        """The amounts of the w - 1 periods before this one."""
        return [amount for at, amount in self._noted if step - self.w < at < step]

    def facts(self) -> list[tuple[int, Amount]]:
        """The whole state."""
        return self._noted

    def load(self, facts: list[tuple[int, Amount]]) -> None:
        """Take over `facts`."""
        self._noted = [(at, amount) for at, amount in facts]


class Publications:
    """What the publications of a window used: the state of a schedule that looks at nothing else."""

    def __init__(self, w: int) -> None:
        self._used: Recent[int] = Recent(w)

    def spend(self, step: int, amount: int) -> None:
        """Note that this amount is asked for a publication now."""
        self._used.note(step, amount)

    def facts(self) -> dict[str, Any]:
        """The whole state."""
        return {"used": self._used.facts()}

    def load(self, facts: dict[str, Any]) -> None:
        """Take over `facts`."""
        self._used.load(facts["used"])
