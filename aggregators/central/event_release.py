# SPDX-License-Identifier: Apache-2.0
"""ToPS as the paper has it, event by event: find a threshold, clip, sum blocks, add consistent noise, smooth.

Contract: neighbouring streams have as many events and differ in the number of one (an event that was not there is a
0); each event pays epsilon once.  The first `held_out` events pay for the threshold, by noisy max, and nothing is
released of them.  Every later event is clipped at theta and is in one block of b^s events, which is a leaf of a tree
of h - s levels; each node has discrete Laplace noise of epsilon / ((h - s) theta), so an event, which is in one node
of each level and worth at most theta there, pays epsilon in the tree (erratum E14: without theta it pays theta times
that). Released is for every event a number at once: what smoother predicts from complete blocks, and with a block's
last event what the noisy block has beyond those (erratum E15 for the order of steps, E16 for the smoothers).  Trees
follow each other without end.  An incomplete block shows nothing of its events.
Source: ToPS, algorithm 1; ARCHITECTURE errata E14 and E15.  Not here: streams of periods (agents/stages).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.trees.lazy import LeafNoise
from murmurate.aggregators.trees.smoothers import SMOOTHERS, Smoother
from murmurate.randomizers import Key, ParameterError
from murmurate.randomizers.central.noise import NodeNoise
from murmurate.randomizers.central.noisy_max import NoisyMax, count_above, noise_slope
from murmurate.randomizers.trees import Tree

Number = Any
"""A float or a Fraction, as smoothers have them."""

PAPER_TREE: Final = Tree(16, 5)
HELD_OUT: Final = 1 << 16


@dataclass(frozen=True)
class ToPS:
    """What a stream of events is released by."""

    epsilon: Fraction
    top: int
    """The largest value there may be, and the largest threshold."""
    held_out: int = HELD_OUT
    """The number of first events by which the threshold is found, which is declared: m."""
    tree: Tree = PAPER_TREE
    """A tree with single events as leaves: as many trees as its fanout hold the paper's r = b^h events."""
    block: int = 2
    """The number s of its levels that are left out, so that a leaf holds b^s events."""
    smoother: str = "recent"

    def __post_init__(self) -> None:
        if not self.epsilon > 0 or self.top < 1 or self.held_out < 1:
            found = f"epsilon {self.epsilon}, top {self.top}, held_out {self.held_out}"
            raise ParameterError(f"ToPS: found {found}; allowed: above 0, at least 1 and 1")
        if not 0 <= self.block < self.tree.levels:
            raise ParameterError(f"block: found {self.block}; allowed: 0 to {self.tree.levels - 1}")
        if self.smoother not in SMOOTHERS:
            raise ParameterError(f"smoother: found {self.smoother!r}; allowed: {', '.join(SMOOTHERS)}")

    def choice(self, tree_epsilon: Fraction | None = None) -> NoisyMax:
        """How the threshold is chosen: among 1 to top. tree_epsilon: that of the tree, where it has another one."""
        slope = noise_slope(
            self.held_out,
            horizon=self.tree.fanout**self.tree.levels,
            epsilon=float(tree_epsilon or self.epsilon),
            fanout=self.tree.fanout,
        )
        return NoisyMax(range(1, self.top + 1), slope=slope, gamma=self.epsilon)

    def released(self, theta: int, key: Key, digest: bytes) -> EventRelease:
        """The release of events that are clipped at a threshold; a digest is for one stream."""
        tree = Tree(self.tree.fanout, self.tree.levels - self.block)
        gamma = self.epsilon / (tree.levels * theta)
        trees = dict[int, LeafNoise]()

        def noise(leaf: int) -> Fraction:
            at, place = divmod(leaf, tree.leaves)
            if at not in trees:
                trees.clear()
                own = hashlib.sha256(b"murmurate/tops/1\n" + digest + at.to_bytes(8, "little")).digest()
                trees[at] = LeafNoise(tree, NodeNoise(key, own, gamma))
            return Fraction(trees[at].numerator(place), tree.denominator)

        size = self.tree.fanout**self.block
        return EventRelease(theta, SMOOTHERS[self.smoother](size, Fraction(size * theta, 2)), noise)

    def release(self, values: NDArray[np.integer[Any]], key: Key, digest: bytes) -> tuple[int, NDArray[np.float64]]:
        """The threshold, and a released number for each event after those that are held out."""
        choice = self.choice()
        if len(values) < self.held_out:
            raise ParameterError(
                f"values: found {len(values)}; allowed: at least the {self.held_out} that are held out"
            )
        theta = choice.chosen(count_above(values[: self.held_out], choice.candidates), key, digest)
        return theta, self.released(theta, key, digest).add(values[self.held_out :])


class EventRelease:
    """The release after the threshold, for any noise of leaves."""

    def __init__(self, theta: int, smoother: Smoother, noise: Callable[[int], Number]) -> None:
        self._theta, self._smoother, self._noise = theta, smoother, noise
        self._sum = self._filled = self._leaf = 0

    def add(self, values: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
        """A released number for each further event. All at once or one at a time: the numbers are the same."""
        if len(values) and int(values.min()) < 0:
            raise ParameterError("values: found some below 0; allowed: whole numbers from 0")
        block = self._smoother.block
        out, at = np.empty(len(values)), 0
        while at < len(values):
            end = min(len(values), at + block - self._filled)
            guess = self._smoother.prediction
            out[at:end] = float(guess)
            self._sum += int(np.minimum(values[at:end], self._theta).sum())
            self._filled += end - at
            if self._filled == block:
                total = self._sum + self._noise(self._leaf)
                out[end - 1] = float(total - guess * (block - 1))
                self._smoother.add(total)
                self._sum = self._filled = 0
                self._leaf += 1
            at = end
        return out
