# SPDX-License-Identifier: Apache-2.0
"""Estimates of any average over users from Square Wave reports: unbiased, linear, with their errors.

Contract: with M the chances of reports, `left_inverse` is a K with K M = I, so that K shares are unbiased frequencies
whatever is held; and where frequencies are even no other has less variance for the average of any function of the
cells.  (Of a kinked one, such as what exceeds a threshold, the chains of randomizers/numeric/band.py have ten times its
error: they are made for single cells.)  Errors are taken at a distribution that is handed in; it moves no estimate.
Source: generalised least squares; ARCHITECTURE section 5.4 for M.  Not here: EM, which knows that no frequency is below
0 and is biased by it (distribution.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.distribution_waves import channel_of
from murmurate.randomizers.numeric import WaveHistogram

Floats = NDArray[np.float64]


@lru_cache(maxsize=4)  # up to 4 MB
def chances_of(mechanism: WaveHistogram) -> Floats:
    """M, the chance of each report for each value: float64[outputs, inputs]."""
    channel = channel_of(mechanism)
    return np.column_stack([channel.forward(cell) for cell in np.eye(channel.inputs)])


@lru_cache(maxsize=4)  # it takes 0.1 to 0.5 s, and up to 4 MB
def left_inverse(mechanism: WaveHistogram) -> Floats:
    """float64[inputs, outputs]: (M' D M)^-1 M' D, where D is one over the chance of each output of even frequencies."""
    matrix = chances_of(mechanism)
    weighed = matrix.T / matrix.mean(axis=1)
    return np.asarray(np.linalg.solve(weighed @ matrix, weighed), np.float64)


def noise_where_alike(mechanism: WaveHistogram, functions: Floats) -> Floats:
    """The variance of each average, of one user, where all users hold one value: float64[functions, inputs]. Of every
    other distribution it is the average of these.
    """
    worths = functions @ left_inverse(mechanism)
    return np.asarray(worths**2 @ chances_of(mechanism) - functions**2)


@dataclass(frozen=True, eq=False)
class Readings:
    """The linear estimates from one answered round. Functions of a user's cell are rows: float64[functions, inputs]."""

    inverse: Floats
    frequencies: Floats
    """The shares of the inputs, unbiased and raw: float64[inputs]."""
    likely: Floats
    """The distribution of the inputs at which errors are taken."""
    chances: Floats
    """The chance of each report under the distribution `likely`: float64[outputs]."""
    users: int

    @classmethod
    def of(cls, mechanism: WaveHistogram, support: NDArray[np.int64], likely: Floats) -> Readings:
        """From the support of a round. likely: float64[inputs], at least 0 each, summing to 1."""
        inverse, users = left_inverse(mechanism), int(support.sum())
        return cls(inverse, inverse @ (support / users), likely, channel_of(mechanism).forward(likely), users)

    def averages(self, functions: Floats) -> Floats:
        """The average of each function over all users, unbiased: float64[functions]."""
        return np.asarray(functions @ self.frequencies)

    def noise(self, functions: Floats) -> Floats:
        """The variances of these averages, of the users who answered: float64[functions]."""
        worths = functions @ self.inverse
        return np.asarray((worths**2 @ self.chances - functions**2 @ self.likely) / self.users)

    def sampling(self, functions: Floats) -> Floats:
        """What it adds that the users are a sample of very many: float64[functions]."""
        return np.asarray((functions**2 @ self.likely - (functions @ self.likely) ** 2) / self.users)
