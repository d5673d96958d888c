# SPDX-License-Identifier: Apache-2.0
"""Trees of noisy sums over time: consistent leaves as they are needed, the exact variance of any stretch, and what
stands for periods inside a block; and trees of changes through a horizon (residue.py and its siblings).
"""

from murmurate.aggregators.trees.block import block_error, choose_block
from murmurate.aggregators.trees.consistency import dyadic_leaves, least_squares
from murmurate.aggregators.trees.hierarchy import NodeSums, node_totals
from murmurate.aggregators.trees.lazy import LeafNoise, fits
from murmurate.aggregators.trees.residue import (
    NodeEstimate,
    ResidueEstimates,
    StepEstimate,
    node_variance,
    pair_covariance,
)
from murmurate.aggregators.trees.residue_portions import (
    GOALS,
    Goal,
    ResidueLevel,
    ResiduePortions,
    ResidueTask,
    best_tree,
    factors,
    in_slots,
    level_terms,
    portions,
    published_weights,
)
from murmurate.aggregators.trees.residue_squares import ResidueSquares, RevisedHorizon
from murmurate.aggregators.trees.smoothers import SMOOTHERS, Smoother, spread
from murmurate.aggregators.trees.variance import exact_range_variance, leaf_variance, node_variances, range_variance

__all__ = [
    "GOALS",
    "SMOOTHERS",
    "Goal",
    "LeafNoise",
    "NodeEstimate",
    "NodeSums",
    "ResidueEstimates",
    "ResidueLevel",
    "ResiduePortions",
    "ResidueSquares",
    "ResidueTask",
    "RevisedHorizon",
    "Smoother",
    "StepEstimate",
    "best_tree",
    "block_error",
    "choose_block",
    "dyadic_leaves",
    "exact_range_variance",
    "factors",
    "fits",
    "in_slots",
    "leaf_variance",
    "least_squares",
    "level_terms",
    "node_totals",
    "node_variance",
    "node_variances",
    "pair_covariance",
    "portions",
    "published_weights",
    "range_variance",
    "spread",
]
