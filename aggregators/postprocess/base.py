# SPDX-License-Identifier: Apache-2.0
"""Base and what only clips or cuts it: each value is judged by itself, and the sum is whatever it becomes.

Contract: Base is unbiased; Base-Pos and Base-Cut are never negative; a threshold is in the scale of the estimates and
never below 0.  Source: Wang 2021, sections 3.5.2 (equation 3.13) and 8.1.  Deviation: equation 8.1 calls Var* "the
standard deviation"; the threshold takes its square root, as 3.13 does (ARCHITECTURE erratum C17).  Not here: sums to 1
(norms.py).
"""

from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.postprocess.context import Context, Floats, finite, sum_of
from murmurate.randomizers import ParameterError

CUT_ALPHA: Final = 2.0
"""The alpha of Base-Cut: about two values that nobody holds stay."""
SIGNIFICANT_ALPHA: Final = 0.05
"""The alpha of the significance threshold: in one release of twenty a value that nobody holds passes."""


def threshold(context: Context, alpha: float) -> float:
    """T = z sqrt(Var*), where z is what a standard normal exceeds with probability alpha / d; 0 where that is below.

    The clamp is ours: from d = 2 alpha down the formula is negative, and a cut below 0 would let noise through.

    >>> round(threshold(Context(p=0.5, q=0.25, n=1200, d=6), alpha=2), 6)
    0.021536
    """
    share = alpha / context.d
    if not share > 0:
        raise ParameterError(f"threshold: alpha: found {alpha!r} for d = {context.d}; allowed: above 0")
    return -NormalDist().inv_cdf(share) * context.deviation if share < 0.5 else 0.0


def base(estimate: Floats, context: Context) -> Floats:
    """The unbiased estimates of the oracle, unchanged; only these may be added up and subtracted."""
    return context.checked(estimate)


def base_pos(estimate: Floats, context: Context) -> Floats:
    """max(f, 0). The noise of rare values no longer cancels, so that totals of many come out far too high."""
    return np.asarray(np.maximum(context.checked(estimate), 0.0))


def base_cut(estimate: Floats, context: Context) -> Floats:
    """0 for what lies below T: few values that nobody holds stay, and few that somebody holds do not.

    Where it is known how many values somebody holds, T is the k-th highest estimate instead (section 8.2.6).
    """
    f = np.maximum(context.checked(estimate), 0.0)
    cut = threshold(context, context.alpha or CUT_ALPHA) if context.k is None else float(np.sort(f)[-context.k])
    return np.where(f < cut, 0.0, f)


def significant(estimate: Floats, context: Context) -> Floats:
    """What lies below T_s is put together, and what the others leave of 1 is spread evenly over it.

    Where the others already have 1 or more, nothing is left to spread: the values below get 0, never a debt.
    """
    f = context.checked(estimate)
    below = f < threshold(context, context.alpha or SIGNIFICANT_ALPHA)
    if not below.any():
        return f
    rest = max(0.0, 1 - sum_of(f[~below]))
    return np.where(below, rest / int(below.sum()), f)


def answers(estimate: Floats, sets: NDArray[np.bool_]) -> Floats:
    """The total of every set: float64[k] from bool[k, d]."""
    f, chosen = finite(estimate), np.asarray(sets)
    if chosen.dtype != np.bool_ or chosen.ndim != 2 or chosen.shape[1] != len(f):
        raise ParameterError(f"sets: found {chosen.dtype}{list(chosen.shape)}; allowed: bool[k, {len(f)}]")
    return np.asarray(chosen @ f)


def post_pos(estimate: Floats, sets: NDArray[np.bool_]) -> Floats:
    """Post-Pos: each answer, never below 0. The answers to two sets no longer add up to that of both together."""
    return np.asarray(np.maximum(answers(estimate, sets), 0.0))
