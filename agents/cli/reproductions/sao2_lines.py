# SPDX-License-Identifier: Apache-2.0
"""The tables of `murmurate reproduce sao2` as lines of at most 80 columns.

Contract: a function of what was computed.  Not here: computing (sao2.py), what is judged (sao2_verdicts.py).
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from murmurate.agents.cli.reproductions import sao2_reference as reference
from murmurate.agents.cli.reproductions import vectors_reference
from murmurate.agents.cli.reproductions.vectors_lines import COLUMNS
from murmurate.agents.cli.reproductions.vectors_verdicts import of_normal
from murmurate.agents.simulate.residue_errors import FORMS, PROTOCOLS

Found = Mapping[tuple[Any, ...], Any]
FORM_NAMES: Final = {
    "printed": "the tree as printed", "needed": "needed nodes and levels", "every": "every node, least squares",
}  # fmt: skip
RULE_NAMES: Final = {
    ("uniform", False): "uniform", ("simple", False): "simple", ("simple", True): "   its root",
    ("calibrated", False): "calibrated", ("calibrated", True): "   its root",
    ("every", False): "every node, best portions",
}  # fmt: skip


def lines(found: Found, records: int, runs: int, horizons: int) -> Iterator[str]:
    """All tables."""
    for epsilon in reference.EPSILONS:
        yield from _table_3(found, epsilon, runs)
    yield from _protocols(found)
    yield from _told(found, horizons)
    yield from _table_2()
    yield from _lengths(found)
    yield from _portions(found)
    yield from _stocks(found, records)
    for what, why in reference.EXCEPTIONS.items():
        yield from textwrap.wrap(f"(not judged: {what}: {why})", COLUMNS, subsequent_indent=" ")
    yield ""


def _row(name: str, values: Sequence[float]) -> str:
    return f"{name:<36}" + "".join(f"{'-':>10}" if math.isnan(value) else f"{value:>10.4g}" for value in values)


def _table_3(found: Found, epsilon: Fraction, runs: int) -> Iterator[str]:
    """Table 3 for one epsilon: printed, expected of the printed tree, and of the product's."""
    yield f"SaO2, table 3: largest error (MAE) of {reference.PERIODS} periods, epsilon {float(epsilon):g}"
    yield f"n = {reference.USERS}, d = 1, s = {reference.CHANGES}; expected: {runs} drawn horizons"
    yield f"{'':<36}" + "".join(f"{f'r = {r}':>10}" for r in reference.FANOUTS)
    for name in ("ExSub", "DDRM"):
        yield _row(f"{name}, printed", reference.TABLE_3[name, epsilon])
        if name == "ExSub" and epsilon == reference.EPSILONS[0]:
            grown = math.sqrt(reference.LATER_USERS / reference.USERS)
            yield _row("   of 2024, for as many users", [value * grown for value in reference.LATER])
        for form in FORMS:
            each = [found["horizon", name, form, r, epsilon].largest for r in reference.FANOUTS]
            yield _row(f"   {FORM_NAMES[form]}", each)
        yield _row("   as printed, if nobody changes",
                   [found["still", name, r, epsilon].largest for r in reference.FANOUTS])  # fmt: skip
        if (name, epsilon) in reference.HANDED_IN:
            yield _row("      other code", reference.HANDED_IN[name, epsilon])
    yield ""


def _protocols(found: Found) -> Iterator[str]:
    """Older protocols through the same tree."""
    r = reference.FANOUTS[0]
    yield f"older protocols through the same tree, r = {r}: largest errors"
    yield f"{'':<24}" + "".join(f"{form:>9}" for _ in reference.EPSILONS for form in FORMS)
    yield f"{'':<24}" + "".join(f"{f'at epsilon {float(epsilon):g}':>27}" for epsilon in reference.EPSILONS)
    for name in PROTOCOLS:
        each = [found["horizon", name, form, r, epsilon].largest for epsilon in reference.EPSILONS for form in FORMS]
        yield f"{name:<24}" + "".join(f"{value:>9.4g}" for value in each)
    yield ""


def _told(found: Found, horizons: int) -> Iterator[str]:
    """What devices really tell."""
    yield f"{horizons} horizons of 16 periods told by keyed devices, epsilon 1: mean squared errors"
    yield f"{'over exact variances':<36}{'nodes':>10}{'values':>10}"
    for (part, *of), told in found.items():
        if part == "told":
            yield f"{of[0]:<36}" + "".join(f"{value:>10.3f}" for value in told)
    yield ""


def _table_2() -> Iterator[str]:
    """The rows of ExSub, whose drawn errors are in another reproduction."""
    table = vectors_reference.TABLES["2"]
    yield "SaO2, table 2, ExSub (drawn, reported, and table 4: murmurate reproduce vectors)"
    yield f"{'':<30}" + "".join(f"{epsilon:>10g}" for epsilon in vectors_reference.EPSILONS)
    for place, kind in enumerate(("total error", "largest error")):
        usual = [of_normal("ExSub", table, epsilon)[place] for epsilon in vectors_reference.EPSILONS]
        for name, values in ((f"{kind}, printed", table.rows["ExSub"][place]), ("   expected", usual)):
            yield f"{name:<30}" + "".join(f"{value:>10.4g}" for value in values)
    yield ""


def _lengths(found: Found) -> Iterator[str]:
    number, s, epsilon = reference.LENGTHS
    yield f"SaO2, figure 1: ln MSE of one user, d' = {number}, s = {s}, epsilon {epsilon:g}"
    yield f"{'m':<16}" + "".join(f"{m:>8}" for m in reference.SHOWN_LENGTHS)
    for place, kind in enumerate(("mean", "share")):
        yield f"{kind:<16}" + "".join(f"{found['length', m][place]:>8.2f}" for m in reference.SHOWN_LENGTHS)
    m, error = found["length", "best"]
    yield f"smallest: {error:.2f} at m = {m}; printed: {reference.BEST_LENGTH[1]} at m = {reference.BEST_LENGTH[0]}"
    m, error = found["length", "best for shares"]
    yield f"of shares: {error:.2f} at m = {m}"
    yield ""


def _portions(found: Found) -> Iterator[str]:
    """Portions of users, and what is said of one of them."""
    yield "portions of users: variance of all answers over that of the best, needed nodes"
    yield f"{'':<26}" + "".join(f"{f'T = {tree.periods}, d = {tree.d}':>27}" for tree in reference.PORTIONS)
    yield f"{'':<26}" + f"{'mean':>9}{'prefix':>9}{'ranges':>9}" * len(reference.PORTIONS)
    for rule, name in RULE_NAMES.items():
        each = [value for tree in reference.PORTIONS for value in found["portions", tree.periods, *rule]]
        yield f"{name:<26}" + "".join(f"{'-':>9}" if math.isnan(value) else f"{value:>9.3f}" for value in each)
    for tree in reference.PORTIONS:
        by_rule = (found["portions", tree.periods, rule, False][1] for rule in ("calibrated", "uniform"))
        saved = 1 - math.sqrt(next(by_rule) / next(by_rule))
        yield f"T = {tree.periods}: calibrated saves {saved:.1%} of a prefix's deviation; the text: 20 %"
    yield ""


def _stocks(found: Found, records: int) -> Iterator[str]:
    """Figures 6 and 12."""
    yield f"SaO2, figures 6 and 12: {records} records of 32 prices, told without a tree, s = 6"
    for kind, field in (("total error, expected", "expected"), ("largest error, drawn", "largest")):
        yield f"{kind:<30}" + "".join(f"{epsilon:>10g}" for epsilon in reference.STOCK_EPSILONS)
        for name in ("ExSub", "majority", *reference.OLDER):
            each = [getattr(found["stocks", name, epsilon], field) for epsilon in reference.STOCK_EPSILONS]
            yield f"{name:<30}" + "".join(f"{value:>10.3g}" for value in each)
    for kind, rivals in (("older", reference.OLDER), ("online", reference.OLDER_ONLINE)):
        saved = []
        for epsilon in reference.STOCK_EPSILONS:
            least = min(found["stocks", name, epsilon].expected for name in rivals)
            saved.append(1 - found["stocks", "ExSub", epsilon].expected / least)
        yield f"{f'total below the best {kind}':<30}" + "".join(f"{f'{share:.0%}':>10}" for share in saved)
    yield "(the text: about 30 %)"
    yield ""
