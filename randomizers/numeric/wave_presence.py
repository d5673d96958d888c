# SPDX-License-Identifier: Apache-2.0
"""The distribution of a number among those who hold one, and the share of the others, in one report.

Contract: a value is a cell 0..d-2 of a number, or d - 1: none.  Square Wave's window, as wide as for d - 1 cells,
slides one window further for none, and that window's cells are one report (sliding.py): one epsilon pays for both.
Of users of frequencies theta an output cell has the chance q + (p - q) (the sum of theta over its window), holders or
not, so that Square Wave's inverse serves; the share of none comes from its own report.  A frequency is one of all
users: theirs sum to 1 with none's.  Source: ARCHITECTURE section 5.4 and rule 7, derived here.  Not here: streams
in which everybody always has a value (square_wave.py), the mean of holders (presence.py).
"""

from murmurate.randomizers.numeric.square_wave import CELLS, MAX_CELLS, WaveHistogram
from murmurate.randomizers.thresholds import Epsilon


class WaveAndPresence(WaveHistogram):
    """The mechanism that sends a cell number, or the number after the last cell for *none*. `support` counts each, none
    last: with c = d - 1 it is int64[c + 2 floor(b c) + 1].
    """

    name = "sw_presence"
    says_none = True
    max_domain = MAX_CELLS + 1

    def __init__(self, *, d: int = CELLS + 1, epsilon: Epsilon) -> None:
        super().__init__(d=d, epsilon=epsilon)
