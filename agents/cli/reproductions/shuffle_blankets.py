# SPDX-License-Identifier: Apache-2.0
"""Blankets of mechanisms for sparse vectors by their formulas: ExSub, majority, Collision, CoCo, and trees of these.

Contract: each gives the masses of the worst pair of values at a ratio p = e^epsilon, as exact fractions of it.  Source:
SaO2 and the Collision mechanism; their own claims about mixing are not used, for one is false and the other unproven
(ARCHITECTURE errata E21 and E22).  Not here: the mechanisms themselves, which the product does not have.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from math import comb

from murmurate.agents.cli.reproductions.shuffle_reference import TREE_LEVELS, TREE_PORTIONS
from murmurate.aggregators.accounting import clones_epsilon, literature
from murmurate.randomizers.question import Atom, Blanket

ONE = Fraction(1)


def parts(p: Fraction, split: Fraction, low: Fraction, high: Fraction = Fraction(0)) -> Blanket:
    """Masses of both one-sided kinds, of what is unlikely under both values, and of what is likely under both."""
    kinds = ((split, p, ONE), (split, ONE, p), (low, ONE, ONE), (high, p, p))
    return tuple(Atom(*kind) for kind in kinds if kind[0])


def collision(s: int, t: int, p: Fraction) -> Blanket:
    """The worst hash functions: s of t buckets of either value, apart. CoCo has the same; s = 1 is GRR."""
    omega = s * p + t - s
    return parts(p, s / omega, (t - 2 * s) / omega)


def exsub(d: int, s: int, m: int, p: Fraction) -> Blanket:
    """Sets of m signs over d places: opposite signs in the same s places are told apart best."""
    apart = sum(comb(s, k) * comb(d - s, m - k) << (m - k) for k in range(min(s, m) + 1))
    never, every = comb(d - s, m) << m, comb(d, m) << m
    each = 1 / (p * every - (p - 1) * apart)
    return parts(p, each * (apart - never), each * never, each * (every - 2 * apart + never))


def majority(s: int, p: Fraction) -> Blanket:
    """All places are told; accepted where more signs of the s are true than false."""
    accepted = Fraction(sum(comb(s, k) for k in range(s // 2 + 1, s + 1)), 1 << s)
    mass = 1 / (1 + (p - 1) * accepted)
    return parts(p, mass * accepted, mass * (1 - 2 * accepted))


def mixture(weighted: Sequence[tuple[Fraction, Blanket]]) -> Blanket:
    """Several, one of which is drawn and told."""
    total = sum((weight for weight, _ in weighted), Fraction(0))
    return tuple(Atom(weight / total * mass, a, b) for weight, atoms in weighted for mass, a, b in atoms)


def tree(p: Fraction) -> Blanket:
    """A level of the tree is drawn by each user, and told."""
    levels = zip(TREE_PORTIONS, TREE_LEVELS, strict=True)
    return mixture([(Fraction(share), exsub(d, s, m, p)) for share, (s, d, m) in levels])


def online_clones(d: int, s: int, p: float, n: int, delta: float) -> float:
    """What SaO2, theorem 6.2 prints for ExSub of two signs whose signs are mixed one by one, the 1 outside of the root
    as its derivation has it.  The lemma that it rests on is false: a number to compare with.
    """
    none = comb(d - s, 2) << 2
    every = comb(d, 2) << 2
    one = s * (d - s) << 1
    omega = float(every - (1 - 1 / p) * (none + one + comb(s, 2)))
    clone = (s + (2 * d - s - p - 2) * (1 / p - 1 / p**2)) / omega
    tail = math.log(4 / delta)
    copies = n / p + n * d * (d - 1) / (2 * p) * clone**2 - math.sqrt(3 * n * tail / p)
    uneven = math.sqrt(tail * copies / 2)
    return math.log1p((p - 1) / (p + 1) * (2 * uneven + 1) / (copies / 2 - uneven))


def named() -> dict[str, tuple[Blanket, float]]:
    """The mechanisms of reference.AMPLIFIED that have a blanket, and their local epsilons."""
    one, two = Fraction(math.e), Fraction(math.exp(2))
    return {
        "binary, EFMRTT": (parts(one, 1 / (1 + one), Fraction(0)), 1),
        "GRR, d = 128": (collision(1, 128, one), 1),
        "Collision(8, 36)": (collision(8, 36, one), 1),
        "Collision(8, 74), eps 2": (collision(8, 74, two), 2),
        "CoCo(8, 32)": (collision(8, 32, one), 1),
        "ExSub(136, 8), m = 9": (exsub(136, 8, 9, one), 1),
        "ExSub(136, 8), m = 1": (exsub(136, 8, 1, one), 1),
        "ExSub(1000, 20), m = 2": (exsub(1000, 20, 2, one), 1),
        "majority(136, 8)": (majority(8, one), 1),
        "tree of 32, r = 2": (tree(one), 1),
    }


def closed(name: str, n: int, delta: float) -> float:
    """The rows of reference.AMPLIFIED and reference.FIGURE_2 that have no blanket."""
    local = 2 if name.endswith("eps 2") else 1
    if name == "theorem 6.2":
        return online_clones(1000, 20, math.e, n, delta)
    if "closed" in name:
        return literature.clones_closed(local, 2, n, delta) or local
    return clones_epsilon(local, n, delta, 6)
