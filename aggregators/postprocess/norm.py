# SPDX-License-Identifier: Apache-2.0
"""Norm-Sub: shifts all frequencies by one amount and clips them at 0, so that they add to 1.

Contract: max(f + delta, 0) with the one delta for which they sum to 1, which is the nearest point of the simplex; what
lies on the simplex comes back as it was.  Source: Wang 2021, section 8 (Norm-Sub, there equal to constrained least
squares).  A trap: where positive estimates sum to less than 1, delta is positive and slightly negative ones become
positive; zeroing them first gives another, worse point.  Not here: other post-processing, variances (a projection
has none of its own that is exact).
"""

import math

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers import ParameterError


def norm_sub(estimate: NDArray[np.float64]) -> NDArray[np.float64]:
    """The nearest frequencies that are at least 0 and sum to 1: float64[d].

    >>> norm_sub(np.array([0.5, 0.25, 0.5, -0.25])).tolist()
    [0.4166666666666667, 0.16666666666666669, 0.4166666666666667, 0.0]
    """
    f = np.asarray(estimate, np.float64)
    if f.ndim != 1 or not len(f) or not np.isfinite(f).all():
        raise ParameterError(f"estimate: found float64{list(f.shape)} or not finite; allowed: finite, float64[d]")
    if f.min() >= 0 and abs(math.fsum(f.tolist()) - 1) <= 4 * len(f) * float(np.finfo(np.float64).eps):
        return f.copy()
    # A common shift changes nothing, and what lies 1 below the largest ends at 0: so no size of f can swallow the 1.
    with np.errstate(over="ignore"):
        f = np.maximum(f - f.max(), -1.0)
    falling = np.sort(f)[::-1]
    delta = (1 - np.cumsum(falling)) / np.arange(1, len(f) + 1)  # if only the first j stay above zero
    stay = int(np.flatnonzero(falling + delta > 0)[-1]) + 1
    shift = (1 - math.fsum(falling[:stay].tolist())) / stay  # summed exactly: within 4 d ulps of the simplex
    return np.asarray(np.maximum(f + shift, 0.0))
