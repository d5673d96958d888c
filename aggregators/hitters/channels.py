# SPDX-License-Identifier: Apache-2.0
"""The multiple channel method (HASH): a public hash gives each string a channel, whose bits are voted on one by one.

Contract: each channel has one candidate, of the bits for which more was told than against them; candidates are asked of
users of their own, whose estimates alone decide.  A user tells one bit, in the channel of the string; so few users tell
each bit, and strings that share a channel spoil it.
Source: Bassily and Smith 2015, in the improved form of Wang 2021, sections 4.1.2 and 4.4: k^1.5 channels, and a tenth
of the users for the last question instead of a part of everybody's epsilon.  Not here: the hash, what users send.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import Final

import numpy as np

from murmurate.aggregators.hitters.candidates import Rows
from murmurate.aggregators.hitters.levels import MOST_BITS, MOST_FOUND
from murmurate.aggregators.hitters.search import SIGNIFICANT, Floats, PrefixLevel, Walked, named
from murmurate.randomizers.errors import ParameterError, shown
from murmurate.randomizers.layouts import BitsLayout

TESTED: Final = 0.1
"""The share of users who are asked for whole strings only."""


def usual_channels(k: int) -> int:
    """The smallest whole number that is at least k^1.5.

    >>> usual_channels(16), usual_channels(32)
    (64, 182)
    """
    return isqrt(k**3 - 1) + 1


@dataclass(frozen=True)
class ChannelPlan:
    """How many channels there are for the k most frequent strings of m bits."""

    m: int
    k: int
    channels: int

    def __post_init__(self) -> None:
        most = usual_channels(MOST_FOUND)
        for name, found, largest in (
            ("m", self.m, MOST_BITS),
            ("k", self.k, MOST_FOUND),
            ("channels", self.channels, most),
        ):
            if isinstance(found, bool) or not isinstance(found, int) or not 1 <= found <= largest:
                raise ParameterError(f"channels: {name}: found {shown(found)}; allowed: 1 to {largest}")

    @classmethod
    def usual(cls, m: int, k: int) -> ChannelPlan:
        """The plan of k^1.5 channels."""
        return cls(m, k, usual_channels(k))

    def candidates(self, layout: BitsLayout, votes: Floats) -> Rows:
        """The string of each channel, each once. votes: for each bit of a channel, how much more was told for 1 than
        for 0: float64[channels, m].
        """
        if votes.shape != (self.channels, self.m) or layout.m != self.m:
            raise ParameterError(
                f"channels: found votes {list(votes.shape)} on strings of {layout.m} bits; "
                f"allowed: [{self.channels}, {self.m}]"
            )
        bits = np.zeros((self.channels, 32 * layout.words), np.uint8)
        bits[:, 1 : self.m + 1] = votes > 0
        rows = np.packbits(bits, axis=1).view(">u4").astype(np.uint32)
        return np.asarray(np.unique(rows, axis=0))

    def found(
        self,
        layout: BitsLayout,
        votes: Floats,
        tested: PrefixLevel,
        *,
        least: float | None = None,
        significance: float | None = SIGNIFICANT,
    ) -> Walked:
        """The k best of the candidates, by what the users who tell whole strings say of them."""
        rows = self.candidates(layout, votes)
        return named(rows, *tested.estimate(rows), k=self.k, least=least, significance=significance)
