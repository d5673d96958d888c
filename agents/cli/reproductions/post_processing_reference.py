# SPDX-License-Identifier: Apache-2.0
"""The reference figures of the comparison of post-processing methods: what a run of ours has to come near.

Source: a simulation of the dissertation's setting (Wang 2021, section 8.2) by its reader, independent of this code and
given in ARCHITECTURE section 5.14: Zipf(1.5), d = 1024, n = 10^6, epsilon 1, OLH, 30 runs.  Mean squared errors
of single values, of totals of random sets of 10, 50 and 90 % of the values, and of the most frequent 10 and 32.
The text itself has plots only.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

RUNS: Final = 30
"""How many runs each figure is the mean of."""
METRICS: Final = ("full", "set 10%", "set 50%", "set 90%", "top-10", "top-32")
MSE: Final[Mapping[str, tuple[float, ...]]] = MappingProxyType(
    {
        "base": (3.72e-6, 3.63e-4, 1.62e-3, 2.88e-3, 3.87e-6, 3.92e-6),
        "base-pos": (1.91e-6, 5.13e-3, 1.27e-1, 4.08e-1, 3.87e-6, 3.81e-6),
        "base-cut": (4.19e-7, 2.52e-4, 5.21e-3, 1.68e-2, 3.87e-6, 8.88e-6),
        "norm": (3.71e-6, 3.28e-4, 9.37e-4, 3.27e-4, 3.88e-6, 3.92e-6),
        "norm-mul": (3.18e-5, 3.27e-3, 9.09e-3, 3.35e-3, 3.18e-3, 9.98e-4),
        "norm-sub": (5.01e-7, 5.16e-5, 1.29e-4, 4.09e-5, 7.50e-6, 6.57e-6),
        "norm-cut": (7.80e-7, 7.41e-5, 2.11e-4, 7.65e-5, 3.87e-6, 6.07e-6),
        "power": (3.45e-7, 1.43e-4, 2.62e-3, 8.37e-3, 4.16e-6, 8.60e-6),
        "power-ns": (3.35e-7, 3.49e-5, 8.05e-5, 2.75e-5, 4.12e-6, 8.27e-6),
    }
)
"""The mean squared error by method and metric."""
MLE_NEAR_NORM_SUB: Final = 0.07
"""How far MLE-Apx was from Norm-Sub at most, over all metrics."""
