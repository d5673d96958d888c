# SPDX-License-Identifier: Apache-2.0
"""Consistent estimates: from one noisy number for every node of a tree to leaves that add up to all of them.

Contract: two weightings of the same two passes.  Upwards, an inner node's estimate z weighs its own number N against
the sum of its children's z; downwards, what a parent has more than its children is shared out among them equally:

    dyadic          z = ((b - 1) N + sum z(children)) / b                               whole numbers: `dyadic_leaves`
    least squares   z = ((b^l - b^(l-1)) N + (b^(l-1) - 1) sum z(children)) / (b^l - 1)        floats: `least_squares`
    both            H(root) = z(root);  H(child) = z(child) + (H(parent) - sum z(siblings)) / b

Both leave a tree of true sums as it is, so they are unbiased.  Least squares has the least variance (Hay et al. 2010);
the dyadic weights keep to whole numbers, in which no order of adding can show, and cost at most 1 / b^3 of variance:
.025 % at fanout 16, 12.5 % at fanout 2. Levels are given from the leaves to the roots; trees may follow each other in
a row.
Source: ToPS appendix C (with parents, where it prints children); ARCHITECTURE section 5.5.
Not here: a leaf at a time (lazy.py), variances (variance.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import ParameterError

Numbers = NDArray[np.int64]


def dyadic_leaves(levels: Sequence[Numbers], fanout: int) -> Numbers:
    """Consistent leaves times b^(2 (levels - 1)), in exact whole numbers, modulo 2^64.

    >>> dyadic_leaves([np.array([3, -1, 0, 2]), np.array([4, -6]), np.array([10])], 2).tolist()
    [74, 10, -14, 18]
    """
    upwards = dyadic_upwards(levels, fanout)
    return dyadic_downwards(upwards[-1], upwards[:-1], fanout)


def dyadic_upwards(levels: Sequence[Numbers], fanout: int, lowest: int = 1) -> list[Numbers]:
    """The upward pass: for every node of level l its z times b^(l - 1), modulo 2^64.

    Where the lowest level given is not the leaves', its numbers are z times b^(l - 1) already.
    """
    _check(levels, fanout)
    found = [np.asarray(levels[0], np.int64)]
    for height, own in enumerate(levels[1:], lowest - 1):
        weight = np.int64((fanout - 1) * fanout**height)
        found.append(_sums(found[-1], fanout) + own * weight)
    return found


def dyadic_downwards(tops: Numbers, below: Sequence[Numbers], fanout: int, depth: int = 0) -> Numbers:
    """The downward pass: leaves times b^(2 (levels - 1)), from nodes that lie `depth` levels under their root.

    `below`: what `dyadic_upwards` gives for the levels under these nodes, leaves first, Z = z times b^(level - 1).
    A node d levels under its root is H times b^(levels - 1 + d), so child = b^(2 d + 2) Z + (node - b^(2 d + 1) sum Z).
    """
    for place, own in enumerate(reversed(below)):
        scale = fanout ** (2 * (depth + place) + 1)
        sums: Numbers = _sums(own, fanout)
        rest = tops - sums * np.int64(scale)
        tops = own * np.int64(scale * fanout)
        tops.reshape(-1, fanout)[:] += rest[:, None]
    return tops


def least_squares(levels: Sequence[NDArray[Any]], fanout: int) -> list[NDArray[Any]]:
    """Consistent estimates of all nodes, level by level from the leaves: of least variance, for noise of one variance.

    Numbers are float64, or Fractions in arrays of dtype object, for which the result is exact.
    """
    _check(levels, fanout)
    exact = levels[0].dtype == object
    upwards: list[NDArray[Any]] = [levels[0] if exact else levels[0].astype(np.float64)]
    for level, own in enumerate(levels[1:], 2):
        share = Fraction(fanout**level - fanout ** (level - 1), fanout**level - 1)
        weight: Any = share if exact else float(share)
        upwards.append(weight * own + (1 - weight) * _sums(upwards[-1], fanout))
    found = [upwards.pop()]
    for own in reversed(upwards):
        found.append(own + np.repeat((found[-1] - _sums(own, fanout)) / fanout, fanout))
    return found[::-1]


def _sums(below: NDArray[Any], fanout: int) -> NDArray[Any]:
    return np.asarray(below.reshape(-1, fanout).sum(axis=1))


def _check(levels: Sequence[NDArray[Any]], fanout: int) -> None:
    sizes = [len(level) for level in levels]
    if fanout < 2 or not sizes or any(one != fanout * above for one, above in pairwise(sizes)):
        raise ParameterError(f"levels: found {sizes} nodes; allowed: each level {fanout} times the one above")
