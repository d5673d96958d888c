# SPDX-License-Identifier: Apache-2.0
"""Golden atoms, and delta of a blanket as a plain sum of exact fractions."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from murmurate.agents.cli.reproductions.shuffle_blankets import parts
from murmurate.randomizers.question import Atom, Blanket

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parents[2] / "data" / "mixing.json").read_text(encoding="utf-8"))
ONE = Fraction(1)


def exactly(epsilon: float) -> Fraction:
    """E to the power of epsilon, as the fraction that the double is."""
    return Fraction(math.exp(epsilon))


def golden_blanket(rho: float, others: Sequence[Sequence[float]], epsilon: float) -> Blanket:
    """The atoms of a golden row: what is one-sided takes up what rounding leaves."""
    p = exactly(epsilon)
    low = sum((Fraction(mass) for mass, ratio in others if ratio == 1), Fraction(0))
    high = sum((Fraction(mass) for mass, ratio in others if ratio != 1), Fraction(0))
    split = (1 - low - high * p) / (1 + p)
    assert abs(split - Fraction(rho)) < 1e-12
    return parts(p, split, low, high)


def exact_delta(blanket: Blanket, n: int, ratio: Fraction) -> Fraction:
    """The mean over n of the positive part of the sum, report by report; for the worse order."""
    return max(_exact(blanket, n, ratio), _exact(tuple(Atom(m, b, a) for m, a, b in blanket), n, ratio))


def _exact(blanket: Blanket, n: int, ratio: Fraction) -> Fraction:
    one: dict[Fraction, Fraction] = {}
    for mass, a, b in (*blanket, Atom(1 - _share(blanket), Fraction(0), Fraction(0))):
        one[a - ratio * b] = one.get(a - ratio * b, Fraction(0)) + mass
    sums = {Fraction(0): ONE}
    for _ in range(n):
        more: dict[Fraction, Fraction] = {}
        for so_far, chance in sums.items():
            for score, mass in one.items():
                more[so_far + score] = more.get(so_far + score, Fraction(0)) + chance * mass
        sums = more
    return sum((chance * score for score, chance in sums.items() if score > 0), Fraction(0)) / n


def _share(blanket: Blanket) -> Fraction:
    return sum((atom.mass for atom in blanket), Fraction(0))


Ratios = dict[tuple[Fraction, Fraction], Fraction]
"""How likely each pair of likelihoods is, in a law that both are relative to."""


def dominating(blanket: Blanket, n: int) -> Ratios:
    """The two laws of n mixed reports as likelihoods: exact, for small n."""
    one: Ratios = {}
    for mass, a, b in (*blanket, Atom(1 - _share(blanket), Fraction(0), Fraction(0))):
        one[a, b] = one.get((a, b), Fraction(0)) + mass
    sums: Ratios = {(Fraction(0), Fraction(0)): ONE}
    for _ in range(n):
        more: Ratios = {}
        for (x, y), chance in sums.items():
            for (a, b), mass in one.items():
                more[x + a, y + b] = more.get((x + a, y + b), Fraction(0)) + chance * mass
        sums = more
    return {(x / n, y / n): chance for (x, y), chance in sums.items()}


def exact_composition(rounds: Sequence[Ratios], ratio: Fraction) -> Fraction:
    """The delta of all rounds together, outcome by outcome."""
    product: Ratios = {(ONE, ONE): ONE}
    for law in rounds:
        more: Ratios = {}
        for (x, y), chance in product.items():
            for (a, b), mass in law.items():
                more[x * a, y * b] = more.get((x * a, y * b), Fraction(0)) + chance * mass
        product = more
    return sum((chance * max(x - ratio * y, Fraction(0)) for (x, y), chance in product.items()), Fraction(0))
