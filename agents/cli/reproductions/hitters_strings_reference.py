# SPDX-License-Identifier: Apache-2.0
"""What searches for frequent strings should give: figures of other code, and what Wang 2021 prints in chapter 4.

Source of F1_FOUND: a simulation of the dissertation's setting by its reader, independent of this code: a million users,
exponential shares of scale .05, 64 bits, k = 16, OLH, 20 runs.  The text has plots only, and says that F1 at epsilon .9
is .4 and .8 for prefixes that grow by 2 and 10 bits.  Not here: what is judged (hitters_strings_verdicts.py).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

RUNS: Final = 20
"""How many runs each figure of F1_FOUND is the mean of."""
GROWTH: Final = (1, 2, 6, 10)
"""By how many bits prefixes grow: 60, 30, 10 and 6 groups."""
F1_FOUND: Final[Mapping[float, tuple[float, ...]]] = MappingProxyType(
    {
        0.9: (0.206, 0.375, 0.641, 0.766),
        1.2: (0.431, 0.597, 0.856, 0.903),
        2.0: (0.762, 0.850, 0.928, 0.953),
        4.0: (0.894, 0.916, 0.950, 0.991),
    }
)
"""F1 of PEM by epsilon and growth."""

AMONG: Final = (32, 48, 64, 128)
"""The lengths of strings in table 4.1, whose candidates are all strings there are (g = 1)."""
OF_USERS: Final = (10_000, 100_000, 1_000_000, 10_000_000)
THRESHOLDS: Final[Mapping[float, tuple[tuple[float, ...], ...]]] = MappingProxyType(
    {
        1.0: (
            (0.119629, 0.037832, 0.011960, 0.003781),
            (0.149492, 0.047267, 0.014937, 0.004723),
            (0.174594, 0.055144, 0.017426, 0.005510),
            (0.250765, 0.079250, 0.025056, 0.007923),
        ),
        2.0: (
            (0.053054, 0.016788, 0.005302, 0.001677),
            (0.066447, 0.020964, 0.006623, 0.002094),
            (0.077477, 0.024456, 0.007728, 0.002443),
            (0.111353, 0.035144, 0.011111, 0.003513),
        ),
    }
)
"""Table 4.1, column g = 1: the share above which one of all strings is expected by chance, by epsilon, length, users.
The other columns depend on a k that is not printed, and no one k gives them.
"""

GROUPS: Final = (1, 2, 3, 4)
HITS: Final[Mapping[float, tuple[float, ...]]] = MappingProxyType(
    {1.0: (4.2, 4.1, 4.0, 3.6), 2.0: (8.5, 7.8, 6.9, 7.2)}
)
"""Table 4.2, AOL: how many of the 16 most frequent strings of 32 bits are found, by epsilon and number of groups."""
HITS_RUNS: Final = 10
