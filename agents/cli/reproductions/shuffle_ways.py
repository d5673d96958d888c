# SPDX-License-Identifier: Apache-2.0
"""The methods of Wang 2021, chapter 9, at a central target: which chances their reports have, by its closed forms.

Contract: `ways` gives for each method the chances that the dissertation gives it at (epsilon_c, delta), as corrected in
ARCHITECTURE errata C21, C23 and C27.  Where a method does not amplify at the target, it is asked at the target itself.
Not here: what these choices are really worth (shuffle.py), errors (agents/simulate/mixed_histograms.py).
"""

from __future__ import annotations

import math
from typing import Final

from murmurate.agents.simulate.mixed_histograms import HistogramMethod
from murmurate.aggregators.accounting import literature

DELTA: Final = 1e-9
METHODS: Final = ("Base", "OLH", "Had", "SH", "SOLH", "AUE", "RAP", "RAP_R", "Lap")
"""The order of the columns."""


def ways(target: float, n: int, d: int, delta: float = DELTA) -> dict[str, HistogramMethod]:
    """Every method that there is at this target, in the order of METHODS."""
    a = target**2 * (n - 1) / (56 * math.log(4 / delta))
    added = literature.target_aue(target, n, delta)[0]
    sh = literature.target_sh(target, d, n, delta)
    found = {
        "Base": HistogramMethod("uniform"),
        "OLH": hashing(target, max(2, round(math.exp(target) + 1))),
        "Had": hashing(target, 2),
        "SH": direct(target if sh is None else sh.local, d),
        "SOLH": solh(target, n, delta=delta),
        "Lap": HistogramMethod("noise", 2 / target),
    }
    if 0 < added < 1:
        found["AUE"] = HistogramMethod("added", added)
    if a > 2:
        found["RAP"] = HistogramMethod("reports", 1 - 1 / a, 1 / a)
    if (removal := unary_removal(target, n, delta)) is not None:
        found["RAP_R"] = removal
    return {name: found[name] for name in METHODS if name in found}


def direct(local: float, d: int) -> HistogramMethod:
    """GRR."""
    ratio = math.exp(local)
    return HistogramMethod("reports", ratio / (ratio + d - 1), 1 / (ratio + d - 1))


def hashing(local: float, cells: int) -> HistogramMethod:
    """Local hashing."""
    ratio = math.exp(local)
    return HistogramMethod("reports", ratio / (ratio + cells - 1), 1 / cells)


def solh(target: float, n: int, cells: int | None = None, delta: float = DELTA) -> HistogramMethod:
    """SOLH with its rule for the cells, or with so many; where these are too many, local hashing at the target."""
    chosen = literature.target_solh(target, n, delta, cells)
    if cells is not None and chosen.local == target:
        return hashing(target, max(2, round(math.exp(target) + 1)))
    return hashing(chosen.local, chosen.cells)


def unary_removal(target: float, n: int, delta: float = DELTA) -> HistogramMethod | None:
    """Unary encoding under removal; None where it does not amplify."""
    m = target**2 * (n - 1) / literature.binomial_constant(delta)
    return HistogramMethod("reports", 1 - 1 / m, 1 / m) if m > 2 else None


def rare_variance(way: HistogramMethod, n: int) -> float:
    """The variance of the frequency of a value that nobody holds."""
    if way.kind == "added":
        return way.p * (1 - way.p) / n
    return way.q * (1 - way.q) / (n * (way.p - way.q) ** 2)


def of_table(row: str, target: float, n: int) -> HistogramMethod:
    """The method of a row of table 9.2."""
    if row == "RAP_R" and (removal := unary_removal(target, n)) is not None:
        return removal
    return solh(target, n, int(row.partition("=")[2]) if "=" in row else None)
