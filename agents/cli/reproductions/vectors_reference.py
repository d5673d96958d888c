# SPDX-License-Identifier: Apache-2.0
"""What is printed of mechanisms for sparse vectors: tables 2 and 4 of SaO2, and what Collision and CoCo say in words.

Contract: numbers and where they are from.  Table 2 says 10 000 users and was run with 50 000: that explains all its
eight rows for epsilons up to 1.  Table 4 says 1 024 coordinates and has 512 with two signs each.  Source: SaO2, section
7.2 and appendix F; Collision and CoCo, section 8 and figures 2 and 5; bounds of reductions that other code worked out.
"""

from __future__ import annotations

from typing import Final, NamedTuple

EPSILONS: Final = (0.001, 0.01, 1.0, 3.0, 5.0)
"""The columns of both tables."""


class PrintedTable(NamedTuple):
    """One of the tables of SaO2: its collection, and by mechanism the total and the largest error by epsilon."""

    n: int
    d: int
    s: int
    rows: dict[str, tuple[tuple[float, ...], tuple[float, ...]]]


TABLES: Final = {
    "2": PrintedTable(50_000, 128, 8, {
        "FutureRand": ((3.4e4, 3493.8, 32.3, 10.1, 6.78), (1025.8, 97.0, 0.90, 0.31, 0.24)),
        "Collision": ((4.6e3, 463.7, 4.13, 1.15, 0.54), (128.1, 12.6, 0.11, 0.034, 0.021)),
        "SUCCINCT": ((4.7e3, 479.6, 5.10, 2.66, 2.48), (131.7, 13.7, 0.14, 0.077, 0.077)),
        "ExSub": ((4.0e3, 393.9, 3.64, 0.84, 0.33), (113.7, 10.5, 0.094, 0.026, 0.014)),
    }),
    "4": PrintedTable(50_000, 512, 100, {
        "FutureRand": ((3.7e5, 3.6e4, 341.8, 117.2, 84.2), (3161.1, 300.4, 2.71, 0.90, 0.72)),
        "Collision": ((6.7e4, 6.8e3, 61.9, 17.0, 10.4), (526.4, 55.6, 0.47, 0.17, 0.14)),
        "SUCCINCT": ((6.7e4, 6.8e3, 85.6, 54.9, 43.2), (555.4, 55.3, 0.66, 0.41, 0.35)),
        "ExSub": ((5.4e4, 5.5e3, 49.8, 11.3, 6.91), (426.3, 45.2, 0.41, 0.14, 0.11)),
    }),
}  # fmt: skip
EXCUSED: Final = {("4", "SUCCINCT", 1.0): "clipping takes a part of each mean, which its data let show"}
"""Cells up to epsilon 1 that are off, and why."""
JUDGED: Final = 1.0
"""The largest epsilon at which the tables are judged: above, frequencies that differ in their data show."""

GRID: Final = (0.001, 0.01, 0.1, 0.2, 0.4, 0.8, 1.0, 1.5, 2.0)
SPARSITIES: Final = (4, 8, 16, 32)
DIMENSIONS: Final = (256, 512)
OLDER: Final = ("PrivKV", "PCKV-UE", "PCKV-GRR", "PCKV-AGRR")
"""Collision and CoCo, section 8: epsilons, s, d, and what they compare with besides SUCCINCT."""
REDUCED: Final = {"PrivKV": (-0.93, -0.65), "PCKV-UE": (-0.81, -0.47), "PCKV-AGRR": (-0.85, 0.09)}
"""By how much Collision's total error of items is below another's: at most and at least, over the whole grid."""
REDUCED_MEANS: Final = (-0.57, -0.17)
"""By how much Collision's total error of means is below the best of the older four, at d = 256, epsilons up to 1."""
CORRELATED: Final = {0.001: -0.14, 0.4: -0.09, 1.0: -0.05, 2.0: -0.02}
"""By how much CoCo's total error of means is below Collision's, by epsilon, at s = 16."""
PRINTED_WORDS: Final = {
    "items, of the older four": -0.60, "means, of the best older": -0.30, "CoCo, of Collision": -0.15,
}  # fmt: skip
"""Reductions as the text of Collision and CoCo has them."""
FIGURE_5: Final = {"Collision": (30, 356.866), "CoCo": (22, 298.049)}
"""The best t and the error of a mean times d, over d, of one user at d = 128, s = 8 and epsilon 0.5."""
AMPLIFIED_EPSILONS: Final = (0.1, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0)
AMPLIFIED: Final = ((4, 10_000), (4, 100_000), (64, 10_000), (64, 100_000))
AMPLIFIED_DELTA: Final = 1e-6
"""Figure 2 of Collision and CoCo: s and users; it does not say its delta."""

CENTRAL_USERS: Final = 10_000
CENTRAL_DELTA: Final = 1e-6
CENTRAL: Final = {
    0.03: {1: (1.5917, 44.415), 2: (1.3578, 47.015), 9: (1.0019, 62.095)},
    0.1: {1: (2.6691, 5.9124), 2: (2.4312, 6.8561), 9: (2.1264, 12.933)},
    0.3: {1: (3.9247, 1.3231), 2: (3.7689, 1.8919), 9: (3.7096, 6.4081)},
}
"""After mixing, d = 128 and s = 8: by central epsilon and ExSub's m the local epsilon and the error of a mean."""
