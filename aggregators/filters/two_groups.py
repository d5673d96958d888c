# SPDX-License-Identifier: Apache-2.0
"""What measurements of very many coordinates say of each, where most are 0: the largest are mostly large by chance.

Contract: a coordinate is 0, or drawn from a normal distribution around 0; how many are not, and how large these are, is
read off the second and fourth moments of all measurements, each in its standard errors.  The posterior mean takes off
what selection adds, on average: of 65 536 zeros the largest is measured at four standard errors.  Where the moments
show nothing beyond noise, `expected` coordinates are taken to be other than 0, and as large as what chance does not
reach.  Source: two-groups models (Efron 2008); the moments are our own way to fit one without iterations.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from murmurate.aggregators.filters.models import Floats

LEAST: Final = 4.0
"""The least variance of what is not 0, in that of a measurement."""
SURE: Final = 3.0
"""Moments count where they exceed those of noise by so many standard errors."""
DOUBT: Final = 0.25
"""The least variance that is left of a measurement's own: the model is rough."""


def shrunk(measured: Floats, noise: Floats, *, expected: float, beyond: float) -> tuple[Floats, Floats]:
    """Posterior mean and variance of each coordinate. beyond: the standard errors that chance hardly ever reaches.

    >>> mean, variance = shrunk(np.array([0.0] * 998 + [3.0, 30.0]), np.ones(1000), expected=2, beyond=4.0)
    >>> mean[-2:].round(1), variance[-2:].round(1)
    (array([ 0.1, 28.2]), array([0.3, 0.9]))
    """
    d = len(measured)
    z = measured / np.sqrt(noise)
    square = z * z
    rare, size = _fitted(np.minimum(square, (2 * beyond) ** 2), expected / d, beyond**2)
    kept = size / (1 + size)
    odds = np.exp(np.minimum(square * kept / 2, 500)) * (rare / (1 - rare) / np.sqrt(1 + size))
    chance = odds / (1 + odds)
    mean = chance * kept * measured
    variance = chance * kept * noise + chance * (1 - chance) * (kept * measured) ** 2
    return mean, np.maximum(variance, DOUBT * noise)


def _fitted(square: Floats, rare: float, size: float) -> tuple[float, float]:
    """The share of coordinates that are not 0, and their variance in that of a measurement. square: of measurements in
    standard errors; rare, size: what holds where nothing is to be seen.
    """
    second = float(square.mean()) - 1
    fourth = float((square * square).mean()) - 6 * second - 3
    if second > SURE * np.sqrt(2 / len(square)) and fourth > SURE * np.sqrt(96 / len(square)):
        size = max(LEAST, fourth / (3 * second))
        rare = max(rare, second / size)
    return min(rare, 0.5), size
