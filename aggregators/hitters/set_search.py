# SPDX-License-Identifier: Apache-2.0
"""Frequent items of users' sets, by the set-value item mining of Wang 2021, section 5.3 (SVIM).

Contract: each phase asks users whom no other phase asks, with the whole epsilon, and is a function of the estimates of
the phase before:

    1  5 of 10 users    one of all items a user         `first_candidates`: the 2k items with the largest estimates
    2  1 of 10          how many candidates a user has  `kept_sizes`, `length_from`: L, which 9 of 10 holders stay below
    3  4 of 10          one of the candidates, padded   `corrected`: shares, times the `correction` for larger sets
                        to L

Where there are hardly more than 2k items, phase 1 is left out (`needs_candidates`).  Not here: searches for sets of
items (itemset_search.py), who is asked when (aggregators/methods).
"""

from __future__ import annotations

from statistics import NormalDist
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers import GRR, OLH, Padded, ParameterError, Size, Viewed
from murmurate.randomizers.candidates import Candidates
from murmurate.randomizers.thresholds import Epsilon

Floats = NDArray[np.float64]

ITEM_PARTS: Final = (5, 1, 4)
"""The weights of the three phases: parts of the users."""
ALPHA: Final = 0.05
"""The chance that any size that nobody has is kept."""
WITHIN: Final = 0.9
"""The part of those who hold a candidate whose sets are not larger than L, at least."""


def needs_candidates(d: int, k: int) -> bool:
    """Whether a search for the k most frequent of d items needs the first phase. Up to 3k items are candidates all
    together: half of the users, saved, are worth more than a list that is a third shorter.
    """
    return d > 3 * k


def sampled_question(
    layout: Any, length: int, candidates: Candidates | None, epsilon: Epsilon, pool: int = 0
) -> Viewed:
    """The question for one candidate of a set that is padded to this length, by the better of GRR, whose epsilon the
    sampling enlarges, and OLH (Wang 2021, equation 5.3). Better is what has the smaller variance for an item that
    nobody holds.

    >>> sampled_question(("items", 128, 5, 0), 5, None, 1.0).mechanism
    GRR(d=133, epsilon=1.0)
    >>> sampled_question(("items", 200, 2, 0), 2, None, 2.0).mechanism
    OLH(d=202, epsilon=2.0)
    """
    view = Padded(layout, length, candidates)
    hashed = Viewed(view, OLH(d=view.d, epsilon=epsilon, pool=pool)) if view.d <= OLH.max_domain else None
    told = Viewed(view, GRR(d=view.d, epsilon=epsilon)) if view.d <= GRR.max_domain else None
    found = [question for question in (told, hashed) if question is not None]
    if not found:
        raise ParameterError(
            f"items: found {view.held.number} candidates to list; allowed: at most {OLH.max_domain - length}. "
            "More are searched prefix by prefix"
        )
    return min(found, key=lambda question: float(question.noise(np.zeros(1))[0]))


def size_question(layout: Any, candidates: Candidates | None, epsilon: Epsilon, pool: int = 0) -> Viewed:
    """The question for how many of the candidates a user holds, by OLH."""
    view = Size(layout, candidates)
    return Viewed(view, OLH(d=view.d, epsilon=epsilon, pool=pool))


def ranking(estimates: Floats, k: int) -> NDArray[np.int64]:
    """The places of the k largest estimates, the largest first; of equal ones the first place.

    >>> ranking(np.array([.1, .3, .2, .3]), 3).tolist()
    [1, 3, 2]
    """
    return np.argsort(-np.asarray(estimates), kind="stable")[:k].astype(np.int64)


def first_candidates(estimates: Floats, k: int) -> NDArray[np.int64]:
    """The places of the 2k items with the largest estimates, rising, as a question numbers its candidates.

    >>> first_candidates(np.array([.1, .3, -.2, .3, .0, .2]), 2).tolist()
    [0, 1, 3, 5]
    """
    return np.sort(ranking(estimates, 2 * k))


def kept_sizes(sizes: Floats, variances: Floats | float, alpha: float = ALPHA) -> Floats:
    """The shares of users by the number of candidates they hold (place i: of i candidates), without those that can be
    chance.

    A share above z sqrt(variance) is kept, with z what a standard normal exceeds with probability alpha over the number
    of sizes; the others become 0. variances: those of a size that nobody has. Size 0 plays no part, and becomes 0.
    """
    sizes = np.asarray(sizes, np.float64)
    if sizes.ndim != 1 or len(sizes) < 2 or not np.isfinite(sizes).all():
        raise ParameterError(f"sizes: found shares of shape {list(sizes.shape)}; allowed: of sizes from 0 to 1 or more")
    z = -NormalDist().inv_cdf(alpha / max(2, len(sizes) - 1))
    kept = np.where(sizes > z * np.sqrt(variances), sizes, 0.0)
    kept[0] = 0.0
    return kept


def length_from(kept: Floats, within: float = WITHIN) -> int:
    """L, the smallest size such that more than this part of those who hold a candidate hold no more. Where no size was
    kept it is 1, which has the smallest variance.

    >>> length_from(np.array([0, 400, 300, 150, 80, 40, 20, 10, 0.]))
    4
    """
    total = float(kept[1:].sum())
    return 1 + int(np.argmax(np.cumsum(kept[1:]) > within * total)) if total > 0 else 1


def correction(kept: Floats, length: int) -> float:
    """The factor by which shares are too small because who holds c > L candidates tells each with 1/c, not 1/L: the
    mean size over the mean of sizes cut off at L (Wang 2021, equation 5.5).

    >>> round(correction(np.array([0, 400, 300, 150, 80, 40, 20, 10, 0.]), 4), 9)
    1.053658537
    """
    sizes = np.arange(len(kept))
    cut = float((np.minimum(sizes, length) * kept).sum())
    return float((sizes * kept).sum()) / cut if cut > 0 else 1.0


def corrected(estimates: Floats, variances: Floats, factor: float) -> tuple[Floats, Floats]:
    """Shares and variances times the correction, which counts as known: its own error is that of all items alike."""
    return np.asarray(estimates * factor), np.asarray(variances * factor**2)
