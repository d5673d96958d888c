# SPDX-License-Identifier: Apache-2.0
"""SaO2's horizons as pictures: table 3 through three trees, and stocks that are told without one.

Contract: the same numbers, the same bytes.  What is printed is dots; what is older than ExSub is dashed.  Not here: SVG
(pictures.py), numbers (sao2.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Final

from murmurate.agents.cli.pictures import Chart, Curve, Look, picture
from murmurate.agents.cli.reproductions import sao2_reference as reference
from murmurate.agents.cli.reproductions.sao2_lines import FORM_NAMES
from murmurate.agents.cli.reproductions.vectors_pictures import LOOKS
from murmurate.agents.simulate.residue_errors import Form

Found = Mapping[tuple[Any, ...], Any]
FORMS: Final[dict[Form, Look]] = {"printed": Look(0), "needed": Look(1), "every": Look(width=2.2)}
STOCKS: Final = {
    "ExSub": LOOKS["ExSub"], "majority": LOOKS["majority"], "PCKV-AGRR": LOOKS["PCKV-AGRR"], "DDRM": LOOKS["DDRM"],
    "EFMRTT": Look(1, dashes=1), "FutureRand": Look(2, dashes=1),
}  # fmt: skip


def pictures(found: Found) -> Iterator[tuple[str, str]]:
    """Names of files and their SVG."""
    charts = [by_fanout(found, epsilon) for epsilon in reference.EPSILONS]
    yield "sao2-table-3.svg", picture("SaO2, table 3: largest error of ExSub by fan-out", charts)
    yield "sao2-stocks.svg", picture("Stocks told without a tree", [stocks(found)])


def by_fanout(found: Found, epsilon: Fraction) -> Chart:
    """Largest errors of ExSub."""
    across = [(math.log2(r), str(r)) for r in reference.FANOUTS]
    curves = [
        Curve(
            f"expected: {FORM_NAMES[form]}",
            look,
            [(math.log2(r), found["horizon", "ExSub", form, r, epsilon].largest) for r in reference.FANOUTS],
        )
        for form, look in FORMS.items()
    ]
    printed = zip(reference.FANOUTS, reference.TABLE_3["ExSub", epsilon], strict=True)
    dots = Curve("printed", Look(0, dots=True), [(math.log2(r), value) for r, value in printed])
    return Chart(f"epsilon {float(epsilon):g}", across, [*curves, dots], over="fan-out")


def stocks(found: Found) -> Chart:
    """Expected total errors by epsilon."""
    across = [(math.log(epsilon), f"{epsilon:g}") for epsilon in reference.STOCK_EPSILONS]
    curves = [
        Curve(name, look, [(math.log(e), found["stocks", name, e].expected) for e in reference.STOCK_EPSILONS])
        for name, look in STOCKS.items()
    ]
    return Chart("total error (TVE)", across, curves, over="epsilon", logarithmic=True, height=190)
