"""Instances over which the audit runs: every registered mechanism, so that none escapes."""

from __future__ import annotations

from fractions import Fraction

from murmurate.randomizers import MECHANISMS, Mechanism

# 20 claims, from one micro-nat to the largest
EPSILONS = [
    Fraction(1, 1_000_000),
    Fraction(1, 1000),
    Fraction(1, 100),
    Fraction(1, 40),
    Fraction(1, 10),
    Fraction(1, 4),
    Fraction(1, 3),
    Fraction(1, 2),
    Fraction(693147, 1_000_000),
    Fraction(693148, 1_000_000),
    Fraction(1),
    Fraction(1098612, 1_000_000),
    Fraction(3, 2),
    Fraction(2),
    Fraction(3),
    Fraction(4),
    Fraction(6),
    Fraction(9),
    Fraction(12),
    Fraction(20),
]
SMALL = [2, 3, 4, 5, 6]
MORE = {"grr": [7, 16, 128]}


def instances() -> list[Mechanism]:
    return [
        kind(d=d, epsilon=epsilon)
        for name, kind in sorted(MECHANISMS.items())
        for d in (*SMALL, *MORE.get(name, []))
        for epsilon in EPSILONS
    ]
