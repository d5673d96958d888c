# SPDX-License-Identifier: Apache-2.0
"""Exact variances of consistent leaves and of what leaves add up to, in units of one node's variance.

Contract: exact for independent node noise of one variance, whatever its law, for both weightings of consistency.py and
for stretches over several trees in a row.  With m(x) the share of node x's leaves that lie in the stretch and v_l the
variance of z at level l,

    variance = sum over roots of m^2 v_h  +  sum over inner nodes x of v_(l-1) sum over children y of (m(y) - m(x))^2

because what a child's z has beside its siblings' mean is uncorrelated with all that lies above.  Only the nodes that
an end of the stretch cuts count, so an answer takes O(levels) steps in whole numbers; weights come last.
Source: derived for ToPS's tree; tests compare it with the dense covariance.  Not here: what the noise is.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Literal

from murmurate.randomizers.errors import ParameterError, shown
from murmurate.randomizers.trees import Tree

Weights = Literal["dyadic", "least_squares"]


@lru_cache(maxsize=64)
def node_variances(tree: Tree, weights: Weights = "dyadic") -> tuple[Fraction, ...]:
    """The variance of z at every level, from the leaves to the root.

    >>> [round(float(v), 7) for v in node_variances(Tree(16, 4))]
    [1.0, 0.9414062, 0.9377441, 0.9375153]
    """
    if weights not in ("dyadic", "least_squares"):
        raise ParameterError(f"weights: found {shown(weights)}; allowed: dyadic, least_squares")
    b, found = tree.fanout, [Fraction(1)]
    for level in range(2, tree.levels + 1):
        own = Fraction(b - 1, b) if weights == "dyadic" else Fraction(b**level - b ** (level - 1), b**level - 1)
        rest = (1 - own) if weights == "least_squares" else Fraction(1, b)
        found.append(own**2 + rest**2 * b * found[-1])
    return tuple(found)


def leaf_variance(tree: Tree, *, weights: Weights = "dyadic") -> float:
    """The variance of one consistent leaf: the same for all of them.

    >>> round(leaf_variance(Tree(16, 5)), 4)
    0.941
    """
    return range_variance(tree, 0, 1, weights=weights)


def range_variance(tree: Tree, low: int, high: int, *, weights: Weights = "dyadic") -> float:
    """The variance of the sum of the consistent leaves low..high-1, which may lie in several trees in a row.

    >>> round(range_variance(Tree(16, 5), 1, 2**20 - 1, weights="least_squares"), 5)
    16.88188
    """
    terms, variances = _terms(tree, low, high), _floats(tree, weights)
    return sum(count * variance for count, variance in zip(terms, variances, strict=True))


def exact_range_variance(tree: Tree, low: int, high: int, *, weights: Weights = "dyadic") -> Fraction:
    """What `range_variance` gives, as a Fraction."""
    b, terms, variances = tree.fanout, _terms(tree, low, high), node_variances(tree, weights)
    scales = [b ** (2 * level) for level in range(1, tree.levels)] + [b ** (2 * tree.levels - 2)]
    return sum(
        (count * variance / scale for count, variance, scale in zip(terms, variances, scales, strict=True)), Fraction(0)
    )


@lru_cache(maxsize=64)
def _floats(tree: Tree, weights: Weights) -> tuple[float, ...]:
    b, variances = tree.fanout, node_variances(tree, weights)
    scales = [b ** (2 * level) for level in range(1, tree.levels)] + [b ** (2 * tree.levels - 2)]
    return tuple(float(variance / scale) for variance, scale in zip(variances, scales, strict=True))


def _terms(tree: Tree, low: int, high: int) -> list[int]:
    """For each level l below the root's: sum over cut nodes one above of sum over children of (b c(y) - c(x))^2, with c
    the number of leaves in the stretch; then, for the roots, the sum of c^2.
    """
    if not 0 <= low <= high:
        raise ParameterError(f"leaves: found {shown(low)} to {shown(high)}; allowed: from 0, and not backwards")
    b, terms, below = tree.fanout, [], 1
    for _ in range(tree.levels - 1):
        above = below * b
        cut = {low // above, high // above}
        terms.append(sum(_spread(max(low, at * above), min(high, (at + 1) * above), below, b) for at in cut))
        below = above
    cut = {low // below, high // below}
    counts = {at: max(0, min(high, (at + 1) * below) - max(low, at * below)) for at in cut}
    whole = max(0, high // below - low // below - 1)
    terms.append(sum(count * count for count in counts.values()) + whole * below * below)
    return terms


def _spread(low: int, high: int, below: int, b: int) -> int:
    """Sum over the children of one node, of `below` leaves each, whose leaves low..high-1 are in the stretch."""
    count = high - low
    if count <= 0 or count == b * below:
        return 0
    first, last = low // below, (high - 1) // below
    ends = [count] if first == last else [(first + 1) * below - low, high - last * below]
    squares = sum(end * end for end in ends) + max(0, last - first - 1) * below * below
    return b * b * squares - b * count * count
