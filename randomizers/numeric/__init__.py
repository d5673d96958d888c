# SPDX-License-Identifier: Apache-2.0
"""Numbers: the mean of a bounded quantity (SR, PM, HM), with *none* (ValueAndPresence), its distribution (SW), with
*none* (WaveAndPresence), and any of them for a mean over a coarser or clipped grid (Clipped).
"""

from murmurate.randomizers.numeric.hybrid import HM
from murmurate.randomizers.numeric.mean import MeanMechanism
from murmurate.randomizers.numeric.piecewise import PM
from murmurate.randomizers.numeric.presence import ValueAndPresence
from murmurate.randomizers.numeric.rounding import SR
from murmurate.randomizers.numeric.square_wave import SW, Wave, WaveHistogram
from murmurate.randomizers.numeric.wave_mean import WaveMean, WaveMeanAndPresence
from murmurate.randomizers.numeric.wave_presence import WaveAndPresence

__all__ = [
    "HM",
    "PM",
    "SR",
    "SW",
    "MeanMechanism",
    "ValueAndPresence",
    "Wave",
    "WaveAndPresence",
    "WaveHistogram",
    "WaveMean",
    "WaveMeanAndPresence",
]
