# SPDX-License-Identifier: Apache-2.0
"""Mechanisms that break the promise, one way each: what the audit must catch."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers import GRR, MECHANISMS, OUE, SW, Draw, Mechanism, WaveAndPresence
from murmurate.randomizers.mechanism import Reports
from murmurate.randomizers.randomness import canonical
from murmurate.randomizers.thresholds import Epsilon
from tests.audit.registry import LISTED


class FlooredGRR(GRR):
    """The high level rounded down, and the low ones left with what remains: the wrong way round."""

    def __init__(self, *, d: int, epsilon: Epsilon) -> None:
        super().__init__(d=d, epsilon=epsilon)
        low = Fraction((1 << 64) * self.q.numerator // self.q.denominator - 1, 1 << 64)
        vars(self)["q"], vars(self)["p"] = low, 1 - (d - 1) * low

    @property
    def realised(self) -> Fraction:
        return GRR(d=self.d, epsilon=self.epsilon).realised


class EagerGRR(GRR):
    """Claims one epsilon and draws with the threshold of a larger one."""

    excess = 0.05

    def perturb(self, values: NDArray[np.integer[Any]], draw: Draw) -> Reports:
        return GRR(d=self.d, epsilon=self.epsilon * (1 + self.excess)).perturb(values, draw)


class EagerOUE(OUE):
    """The same for unary encoding."""

    excess = 0.05

    def perturb(self, values: NDArray[np.integer[Any]], draw: Draw) -> Reports:
        return OUE(d=self.d, epsilon=self.epsilon * (1 + self.excess)).perturb(values, draw)


class ReusingGRR(GRR):
    """Takes the other value from the very bits that decided whether to lie, as if they were still uniform."""

    def perturb(self, values: NDArray[np.integer[Any]], draw: Draw) -> Reports:
        reports = np.empty((len(values), 1), np.uint8)
        for rows, words in draw.open(self.digest, canonical(values)).words(1, np.uint64):
            u, mine = words[:, 0] >> np.uint64(56), values[rows].astype(np.uint64)  # one byte for both purposes
            lie = u < np.uint64(256 * (self.d - 1) * self.q)
            other = (u * np.uint64(self.d - 1)) >> np.uint64(8)
            reports[rows, 0] = np.where(lie, other + (other >= mine), mine)
        return reports


class ReusingOUE(OUE):
    """One word for all cells of a report."""

    def perturb(self, values: NDArray[np.integer[Any]], draw: Draw) -> Reports:
        reports = np.empty((len(values), self.wire_size), np.uint8)
        for rows, words in draw.open(self.digest, canonical(values)).words(1, np.uint32):
            ones = np.repeat(words < np.uint32(int(self.q * 2**32)), self.d, axis=1)
            ones[np.arange(len(ones)), values[rows]] = words[:, 0] < np.uint32(1 << 31)
            reports[rows] = np.packbits(ones, axis=1, bitorder="little")
        return reports


class ShorteningGRR(GRR):
    """Sends a report as short as its value allows."""

    def perturb(self, values: NDArray[np.integer[Any]], draw: Draw) -> Reports:
        reports = super().perturb(values, draw)
        return reports if values.max() >= 256 else reports[:, :1]


class SilentGRR(GRR):
    """Sends nothing for the last value (none): silence tells."""

    def perturb(self, values: NDArray[np.integer[Any]], draw: Draw) -> Reports:
        return super().perturb(values, draw)[values < self.d - 1]


class ImpossibleOUE(OUE):
    """The own bit is always 1, so that some reports are impossible for some values."""

    def law(self, value: int) -> Mapping[bytes, Fraction]:
        return {y: 2 * chance for y, chance in super().law(value).items() if y[value // 8] >> (value % 8) & 1}

    def perturb(self, values: NDArray[np.integer[Any]], draw: Draw) -> Reports:
        reports = super().perturb(values, draw)
        reports[np.arange(len(values)), values // 8] |= (1 << (values % 8)).astype(np.uint8)
        return reports


class LeakyGRR(GRR):
    """Prefers one certain lie, which `evidence` for the two extreme values never looks at."""

    def perturb(self, values: NDArray[np.integer[Any]], draw: Draw) -> Reports:
        reports = super().perturb(values, draw)
        reports[(values == 1) & (reports[:, 0] == 2)] = 3
        return reports


class FrankWave(WaveAndPresence):
    """None is always told as none, so that every other report shows a holder."""

    def law(self, value: int) -> Mapping[bytes, Fraction]:
        silent = self.silence.to_bytes(self.wire_size, "little")
        return {silent: Fraction(1)} if value == self.d - 1 else super().law(value)

    def perturb(self, values: NDArray[np.integer[Any]], draw: Draw) -> Reports:
        reports = super().perturb(values, draw)
        reports[values == self.d - 1] = np.frombuffer(self.silence.to_bytes(self.wire_size, "little"), np.uint8)
        return reports


class TalkativeWave(WaveAndPresence):
    """Holders fall silent less often than one epsilon allows: Square Wave without none, but for one report in ten."""

    def law(self, value: int) -> Mapping[bytes, Fraction]:
        if value == self.d - 1:
            return super().law(value)
        inner, silent = SW(d=self.d - 1, epsilon=self.epsilon), self.silence.to_bytes(self.wire_size, "little")
        share = Fraction(9, 10)
        return {report: chance * share for report, chance in inner.law(value).items()} | {silent: 1 - share}


def eager(name: str, *, d: int, epsilon: float, excess: float) -> Mechanism:
    """Any mechanism, at a claim that it exceeds."""
    kind, more = MECHANISMS[name], LISTED.get(name, {})

    def perturb(self: Mechanism, values: NDArray[np.integer[Any]], draw: Draw) -> Reports:
        return kind(d=self.d, epsilon=self.epsilon * (1 + excess), **more).perturb(values, draw)

    made: type[Mechanism] = type(f"Eager{kind.__name__}", (kind,), {"perturb": perturb})
    return made(d=d, epsilon=epsilon, **more)


EXCESS = {"the": 0.5, "she": 0.5, "rappor_cohorts": 1.0}
"""How far above the claim: further for those that do not use it up."""

EXACT: list[Mechanism] = [
    FlooredGRR(d=7, epsilon=1),
    FlooredGRR(d=128, epsilon=1),
    FlooredGRR(d=3, epsilon=0.5),
    ImpossibleOUE(d=3, epsilon=1),
    FrankWave(d=9, epsilon=1),
    TalkativeWave(d=9, epsilon=1),
]
MEASURED: list[Mechanism] = [
    EagerGRR(d=2, epsilon=1),
    EagerGRR(d=16, epsilon=1),
    EagerOUE(d=8, epsilon=1),
    EagerOUE(d=128, epsilon=1),
    ReusingGRR(d=6, epsilon=1),
    ReusingOUE(d=6, epsilon=1),
    ReusingOUE(d=128, epsilon=1),
    ImpossibleOUE(d=3, epsilon=1),
    LeakyGRR(d=6, epsilon=1),
    FrankWave(d=9, epsilon=1),
    *(eager(name, d=5, epsilon=1, excess=EXCESS.get(name, 0.1)) for name in sorted(MECHANISMS)),
]
LENGTH: list[Mechanism] = [ShorteningGRR(d=1000, epsilon=1), SilentGRR(d=4, epsilon=1)]
