# SPDX-License-Identifier: Apache-2.0
"""Hiding among clones: what shuffling is worth for every question, by its epsilon alone.

Contract: the reports of n users, each epsilon-LDP whatever it is and however it was chosen after earlier ones, satisfy
(`clones_epsilon`, delta) when shuffled: a report is with chance e^-epsilon a copy of what one of the two values would
have given.  Source: Feldman, McMillan and Talwar 2021, lemma 3.4 and theorem 3.2, evaluated without their closed form.
The lemmas of 2023 that are better for many values are not used: what they say of more than two kinds of reports is
false as an upper bound (ARCHITECTURE erratum E21).
"""

from __future__ import annotations

import math
from fractions import Fraction

from murmurate.aggregators.accounting.pairs import Pair, pair_delta, pair_epsilon
from murmurate.aggregators.accounting.search import CertifiedDelta
from murmurate.randomizers.question import Atom, Blanket


def clones(local: float) -> Pair:
    """The pair that every report of this local epsilon is a function of. The ratio is rounded up."""
    p = math.exp(local) * (1 + 2**-50)
    return Pair(p, 1 / (1 + p), 0.5 / p)


def clones_delta(local: float, n: int, epsilon: float) -> CertifiedDelta:
    """The delta of n shuffled reports of this local epsilon."""
    return pair_delta(clones(local), n, epsilon)


def clones_epsilon(local: float, n: int, delta: float, digits: int = 13) -> float:
    """The least epsilon of so many digits that is certified; the local one, if that is less."""
    return pair_epsilon(clones(local), n, delta, local, digits)


def clones_blanket(ratio: Fraction) -> Blanket:
    """The pair as atoms of a blanket, for the largest ratio of chances that a question realises: others' copies, and a
    report in question that is a copy of the one value's p times as often as of the other's.
    """
    mass = 1 / (2 * ratio)
    often, rarely = 2 * ratio**2 / (1 + ratio), 2 * ratio / (1 + ratio)
    return Atom(mass, often, rarely), Atom(mass, rarely, often)
