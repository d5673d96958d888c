"""Frequency oracles: how many users hold each value of a small or large domain."""

from murmurate.randomizers.frequency.grr import GRR
from murmurate.randomizers.frequency.unary import OUE

__all__ = ["GRR", "OUE"]
