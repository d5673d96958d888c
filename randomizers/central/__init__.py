"""What a trusted curator adds to exact sums: noise, and the private choice of a threshold."""

from murmurate.randomizers.central.noisy_max import NoisyMax, count_above, noise_slope

__all__ = ["NoisyMax", "count_above", "noise_slope"]
