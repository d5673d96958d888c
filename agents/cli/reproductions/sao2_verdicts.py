# SPDX-License-Identifier: Apache-2.0
"""What of SaO2's horizons is held against the paper, other code and exact variances, and what of it is missed.

Contract: table 3's rows of ExSub within 12 % of what is expected of the printed tree, and table 2's up to epsilon 1;
figure 1's minimum where it is printed; figures of other code in the digits that were handed in, with five standard
deviations of ours; drawn errors within five standard deviations of exact ones; every node with least squares never
worse than the sums of paths.  What is not judged is named (sao2_reference.EXCEPTIONS).  Not here: what is computed
(sao2.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from murmurate.agents.cli.reproductions import sao2_reference as reference
from murmurate.agents.cli.reproductions import vectors_reference
from murmurate.agents.cli.reproductions.vectors_verdicts import DEVIATIONS, PRINTED, SPREAD, of_normal
from murmurate.agents.simulate.residue_errors import FORMS

HANDED: Final = 0.012
"""Three digits, and what other code's own runs leave open."""
LARGEST_SPREAD: Final = 0.3
"""At least the relative standard deviation of one horizon's largest error."""
TOLD_SPREADS: Final = (0.1, 0.25)
"""At least the standard deviations of one told horizon's mean squares, of nodes and of values."""
LENGTH_DIGITS: Final = 0.005
PORTION_DIGITS: Final = 0.006
Found = Mapping[tuple[Any, ...], Any]


def missed(found: Found, runs: int, horizons: int) -> Iterator[str]:
    """A line for all that is not reproduced."""
    yield from of_horizons(found, runs)
    yield from of_formulas(found)
    yield from of_keyed(found, horizons)
    yield from of_stocks(found)


def of_horizons(found: Found, runs: int) -> Iterator[str]:
    """Table 3, and every horizon's exact variances."""
    chance = DEVIATIONS * LARGEST_SPREAD / math.sqrt(runs)
    for epsilon in reference.EPSILONS:
        for place, r in enumerate(reference.FANOUTS):
            at = f"table 3, ExSub, epsilon {float(epsilon):g}, r = {r}"
            usual = found["horizon", "ExSub", "printed", r, epsilon].largest
            yield from _apart(at, reference.TABLE_3["ExSub", epsilon][place], usual, PRINTED)
            if epsilon == reference.EPSILONS[0]:
                later = usual * math.sqrt(reference.USERS / reference.LATER_USERS)
                yield from _apart(f"{at}, of 2024", reference.LATER[place], later, PRINTED)
    for (name, epsilon), figures in reference.HANDED_IN.items():
        for r, figure in zip(reference.FANOUTS, figures, strict=True):
            still = found["still", name, r, epsilon].largest
            yield from _apart(f"{name} without changes, r = {r}", still, figure, HANDED + chance)
    for (part, *of), errors in found.items():
        if part == "horizon":
            name, form, r, epsilon = of
            at = f"{name}, {form} tree, r = {r}, epsilon {float(epsilon):g}"
            yield from _apart(f"{at}: mean squares over exact variances", 1 + errors.off, 1, of_squares(runs))
            worse = [one for one in FORMS if errors.total > found["horizon", name, one, r, epsilon].total * (1 + 1e-9)]
            if form == "every" and worse:
                yield f"{at}: total error {errors.total:.4g}; not above that of the {worse[0]} tree"


def of_squares(runs: int) -> float:
    """How far a mean of drawn squares may be from its variance: periods are drawn together."""
    return DEVIATIONS * math.sqrt(2 / runs)


def of_formulas(found: Found) -> Iterator[str]:
    """Table 2's rows of ExSub, figure 1, and portions."""
    table = vectors_reference.TABLES["2"]
    for place, epsilon in enumerate(vectors_reference.EPSILONS):
        usual = of_normal("ExSub", table, epsilon)
        for kind, printed, value in zip(("total", "largest"), table.rows["ExSub"], usual, strict=True):
            if epsilon <= vectors_reference.JUDGED:
                yield from _apart(f"table 2, ExSub, {kind} error at {epsilon:g}", printed[place], value, PRINTED)
    m, error = found["length", "best"]
    if (m, abs(error - reference.BEST_LENGTH[1]) <= LENGTH_DIGITS) != (reference.BEST_LENGTH[0], True):
        yield f"figure 1: {error:.4g} at m = {m}; {reference.BEST_LENGTH[1]} at m = {reference.BEST_LENGTH[0]}"
    for tree in reference.PORTIONS:
        for (rule, rooted), figures in tree.figures.items():
            ours = found["portions", tree.periods, rule, rooted]
            for value, figure in zip(ours, figures, strict=True):
                if figure is not None and not abs(value - figure) <= PORTION_DIGITS:
                    yield f"portions, T = {tree.periods}, {rule}, root {rooted}: {value:.4g}; {figure:g}"
        if max(found["portions", tree.periods, "every", False]) > 1:
            yield f"portions, T = {tree.periods}: every node is worse than needed ones"


def of_keyed(found: Found, horizons: int) -> Iterator[str]:
    """Horizons that devices told with their own coins."""
    for (part, *of), told in found.items():
        if part == "told":
            for kind, value, spread in zip(("nodes", "values"), told, TOLD_SPREADS, strict=True):
                at = f"told by {of[0]}: squared errors of {kind} over exact variances"
                yield from _apart(at, value, 1, DEVIATIONS * spread / math.sqrt(horizons))


def of_stocks(found: Found) -> Iterator[str]:
    """Direct rounding: drawn errors near expected ones, and ExSub's the smallest of those that are older."""
    near = DEVIATIONS * SPREAD[0] / math.sqrt(reference.STOCK_DAYS)
    for epsilon in reference.STOCK_EPSILONS:
        ours = found["stocks", "ExSub", epsilon].expected
        for name in ("ExSub", *reference.OLDER):
            errors, at = found["stocks", name, epsilon], f"stocks, {name}, epsilon {epsilon:g}"
            yield from _apart(f"{at}, drawn", errors.total, errors.expected, near)
            if errors.expected < ours * (1 - 1e-9):
                yield f"{at}: {errors.expected:.4g}; not below ExSub's {ours:.4g}"


def _apart(name: str, value: float, wanted: float, share: float) -> Iterator[str]:
    if not abs(value / wanted - 1) <= share:
        yield f"{name}: {value:.4g}; {wanted:.4g} within {share:.2%}"
