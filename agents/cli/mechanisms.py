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
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Final, NamedTuple

import click
import numpy as np
import orjson

from murmurate.agents.cli.pictures import DASHES, LIGHT, Chart, Curve, Look, picture
from murmurate.errors import UsageError
from murmurate.randomizers import ORACLES, Mechanism
from murmurate.randomizers.registry import STREAMED, serving

EPSILONS, DOMAINS, CELLS = (0.5, 1.0, 2.0), (4, 64, 1024), (16, 64, 256)
SIZES: Final = (0.0, 0.5, 1.0)
"""The sizes of numbers that are shown, on the scale from -1 to 1: a mechanism may be good for small ones alone."""
DRAWN = tuple(1 << k for k in range(1, 13))
SCALE = (0.99, 3.0)
"""The ends of the picture's scale: what lies above is not shown."""
Row = dict[str, Any]
Figures = tuple[int | None, float | None]


class ShownMechanisms(NamedTuple):
    """The mechanisms for one measure, and what is shown of them."""

    settings: tuple[float, ...]
    """The columns, unless others are asked for."""
    over: str
    """The key of a setting in JSON."""
    heading: str
    figures: Callable[[str, float, float], Figures]
    """Bytes and n times the variance, of a name, an epsilon and a setting."""


@click.command("mechanisms")
@click.option(
    "--measure", type=click.Choice(("frequency", "mean", "distribution")), default="frequency", show_default=True,
    help="What they serve; those of a mean serve totals, too.",
)  # fmt: skip
@click.option("--epsilon", "epsilons", type=float, multiple=True, default=EPSILONS, show_default=True)
@click.option(
    "--d", "domains", type=int, multiple=True, default=(),
    help="A size of the domain, or of a distribution's cells; may be repeated.  [default: 4, 64, 1024; 16, 64, 256]",
)  # fmt: skip
@click.option("--picture", type=click.Path(path_type=Path, dir_okay=False), help="Write an SVG of the variances, too.")
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for each mechanism and setting.")
def command(
    measure: str, epsilons: Sequence[float], domains: Sequence[int], picture: Path | None, as_json: bool
) -> None:
    """Show every mechanism for a measure: bytes of a report, and n times the exact variance of an estimate from n
    reports: of an average value's share; of a mean, on the scale from -1 to 1, by the size of the numbers; of an
    average cell.
    """
    kind = _KINDS[measure]
    if domains and kind.over != "d":
        raise UsageError(f"mechanisms: --d: found with --measure {measure}; allowed: with frequency or distribution")
    if picture is not None and kind is not _KINDS["frequency"]:
        raise UsageError(f"mechanisms: --picture: found with --measure {measure}; allowed: with frequency")
    settings, foreign = domains or kind.settings, _foreign()
    if as_json:
        for epsilon in epsilons:
            for row in rows(measure, epsilon, settings):
                package = foreign.get(row["mechanism"])
                click.echo(orjson.dumps(row if package is None else {**row, "package": package}))
    else:
        for line in table(epsilons, settings, measure):
            click.echo(line)
        for name in (name for name in names(measure) if name in foreign):
            click.echo(f"{name} is of the package {foreign[name]}, not Murmurate's own.")
    if picture is not None:
        picture.write_text(drawing(epsilons), encoding="utf-8")


def _foreign() -> dict[str, str]:
    """The mechanisms that other packages add, with the package of each; they are audited and known from then on."""
    if not entry_points(group="murmurate.mechanisms"):
        return {}
    from murmurate.config import plugins  # here, since it loads all that a deployment file may name

    used = (plugin for plugin, fault in plugins.use().items() if fault is None and plugin.kind == "mechanism")
    return {plugin.name: plugin.origin for plugin in used}


def table(epsilons: Sequence[float], settings: Sequence[float], measure: str = "frequency") -> Iterator[str]:
    """One block for each epsilon: bytes and variance of every mechanism, at every size of the domain or the numbers."""
    known, said = names(measure), _KINDS[measure].heading
    wide = max(12, 3 + max(map(len, known)))
    for epsilon in epsilons:
        found = rows(measure, epsilon, settings)
        yield f"{f'epsilon {epsilon:g}':<{wide}}" + " ".join(f"{f'{said} = {one:g}':>21}" for one in settings)
        yield " " * wide + " ".join(["bytes    n * variance"] * len(settings))
        for name in known:
            cells = [_cell(row) for row in found if row["mechanism"] == name]
            yield f"  {name:<{wide - 2}}" + " ".join(cells)
        yield ""


def names(measure: str) -> tuple[str, ...]:
    """The mechanisms that a stream of this measure may name, those whose users all have a value first."""
    each = [serving(measure, says_none=says_none) for says_none in (False, True)]
    return tuple(dict.fromkeys(name for some in each for name in some))


def rows(measure: str, epsilon: float, settings: Sequence[float]) -> list[Row]:
    """What each mechanism needs and errs at each setting; null where the domain is too large for it."""
    kind, found = _KINDS[measure], list[Row]()
    for name in names(measure):
        for one in settings:
            size, variance = kind.figures(name, epsilon, one)
            row = {"measure": measure, "mechanism": name, "epsilon": epsilon, kind.over: one}
            found.append({**row, "bytes": size, "variance": variance})
    return found


def _of_share(name: str, epsilon: float, d: float) -> Figures:
    made = _made(name, int(d), epsilon)
    return (None, None) if made is None else (made.wire_size, _average(made))


def _of_mean(name: str, epsilon: float, size: float) -> Figures:
    """What tells who has a number has a variance of its own for the mean of those: here all have one."""
    kind: Any = STREAMED[name]
    made = kind(epsilon=epsilon)
    among: Callable[[int, float, float, float], float] | None = getattr(made, "mean_variance", None)
    return made.wire_size, float(made.variance(1, size)) if among is None else among(1, 1.0, size, size**2)


def _of_cell(name: str, epsilon: float, d: float) -> Figures:
    made = _made(name, int(d), epsilon)
    if made is None:
        return None, None
    return made.wire_size, float(np.mean(made.variance(1, np.full(made.d, 1 / made.d))))


_KINDS: Final = {
    "frequency": ShownMechanisms(DOMAINS, "d", "d", _of_share),
    "mean": ShownMechanisms(SIZES, "size", "|v|", _of_mean),
    "distribution": ShownMechanisms(CELLS, "d", "d", _of_cell),
}


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
