# SPDX-License-Identifier: Apache-2.0
"""`murmurate trees`: how far a sum over a stretch of leaves is off, by the shape of the tree; as a table, as a picture.

Contract: exact variances of the discrete Laplace noise and of consistent leaves, no simulation, so that docs/TREES.md
can be made again by it.  Numbers are in steps, for events that change a sum by at most one step; more changes scale the
error.  A length's error is averaged over 256 places where a stretch may begin.
Not here: what a tree is (docs/TREES.md, randomizers/trees.py), how variances are worked out (aggregators/trees).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import click
import orjson

from murmurate.agents.cli.pictures import Chart, Curve, Look, picture
from murmurate.aggregators.trees import range_variance
from murmurate.randomizers.central import DiscreteLaplace
from murmurate.randomizers.thresholds import MICRO, micro_nats
from murmurate.randomizers.trees import Tree

FANOUTS, LEAVES, EPSILON = (2, 4, 8, 16, 32, 256), 65_536, 1.0
DRAWN = (2, 4, 16, 256)
LENGTHS = (1, 16, 256, 4096, 65_536)
PLACES = 256
_STRIDE = 40_503
"""An odd number near 65 536 over the golden ratio: its multiples lie evenly among the leaves of a tree."""

OfStretch = Callable[[Tree, int, int], float]
"""A variance of the sum over the leaves low..high-1, in units of one node's."""


@click.command("trees")
@click.option("--epsilon", type=float, default=EPSILON, show_default=True, help="What one event may cost.")
@click.option(
    "--fanout", "fanouts", type=int, multiple=True, default=FANOUTS, show_default=True, help="May be repeated."
)
@click.option("--leaves", type=int, default=LEAVES, show_default=True, help="The most leaves that a tree has.")
@click.option("--picture", type=click.Path(path_type=Path, dir_okay=False), help="Write an SVG of the errors, too.")
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for each tree and length.")
def command(epsilon: float, fanouts: Sequence[int], leaves: int, picture: Path | None, as_json: bool) -> None:
    """Show the standard error of sums over stretches of leaves, by the shape of the tree."""
    if as_json:
        for row in rows(epsilon, fanouts, leaves):
            click.echo(orjson.dumps(row))
    else:
        for line in table(epsilon, fanouts, leaves):
            click.echo(line)
    if picture is not None:
        picture.write_text(drawing(epsilon, leaves), encoding="utf-8")


def table(epsilon: float, fanouts: Sequence[int], leaves: int) -> Iterator[str]:
    """A row for each shape, consistent leaves first; then the same trees without consistency."""
    yield f"epsilon {epsilon:g}: standard error, in steps, of a sum over so many leaves"
    yield f"{'fanout':>6}{'levels':>8}{'leaves':>8}  " + "".join(f"{length:>10}" for length in LENGTHS)
    flat = Tree(2, 1)
    yield _row(flat, epsilon, range_variance, "no tree")
    trees = [tall(fanout, leaves) for fanout in fanouts]
    for tree in trees:
        yield _row(tree, epsilon, range_variance)
    yield "the same from the fewest nodes, without consistency"
    for tree in trees:
        yield _row(tree, epsilon, fewest_nodes)


def rows(epsilon: float, fanouts: Sequence[int], leaves: int) -> Iterator[dict[str, Any]]:
    """The figures of the table; "none" is the flat tree."""
    shapes: list[tuple[str, Tree, OfStretch]] = [("none", Tree(2, 1), range_variance)]
    ways: list[tuple[str, OfStretch]] = [("consistent", range_variance), ("fewest nodes", fewest_nodes)]
    for way, variance in ways:
        shapes += [(way, tall(fanout, leaves), variance) for fanout in fanouts]
    for way, tree, variance in shapes:
        for length in LENGTHS:
            found = error(tree, epsilon, length, variance)
            shape = {"tree": way, "fanout": tree.fanout, "levels": tree.levels, "leaves": tree.leaves}
            yield {"epsilon": epsilon, **shape, "length": length, "stderr": found}


def _row(tree: Tree, epsilon: float, variance: OfStretch, name: str = "") -> str:
    shape = f"{name:>14}{'':>8}" if name else f"{tree.fanout:>6}{tree.levels:>8}{tree.leaves:>8}"
    return f"{shape}  " + "".join(f"{error(tree, epsilon, length, variance):>10.4g}" for length in LENGTHS)


def tall(fanout: int, leaves: int) -> Tree:
    """The tree of this fanout with the most levels for at most so many leaves."""
    tree = Tree(fanout, 1)
    while tree.leaves * fanout <= leaves:
        tree = Tree(fanout, tree.levels + 1)
    return tree


def error(tree: Tree, epsilon: float, length: int, variance: OfStretch = range_variance) -> float:
    """The root of the mean squared error of a sum over so many leaves, wherever they begin."""
    node = DiscreteLaplace(Fraction(micro_nats(epsilon), MICRO * tree.levels)).variance
    places = [at * _STRIDE % max(tree.leaves, PLACES) for at in range(PLACES)]
    return math.sqrt(float(node) * sum(variance(tree, low, low + length) for low in places) / PLACES)


def fewest_nodes(tree: Tree, low: int, high: int) -> float:
    """The variance of the sum of the fewest nodes: their number."""
    return sum(end - first for _, first, end in tree.canonical_runs(low, high))


def drawing(epsilon: float, leaves: int) -> str:
    """The error by the length of the stretch, for some shapes, with consistency and without."""
    powers = range(int(math.log2(leaves)) + 1)
    shapes: list[tuple[str, Look, Tree, OfStretch]] = [("no tree", Look(None, dashes=2), Tree(2, 1), range_variance)]
    for colour, fanout in enumerate(DRAWN):
        shapes.append((f"fanout {fanout}", Look(colour), tall(fanout, leaves), range_variance))
    shapes.append(("16, fewest nodes", Look(DRAWN.index(16), dashes=1), tall(16, leaves), fewest_nodes))
    curves = [
        Curve(name, look, [(power, error(tree, epsilon, 1 << power, variance)) for power in powers])
        for name, look, tree, variance in shapes
    ]
    across = [(power, str(1 << power)) for power in powers if power % 4 == 0]
    chart = Chart("standard error", across, curves, over="leaves", logarithmic=True, height=190)
    return picture(f"a sum over a stretch of leaves, epsilon {epsilon:g} an event", [chart], columns=1)
