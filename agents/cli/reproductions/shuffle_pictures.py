# SPDX-License-Identifier: Apache-2.0
"""Figure 9.3 of Wang 2021 as a picture: errors by central epsilon, a chart for each histogram.

Contract: the same errors, the same bytes.  What mixing has nothing to do with is dashed: local methods, Laplace noise,
and no data at all.  Not here: SVG (pictures.py), errors (shuffle.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from murmurate.agents.cli.pictures import Chart, Curve, Look, picture
from murmurate.agents.cli.reproductions.shuffle_ways import METHODS
from murmurate.agents.simulate.mixed_histograms import Histogram

LOOKS: Final = {
    "Base": Look(dashes=2), "OLH": Look(0, dashes=1), "Had": Look(6, dashes=1), "SH": Look(1), "SOLH": Look(width=2.2),
    "AUE": Look(2), "RAP": Look(3), "RAP_R": Look(4), "Lap": Look(7, dashes=1),
}  # fmt: skip


def drawing(found: Mapping[tuple[Any, ...], float], histograms: Sequence[Histogram], targets: Sequence[float]) -> str:
    """The figure as SVG."""
    charts = [
        Chart(
            f"{histogram.name}, d = {histogram.d}", [(target, f"{target:g}") for target in targets[::3]],
            [_curve(found, histogram, name, targets) for name in METHODS],
            logarithmic=True, height=150,
        )
        for histogram in histograms
    ]  # fmt: skip
    return picture("Wang 2021, figure 9.3: mean squared errors of frequencies by central epsilon", charts)


def _curve(found: Mapping[tuple[Any, ...], float], histogram: Histogram, name: str, targets: Sequence[float]) -> Curve:
    keys = [("figure 9.3", histogram.name, target, name) for target in targets]
    return Curve(name, LOOKS[name], [(key[2], found[key]) for key in keys if key in found])
