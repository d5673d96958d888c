"""Where to clip numbers: what a threshold takes from their mean, against the noise that it saves (SW-W of ToPL).

Contract: `excess` is what clipping at each edge takes from the mean, `best` the edge with the least squared error, the
smallest of equals; clipped is above only.  `whole_or_pruned` is plain EM's distribution with the tail of its noise cut
off, unless more than noise is cut: the reports' own unbiased mean would be too far above what is left.  SW-W as the
source has it ends at the first gap, however much lies behind it: with one value in twenty at the other end of the
range that cost 70 times the least error.  Source: streams.md section 5.  Not here: asking (methods/holdout.py).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.distribution import pruned

Floats = NDArray[np.float64]

TOO_FAR = 2.0
"""Standard errors of the unbiased mean above the pruned one."""
QUIET = 20
"""Faint cells in a row behind which there is only noise. The source has 5 of 1024: it ends at gaps that EM leaves in
long tails. In 432 runs (six shapes of values, n from 2 000 to 100 000, epsilon 0.5 to 2.5, w 4 and 20) 20 of 512 had
the least error of twelve choices: 1.28 times that of the best threshold.
"""


def excess(frequencies: Floats, middles: Floats, edges: Floats) -> Floats:
    """The sum over c > theta of f_c (c - theta), for each edge theta; c are the middles of the cells."""
    above = np.maximum(middles - edges[:, None], 0.0)
    return np.asarray(above @ frequencies, np.float64)


def best(taken: Floats, noise: Floats) -> int:
    """Which edge has the least squared error: of what it takes, and the variance of a release that clips there.

    >>> best(np.array([3.0, 1.0, 0.0]), np.array([0.0, 2.0, 3.0]))
    1
    """
    return int(np.argmin(taken**2 + noise))


def whole_or_pruned(frequencies: Floats, middles: Floats, mean: float, stderr: float) -> Floats:
    """Those frequencies of which a threshold is to be found; mean: the unbiased one of the same reports."""
    cut = pruned(frequencies, quiet=QUIET)
    return frequencies if mean - float(cut @ middles) > TOO_FAR * stderr else cut
