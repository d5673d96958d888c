# SPDX-License-Identifier: Apache-2.0
"""Norm, Norm-Mul and Norm-Cut: three ways to make frequencies add to 1, or not to exceed it. Norm-Sub is in norm.py.

Contract: Norm sums to 1 and stays unbiased; Norm-Mul is never negative and sums to 1; Norm-Cut is never negative, sums
to at most 1 and changes no value that it keeps.  Source: Wang 2021, section 8.1.  Deviation: Norm-Cut is printed as
"the smallest theta such that the sum of what reaches theta is at most 1"; a theta of minus infinity does that whenever
the raw estimates sum to 1 or less, and would keep the negative ones. Theta is above 0 here (ARCHITECTURE erratum C18).
"""

import numpy as np

from murmurate.aggregators.postprocess.context import Context, Floats, slack, sum_of
from murmurate.aggregators.postprocess.norm import norm_sub as _norm_sub


def norm(estimate: Floats, context: Context) -> Floats:
    """Each f + (1 - sum f) / d: unbiased, because the true frequencies sum to 1; nothing changes for GRR."""
    f = context.checked(estimate)
    return np.asarray(f + (1 - sum_of(f)) / len(f))


def norm_mul(estimate: Floats, context: Context) -> Floats:
    """max(f, 0), divided by its sum. Every large value shrinks by what rare ones gained: never use it for a top-k.

    Where no estimate is above 0 there is nothing to divide, and every value gets 1/d.
    """
    f = np.maximum(context.checked(estimate), 0.0)
    if not (most := f.max()) > 0:
        return np.full(len(f), 1 / len(f))
    f = f / most  # so that neither a tiny nor a huge sum is lost
    return np.asarray(f / sum_of(f))


def norm_sub(estimate: Floats, context: Context) -> Floats:
    """max(f + delta, 0) with the one delta for which it sums to 1; see norm.py."""
    return _norm_sub(context.checked(estimate))


def norm_cut(estimate: Floats, context: Context) -> Floats:
    """The largest estimates, unchanged, as many as sum to at most 1; equal ones stay or fall together."""
    f = np.maximum(context.checked(estimate), 0.0)
    falling = np.sort(f)[::-1]
    fits = np.cumsum(falling) <= 1 + slack(len(f))
    if fits[-1]:
        return f
    first_out = falling[int(np.argmin(fits))]  # > 0, because adding it exceeded 1
    return np.where(f > first_out, f, 0.0)
