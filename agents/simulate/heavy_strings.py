# SPDX-License-Identifier: Apache-2.0
"""The most frequent strings, found prefix by prefix (TreeHist), for the comparison of Wang 2021, figure 9.4.

Contract: the same strings, way, runs and seed give the same share of the most frequent ones that are found.  Strings
have six characters of 8 bits; each round asks for the next one behind the best prefixes so far, of all users or of a
sixth of them that was in no other round.  Users behind no candidate hold none of them.  Supports are drawn all at once
and independently, as in mixed_histograms.py.  Not here: which chances a method has
(agents/cli/reproductions/shuffle_ways.py), strings (held_strings.py).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from murmurate.agents.simulate.drawn_levels import DrawnLevel, UsersLeft
from murmurate.agents.simulate.held_strings import BITS, CHARACTERS, Strings
from murmurate.agents.simulate.mixed_histograms import HistogramMethod
from murmurate.aggregators.hitters.candidates import numbered
from murmurate.aggregators.hitters.tree_hist import TreePlan
from murmurate.randomizers.layouts import BitsLayout

SOUGHT: Final = 32
"""How many strings, and prefixes in each round, are looked for."""
CANDIDATES: Final = SOUGHT << BITS
"""The prefixes that a round asks for."""
_LAYOUT: Final = BitsLayout(CHARACTERS * BITS, none=False)
_PLAN: Final = TreePlan(_LAYOUT.m, SOUGHT, step=BITS)


def share_found(strings: Strings, way: HistogramMethod, runs: int, seed: int, *, divided: bool) -> float:
    """The mean share of the most frequent strings that are found. divided: every user is asked in one round alone."""
    generator = np.random.default_rng([seed, 94])
    best = set(strings.most_frequent(SOUGHT).tolist())
    return float(np.mean([len(best & _found(strings, way, generator, divided)) / SOUGHT for _ in range(runs)]))


def _found(strings: Strings, way: HistogramMethod, generator: np.random.Generator, divided: bool) -> set[int]:
    # divided: of those who are left, an equal part for each round to come
    users = UsersLeft(strings, generator).equal_groups(CHARACTERS) if divided else lambda: strings
    told = [DrawnLevel(_LAYOUT, bits, users, way, generator) for bits in _PLAN.bits]
    walked = _PLAN.found(_LAYOUT, told, significance=None)
    return set(numbered(_LAYOUT, walked.rows, _LAYOUT.m).tolist())
