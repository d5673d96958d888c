# SPDX-License-Identifier: Apache-2.0
"""`murmurate mechanisms`: every oracle there is, with the size of its reports and its exact variance; as a table, as a
picture.

Contract: what it prints follows from the registry alone, so that docs/MECHANISMS.md can be made again by it.  Not here:
what a mechanism does (randomizers/), which one a stream gets (aggregators/chooser.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from murmurate.agents.cli.pictures import DASHES, LIGHT, Chart, Curve, Look, picture
from murmurate.randomizers import ORACLES, Mechanism

EPSILONS, DOMAINS = (0.5, 1.0, 2.0), (4, 64, 1024)
DRAWN = tuple(1 << k for k in range(1, 13))
SCALE = (0.99, 3.0)
"""The ends of the picture's scale: what lies above is not shown."""


@click.command("mechanisms")
@click.option("--epsilon", "epsilons", type=float, multiple=True, default=EPSILONS, show_default=True)
@click.option(
    "--d",
    "domains",
    type=int,
    multiple=True,
    default=DOMAINS,
    show_default=True,
    help="A size of the domain; may be repeated.",
)
@click.option("--picture", type=click.Path(path_type=Path, dir_okay=False), help="Write an SVG of the variances, too.")
def command(epsilons: Sequence[float], domains: Sequence[int], picture: Path | None) -> None:
    """Show every oracle: bytes of a report, and n times the exact variance of an average value's estimate."""
    for line in table(epsilons, domains):
        click.echo(line)
    if picture is not None:
        picture.write_text(drawing(epsilons), encoding="utf-8")


def table(epsilons: Sequence[float], domains: Sequence[int]) -> Iterator[str]:
    """One block for each epsilon: bytes and variance of every oracle at every size of the domain."""
    for epsilon in epsilons:
        yield f"{f'epsilon {epsilon:g}':<12}" + " ".join(f"{f'd = {d}':>21}" for d in domains)
        yield " " * 12 + " ".join(["bytes    n * variance"] * len(domains))
        for name in sorted(ORACLES):
            cells = [_cell(_made(name, d, epsilon)) for d in domains]
            yield f"  {name:<10}" + " ".join(cells)
        yield ""


def _cell(mechanism: Mechanism | None) -> str:
    if mechanism is None:
        return f"{'-':>5}{'-':>16}"
    return f"{mechanism.wire_size:>5}{_average(mechanism):>16.4g}"


def _made(name: str, d: int, epsilon: float) -> Mechanism | None:
    """The mechanism at its defaults; None where the domain is too large for it."""
    kind = ORACLES[name]
    return kind(d=d, epsilon=epsilon) if d <= kind.max_domain else None


def _average(mechanism: Mechanism) -> float:
    """The mean over all values, which is the variance at frequency 1/d: frequencies sum to 1."""
    return float(mechanism.variance(1, 1 / mechanism.d))


def drawing(epsilons: Sequence[float]) -> str:
    """A chart for each epsilon: how many times the best oracle's variance each one has, by the size of the domain."""
    names = sorted(ORACLES)
    looks = [Look(i % len(LIGHT), dashes=i % len(DASHES)) for i in range(len(names))]
    across = [(math.log2(d), str(d)) for d in DRAWN[1::3]]
    charts = []
    for epsilon in epsilons:
        curves = [
            Curve(name, look, [(math.log2(d), multiple) for d, multiple in curve])
            for name, look, curve in zip(names, looks, _multiples(names, epsilon), strict=True)
        ]
        charts.append(Chart(f"epsilon {epsilon:g}", across, curves, over="d", logarithmic=True, height=190, ends=SCALE))
    return picture("variance of an average value over the best oracle's, by d", charts)


def _multiples(names: Sequence[str], epsilon: float) -> list[list[tuple[int, float]]]:
    """For each oracle (d, its variance over the smallest there)."""
    variances = {(name, d): _average(made) for name in names for d in DRAWN if (made := _made(name, d, epsilon))}
    best = {d: min(variance for (_, at), variance in variances.items() if at == d) for d in DRAWN}
    return [[(d, variances[name, d] / best[d]) for d in DRAWN if (name, d) in variances] for name in names]
