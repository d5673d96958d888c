"""Distribution: each publication gets half of what the window has left (LBD, LPD).

Contract: publications of any w consecutive periods use less than `total` together, since each is offered at most half
of what the others in its window left; the first may use half of it.  Source: LDP-IDS algorithm 2, ARCHITECTURE section
5.1. ARCHITECTURE erratum E1: the printed sum over publications runs from -w + 1, which is all of time, and would end
publications.
"""

from __future__ import annotations

from collections.abc import Callable

from murmurate.aggregators.methods.adaptive import Adaptive
from murmurate.aggregators.methods.asking import Everybody, FreshSlots
from murmurate.aggregators.methods.method import Setting
from murmurate.aggregators.methods.options import HALF
from murmurate.aggregators.methods.recent import Publications


class Halving(Publications):
    """How much the next publication may use. Time is the paper's: 1 for the first period."""

    def __init__(self, *, total: int, w: int) -> None:
        super().__init__(w)
        self.total = total

    def offer(self, step: int) -> int:
        """The amount for a publication now."""
        return (self.total - sum(self._used.before(step))) // 2


class LBD(Adaptive):
    """LDP-IDS budget distribution: everybody measures each period with epsilon / (2 w) how far the last release is off,
    and makes a new one with half of what the window has left when that pays.
    """

    name = "lbd"
    division = Everybody.division
    simplicity = 12

    def __init__(self, setting: Setting, *, first_share: str = HALF) -> None:
        super().__init__(setting, Everybody(setting), _halving(setting), first_share=first_share)


class LPD(Adaptive):
    """LDP-IDS population distribution: S // (2 w) fresh slots measure each period how far the last release is off, and
    half of those that publications have left in the window make a new one when that pays.
    """

    name = "lpd"
    division = FreshSlots.division
    simplicity = 5

    def __init__(self, setting: Setting, *, variance: str = "sampling", first_share: str = HALF) -> None:
        asking = FreshSlots(setting)
        super().__init__(setting, asking, _halving(setting), variance=variance, first_share=first_share)


def _halving(setting: Setting) -> Callable[[int], Halving]:
    return lambda rest: Halving(total=rest, w=setting.w)
