"""Central noise: what a trusted edge adds to exact sums before they leave it, and how it chooses a threshold privately.
No report of a user holds any of it.
"""

from murmurate.randomizers.central.discrete_laplace import DiscreteLaplace
from murmurate.randomizers.central.noise import NodeNoise, NoiseOfNodes, keyed_noise
from murmurate.randomizers.central.noisy_max import NoisyMax, count_above, noise_slope

__all__ = ["DiscreteLaplace", "NodeNoise", "NoiseOfNodes", "NoisyMax", "count_above", "keyed_noise", "noise_slope"]
