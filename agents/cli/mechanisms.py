"""`murmurate mechanisms`: every oracle there is, with the size of its reports and its exact variance; as a table, as a
picture.

Contract: what it prints follows from the registry alone, so that docs/ORACLES.md can be made again by it.  Not here:
what a mechanism does (randomizers/), which one a stream gets (aggregators/chooser.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from murmurate.randomizers import ORACLES, Mechanism

EPSILONS, DOMAINS = (0.5, 1.0, 2.0), (4, 64, 1024)
DRAWN = tuple(1 << k for k in range(1, 13))
PANEL, HEIGHT, LEFT, TOP, GAP, LABELS = 250, 330, 52, 46, 34, 74
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#7f7f7f")
"""Okabe and Ito's, which people who are colour-blind can tell apart; and grey."""
DASHES = ("none", "6 3", "2 2")
SCALE = (1, 1.1, 1.2, 1.5, 2, 3)
"""Multiples at which the picture has a line; what is above the last is not seen."""


@click.command("mechanisms")
@click.option("--epsilon", "epsilons", type=float, multiple=True, default=EPSILONS, show_default=True)
@click.option(
    "--d", "domains", type=int, multiple=True, default=DOMAINS, show_default=True, help="Sizes of the domain."
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
    """A panel for each epsilon: how many times the best oracle's variance each one has, by the size of the domain."""
    names = sorted(ORACLES)
    width = LEFT + len(epsilons) * (PANEL + GAP) + LABELS
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {TOP + HEIGHT + 30}" '
        'font-family="system-ui, sans-serif" font-size="12">',
        "<title>The exact variance of every oracle, as a multiple of the best one's</title>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="18" font-size="14">variance of an average value, as a multiple of the best oracle\'s, '
        "by the size d of the domain</text>",
    ]
    for number, epsilon in enumerate(epsilons):
        panel = Panel(LEFT + number * (PANEL + GAP))
        curves = _multiples(names, epsilon)
        parts += [*panel.grid(epsilon, scale=number == 0), *(panel.line(i, curve) for i, curve in enumerate(curves))]
        if number == len(epsilons) - 1:
            parts += panel.names(names, curves)
    return "\n".join([*parts, "</svg>", ""])


def _multiples(names: Sequence[str], epsilon: float) -> list[list[tuple[int, float]]]:
    """Of each oracle (d, its variance over the smallest there)."""
    variances = {(name, d): _average(made) for name in names for d in DRAWN if (made := _made(name, d, epsilon))}
    best = {d: min(variance for (_, at), variance in variances.items() if at == d) for d in DRAWN}
    return [[(d, variances[name, d] / best[d]) for d in DRAWN if (name, d) in variances] for name in names]


@dataclass(frozen=True)
class Panel:
    """A panel that begins at `left`."""

    left: float

    def x(self, d: float) -> float:
        """Where a size of the domain stands."""
        return self.left + PANEL * (math.log2(d) - 1) / (math.log2(DRAWN[-1]) - 1)

    def y(self, multiple: float) -> float:
        """Where a multiple stands."""
        return TOP + HEIGHT * (1 - math.log(multiple) / math.log(SCALE[-1]))

    def grid(self, epsilon: float, *, scale: bool) -> Iterator[str]:
        """Title, lines and the numbers at them."""
        inside = f'<rect x="{self.left}" y="{TOP}" width="{PANEL}" height="{HEIGHT + 2}"/>'
        yield f'<clipPath id="{self._edge}">{inside}</clipPath>'
        yield f'<text x="{self.left}" y="{TOP - 8}" fill="#333333">epsilon {epsilon:g}</text>'
        for multiple in SCALE:
            at = self.y(multiple)
            yield f'<path d="M{self.left} {at:.1f}h{PANEL}" stroke="#dddddd"/>'
            if scale:
                place = f'x="{self.left - 6}" y="{at + 4:.1f}" text-anchor="end"'
                yield f'<text {place} fill="#555555">{multiple:g}</text>'
        for d in DRAWN[1::2]:
            place = f'x="{self.x(d):.1f}" y="{TOP + HEIGHT + 18}" text-anchor="middle"'
            yield f'<text {place} fill="#555555">{d}</text>'

    def line(self, number: int, curve: Sequence[tuple[int, float]]) -> str:
        """One oracle, where it is on the scale."""
        points = " ".join(f"{self.x(d):.1f},{self.y(multiple):.1f}" for d, multiple in curve)
        look = f'stroke="{COLOURS[number % len(COLOURS)]}" stroke-dasharray="{DASHES[number % len(DASHES)]}"'
        return f'<polyline points="{points}" fill="none" stroke-width="1.8" {look} clip-path="url(#{self._edge})"/>'

    @property
    def _edge(self) -> str:
        return f"panel{self.left:g}"

    def names(self, names: Sequence[str], curves: Sequence[Sequence[tuple[int, float]]]) -> Iterator[str]:
        """Beside the ends of the lines, from the lowest up, the closest ones moved apart."""
        ends = sorted(
            ((max(float(TOP), self.y(curve[-1][1])), number) for number, curve in enumerate(curves)), reverse=True
        )
        start, end, free = self.x(DRAWN[-1]), self.x(DRAWN[-1]) + 16, math.inf
        for at, number in ends:
            free = min(at, free - 14)
            colour = COLOURS[number % len(COLOURS)]
            yield f'<path d="M{start:.1f} {at:.1f}L{end:.1f} {free:.1f}" stroke="{colour}"/>'
            yield f'<text x="{end + 3:.1f}" y="{free + 4:.1f}" fill="{colour}">{names[number]}</text>'
