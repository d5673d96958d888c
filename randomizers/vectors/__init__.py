"""Mechanisms for sparse vectors: a few of many items, each with a sign or a number from -1 to 1.

`VectorQuestion`   what they have in common: values, signs of numbers, digests (vector.py, entries.py)
`SparseOracle`     those whose reports support signs of coordinates: counts, estimates, exact variances (sparse.py)
`KVUE`, `PrivKV`   one coordinate, drawn at random, by randomized response (one_coordinate.py)
`PCKVUE`           one sampled entry in a row of cells (sampled_cell.py)
`PCKVGRR`, `PCKVAGRR`   one sampled entry among all coordinates with either sign (sampled_symbol.py)
`EFMRTT`, `DDRM`   a sign for every coordinate, of which one or more are told (sign_bits.py)
`FutureRand`       a sign for every coordinate, flipped by a pattern drawn for all entries at once (future_rand.py)
`SUCCINCT`         a clipped sum of all entries with public signs, and noise (succinct.py)
"""

from murmurate.randomizers.vectors.future_rand import FutureRand
from murmurate.randomizers.vectors.one_coordinate import KVUE, PrivKV
from murmurate.randomizers.vectors.sampled_cell import PCKVUE
from murmurate.randomizers.vectors.sampled_symbol import PCKVAGRR, PCKVGRR
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
    "FutureRand",
    "PrivKV",
    "SparseOracle",
    "Supports",
    "VectorQuestion",
]  # fmt: skip
