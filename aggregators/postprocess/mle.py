# SPDX-License-Identifier: Apache-2.0
"""MLE-Apx: the most likely frequencies, when every support count is taken for a normal one of its own variance.

Contract: over f >= 0 with sum 1, the least sum of (f - e)^2 / (B + C f), where e is the estimate, B = q(1-q) and
C = (p-q)(1-p-q), which is the variance of an estimate times n (p-q)^2.  It is Norm-Sub where p + q = 1.
Source: Wang 2021, section 8.1.4.  Deviation (ARCHITECTURE erratum C19): the text prints the solution with the
denominators p-q + (p-q)(1-p-q)x and (p-q)(1-p-q) - |D1| q(1-q). Their signs slipped: what (8.6) gives does not sum to 1
(.978 and 1.839 in two of the examples). From the stationary point, (f - e)(p-q) = x (B + C f) on the values D1 that
stay above 0: x = (p-q)(1 - sum over D1 of e) / (C + |D1| B)  and  f = (B x + e (p-q)) / ((p-q)(1 - (1-p-q) x)).
"""

import numpy as np

from murmurate.aggregators.postprocess.context import Context, Floats, slack, sum_of
from murmurate.randomizers import ParameterError


def mle_apx(estimate: Floats, context: Context) -> Floats:
    """The most likely frequencies: at least 0, sum 1; larger ones move by more, because their variance is larger."""
    f, p, q = context.checked(estimate), context.p, context.q
    low, high = context.possible
    if f.min() < low - slack(len(f)) or f.max() > high + slack(len(f)):
        # Outside, B + C e is below 0 for some estimates, and the one solution is no longer the formula's.
        raise ParameterError(
            f"estimate: found {f.min():.6g} to {f.max():.6g}; allowed: {low:.6g} to {high:.6g}, which support "
            "counts from 0 to n can give"
        )
    b, c = q * (1 - q), (p - q) * (1 - p - q)
    falling = np.sort(f)[::-1]
    sizes = np.arange(1, len(f) + 1)
    # y = x / (p-q), if only the first j stay. b y + e falls through 0 once along j, so no search by rounds is needed.
    y = (1 - np.cumsum(falling)) / (c + sizes * b)
    stay = int(np.flatnonzero(b * y + falling > 0)[-1]) + 1
    y_of_stay = (1 - sum_of(falling[:stay])) / (c + stay * b)
    return np.asarray(np.maximum((b * y_of_stay + f) / (1 - c * y_of_stay), 0.0))
