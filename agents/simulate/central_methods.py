# SPDX-License-Identifier: Apache-2.0
"""The errors to expect of a central stream with what clipping takes, and of the methods that ToPS is compared with.

Contract: root mean squares over where a stretch of leaves begins, as a figure is shown, for given events; noise by
exact variances, as without clipping (config/central_outlook.py).  A threshold that is found varies: what noisy max
finds in CHOICES runs counts alike, and of S-P and S-PAK, whose thresholds follow a Laplace law around a percentile,
noise is exact and clipping is that of STRATA equally likely thresholds.
    S-P, S-PAK   percentiles with noise of smooth sensitivity, of the events of the hold-out; the tree is the file's
    PAK          S-PAK, then a binary tree without consistency, as printed
    Base         zeros, which cost nothing
S-P, S-PAK and PAK hold (epsilon, delta) for one replaced event, so they are no stream's method: they are compared only.
delta is one over the square of the number of events, of the hold-out and of as many trees as the tree's fanout.
Source: ToPS, sections 3.1 and 5, appendices A and B.  Not here: the events (central_data.py).
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np

from murmurate.agents.simulate.central_data import EventData, Floats, Ints, PerEvent
from murmurate.aggregators.central.percentile import PAK_BETA, PAK_SHARE, SHARE, SmoothPercentile
from murmurate.aggregators.trees.lazy import LeafNoise
from murmurate.aggregators.trees.smoothers import SMOOTHERS, Smoother
from murmurate.config.central_noise import events_of_tree, largest, node_deviation, slope, stretch_deviation
from murmurate.config.central_outlook import STRETCHES, fewest_nodes, tree_over
from murmurate.config.plan import CentralPlan
from murmurate.randomizers import Key, ParameterError
from murmurate.randomizers.central import NodeNoise, NoisyMax, count_above
from murmurate.randomizers.thresholds import MICRO

CHOICES: Final = 32
STRATA: Final = 64
MOST_LEAVES: Final = 4096
"""The most leaves over which predictions within blocks are tried."""
_KEY: Final = Key(hashlib.sha256(b"murmurate/plan/1").digest(), deployment="plan")


@dataclass(frozen=True)
class MethodErrors:
    """The errors of one way to release sums, clipping included."""

    what: str
    """The name of the way, in words."""
    errors: tuple[float | None, ...]
    """The error of a stretch of each length, in the order of STRETCHES; None where too few events are known."""
    offered: bool = True
    """Whether a stream may have it; it is there to be compared with if not."""


@dataclass(frozen=True)
class CentralMethods:
    """What to expect of one central stream and its events."""

    ways: tuple[MethodErrors, ...]
    thresholds: tuple[float, float] | None
    """The smallest and the largest threshold that noisy max finds, as numbers are shown; None where none is found."""
    delta: float | None
    """The delta of S-P and S-PAK."""
    predicted: float | None
    """The error of a period within a block, whose sum is predicted from blocks before it; None where there are no
    blocks, or nobody recorded how sums move.
    """

    def document(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return asdict(self)


def central_methods(stream: CentralPlan, events: EventData) -> CentralMethods:
    """The errors of a stream's first figure, with clipping, and of methods that it is compared with."""
    here = _Expecting(stream, events)
    found = here.found_thresholds()
    thetas = np.array([largest(stream)]) if found is None else found
    called = "this file, with clipping" if found is None else "this file, threshold found"
    ways = [MethodErrors(called, here.errors([(1 / len(thetas), float(theta)) for theta in thetas.tolist()]))]
    if stream.range is None:
        ways[0] = MethodErrors("this file", ways[0].errors)
    delta = None
    if found is not None:
        delta = (max(1, stream.holdout.events if stream.holdout else 1) + events_of_tree(stream)) ** -2.0
        ways += here.percentiles(delta)
    ways.append(MethodErrors("Base: zeros, without noise", here.base()))
    step = stream.measure.step(stream.names[0])
    ends = None if found is None else (float(thetas.min()) * step, float(thetas.max()) * step)
    return CentralMethods(tuple(ways), ends, delta, here.predicted(int(np.median(thetas))))


class _Expecting:
    """One stream with its events."""

    def __init__(self, stream: CentralPlan, events: EventData) -> None:
        self.stream, self.events = stream, events
        self.name = stream.names[0]
        self.step = stream.measure.step(self.name)
        top = largest(stream)
        # The standard deviation of a node's noise per step of threshold and level of the tree; sensitivity counts.
        self.of_one = node_deviation(stream, self.name, top) / stream.tree.levels
        self.of_one /= stream.measure.sensitivity(self.name, top)
        own, binary = stream.tree, tree_over(2, stream.tree.leaves)
        self.own = [self.of_one * own.levels * stretch_deviation(own, n) for n in STRETCHES]
        self.binary = [self.of_one * binary.levels * fewest_nodes(binary, n) for n in STRETCHES]

    def found_thresholds(self) -> Ints | None:
        """What noisy max finds in these events: int64[CHOICES]; None where no threshold is found."""
        held, stream = self.stream.holdout, self.stream
        if held is None:
            return None
        gamma = Fraction(stream.epsilon_micro, MICRO) / (stream.events or 1)
        choice = NoisyMax(stream.measure.candidates, slope=slope(stream), gamma=gamma)
        above = count_above(self.events.held_out, choice.candidates)
        above = np.rint(above * self.events.weight).astype(np.int64)
        runs = [hashlib.sha256(b"murmurate/plan/%d" % run).digest() for run in range(CHOICES)]
        return np.array([choice.chosen(above, _KEY, digest) for digest in runs])

    def errors(self, thetas: list[tuple[float, float]]) -> tuple[float | None, ...]:
        """The errors of the file's tree, for thresholds with their chances."""
        sensitive = {theta: self.stream.measure.sensitivity(self.name, round(theta)) for _, theta in thetas}
        noise = sum(chance * sensitive[theta] ** 2 for chance, theta in thetas)
        return self._together(noise, self._clipped(thetas), self.own)

    def percentiles(self, delta: float) -> list[MethodErrors]:
        """What S-P and S-PAK lead to."""
        out = list[MethodErrors]()
        for name, share, beta in (("S-P", SHARE, None), ("S-PAK", PAK_SHARE, PAK_BETA)):
            try:
                centre, scale = self._law(share, beta, delta)
            except ParameterError:  # few events at a large epsilon, where S-PAK's shift has no end; or none
                continue
            noise = centre**2 + 2 * scale**2 - scale**2 * math.exp(-centre / scale)  # where the threshold is above 0
            clipped = self._clipped([(1 / STRATA, max(0.0, centre + scale * z)) for z in _LAPLACE])
            out.append(MethodErrors(f"{name}, then this tree", self._together(noise, clipped, self.own), offered=False))
            if beta is not None:
                pak = self._together(noise, clipped, self.binary)
                out.append(MethodErrors("PAK: S-PAK, then H2", pak, offered=False))
        return out

    def base(self) -> tuple[float | None, ...]:
        """The errors of zeros."""
        return tuple(self._shown(self.events.mean_square(lambda values: values, n)) for n in STRETCHES)

    def predicted(self, theta: int) -> float | None:
        """The error of a period within a block that is predicted from noisy sums of blocks before it."""
        block, tree = self.stream.block, self.stream.tree
        true = self.events.periods(lambda values: values) if block > 1 else None
        clipped = self.events.periods(lambda values: np.minimum(values, theta))
        if true is None or clipped is None or len(true) < 3 * block:
            return None
        leaves = min(len(true) // block, tree.leaves, MOST_LEAVES)
        if leaves < 3:
            return None
        noise = LeafNoise(tree, NodeNoise(_KEY, bytes(32), self.stream.gamma(self.name, theta)))
        noisy = clipped[: leaves * block].reshape(leaves, block).sum(axis=1)
        noisy = noisy + noise.numerators(0, leaves) / tree.denominator
        smoother: Smoother = SMOOTHERS[self.stream.smoother](block, float(noisy[0]))
        if smoother.name == "median":  # it leaves out what stands for a block before the first
            smoother.add(float(noisy[0]))
        off = list[Floats]()
        for leaf in range(1, leaves):
            off.append(float(smoother.prediction) - true[leaf * block : (leaf + 1) * block - 1])
            smoother.add(float(noisy[leaf]))
        return self._shown(float((np.concatenate(off) ** 2).mean()))

    def _law(self, share: float, beta: float | None, delta: float) -> tuple[float, float]:
        """Centre and scale of a noisy percentile. Of a user c events pay, so each has a c-th."""
        stream, most = self.stream, self.stream.events or 1
        epsilon = stream.epsilon_micro / MICRO
        each = delta / (most * math.exp(epsilon)) if most > 1 else delta
        law = SmoothPercentile(share, epsilon / most, each, float(stream.measure.largest), beta)
        return law.law(self.events.held_out)

    def _clipped(self, thetas: list[tuple[float, float]]) -> list[float | None]:
        """The mean square of what thresholds take from stretches."""
        most = float(self.stream.measure.largest)
        chances = dict[float, float]()
        for chance, theta in thetas:
            at = min(theta, most)
            chances[at] = chances.get(at, 0.0) + chance
        out = list[float | None]()
        for n in STRETCHES:
            total: float | None = 0.0
            for theta, chance in chances.items():
                taken = 0.0 if theta >= most else self.events.mean_square(_above(theta), n)
                total = None if total is None or taken is None else total + chance * taken
            out.append(total)
        return out

    def _together(self, noise: float, clipped: list[float | None], deviations: list[float]) -> tuple[float | None, ...]:
        """noise: the mean square of the sensitivity."""
        return tuple(
            None if taken is None else math.sqrt(noise * deviation**2 + taken * self.step**2)
            for taken, deviation in zip(clipped, deviations, strict=True)
        )

    def _shown(self, mean_square: float | None) -> float | None:
        return None if mean_square is None else math.sqrt(mean_square) * self.step


def _above(theta: float) -> PerEvent:
    """What a threshold takes from each number."""
    return lambda values: np.maximum(values - theta, 0)


_LAPLACE: Final = [
    math.copysign(math.log(1 - abs(2 * at - 1)), at - 0.5) for at in ((k + 0.5) / STRATA for k in range(STRATA))
]
"""The middle of each of STRATA equally likely parts of the Laplace law."""
