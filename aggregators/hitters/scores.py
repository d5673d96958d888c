# SPDX-License-Identifier: Apache-2.0
"""How good a list of found values is: F1 counts hits, NCR also weighs them by their true rank.

Contract: both from 0 to 1; 1 for exactly the true values, whose order in the found list does not matter.
Source: Wang 2021, section 4.4.1.  Not here: how far the estimates of found values are off.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from murmurate.randomizers.errors import ParameterError


def f1(found: Sequence[Hashable], truth: Sequence[Hashable]) -> float:
    """The harmonic mean of precision and recall: twice the hits over the lengths of both lists.

    >>> f1("bxad", "abcd")
    0.75
    """
    _check(found, truth)
    return 2 * len(set(found) & set(truth)) / (len(found) + len(truth))


def ncr(found: Sequence[Hashable], truth: Sequence[Hashable]) -> float:
    """The normalised cumulative rank: of k true values, the most frequent first, a hit has k, k - 1, ..., 1 points.

    >>> ncr("bxad", "abcd")
    0.8
    """
    _check(found, truth)
    k, hits = len(truth), set(found)
    return sum(k - rank for rank, value in enumerate(truth) if value in hits) / (k * (k + 1) / 2)


def _check(found: Sequence[Hashable], truth: Sequence[Hashable]) -> None:
    if len(set(truth)) < max(1, len(truth)) or len(set(found)) < len(found):
        raise ParameterError("scores: found a value twice, or no true value; allowed: each once, and one at least")
