# SPDX-License-Identifier: Apache-2.0
"""How large the noise of a central stream is: of a node, of a period, of a stretch; and whether whole numbers hold it.

Contract: standard deviations are those of what is drawn, in the unit in which a figure is shown; stretches are by the
exact variance of consistent leaves (aggregators/trees).  A found threshold is not known here: the noise is then told
for the end of the range, to which it is in proportion.  Not here: drawing it (agents/stages/curation.py).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from murmurate.aggregators.trees.lazy import fits
from murmurate.aggregators.trees.variance import leaf_variance, range_variance
from murmurate.config.plan import CentralPlan
from murmurate.randomizers.central import law_of, noise_slope
from murmurate.randomizers.central.noisy_max import MOST_COST
from murmurate.randomizers.errors import ParameterError
from murmurate.randomizers.thresholds import MICRO
from murmurate.randomizers.trees import Tree

STARTS: Final = 512
"""The most places at which a stretch is taken to begin, evenly over a tree, where its mean error is worked out."""


def node_deviation(stream: CentralPlan, name: str, threshold: int) -> float:
    """The standard deviation of one node's noise, as a figure is shown."""
    return math.sqrt(float(law_of(stream.gamma(name, threshold)).variance)) * stream.measure.step(name)


def period_deviation(stream: CentralPlan, name: str, threshold: int | None = None) -> float:
    """That of what is released with one leaf, over all its periods; at the largest threshold, unless one is told."""
    return math.sqrt(leaf_variance(stream.tree)) * node_deviation(stream, name, largest(stream, threshold))


def stretch_deviation(tree: Tree, leaves: int) -> float:
    """The root mean square error of the sum of so many leaves in a row, over where they begin, in units of a node's."""
    step = max(1, tree.leaves // STARTS)
    errors = [range_variance(tree, low, low + leaves) for low in range(0, tree.leaves, step)]
    return math.sqrt(sum(errors) / len(errors))


def largest(stream: CentralPlan, threshold: int | None = None) -> int:
    """The threshold whose noise is told: this one, the declared one, or the end of the range."""
    return stream.measure.threshold_without_search if threshold is None else threshold


def events_of_tree(stream: CentralPlan) -> float:
    """How many events the leaves are declared to be of, as the noisy max is told."""
    held = stream.holdout
    leaves = stream.tree.fanout**stream.tree.levels
    return 1.0 if held is None else max(1.0, held.events / held.periods * stream.block * leaves)


def slope(stream: CentralPlan) -> float:
    """What a step of threshold costs in the search for one, in events above it; 0 where none is found.

    The paper counts thresholds by ones, and takes values above a threshold to exceed it by 60 of these.  Here one is
    the distance of two candidates, so that the choice does not depend on how finely numbers are rounded.
    """
    held = stream.holdout
    if held is None:
        return 0.0
    leaves = stream.tree.fanout**stream.tree.levels
    of_one = noise_slope(held.events, horizon=leaves, epsilon=float(_per_event(stream)), fanout=stream.tree.fanout)
    apart = stream.measure.candidates[-1] / len(stream.measure.candidates)
    return float(of_one * leaves / events_of_tree(stream) / apart)


def too_much(stream: CentralPlan) -> str | None:
    """What is too large of its noise for the whole numbers that hold it, in words; None if nothing is."""
    for name in stream.names:
        gamma = stream.gamma(name, largest(stream))
        if not gamma:
            return "a share of epsilon below one micro-nat"
        try:
            law = law_of(gamma)
        except ParameterError:
            return f"noise of {name} of about {_said(1 / gamma)} steps, which nobody can draw"
        if not fits(stream.tree, law):
            return f"noise of {name} of about {_said(1 / gamma)} steps in a tree of {stream.tree.levels} levels"
    if slope(stream) * max(stream.measure.candidates, default=0) > MOST_COST:
        return "a hold-out whose events outweigh every threshold"
    return None


def _per_event(stream: CentralPlan) -> Fraction:
    return Fraction(stream.epsilon_micro, MICRO) / (stream.events or 1)


def _said(size: Fraction) -> str:
    return f"{float(size):.2g}"
