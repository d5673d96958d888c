# SPDX-License-Identifier: Apache-2.0
"""Closed forms of the literature for what shuffling is worth: to compare with, never to claim.

Contract: each gives the epsilon (or, for a central target, the local epsilon and the variance of a frequency) that its
paper states, as corrected in ARCHITECTURE errata C21, C23, C25, C27 and E22, and None where the paper says that it does
not hold.  They are several times what the numeric blanket gives; `FORMS` says of each what else is wrong with it.
Source: Wang 2021, table 9.1 and sections 9.3 and 9.5, whose [50], [49] and [51] are Erlingsson et al. 2019, Cheu et al.
2019 and Balle et al. 2019; Feldman, McMillan and Talwar 2021.  Not here: fake reports in a deployment.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, NamedTuple


class LiteratureForm(NamedTuple):
    """A closed form and what keeps it from being claimed."""

    name: str
    """The name that a table shows."""
    epsilon: Callable[[float, int, int, float], float | None]
    """The central epsilon by local epsilon, domain, reports and delta; None where the form does not hold."""
    of: tuple[str, ...] | None
    """The mechanisms that it is about; None: all."""
    caveat: str
    """What is wrong with it, or how far off it is."""


class CentralChoice(NamedTuple):
    """What a form of the literature does with a central target."""

    local: float
    """The local epsilon of a report; the target itself, where mixing gains nothing by the form."""
    variance: float
    """The variance of a rare value's frequency."""
    cells: int
    """Cells of the hash functions, or values of the domain."""


def binomial_constant(delta: float) -> float:
    """The constant of the binomial mechanism, 14 ln(2 / delta)."""
    return 14 * math.log(2 / delta)


def erlingsson(local: float, d: int, n: int, delta: float) -> float | None:
    """The bound of Erlingsson et al. 2019: 12 local sqrt(ln(1 / delta) / n), for local epsilons below 1/2."""
    return math.sqrt(144 * math.log(1 / delta) * local**2 / n) if local < 0.5 else None


def cheu(local: float, d: int, n: int, delta: float) -> float | None:
    """The bound of Cheu et al. 2019 for binary randomised response, between its two ends."""
    found = math.sqrt(32 * math.log(4 / delta) * (math.exp(local) + 1) / n)
    return found if d == 2 and math.sqrt(192 * math.log(4 / delta) / n) < found < 1 else None


def blanket_closed(local: float, d: int, n: int, delta: float) -> float | None:
    """The bound of Balle et al. 2019 for GRR over d values (SH), or over d cells of a hash function (SOLH)."""
    found = math.sqrt(binomial_constant(delta) * (math.exp(local) + d - 1) / (n - 1))
    return found if found <= min(1.0, local) else None


def rap(local: float, d: int, n: int, delta: float) -> float | None:
    """The bound for symmetric unary encoding (RAP): two bits differ, each with half of both. It holds where every cell
    is mixed by itself (ARCHITECTURE erratum E23).
    """
    found = 2 * math.sqrt(14 * math.log(4 / delta) * (math.exp(local / 2) + 1) / (n - 1))
    return found if found <= min(1.0, local) else None


def rap_removal(local: float, d: int, n: int, delta: float) -> float | None:
    """The bound for unary encoding under removal (RAP_R), where bits turn with 1 / (e^local + 1): replacing costs twice
    this.
    """
    found = math.sqrt(binomial_constant(delta) * (math.exp(local) + 1) / (n - 1))
    return found if found <= min(1.0, local) else None


def clones_closed(local: float, d: int, n: int, delta: float) -> float | None:
    """The closed form of clones: how many there are, and how unevenly they may fall (ARCHITECTURE erratum E22)."""
    ratio = math.exp(local)
    tail = math.log(4 / delta)
    copies = n / ratio - math.sqrt(3 * n / ratio * tail)
    if copies <= 2 * tail:
        return None
    uneven = math.sqrt(tail * copies / 2)
    return math.log1p((ratio - 1) / (ratio + 1) * (2 * uneven + 1) / (copies / 2 - uneven))


FORMS: Final = (
    LiteratureForm("EFMRTT", erlingsson, None, "local epsilon below 0.5; 5 to 30 times too large"),
    LiteratureForm("Cheu et al.", cheu, ("grr",), "binary alone, and up to 1"),
    LiteratureForm("SH, SOLH", blanket_closed, ("grr", "olh", "blh"), "up to 1; several times too large"),
    LiteratureForm("RAP", rap, ("sue",), "cells apart alone; for whole reports it is false"),
    LiteratureForm("RAP_R", rap_removal, ("sue",), "removal, bits of all of epsilon; cells apart alone"),
    LiteratureForm("clones, closed", clones_closed, None, "valid for all, and several times too large"),
)
"""All closed forms of a table, in the order in which it shows them."""


def target_sh(target: float, d: int, n: int, delta: float) -> CentralChoice | None:
    """What SH does for a central epsilon with GRR; None where it does not amplify."""
    m = target**2 * (n - 1) / binomial_constant(delta)
    return CentralChoice(math.log(m - d + 1), (m - 1) / (n * (m - d) ** 2), d) if m > d else None


def target_solh(target: float, n: int, delta: float, cells: int | None = None) -> CentralChoice:
    """What SOLH does for a central epsilon, with its rule for the cells or with so many; where they are too many, local
    hashing of two cells at the target itself.
    """
    m = target**2 * (n - 1) / binomial_constant(delta)
    g = max(2, round((m + 2) / 3)) if cells is None else cells
    if m > g:
        return CentralChoice(math.log(m - g + 1), m**2 / (n * (m - g) ** 2 * (g - 1)), g)
    e = math.exp(target)
    g = max(2, round(e + 1)) if cells is None else cells
    return CentralChoice(target, (e + g - 1) ** 2 / (n * (e - 1) ** 2 * (g - 1)), g)


def target_rap(target: float, n: int, delta: float) -> float:
    """The variance of RAP for a central epsilon."""
    a = target**2 * (n - 1) / (56 * math.log(4 / delta))
    return (a - 1) / (n * (a - 2) ** 2)


def target_rap_removal(target: float, n: int, delta: float) -> float:
    """The variance of RAP_R for a central epsilon under removal."""
    m = target**2 * (n - 1) / binomial_constant(delta)
    return (m - 1) / (n * (m - 2) ** 2)


def target_aue(target: float, n: int, delta: float) -> tuple[float, float]:
    """The share of added ones in AUE, which is not local differential privacy, and the variance of a frequency."""
    p = 1 - 200 * math.log(4 / delta) / (target**2 * n)
    return p, p * (1 - p) / n


class FakesChoice(NamedTuple):
    """What PEOS does with so many fake reports for a central epsilon."""

    cells: int
    """Cells of the hash functions."""
    best_cells: float
    """Cells before they are rounded."""
    local: float
    """The local epsilon of a report."""
    variance: float
    """The variance of a rare value's frequency."""
    against_users: float
    """The epsilon against whoever knows all other users' reports, by the fakes alone."""


def peos(target: float, n: int, fakes: int, delta: float) -> FakesChoice:
    """SOLH with uniform fake reports (ARCHITECTURE erratum C25: more of them make d' larger, not smaller)."""
    constant = binomial_constant(delta)
    a = constant / target**2
    best = ((n - 1 + fakes) / a + 2) / 3
    g = round(best)
    m = (n - 1) / (a - fakes / g)
    variance = (n + fakes) / n**2 * m**2 / ((m - g) ** 2 * (g - 1))
    return FakesChoice(g, best, math.log(m - g + 1), variance, peos_against_users(g, fakes, delta))


def peos_epsilon(local: float, cells: int, n: int, fakes: int, delta: float) -> float:
    """The central epsilon of PEOS by its local one (equation 9.6)."""
    return math.sqrt(binomial_constant(delta) / ((n - 1) / (math.exp(local) + cells - 1) + fakes / cells))


def peos_against_users(cells: int, fakes: int, delta: float) -> float:
    """The epsilon of PEOS against whoever knows all other users' reports: the binomial mechanism of the fakes."""
    return math.sqrt(binomial_constant(delta) * cells / fakes)
