# SPDX-License-Identifier: Apache-2.0
"""Central noise: what a trusted edge adds to exact sums before they leave it, and how it chooses a threshold privately.
No report of a user holds any of it.
"""

from murmurate.randomizers.central.discrete_laplace import DiscreteLaplace
from murmurate.randomizers.central.noise import NodeNoise, NoiseOfNodes, keyed_noise, law_of
from murmurate.randomizers.central.noisy_max import NoisyMax, count_above, noise_slope

__all__ = [
    "DiscreteLaplace", "NodeNoise", "NoiseOfNodes", "NoisyMax", "count_above", "keyed_noise", "law_of", "noise_slope",
]  # fmt: skip
