# SPDX-License-Identifier: Apache-2.0
"""What is printed of mixing: Wang 2021, table 9.2; SaO2, figure 2; and epsilons that other code computed.

Contract: numbers and where they are from.  A printed cell that is wrong stands here as it should be, with the printed
one beside it.  Source: Wang 2021, section 9.6.2 (its rows "RAP_R (d' = ...)" are SOLH with so many cells, and its cell
at 0.8 and 100 cells is off in one digit); SaO2, section 6; two algorithms for blankets, which agree in four digits.
"""

from __future__ import annotations

from typing import Final

TARGETS: Final = (0.2, 0.4, 0.6, 0.8)
"""Central epsilons of table 9.2."""
CELLS: Final = (45, 177, 397, 705)
"""Table 9.2: the number of cells d' that SOLH chooses."""
TABLE: Final = {
    "SOLH": (5.27e-8, 1.30e-8, 5.76e-9, 3.24e-9),
    "SOLH, d' = 10": (1.31e-7, 1.17e-7, 1.14e-7, 1.13e-7),
    "SOLH, d' = 100": (1.73e-7, 1.55e-8, 1.22e-8, 1.12e-8),
    "SOLH, d' = 1000": (1.02e-4, 2.60e-5, 4.02e-8, 3.66e-9),
    "RAP_R": (7.82e-9, 1.92e-9, 8.53e-10, 4.78e-10),
}
"""Table 9.2: errors on Kosarak."""
MISPRINTED: Final = {("SOLH, d' = 100", 0.8): 1.22e-8}
"""The cell as it is printed: 1.22e-8 stands there twice."""

ONLINE: Final[tuple[int, ...]] = (1_000, 5_000)
"""SaO2, figure 2: users."""
ONLINE_DELTA: Final = 1e-5
FIGURE_2: Final = {
    "clones, closed": (0.368, 0.128),
    "theorem 6.2": (0.314, 0.114),
    "clones": (0.154, 0.0637),
    "blanket": (0.0292, 0.0118),
}
"""SaO2, figure 2 at ONLINE: its two curves as its formulas give them, and two bounds that are proven."""

AT: Final = ((1_000, 1e-5), (10_000, 1e-6), (100_000, 1e-6), (1_000_000, 1e-7))
"""Reports and deltas of AMPLIFIED."""
AMPLIFIED: Final = {
    "binary, EFMRTT": (0.1250407, 0.04320635, 0.01242997, 0.004313863),
    "GRR, d = 128": (0.01779699, 0.006291082, 0.001751979, 0.0006276916),
    "Collision(8, 36)": (0.09418848, 0.03274483, 0.009390593, 0.003271097),
    "Collision(8, 74), eps 2": (0.2387787, 0.08183828, 0.0237054, 0.008164224),
    "CoCo(8, 32)": (0.09863496, 0.03425966, 0.009830385, 0.003422189),
    "ExSub(136, 8), m = 9": (0.08597011, 0.02991844, 0.008569608, 0.002988836),
    "ExSub(136, 8), m = 1": (0.03602374, 0.01270679, 0.003592621, 0.001269842),
    "ExSub(1000, 20), m = 2": (0.02914864, 0.01030817, 0.002903148, 0.00102999),
    "majority(136, 8)": (0.11295, 0.0391205, 0.01124242, 0.003906791),
    "tree of 32, r = 2": (0.08823941, 0.03069912, 0.008796302, 0.003066808),
    "clones": (0.15404681, 0.053005316, 0.015282062, 0.0052900512),
    "clones, eps 2": (0.4673691, 0.15504524, 0.04502558, 0.015397949),
    "clones, closed": (0.3679424, 0.094360427, 0.02751099, 0.0091211718),
    "clones, closed, eps 2": (1.3287028, 0.26587317, 0.075415288, 0.024852106),
}
"""Central epsilons at AT of reports of local epsilon 1, unless another one is named."""
TREE_LEVELS: Final = ((8, 200, 13), (8, 104, 7), (8, 56, 4), (8, 32, 2), (8, 20, 1), (8, 20, 1))
"""The tree of 32 periods of 12 values: places s, places d' and signs m of ExSub by level, leaves first."""
TREE_PORTIONS: Final = (0.210304, 0.205916, 0.198469, 0.183766, 0.161236, 0.0403091)
"""The tree's users by level, drawn privately."""
