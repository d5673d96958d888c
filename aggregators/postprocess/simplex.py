# SPDX-License-Identifier: Apache-2.0
"""The nearest point of a capped simplex: frequencies between 0 and a cap that sum to a given total.

Library only: no stage and no verb imports it; whoever post-processes sums of sets in Python does.
Contract: clip(f + delta, 0, cap) with a delta for which they sum to the total, which is the nearest such point; what
is one already comes back within rounding.  Sums of set-valued data are the use: items that a user may hold at most
once, so that no frequency exceeds 1 though all together exceed it.  Source: ARCHITECTURE section 5.14; the
breakpoints are sorted, so that no bisection decides.  Not here: the plain simplex, bit for bit (norm.py).
"""

import math

import numpy as np

from murmurate.aggregators.postprocess.context import Floats, finite, sum_of
from murmurate.randomizers import ParameterError
from murmurate.randomizers.errors import shown


def capped_simplex(estimate: Floats, *, cap: float = 1.0, total: float = 1.0) -> Floats:
    """The nearest frequencies with 0 <= f <= cap and sum f = total: float64[d].

    >>> capped_simplex(np.array([0.875, 0.25, 0.125]), cap=0.5).tolist()
    [0.5, 0.3125, 0.1875]
    """
    f = finite(estimate)
    if not (isinstance(cap, (int, float)) and isinstance(total, (int, float)) and 0 < total <= cap * len(f) < np.inf):
        raise ParameterError(
            f"capped_simplex: found cap = {shown(cap)}, total = {shown(total)} for d = {len(f)}; allowed: "
            "total above 0 and at most d times cap"
        )
    # A common shift changes nothing. Where the total is reached, the last value it could fill up lies between 0 and the
    # cap; so what is a cap away from that one ends at 0 or at the cap wherever it is, and no size of f can swallow it.
    last = max(1, min(len(f), math.ceil(total / cap)))
    with np.errstate(over="ignore"):
        f = np.clip(f - np.sort(f)[-last], -cap, cap)
    # The sum of clip(f + delta, 0, cap) bends where a value leaves 0 (delta = -f) and where it reaches the cap.
    falling = np.sort(f)[::-1]
    leaves, reaches = -falling, cap - falling
    bends = np.sort(np.concatenate([leaves, reaches]))
    above, full = np.searchsorted(leaves, bends, side="right"), np.searchsorted(reaches, bends, side="right")
    ahead = np.concatenate([[0.0], np.cumsum(falling)])
    sums = ahead[above] - ahead[full] + (above - full) * bends + full * cap
    at = bends[min(int(np.searchsorted(sums, total)), len(bends) - 1)]
    # Up to that bend the same values lie inside, so the rest is one division, from a sum that is rounded once.
    inside, at_cap = (-f < at) & (cap - f >= at), cap - f < at
    delta = (total - cap * int(at_cap.sum()) - sum_of(f[inside])) / int(inside.sum())
    return np.asarray(np.clip(f + delta, 0.0, cap))
