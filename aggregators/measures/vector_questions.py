# SPDX-License-Identifier: Apache-2.0
"""Which question tells what a stream of vectors needs: by the mechanism of a name, or by the best of all.

Contract: with shares, a question tells means and shares at every epsilon; a mechanism whose length of a report (`m`) or
number of cells (`t`) is best for means alone, and tells shares badly or not at all, gets the one of a few others for
which the exact variances of means and shares together are smallest.  Without shares it tells means alone at every
epsilon.  So a method follows the same statistics whatever an answer costs.  "auto" is the mechanism with the smallest
exact variance of what is told, of equally good ones the one that asks least of a device.
Source: ARCHITECTURE section 5.17.  Not here: the mechanisms (randomizers/vectors).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.measures.rows import quickest
from murmurate.aggregators.measures.vector_ways import WAYS, vector_question
from murmurate.randomizers import ParameterError, Question
from murmurate.randomizers.question import LayoutSpec
from murmurate.randomizers.registry import VECTORS
from murmurate.randomizers.thresholds import Epsilon
from murmurate.randomizers.vectors import SparseOracle, VectorQuestion
from murmurate.randomizers.vectors.exsub_terms import support_terms

ALL_SIGNS: Final = "exsub_majority"
"""The mechanism that tells no shares if a report has a sign for every coordinate, and else tells them badly."""
PARTS: Final = (2, 4, 8, 16, 32)
"""The parts of all coordinates that may be the length of a report."""
NEAR: Final = 1.000001
"""How many times the smallest variance is near it, among those in closed form."""
PAIRS: Final = (3, 4, 6, 10)
"""The numbers of cells for each entry of a vector."""


def serving_vectors(*, shares: bool) -> tuple[str, ...]:
    """The mechanisms that can tell shares besides means, or those that can tell means alone."""
    signed = (name for name, kind in VECTORS.items() if kind.signs_are_drawn)
    return quickest(name for name in signed if _never_tells(name) != shares or (name == ALL_SIGNS and not shares))


def telling_question(name: str, layout: LayoutSpec, epsilon: Epsilon, *, shares: bool) -> Question:
    """The question by the mechanism of this name; ParameterError if it cannot tell just that."""
    if name not in WAYS and name not in serving_vectors(shares=shares):
        allowed = ", ".join(serving_vectors(shares=shares))
        told = "shares of holders" if shares else "means alone"
        raise ParameterError(f"{name}: found asked for {told}; allowed: {allowed}")
    return _asked(name, layout, epsilon, shares)


@lru_cache(maxsize=512)
def _asked(name: str, layout: LayoutSpec, epsilon: Epsilon, shares: bool) -> Question:
    _, d, most, _ = layout
    most = min(int(most), int(d))
    able, least = list[Question](), 0.0
    for parameters, foretold in _lengths(name, int(d), most, shares, epsilon):
        if least and foretold > least * NEAR:
            continue  # an equally long one, or a better one, has been made
        try:
            made = vector_question(name, layout, epsilon, **parameters)
        except ParameterError:
            if not parameters:  # of the usual ones: what is wrong with the vectors themselves
                raise
            continue
        if isinstance(made, VectorQuestion) and made.tells_shares == shares:
            able.append(made)
            least = least or foretold
    if not able:
        raise ParameterError(f"{name}: found {d} items, {most} of a user; allowed: more, to tell shares of holders")
    return min(able, key=told_variance)


def _lengths(name: str, d: int, most: int, shares: bool, epsilon: Epsilon) -> Iterator[tuple[Mapping[str, int], float]]:
    """The parameters that are compared: the mechanism's own, and others where those may tell no shares. With each the
    variance that it would have, the smallest ones first, or 0 where that is not known in advance.
    """
    if not shares:
        yield {"m": d + most} if name == ALL_SIGNS else {}, 0.0
        return
    yield {}, 0.0
    if name in ("exsub", ALL_SIGNS):
        lengths = np.unique([max(1, (d + most) // part) for part in PARTS])
        foretold = _foretold(d, most, float(epsilon), lengths, 0 if name == "exsub" else 1)
        for place in np.argsort(foretold, kind="stable").tolist():
            yield {"m": int(lengths[place])}, float(foretold[place])
    elif name == "coco":
        yield from (({"t": 2 * ((most * cells + 1) // 2)}, 0.0) for cells in PAIRS)


def _foretold(d: int, s: int, epsilon: float, lengths: NDArray[np.int64], tau: int) -> NDArray[np.float64]:
    """What `told_variance` of exclusive subsets of these lengths is, in closed form; infinite without shares."""
    terms, usual = support_terms(d, s, epsilon, lengths, tau), s / d
    means, shares = (zero + usual * (one - zero) for zero, one in (terms.mean_moments, terms.share_moments))
    return np.nan_to_num((means + shares) / 2, nan=np.inf)


@lru_cache(maxsize=512)
def told_variance(of: Question) -> float:
    """The exact variance of one report, on average over what is told, where users hold `most` items."""
    assert isinstance(of, VectorQuestion)  # noqa: S101 - what else is asked of vectors
    usual = min(1.0, of.s / of.d)
    means = float(of.variance(1, usual).mean())
    if not isinstance(of, SparseOracle) or of.statistics == of.d:
        return means
    return (means + float(of.share_variance(1, usual).mean())) / 2


def _never_tells(name: str) -> bool:
    told: Any = VECTORS[name].tells_shares  # a property where it depends on parameters
    return told is False
