# SPDX-License-Identifier: Apache-2.0
"""How many levels to leave out: the block of b^s periods that one leaf of the tree holds.

Contract: the s of least error by ToPS's equation (7), in units of the squared clipping threshold,

    (b - 1) (h - s)^3 2 / epsilon^2  +  b^(2 s) / 36

the noise of h - s levels, and a bias of a third of the threshold in each of half a block's values.  The paper's
formula is careful about bias: on its own data s = 3 erred less than the 2 that it chooses, so whoever knows the data
may say s.
Source: ToPS 3.5.  Not here: what stands for the values inside a block (smoothers.py).
"""

from __future__ import annotations

from murmurate.randomizers.errors import ParameterError, shown
from murmurate.randomizers.trees import Tree


def choose_block(tree: Tree, epsilon: float) -> int:
    """The number s of levels to leave out, of a tree that would have the values themselves as leaves.

    >>> [choose_block(Tree(16, 5), epsilon) for epsilon in (0.01, 0.03, 0.04, 0.5)]
    [3, 3, 2, 2]
    """
    return min(range(tree.levels), key=lambda s: block_error(tree, s, epsilon))


def block_error(tree: Tree, s: int, epsilon: float) -> float:
    """ToPS's estimate of the squared error of a stretch, over the threshold squared, when s levels are left out."""
    if not epsilon > 0:
        raise ParameterError(f"epsilon: found {shown(epsilon)}; allowed: above 0")
    if not 0 <= s < tree.levels:
        raise ParameterError(f"block: found {shown(s)}; allowed: 0 to {tree.levels - 1}")
    noise = (tree.fanout - 1) * (tree.levels - s) ** 3 * 2 / epsilon**2
    return noise + int(tree.fanout ** (2 * s)) / 36
