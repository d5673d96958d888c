# SPDX-License-Identifier: Apache-2.0
"""How many candidates users hold, from the answers of several periods, and what sets are padded to by that.

Contract: sizes are averaged over about the last eight periods (MEMORY).  A user who holds c candidates more than the
length L counts for L of them, so that shares are too small by the mean of sizes over the mean of sizes cut off at L,
the `factor` of all items together (Wang 2021, equation 5.5), from raw sizes, which are unbiased.  Its `doubt` is a
variance: the noise of the sizes, and half of its excess over 1, since holders of one item may have larger sets than
those of another.  L minimises noise and doubt together, for an item whose share is that of all candidates over the root
of their number.  With many users that is about the rule of SVIM, 9 of 10 holders; but that rule, which takes for nobody
whatever size could be chance, cut off most of few users' sets, and errors were three times as large as stated.
Not here: asking (set_phases.py).
"""

from __future__ import annotations

from math import exp
from typing import Final, NamedTuple

import numpy as np

from murmurate.aggregators.methods.method import Floats
from murmurate.aggregators.methods.slots import MEMORY
from murmurate.randomizers.padding import MAX_LENGTH

LEAST_SHARE: Final = 1e-3
"""All candidates together are taken to be held by this share of users at least."""


class Padding(NamedTuple):
    """What sets are padded to, and what that makes of shares."""

    length: int = 1
    """L, the length to which sets are padded."""
    factor: float = 1.0
    """By how much shares are too small."""
    doubt: float = 0.0
    """The variance of the factor, for one item."""


class HeldSizes:
    """The shares of users by the number of candidates that they hold, as remembered."""

    def __init__(self, shares: Floats | None = None, noise: float = 0.0, drawn: float = 0.0) -> None:
        self.shares: Floats = np.zeros(0) if shares is None else shares
        """The share of users who hold 0, 1, 2, ... candidates, raw."""
        self.noise, self.drawn = noise, drawn
        """The variance of each that the mechanism makes; and one over the number of users who were drawn."""

    def take(self, shares: Floats, noise: float, drawn: float) -> HeldSizes:
        """The sizes with another answer: what is remembered counts 7/8 of what it did before."""
        if not len(self.shares):
            return HeldSizes(shares, noise, drawn)
        length = max(len(self.shares), len(shares))
        old, new = (np.pad(some, (0, length - len(some))) for some in (self.shares, shares))
        before = (self.noise + self.drawn) / MEMORY
        gain = before / (before + noise + drawn)
        kept, more = (1 - gain) ** 2, gain**2
        return HeldSizes(
            old + gain * (new - old), kept * self.noise + more * noise, kept * self.drawn + more * drawn
        )  # fmt: skip

    def padding(self, largest: int, candidates: int, epsilon: float, reports: float) -> Padding:
        """The length for a question about so many candidates, of which a user holds `largest` at most, by this epsilon
        and about so many reports.
        """
        sizes = np.arange(min(largest, MAX_LENGTH) + 1.0)
        shares = np.pad(self.shares, (0, max(0, len(sizes) - len(self.shares))))[: len(sizes)]
        held = max(LEAST_SHARE, float((sizes * shares).sum()))
        item = held**2 / candidates
        best, least = Padding(len(sizes) - 1), np.inf
        for length in range(1, len(sizes)):
            one = self._padding(sizes, shares, length, held)
            error = one.factor**2 * _noise(length, candidates, epsilon) / reports + item * one.doubt
            if error < least:
                best, least = one, error
        return best

    def _padding(self, sizes: Floats, shares: Floats, length: int, held: float) -> Padding:
        cut = np.minimum(sizes, length)
        told = float((cut * shares).sum())
        if told <= 0 or held < told:
            factor, told = 1.0, max(told, LEAST_SHARE)
        else:
            factor = held / told
        squares = (sizes - factor * cut) ** 2
        own = float((squares * (self.noise + self.drawn * np.maximum(shares, 0))).sum()) / told**2
        return Padding(length, factor, own + ((factor - 1) / 2) ** 2)


def _noise(length: int, candidates: int, epsilon: float) -> float:
    """The variance of a report about an item that nobody holds, by GRR or local hashing (Wang 2021, 5.1 and 5.2)."""
    ratio = exp(epsilon)
    return min(ratio * length + candidates - 1, 4 * length**2 * ratio) / (ratio - 1) ** 2
