# SPDX-License-Identifier: Apache-2.0
"""What of mixing is held against the literature, and what of it is missed.

Contract: closed forms within 1 % of what is printed; errors of drawn collections within 10 % of the exact ones;
epsilons within 1.5 x 10^-4 of other code's, and of a figure's readings within 1 %.  The text of Wang 2021, section
9.6.2, as bounds: SH is worse than no data below its threshold; SOLH is about three orders better than local hashing,
Laplace noise about two better than SOLH, and unary encodings are similar to SOLH, within one.  And what SOLH's choice
is worth is never above its target.  Not here: what is computed (shuffle.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from murmurate.agents.cli.reproductions import shuffle_reference as reference
from murmurate.agents.cli.reproductions.shuffle_blankets import closed
from murmurate.agents.cli.reproductions.shuffle_ways import DELTA, of_table, rare_variance, ways
from murmurate.agents.simulate.mixed_histograms import Histogram, HistogramMethod, expected_error
from murmurate.aggregators.accounting import literature

PRINTED: Final = 0.01
MEASURED: Final = 0.10
COMPUTED: Final = 1.5e-4
FEWEST: Final = 10_000
"""Squared errors from which a mean is judged: of fewer, chance is above a tenth of it."""
ORDERS: Final = {"OLH": (2.5, 3.5), "Had": (2.5, 3.5), "AUE": (-1.0, 1.0), "RAP": (-1.0, 1.0), "RAP_R": (-1.0, 1.0),
                 "Lap": (-3.0, -1.5)}  # fmt: skip
"""By how many orders of ten a method's error is above SOLH's, at least and at most."""
Found = Mapping[tuple[Any, ...], float]


def missed(found: Found, histograms: list[Histogram], runs: int) -> Iterator[str]:
    """A line for all that is not reproduced."""
    yield from _of_table(found, next(one for one in histograms if one.name == "pages"))
    for histogram in histograms:
        yield from _of_figure(found, histogram, runs)
    for name, expected in reference.FIGURE_2.items():
        for n, printed in zip(reference.ONLINE, expected, strict=True):
            value = found.get(("figure 2", name, n)) or closed(name, n, reference.ONLINE_DELTA)
            yield from _apart(f"SaO2, figure 2, {name}, {n} users", value, printed, PRINTED)
    for name, numbers in reference.AMPLIFIED.items():
        for (n, delta), number in zip(reference.AT, numbers, strict=True):
            value = found.get(("amplified", name, n)) or closed(name, n, delta)
            yield from _apart(f"{name}, {n} reports", value, number, COMPUTED)


def _of_table(found: Found, pages: Histogram) -> Iterator[str]:
    for target, cells in zip(reference.TARGETS, reference.CELLS, strict=True):
        chosen = literature.target_solh(target, pages.n, DELTA).cells
        if chosen != cells:
            yield f"table 9.2, cells at {target:g}: {chosen}; printed: {cells}"
    for row, printed in reference.TABLE.items():
        for target, value in zip(reference.TARGETS, printed, strict=True):
            way = of_table(row, target, pages.n)
            yield from _apart(f"table 9.2, {row} at {target:g}", rare_variance(way, pages.n), value, PRINTED)
            exact = expected_error(pages, way)
            yield from _apart(
                f"table 9.2, {row} at {target:g}, measured", found["table 9.2", row, target], exact, MEASURED
            )


def _of_figure(found: Found, histogram: Histogram, runs: int) -> Iterator[str]:
    """Errors beside the exact ones, and the orders that the text states."""
    base = expected_error(histogram, HistogramMethod("uniform"))
    least = math.sqrt(literature.binomial_constant(DELTA) * histogram.d / (histogram.n - 1))
    for target in sorted({key[2] for key in found if key[:2] == ("figure 9.3", histogram.name)}):
        at = f"figure 9.3, {histogram.name} at {target:g}"
        exact = {name: expected_error(histogram, way) for name, way in ways(target, histogram.n, histogram.d).items()}
        for name, value in exact.items():
            if runs * histogram.d >= FEWEST:
                measured = found["figure 9.3", histogram.name, target, name]
                yield from _apart(f"{at}, {name}, measured", measured, value, MEASURED)
        if target < least and exact["SH"] <= base:
            yield f"{at}: SH {exact['SH']:.2e}; above {base:.2e}, the error without any data"
        for name, (low, high) in ORDERS.items():
            if name in exact and not low <= (orders := math.log10(exact[name] / exact["SOLH"])) <= high:
                yield f"{at}: {name} is 10^{orders:.1f} of SOLH; 10^{low:g} to 10^{high:g}"
        if (real := found["worth", histogram.name, target]) > target:
            yield f"{at}: SOLH's choice is worth {real:.4f}; at most {target:g}"


def _apart(name: str, value: float, expected: float, share: float) -> Iterator[str]:
    if not abs(value / expected - 1) <= share:
        yield f"{name}: {value:.4g}; {expected:.4g} within {share:.2%}"
