# SPDX-License-Identifier: Apache-2.0
"""Errors of mechanisms for sparse vectors as pictures: by epsilon, by the number of cells, after mixing, learning.

Contract: the same numbers, the same bytes.  What the product does not choose by itself, because something is always
better, is dashed.  Not here: SVG (pictures.py), numbers (vectors.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from murmurate.agents.cli.pictures import Chart, Curve, Look, picture
from murmurate.agents.cli.reproductions import vectors_reference as reference
from murmurate.agents.cli.reproductions.vectors_lines import LEARNERS, LEARNING_EPSILONS
from murmurate.agents.simulate import sparse_laws as laws
from murmurate.agents.simulate.federated import EXACT
from murmurate.agents.simulate.sparse_errors import expected, mean_square

LOOKS: Final = {
    "ExSub": Look(width=2.2), "majority": Look(0), "CoCo": Look(1), "Collision": Look(2),
    "PCKV-AGRR": Look(3, dashes=1), "KVUE": Look(4, dashes=1), "DDRM": Look(6, dashes=1),
    "PCKV-UE": Look(7, dashes=1), "SUCCINCT": Look(5, dashes=2),
}  # fmt: skip
EPSILONS: Final = (0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0)
USERS: Final = 100_000
Found = Mapping[tuple[Any, ...], Any]


def pictures(found: Found) -> Iterator[tuple[str, str]]:
    """Names of files and their SVG."""
    yield "vectors-errors.svg", by_epsilon()
    yield "vectors-buckets.svg", by_buckets()
    yield "vectors-mixed.svg", mixed(found)
    yield "vectors-learning.svg", learning(found)


def by_epsilon() -> str:
    """Expected total errors of means."""
    charts = [
        Chart(
            f"d = {d}, s = {s}", [(math.log(epsilon), f"{epsilon:g}") for epsilon in EPSILONS[::3]],
            [
                Curve(name, look, [
                    (math.log(epsilon), expected(mean_square(name, d, s, epsilon, USERS), USERS, d).total)
                    for epsilon in EPSILONS
                ])
                for name, look in LOOKS.items()
            ],
            over="epsilon", logarithmic=True, height=150,
        )
        for d, s in ((128, 8), (512, 32))
    ]  # fmt: skip
    return picture(f"Total error of {USERS:,} users' means by epsilon", charts)


def by_buckets() -> str:
    """Figure 5 of Collision and CoCo."""
    across = [(t, str(t)) for t in (20, 40, 60, 80)]
    buckets = range(18, 82, 2)
    charts = []
    for title, shares in (("means", False), ("shares of holders", True)):
        curves = []
        for name, of in (("CoCo", laws.coco), ("Collision", laws.collision)):
            found = [(t, of(8, 0.5, t)) for t in buckets]
            errors = [
                (float(t), laws.averaged(law.share_moments if shares else law.mean_moments, 128, 8) * 128)
                for t, law in found
            ]
            curves.append(Curve(name, LOOKS[name], errors))
        charts.append(Chart(title, across, curves, over="t", logarithmic=True, height=120))
    return picture("One user's squared error by the number of cells", charts)


def mixed(found: Found) -> str:
    """Figure 2 of Collision and CoCo: certified, and the lower bound."""
    charts = []
    for n in (10_000, 100_000):
        curves = []
        for s, colour in ((4, 0), (64, 1)):
            for place, kind in enumerate(("certified", "lower bound")):
                points = [
                    (epsilon, epsilon / found["amplified", s, n, epsilon][place])
                    for epsilon in reference.AMPLIFIED_EPSILONS
                ]
                curves.append(Curve(f"s = {s}, {kind}", Look(colour, dashes=2 * place), points))
        across = [(float(epsilon), str(epsilon)) for epsilon in range(6)]
        charts.append(Chart(f"{n:,} users", across[1:], curves, over="local epsilon", logarithmic=True))
    return picture("Collision, mixed: local epsilon over the central one", charts)


def learning(found: Found) -> str:
    """Shares of right labels by epsilon."""
    across = [(math.log(epsilon), f"{epsilon:g}") for epsilon in LEARNING_EPSILONS]
    ends = [(math.log(epsilon), found["learned", EXACT, 0.0]) for epsilon in LEARNING_EPSILONS]
    curves = [
        Curve(name, LOOKS[name], [(math.log(e), found["learned", name, e]) for e in LEARNING_EPSILONS])
        for name in LEARNERS
    ]
    curves.append(Curve(EXACT, Look(5, dashes=2), ends))
    return picture("Federated learning: right labels", [Chart("", across, curves, over="epsilon", height=190)])
