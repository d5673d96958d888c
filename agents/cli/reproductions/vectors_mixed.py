# SPDX-License-Identifier: Apache-2.0
"""Mechanisms for sparse vectors after mixing: the local epsilon that a central target allows, and what it is worth.

Contract: claims are the privacy blanket's, of the concrete mechanism at exact chances (shuffle_blankets.py); the bound
that the paper of Collision and CoCo prints stands beside it as what it is, a lower one (ARCHITECTURE erratum E21).  Not
here: the errors at a local epsilon (agents/simulate/sparse_errors.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final

from murmurate.agents.cli.reproductions.shuffle_blankets import collision, exsub
from murmurate.agents.simulate import sparse_laws as laws
from murmurate.agents.simulate.sparse_errors import mean_square
from murmurate.aggregators.accounting import Pair, blanket_delta, blanket_epsilon, pair_epsilon
from murmurate.randomizers.question import Blanket

DIGITS: Final = 5
PAPER: Final = "'s rule"
"""The end of the name of a mechanism whose parameter is by the rule of its paper."""
CENTRAL_WAYS: Final = ("ExSub, m = 1", "ExSub, m = 2", "ExSub, m = 9", "ExSub", "ExSub's rule", "Collision",
                       "Collision's rule", "CoCo", "CoCo's rule")  # fmt: skip
"""What is compared at a central target: a fixed m, the best parameter at the local epsilon, and the paper's."""


def parameter_of(way: str, d: int, s: int, epsilon: float) -> int:
    """The m or t of one of the ways at a local epsilon."""
    name, _, fixed = way.partition(", m = ")
    if fixed:
        return int(fixed)
    if name.endswith(PAPER):
        return laws.paper_parameter(name.removesuffix(PAPER), d, s, epsilon)
    best = {"ExSub": laws.best_signs, "Collision": laws.best_buckets, "CoCo": laws.best_pairs}[name]
    return best(d, s, epsilon)


def mechanism_of(way: str) -> str:
    """The name of the mechanism of one of the ways."""
    return way.partition(",")[0].removesuffix(PAPER)


def blanket_of(way: str, d: int, s: int, epsilon: float) -> Blanket:
    """The blanket of one of the ways."""
    ratio, parameter = Fraction(math.exp(epsilon)), parameter_of(way, d, s, epsilon)
    if mechanism_of(way) == "ExSub":
        return exsub(d + s, s, parameter, ratio)
    return collision(s, parameter, ratio)  # CoCo's is the same


def at_target(way: str, d: int, s: int, target: float, n: int, delta: float) -> tuple[float, int, float]:
    """The largest local epsilon, rounded down, whose n mixed reports keep the target; the parameter there, and the
    squared error of one user's part of a mean.
    """
    local = _largest(
        lambda epsilon: blanket_delta(blanket_of(way, d, s, epsilon), n, target).bound <= delta, target, 12.0
    )
    parameter = parameter_of(way, d, s, local)
    return local, parameter, mean_square(mechanism_of(way), d, s, local, n, parameter)


def _largest(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The largest number between, of so many decimals, up to which something holds."""
    first, last = math.floor(low * 10**DIGITS), math.ceil(high * 10**DIGITS)
    while last - first > 1:
        middle = (first + last) // 2
        first, last = (middle, last) if holds(middle / 10**DIGITS) else (first, middle)
    return first / 10**DIGITS


def amplified(s: int, n: int, epsilon: float, delta: float) -> tuple[float, float]:
    """The central epsilon of n mixed reports by Collision with its paper's t: certified, and the lower bound."""
    ratio, t = math.exp(epsilon), laws.paper_parameter("Collision", 1, s, epsilon)
    share = s / (s * ratio + t - s)
    lower = pair_epsilon(Pair(ratio, share, share), n, delta, epsilon)
    return blanket_epsilon(collision(s, t, Fraction(ratio)), n, delta, epsilon, DIGITS), lower
