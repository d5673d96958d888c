# SPDX-License-Identifier: Apache-2.0
"""`murmurate mechanisms`: every mechanism for a measure, with the size of its reports and its exact variance; as a
table, as JSON, as a picture.

Contract: what it prints follows from the registry alone, so that docs/MECHANISMS.md can be made again by it.  A figure
is n times the variance of an estimate from n reports: of a share's average value, of a mean on the scale from -1 to 1
where all have a number of this size, of a distribution's average cell of the unbiased inverse.  Not here: what a
mechanism does (randomizers/), which one a stream gets (aggregators/chooser.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import click
import numpy as np
import orjson

from murmurate.agents.cli.pictures import DASHES, LIGHT, Chart, Curve, Look, picture
from murmurate.errors import UsageError
from murmurate.randomizers import ORACLES, Mechanism, ValueAndPresence
from murmurate.randomizers.registry import STREAMED, oracles

EPSILONS, DOMAINS, CELLS = (0.5, 1.0, 2.0), (4, 64, 1024), (16, 64, 256)
SIZES: Final = (0.0, 0.5, 1.0)
"""Of numbers, on the scale from -1 to 1: a mechanism may be good for small ones and bad for large ones."""
DRAWN = tuple(1 << k for k in range(1, 13))
SCALE = (0.99, 3.0)
"""The ends of the picture's scale: what lies above is not shown."""
MEASURES: Final = ("frequency", "mean", "distribution")
Row = dict[str, Any]


@click.command("mechanisms")
@click.option(
    "--measure",
    type=click.Choice(MEASURES),
    default=MEASURES[0],
    show_default=True,
    help="What they serve; those of a mean serve totals, too.",
)
@click.option("--epsilon", "epsilons", type=float, multiple=True, default=EPSILONS, show_default=True)
@click.option(
    "--d",
    "domains",
    type=int,
    multiple=True,
    default=(),
    help="A size of the domain, or of a distribution's cells; may be repeated.  [default: 4, 64, 1024; 16, 64, 256]",
)
@click.option("--picture", type=click.Path(path_type=Path, dir_okay=False), help="Write an SVG of the variances, too.")
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for each mechanism and setting.")
def command(
    measure: str, epsilons: Sequence[float], domains: Sequence[int], picture: Path | None, as_json: bool
) -> None:
    """Show every mechanism for a measure: bytes of a report, and n times the exact variance of an estimate from n
    reports: of an average value's share; of a mean, on the scale from -1 to 1, by the size of the numbers; of an
    average cell.
    """
    if measure == "mean" and domains:
        raise UsageError("mechanisms: --d: found with --measure mean; allowed: with frequency or distribution")
    if measure != "frequency" and picture is not None:
        raise UsageError(f"mechanisms: --picture: found with --measure {measure}; allowed: with frequency")
    settings = SIZES if measure == "mean" else domains or (DOMAINS if measure == "frequency" else CELLS)
    if as_json:
        for epsilon in epsilons:
            for row in rows(measure, epsilon, settings):
                click.echo(orjson.dumps(row))
    else:
        for line in table(epsilons, settings, measure):
            click.echo(line)
    if picture is not None:
        picture.write_text(drawing(epsilons), encoding="utf-8")


def table(epsilons: Sequence[float], settings: Sequence[float], measure: str = "frequency") -> Iterator[str]:
    """One block for each epsilon: bytes and variance of every mechanism, at every size of the domain or the numbers."""
    said = "|v| =" if measure == "mean" else "d ="
    wide = max(12, 3 + max(map(len, names(measure))))
    for epsilon in epsilons:
        found = rows(measure, epsilon, settings)
        yield f"{f'epsilon {epsilon:g}':<{wide}}" + " ".join(f"{f'{said} {one:g}':>21}" for one in settings)
        yield " " * wide + " ".join(["bytes    n * variance"] * len(settings))
        for name in names(measure):
            cells = [_cell(row) for row in found if row["mechanism"] == name]
            yield f"  {name:<{wide - 2}}" + " ".join(cells)
        yield ""


def names(measure: str) -> tuple[str, ...]:
    """The mechanisms that a stream of this measure may name, those of other packages last."""
    if measure == "frequency":
        return oracles()
    return tuple(name for name, kind in STREAMED.items() if kind.measure == measure)


def rows(measure: str, epsilon: float, settings: Sequence[float]) -> list[Row]:
    """What each mechanism needs and errs at each setting; null where the domain is too large for it."""
    over = "size" if measure == "mean" else "d"
    return [
        {"measure": measure, "mechanism": name, "epsilon": epsilon, over: one, **_figures(measure, name, epsilon, one)}
        for name in names(measure)
        for one in settings
    ]


def _figures(measure: str, name: str, epsilon: float, setting: float) -> Row:
    """Bytes and n times the variance."""
    if measure == "mean":
        kind: Any = STREAMED[name]
        mean = kind(epsilon=epsilon)
        if isinstance(mean, ValueAndPresence):  # it tells who has a number, too: here all have one
            return {"bytes": mean.wire_size, "variance": mean.mean_variance(1, 1.0, setting, setting**2)}
        return {"bytes": mean.wire_size, "variance": float(mean.variance(1, setting))}
    made = _made(name, int(setting), epsilon)
    if made is None:
        return {"bytes": None, "variance": None}
    if measure == "frequency":
        return {"bytes": made.wire_size, "variance": _average(made)}
    return {"bytes": made.wire_size, "variance": float(np.mean(made.variance(1, np.full(made.d, 1 / made.d))))}


def _cell(row: Row) -> str:
    if row["variance"] is None:
        return f"{'-':>5}{'-':>16}"
    return f"{row['bytes']:>5}{row['variance']:>16.4g}"


def _made(name: str, d: int, epsilon: float) -> Mechanism | None:
    """The mechanism at its defaults; None where the domain is too large for it."""
    kind = STREAMED[name]
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
