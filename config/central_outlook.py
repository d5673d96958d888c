# SPDX-License-Identifier: Apache-2.0
"""What errors to expect of a central stream's sums, by its tree and by others: `murmurate plan`.

Contract: errors are exact, for the noise alone: root mean squares over where a stretch begins, in units in which a
figure is shown, at one threshold.  Source: ToPS 3.4 and equation (7); aggregators/trees.  Not here: what clipping takes
away, nor what a period within a block differs from others (agents/simulate/central_methods.py); local streams.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Final

from murmurate.aggregators.trees.block import choose_block
from murmurate.config.central_noise import STARTS, largest, node_deviation, stretch_deviation
from murmurate.config.measures.central import MAX_LEAVES
from murmurate.config.plan import CentralPlan
from murmurate.randomizers.thresholds import MICRO
from murmurate.randomizers.trees import Tree

STRETCHES: Final = (1, 10, 100, 1000)
"""Lengths in leaves for which errors are told."""
FANOUTS: Final = (2, 4, 8, 16, 32, 64)
CLOSE: Final = 1.05
"""A tree that errs more than this times as much as the best one is advised against."""
LONGEST: Final = 4096
"""Leaves of the smallest tree that is recommended: longer than every stretch above."""


@dataclass(frozen=True)
class TreeErrors:
    """One way to release sums."""

    what: str
    """The name of the way, in words."""
    fanout: int | None
    levels: int
    errors: tuple[float, ...]
    """The error of a stretch of each length, in the order of STRETCHES."""

    @property
    def overall(self) -> float:
        """One figure to compare by: the geometric mean."""
        return math.exp(sum(map(math.log, self.errors)) / len(self.errors))


@dataclass(frozen=True)
class CentralOutlook:
    """What to expect of one central stream."""

    stream: str
    name: str
    """The figure that errors are of."""
    unit: str | None
    epsilon: float
    threshold: float | None
    """At which noise is told: in proportion to it."""
    found: bool
    """Whether a hold-out finds the threshold, so that it is at most that."""
    block: int
    """How many periods a leaf is the sum of: stretches are so many leaves."""
    named: TreeErrors
    """The tree of the file."""
    others: tuple[TreeErrors, ...]
    recommended: TreeErrors
    levels_left_out: int | None
    """The exponent of the block that ToPS's equation (7) takes; None where nobody declared how many events come."""

    def document(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return {**asdict(self), "model": "central", "stretches": STRETCHES}


def central_outlook(stream: CentralPlan) -> CentralOutlook:
    """The errors of a stream's first figure, by its tree and by others of as many leaves."""
    name, threshold = stream.names[0], largest(stream)
    own, leaves = stream.tree, stream.tree.leaves
    of_one = node_deviation(stream, name, threshold) / own.levels  # a node's noise grows with the number of levels

    def consistent(what: str, tree: Tree) -> TreeErrors:
        unit = of_one * tree.levels
        return TreeErrors(what, tree.fanout, tree.levels, tuple(unit * stretch_deviation(tree, n) for n in STRETCHES))

    def nodes(what: str, fanout: int) -> TreeErrors:
        tree = tree_over(fanout, leaves)
        unit = of_one * tree.levels
        return TreeErrors(what, fanout, tree.levels, tuple(unit * fewest_nodes(tree, n) for n in STRETCHES))

    plain = tuple(of_one * math.sqrt(n) for n in STRETCHES)
    others = (
        nodes("H2, without consistency", 2),
        nodes("H16, without consistency", 16),
        TreeErrors("one noisy number a leaf", None, 1, plain),
    )
    most = MAX_LEAVES // len(stream.names)
    long = [tree_over(fanout, LONGEST) for fanout in FANOUTS]
    tried = [consistent(_called(tree), tree) for tree in dict.fromkeys((own, *long)) if tree.leaves <= most]
    return CentralOutlook(
        stream=stream.name,
        name=name,
        unit=stream.measure.unit_of(name),
        epsilon=stream.epsilon_micro / MICRO,
        threshold=None if stream.range is None else threshold * stream.measure.step(name),
        found=stream.holdout is not None,
        block=stream.block,
        named=consistent(f"this file: {_called(own)}", own),
        others=others,
        recommended=min(tried, key=lambda one: one.overall),
        levels_left_out=_left_out(stream),
    )


def central_lines(said: CentralOutlook) -> Iterator[str]:
    """The errors for a terminal: a sentence to be wrapped, then the lines of a table."""
    unit = f" in {said.unit}" if said.unit else ""
    leaves = "periods" if said.block == 1 else f"leaves of {said.block} periods"
    at = ""
    if said.threshold is not None:
        at = f", at {'the largest possible' if said.found else 'its'} threshold of {said.threshold:.12g}"
    yield f"standard error{unit} of {said.name} over so many {leaves}{at}: noise alone"
    yield f"  {'tree':<34}" + "".join(f"{n:>10}" for n in STRETCHES)
    for one in (said.named, *said.others):
        yield row(one.what, one.errors)


def row(what: str, errors: Sequence[float | None]) -> str:
    """A line of the table: a way to release sums, and its error for each length."""
    return f"  {what:<34}" + "".join(f"{'-' if error is None else figure(error):>10}" for error in errors)


def advice(said: CentralOutlook) -> Iterator[str]:
    """What to take, in sentences."""
    best, own = said.recommended, said.named
    if own.overall <= best.overall * CLOSE:
        yield "Of the trees that were tried none errs notably less over these stretches together."
    else:
        less = 100 * (1 - best.overall / own.overall)
        yield (
            f"Take tree = {{ fanout = {best.fanout}, levels = {best.levels} }}: {less:.2g} % less error over these "
            "stretches together."
        )
    if said.found:
        yield "Noise is in proportion to the threshold that the hold-out finds: at a tenth of it, errors are a tenth."
    if said.levels_left_out is None:
        yield "Whether blocks pay depends on how many events a period has, which this file does not say."
    elif said.levels_left_out:
        yield (
            f"By ToPS's equation (7) and the declared number of events, block = {said.levels_left_out} would err less "
            "in sums, at the price of predictions within a block."
        )
    else:
        yield "By ToPS's equation (7) and the declared number of events, block = 0 errs least."


def _called(tree: Tree) -> str:
    return f"{tree.fanout} x {tree.levels} levels"


def tree_over(fanout: int, leaves: int) -> Tree:
    """The smallest tree with at least so many leaves."""
    levels = 1
    while fanout ** (levels - 1) < leaves:
        levels += 1
    return Tree(fanout, levels)


def fewest_nodes(tree: Tree, leaves: int) -> float:
    """The error of a sum of the fewest nodes, in units of a node's, over where it begins."""
    step = max(1, tree.leaves // STARTS)
    counts = [
        sum(end - first for _, first, end in tree.canonical_runs(low, low + leaves))
        for low in range(0, tree.leaves, step)
    ]
    return math.sqrt(sum(counts) / len(counts))


def _left_out(stream: CentralPlan) -> int | None:
    """ToPS's choice of the block, for as many events in a period as the hold-out declares."""
    held = stream.holdout
    if held is None:
        return None
    epsilon = float(Fraction(stream.epsilon_micro, MICRO)) / (stream.events or 1)
    return choose_block(stream.tree, epsilon * max(1.0, held.events / held.periods))


def figure(number: float) -> str:
    """Three digits that say something, without an exponent up to seven before the point."""
    return f"{number:.3g}" if not 1000 <= number < 1e7 else f"{float(f'{number:.3g}'):,.0f}".replace(",", " ")
