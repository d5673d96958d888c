# SPDX-License-Identifier: Apache-2.0
"""Mechanisms for sparse vectors: a few of many items, each with a sign or a number from -1 to 1.

`VectorQuestion`   what they have in common: values, signs of numbers, digests (vector.py, entries.py)
`Collision`, `CoCo`  one of the cells that entries are hashed into (collision.py, coco.py)
`ExSub`, `MajorityExSub`   m of all coordinates with signs, those that agree with the user likelier (exsub.py)
`SetSubset`        the same over sets, without signs: half the error for shares of holders (set_subset.py)
`SparseOracle`     those whose reports support signs of coordinates: counts, estimates, exact variances (sparse.py)
`KVUE`, `PrivKV`   one coordinate, drawn at random, by randomized response (one_coordinate.py)
`PCKVUE`           one sampled entry in a row of cells (sampled_cell.py)
`PCKVGRR`, `PCKVAGRR`   one sampled entry among all coordinates with either sign (sampled_symbol.py)
`EFMRTT`, `DDRM`   a sign for every coordinate, of which one or more are told (sign_bits.py)
`FutureRand`       a sign for every coordinate, flipped by a pattern drawn for all entries at once (future_rand.py)
`SUCCINCT`         a clipped sum of all entries with public signs, and noise (succinct.py)
"""

from murmurate.randomizers.vectors.coco import CoCo
from murmurate.randomizers.vectors.collision import Collision
from murmurate.randomizers.vectors.exsub import ExSub, MajorityExSub
from murmurate.randomizers.vectors.future_rand import FutureRand
from murmurate.randomizers.vectors.one_coordinate import KVUE, PrivKV
from murmurate.randomizers.vectors.sampled_cell import PCKVUE
from murmurate.randomizers.vectors.sampled_symbol import PCKVAGRR, PCKVGRR
from murmurate.randomizers.vectors.set_subset import SetSubset
from murmurate.randomizers.vectors.sign_bits import DDRM, EFMRTT
from murmurate.randomizers.vectors.sparse import SparseOracle, Supports
from murmurate.randomizers.vectors.succinct import SUCCINCT
from murmurate.randomizers.vectors.vector import VectorQuestion

__all__ = [
    "DDRM",
    "EFMRTT",
    "KVUE",
    "PCKVAGRR",
    "PCKVGRR",
    "PCKVUE",
    "SUCCINCT",
    "CoCo",
    "Collision",
    "ExSub",
    "FutureRand",
    "MajorityExSub",
    "PrivKV",
    "SetSubset",
    "SparseOracle",
    "Supports",
    "VectorQuestion",
]
