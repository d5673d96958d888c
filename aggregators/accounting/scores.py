# SPDX-License-Identifier: Apache-2.0
"""What one report of the blanket says for one value against another: a few numbers with their chances.

Contract: for E = e^epsilon an atom of mass m scores one - E other, and a report outside the blanket 0.  Scores are
rounded up, chances to the nearest double, so that an expectation of an increasing function of sums of scores is never
too small but for the relative error of the chances.  Source: Balle, Bell, Gascon and Nissim 2019, lemma 5.3.  Not here:
sums of many scores (blanket.py).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from murmurate.aggregators.accounting.errors import AccountingError
from murmurate.randomizers.question import Atom, Blanket, Floats


class Scores(NamedTuple):
    """The law of one report's score."""

    values: Floats
    """Scores that are not 0, rounded up: float64[k]."""
    chances: Floats
    """Chances of these, each to the nearest double: float64[k]."""
    silent: float
    """The chance of a report that is not of the blanket."""


class PairAtoms(NamedTuple):
    """Atoms as doubles, in one of the two orders of the pair."""

    masses: Floats
    """Masses to the nearest double: float64[k]."""
    one: Floats
    """Likelihoods under the first value, rounded up: float64[k]."""
    other: Floats
    """Likelihoods under the second value, rounded down: float64[k]."""
    silent: float
    """One less the masses."""

    def scores(self, epsilon: float) -> Scores:
        """The scores at this epsilon."""
        ratio = math.exp(epsilon) * (1 - 2**-50) if epsilon else 1.0
        values = np.nextafter(self.one - np.nextafter(ratio * self.other, -np.inf), np.inf)
        return Scores(values, self.masses, self.silent)


def orders(blanket: Blanket) -> tuple[PairAtoms, ...]:
    """The atoms as they are and with both values of the pair exchanged; one of them where that is the same.

    AccountingError where they are no blanket: a mass below 0, masses above 1 together, or values whose chances do not
    sum to 1.
    """
    kinds: dict[tuple[Fraction, Fraction], Fraction] = {}
    for mass, one, other in blanket:
        if mass:
            kinds[one, other] = kinds.get((one, other), Fraction(0)) + mass
    atoms = [Atom(mass, one, other) for (one, other), mass in sorted(kinds.items(), key=lambda kind: kind[0])]
    _check(atoms)
    turned = sorted((Atom(mass, other, one) for mass, one, other in atoms), key=lambda atom: atom[1:])
    return (_doubles(atoms),) if turned == atoms else (_doubles(atoms), _doubles(turned))


_CLOSE = Fraction(1, 1 << 40)


def _check(atoms: list[Atom]) -> None:
    share = sum((atom.mass for atom in atoms), Fraction(0))
    sums = [sum((atom[0] * atom[k] for atom in atoms), Fraction(0)) for k in (1, 2)]
    if min((min(atom) for atom in atoms), default=-1) < 0 or share > 1 + _CLOSE or max(sums) > 1 + _CLOSE:
        raise AccountingError(
            "blanket: found masses or likelihoods below 0, or more than 1 together; allowed: parts of the laws of two "
            "values"
        )
    if min(sums) < 1 - _CLOSE:
        raise AccountingError("blanket: found atoms that leave out a part of a law; allowed: all that a value can give")


def _doubles(atoms: list[Atom]) -> PairAtoms:
    masses = np.array([float(atom.mass) for atom in atoms])
    one = np.nextafter(np.array([float(atom.one) for atom in atoms]), np.inf)
    other = np.nextafter(np.array([float(atom.other) for atom in atoms]), -np.inf)
    silent = 1 - sum((atom.mass for atom in atoms), Fraction(0))
    return PairAtoms(masses, one, other, max(0.0, float(silent)))
