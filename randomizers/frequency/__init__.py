# SPDX-License-Identifier: Apache-2.0
"""Frequency oracles: how many users hold each value of a small or large domain."""

from murmurate.randomizers.frequency.appended import AUE
from murmurate.randomizers.frequency.grr import GRR
from murmurate.randomizers.frequency.hadamard import HadamardResponse
from murmurate.randomizers.frequency.hash_counts import OLHCounts
from murmurate.randomizers.frequency.olh import BLH, OLH
from murmurate.randomizers.frequency.rappor import RAPPOR, BasicRAPPOR
from murmurate.randomizers.frequency.she import SHE
from murmurate.randomizers.frequency.subset import SubsetSelection
from murmurate.randomizers.frequency.the import THE
from murmurate.randomizers.frequency.unary import OUE, SUE

__all__ = [
    "AUE",
    "BLH",
    "GRR",
    "OLH",
    "OUE",
    "RAPPOR",
    "SHE",
    "SUE",
    "THE",
    "BasicRAPPOR",
    "HadamardResponse",
    "OLHCounts",
    "SubsetSelection",
]
