# SPDX-License-Identifier: Apache-2.0
"""Noisy max for a threshold (NM-E): the candidate whose score, a whole number, is the highest after noise was added.

Contract: candidate theta has the score -(round(slope theta) + the number of values above theta): the noise of a tree,
which grows with theta, is weighed against what clipping at theta takes away.  `chosen` adds discrete Laplace noise of
`gamma` to each score, keyed, and takes the highest; of several as high the smallest candidate.  One event more or less
changes no other event's count, so every score stays or falls by 1, all in the same direction; so it is where an
event's number becomes another one, for only the candidates between the two numbers count it differently.  The noise at
which a candidate just wins then moves by at most 1, whatever the others' noise is, and neighbouring values of that
noise differ by a factor of at most e^gamma.  So the choice is gamma-private, not 2 gamma, as long as the slope knows
nothing of the events: it comes from the *declared* number of events (an observed one moves every score by slope theta
/ m more, which counts against the promise, and not in one direction).  A unit of c events costs c gamma.
Source: ToPS, section 3.3; ARCHITECTURE erratum E10.  Not here: what becomes of the threshold.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.central.noise import keyed_noise, law_of
from murmurate.randomizers.errors import ParameterError, ValueRefusedError, shown
from murmurate.randomizers.randomness import Key, checked_digest

SCALE: Final = 60
"""The paper's constant c, by which the number of values above a threshold stands for what they exceed it by."""
MOST_COST: Final = 1 << 52
"""The largest rounded slope times a candidate: floats hold every whole number up to here."""


class ExactNoise(Protocol):
    """What the exact law asks of noise on the whole numbers."""

    def chance(self, value: int) -> Fraction:
        """The probability of a value."""
        ...


def noise_slope(declared: int, *, horizon: int, epsilon: float, fanout: int) -> float:
    """What a unit of threshold costs, in values above it: 3 m / (c r eps) sqrt(2 (b - 1) h^3), with h = log_b r levels.

    declared: m, the number of events that the choice was declared to be of; horizon: r, that of leaves which are summed
    over; epsilon: the tree's; fanout: its b.

    >>> round(noise_slope(65536, horizon=1 << 20, epsilon=0.05, fanout=16), 6)
    3.827328
    """
    if declared < 1 or horizon < 2 or fanout < 2 or not epsilon > 0:
        found = f"declared {declared}, horizon {horizon}, epsilon {epsilon}, fanout {fanout}"
        raise ParameterError(f"noise_slope: found {found}; allowed: at least 1, 2, above 0, at least 2")
    levels = 1
    while fanout**levels < horizon:
        levels += 1
    return 3 * declared / (SCALE * horizon * epsilon) * math.sqrt(2 * (fanout - 1) * levels**3)


def count_above(values: NDArray[np.integer[Any]], candidates: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many values lie above each candidate: int64[candidates]; counts of several parts of the values add up."""
    at = np.searchsorted(candidates, values, side="left")  # how many candidates lie below the value
    below = np.bincount(at, minlength=len(candidates) + 1)
    return np.asarray(len(values) - np.cumsum(below)[: len(candidates)], np.int64)


class NoisyMax:
    """The choice of a threshold among candidates: immutable, pure.

    >>> choice = NoisyMax(range(1, 11), slope=0.605154, gamma=Fraction(1))
    >>> choice.costs.tolist()
    [1, 1, 2, 2, 3, 4, 4, 5, 5, 6]
    """

    __slots__ = ("_law", "candidates", "costs", "gamma", "slope")

    def __init__(
        self, candidates: Sequence[int] | NDArray[np.int64] | range, *, slope: float, gamma: Fraction | int
    ) -> None:
        thetas = np.asarray(candidates)
        if thetas.ndim != 1 or not len(thetas) or thetas.dtype.kind not in "iu":
            raise ParameterError(
                f"candidates: found {thetas.dtype}{list(thetas.shape)}; allowed: whole numbers, one row"
            )
        thetas = thetas.astype(np.int64)
        if thetas[0] < 0 or (np.diff(thetas) <= 0).any():
            raise ParameterError("candidates: found some below 0 or in another order; allowed: 0 or more each, rising")
        if not (math.isfinite(slope) and slope >= 0) or slope * int(thetas[-1]) > MOST_COST:
            raise ParameterError(
                f"slope: found {shown(slope)}; allowed: 0 or more, times the last candidate up to 2^52"
            )
        self.candidates = thetas
        self.candidates.flags.writeable = False
        self.slope = float(slope)
        self.costs: NDArray[np.int64] = np.rint(self.slope * thetas).astype(np.int64)
        self.costs.flags.writeable = False
        self._law = law_of(gamma)
        self.gamma = self._law.gamma

    def chosen(self, above: NDArray[np.integer[Any]], key: Key, digest: bytes) -> int:
        """The threshold that is chosen; above: how many values exceed each candidate. The same key, digest and counts
        always give the same choice: a digest is for one set of values.
        """
        return int(self.candidates[self.choose(above, key, digest)])

    def choose(self, above: NDArray[np.integer[Any]], key: Key, digest: bytes) -> int:
        """The place of the chosen candidate among them."""
        scores = self._noise(key, digest)
        scores -= self._checked(above)
        scores -= self.costs
        return int(np.argmax(scores))

    def law(self, above: NDArray[np.integer[Any]], reach: int, noise: ExactNoise | None = None) -> list[Fraction]:
        """The probability of each candidate, exact but for noise far out: the winner's is left out beyond
        -reach..reach, the others' where it is still further out than all differences of scores. What the probabilities
        lack of 1 in all is left out, so no candidate's true one is larger by more. noise: of this law, instead of the
        one of `choose`.
        """
        used = noise or self._law
        scores = (-self.costs - self._checked(above)).tolist()
        far = reach + max(scores) - min(scores) + 1
        probabilities = [used.chance(value) for value in range(-far, far + 1)]
        unit = math.lcm(*(probability.denominator for probability in probabilities))
        weights = [int(probability * unit) for probability in probabilities]
        upto = list(accumulate(weights))  # unit times the probability of at most -far, at most 1 - far, ...
        found = list[Fraction]()
        for j, score in enumerate(scores):
            total = 0
            for own in range(-reach, reach + 1):
                product = weights[far + own]
                for i, other in enumerate(scores):
                    if i != j:
                        most = own + score - other - (i < j)  # a smaller candidate must be lower, a larger not higher
                        product *= upto[far + most]
                total += product
            found.append(Fraction(total, unit ** len(scores)))
        return found

    def _noise(self, key: Key, digest: bytes) -> NDArray[np.int64]:
        """Noise of each candidate, from words of its own: no tree of the same stream draws from this digest."""
        own = hashlib.sha256(b"murmurate/noisy max/1\n" + checked_digest(digest, "digest")).digest()
        return keyed_noise(self._law, key, np.arange(len(self.candidates)), digest=own)

    def _checked(self, above: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        counts = np.asarray(above)
        if counts.shape != self.candidates.shape or counts.dtype.kind not in "iu":
            allowed = f"whole numbers [{len(self.candidates)}]"
            raise ValueRefusedError(f"above: found {counts.dtype}{list(counts.shape)}; allowed: {allowed}")
        if counts[-1] < 0 or (np.diff(counts.astype(np.int64)) > 0).any() or counts[0] > MOST_COST:
            raise ValueRefusedError("above: found counts below 0, above 2^52 or rising; allowed: falling ones")
        return counts.astype(np.int64)

    def __repr__(self) -> str:
        ends = f"{self.candidates[0]}..{self.candidates[-1]}"
        return f"NoisyMax({len(self.candidates)} of {ends}, slope={self.slope}, gamma={self.gamma})"
