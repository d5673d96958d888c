# SPDX-License-Identifier: Apache-2.0
"""Unary encodings whose cells are mixed each by itself, or added up: what the counts of a batch are worth.

Contract: where nobody sees which bits came in one report, `replaced` bounds what the bits of n honest reports show of a
value that is replaced, and `removed` of one that is taken away.  A device draws bits by themselves, so each cell is
binary randomised response of n users, two cells differ under replacement and one under removal, and the two compose.
This is what the closed forms RAP and RAP_R of the literature are about; where whole reports are shuffled, as here, they
are too small (ARCHITECTURE erratum E23), and `mixed_claim` says what holds.  Not here: reports that are not LDP
(added_ones.py).
"""

from __future__ import annotations

import math

from murmurate.aggregators.accounting.blanket import epsilon as blanket_epsilon
from murmurate.aggregators.accounting.claim import DIGITS, checked_delta, floored, honest
from murmurate.aggregators.accounting.compose import MixedRound, composed_epsilon
from murmurate.randomizers.frequency.unary import Unary


def replaced(of: Unary, counted: int, delta: float, corrupt: float = 0.0) -> float:
    """The epsilon of the counts of so many reports when a value is replaced by another."""
    n = floored(honest(counted, corrupt))
    two = MixedRound(of.cell_blanket(), n, _of_a_bit(of), 2)
    return min(of.epsilon, composed_epsilon([two], checked_delta(delta), DIGITS))


def removed(of: Unary, counted: int, delta: float, corrupt: float = 0.0) -> float:
    """The epsilon of the counts of so many reports when a value is taken away."""
    n = floored(honest(counted, corrupt))
    return blanket_epsilon(of.cell_blanket(), n, checked_delta(delta), _of_a_bit(of), DIGITS)


def _of_a_bit(of: Unary) -> float:
    """What a single bit tells by itself, rounded up."""
    return math.nextafter(math.log(of.removing), math.inf) * (1 + 2**-50)
