"""Mechanisms for sparse vectors: a few of many items, each with a sign or a number from -1 to 1.

`VectorQuestion`   what they have in common: values, signs of numbers, digests (vector.py, entries.py)
`Collision`, `CoCo`  one of the cells that entries are hashed into (collision.py, coco.py)
`KVUE`             one coordinate, drawn at random, by randomized response (one_coordinate.py)
`ExSub`, `MajorityExSub`   m of all coordinates with signs, those that agree with the user likelier (exsub.py)
`SetSubset`        the same over sets, without signs: half the error for shares of holders (set_subset.py)
`SparseOracle`     those whose reports support signs of coordinates: counts, estimates, exact variances (sparse.py)
"""

from murmurate.randomizers.vectors.coco import CoCo
from murmurate.randomizers.vectors.collision import Collision
from murmurate.randomizers.vectors.exsub import ExSub, MajorityExSub
from murmurate.randomizers.vectors.one_coordinate import KVUE
from murmurate.randomizers.vectors.set_subset import SetSubset
from murmurate.randomizers.vectors.sparse import SparseOracle, Supports
from murmurate.randomizers.vectors.vector import VectorQuestion

__all__ = [
    "KVUE",
    "CoCo",
    "Collision",
    "ExSub",
    "MajorityExSub",
    "SetSubset",
    "SparseOracle",
    "Supports",
    "VectorQuestion",
]
