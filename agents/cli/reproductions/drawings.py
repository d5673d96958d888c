# SPDX-License-Identifier: Apache-2.0
"""The figures of LDP-IDS as pictures: panels side by side, the same colour for the same method everywhere.

Contract: budget division is dashed, population division is not; what is ours is ink.  Not here: SVG (pictures.py).
"""

from __future__ import annotations

from collections.abc import Iterator

from murmurate.agents.cli.pictures import Chart, Curve, Look, picture, short
from murmurate.agents.cli.reproductions.figures import OURS, Figure, Panel
from murmurate.agents.cli.reproductions.runs import AT, Lab

LOOKS = {
    "lbu": Look(0, dashes=1), "lbd": Look(1, dashes=1), "lba": Look(2, dashes=1), "lsp": Look(3, dashes=2),
    "lpu": Look(0), "lpd": Look(1), "lpa": Look(2), OURS: Look(width=2.2),
    "lb": Look(1, dots=True), "lp": Look(0, dots=True),
}  # fmt: skip
MOST_ALARMS = 0.4
NAMES = {"lb": "budget division", "lp": "population division"}


def drawing(lab: Lab, figure: Figure) -> str:
    """A figure as SVG."""
    title = f"LDP-IDS, figure {figure.number}: {figure.title}"
    if figure.number == 5:
        return picture(title.replace(": area under ROC", ""), [_roc(lab, panel) for panel in figure.panels])
    tall = figure.number == 11
    charts = [
        Chart(
            panel.title, list(_steps(panel)), list(_curves(lab, figure, panel)), over="" if tall else panel.over,
            logarithmic=True, height=110 if tall else 130,
        )
        for panel in figure.panels
    ]  # fmt: skip
    return picture(title, charts, columns=1 if tall else 2)


def _steps(panel: Panel) -> Iterator[tuple[float, str]]:
    """What stands below, every second step where there are many."""
    every = 2 if len(panel.steps) > 6 else 1
    yield from ((float(i), step) for i, step in enumerate(panel.steps) if i % every == 0)


def _curves(lab: Lab, figure: Figure, panel: Panel) -> Iterator[Curve]:
    for name, cases in panel.curves.items():
        points = [(float(i), lab.mean(case, figure.what)) for i, case in enumerate(cases)]
        yield Curve(NAMES.get(name, name), LOOKS[name], points)


def _roc(lab: Lab, panel: Panel) -> Chart:
    """The rate of detected events over that of false alarms, up to where hardly anything changes."""
    shown = [(share, i) for i, share in enumerate(AT.tolist()) if share <= MOST_ALARMS]
    curves = []
    for name, cases in panel.curves.items():
        told = lab.roc(cases[0])
        curves.append(Curve(name, LOOKS[name], [(share, told[i]) for share, i in shown]))
    across = [(tenth / 10, short(tenth / 10)) for tenth in range(0, 5, 2)]
    return Chart(panel.title, across, curves, over="false alarms", ends=(0.0, 1.0))
