# SPDX-License-Identifier: Apache-2.0
"""Absorption: publications use what earlier periods did not need, and so most where the stream changes (LBA, LPA).

Contract: publications are offered whole units; in any w consecutive periods at most w of them are used, and w more go
to the first rounds.  A publication of k units takes over the k - 1 units of the periods before it and nullifies the
k - 1 after it, so that the window holds.  Source: LDP-IDS algorithm 3, ARCHITECTURE section 5.1.  ARCHITECTURE erratum
E5: the paper starts with a last publication of size 0 at time 0, which makes the nullified time -1 and offers two units
at t = 1.
"""

from __future__ import annotations

from collections.abc import Callable

from murmurate.aggregators.accounting.schedules import Absorbed
from murmurate.aggregators.methods.adaptive import ByBudget, ByPopulation
from murmurate.aggregators.methods.method import Setting


class Absorption:
    """How much the next publication may use. Steps count periods as the paper does, from 1."""

    def __init__(self, *, unit: int, w: int) -> None:
        self.unit, self.w = unit, w
        self.last = 0
        """The paper's l: the last publication, 0 before the first."""
        self.last_units = 0
        """The paper's k_l: the units that the last publication asked for, whether or not they answered."""

    def offer(self, step: int) -> int:
        """The amount for a publication now; 0 in a nullified period."""
        nullified = max(self.last_units - 1, 0)  # ARCHITECTURE erratum E5
        if step - self.last <= nullified:
            return 0
        return min(step - (self.last + nullified), self.w) * self.unit

    def uses(self) -> Absorbed:
        """A window's publications are whole units that are absorbed."""
        return Absorbed(self.unit, self.w)

    def spend(self, step: int, amount: int) -> None:
        """Note that this amount is asked for a publication now."""
        self.last, self.last_units = step, amount // self.unit

    def facts(self) -> dict[str, int]:
        """The whole state."""
        return {"last": self.last, "last_units": self.last_units}

    def load(self, facts: dict[str, int]) -> None:
        """Take over `facts`."""
        self.last, self.last_units = facts["last"], facts["last_units"]


class Absorbing:
    """A method that schedules its publications by absorption."""

    @classmethod
    def schedule(cls, setting: Setting) -> Callable[[int], Absorption]:
        """The function from what publications may use in a window to their schedule."""
        return lambda rest: Absorption(unit=rest // setting.w, w=setting.w)


class LBA(Absorbing, ByBudget):
    """LDP-IDS budget absorption: everybody measures each period with epsilon / (2 w) how far the last release is off,
    and makes a new one with one to w times as much when that pays.
    """

    name = "lba"
    simplicity = 11


class LPA(Absorbing, ByPopulation):
    """LDP-IDS population absorption: S // (2 w) fresh slots measure each period how far the last release is off, and
    one to w times as many make a new one when that pays.
    """

    name = "lpa"
    simplicity = 4
