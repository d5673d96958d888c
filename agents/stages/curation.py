# SPDX-License-Identifier: Apache-2.0
"""The curation of one central stream, period by period: its hold-out, its threshold, its trees, and their noise.

Contract: what is said of a period follows from its exact sums, those before it and the key; the same again gives the
same.  Noise is a function of (key, deployment, stream, config, first period of the tree, threshold, node), so one sum
never has two noises, and one noise never lies on two sums.  Every period is in one hold-out or in one leaf of one tree.

    hold-out   `periods` periods; at its end NM-E chooses the threshold with all of epsilon; its events are in no sum
    trees      one after the other; each of `leaves` leaves of `block` periods, with all of epsilon for their events
    again      after every `fanout` trees another hold-out, where the file says so

Source: Wang et al. 2021, algorithm 1; ARCHITECTURE rule 27, section 5.15.  Not here: which events count
(central_at_partition.py), who waits for whom (curate.py), predictions within a block (central_release.py).
"""

from __future__ import annotations

import hashlib
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import orjson
from numpy.typing import NDArray

from murmurate.aggregators.trees.lazy import LeafNoise
from murmurate.config.central_noise import slope
from murmurate.config.plan import CentralPlan, Plan
from murmurate.randomizers import Key
from murmurate.randomizers.central import NodeNoise, NoisyMax, law_of
from murmurate.randomizers.state import Arrays
from murmurate.randomizers.thresholds import MICRO
from murmurate.topics.curated import Curated, Planted
from murmurate.topics.message import SAFE_INTEGER

Ints = NDArray[np.int64]
Phase = Literal["hold-out", "tree"]
DIGEST_DIGITS = 16


class Curation:
    """One stream."""

    def __init__(self, plan: Plan, stream: CentralPlan, key: Key) -> None:
        self.stream = stream
        self._deployment, self._key = plan.name, key
        self.t: int | None = None
        """The period that is curated next; None before the start."""
        self._phase: Phase = "hold-out" if stream.holdout else "tree"
        self._since = 0  # the first period of this hold-out, or of this tree
        self._threshold = stream.measure.threshold_without_search
        self._trees = 0  # trees since the last hold-out
        self._sums = np.zeros(stream.measure.cells, np.int64)  # of this hold-out, or of this leaf
        self._noises: list[LeafNoise] | None = None  # of this tree, a figure each

    def begin(self, t: int) -> None:
        """Begin with period t."""
        self.t = self._since = t

    def period(self, sums: Ints) -> Curated:
        """What is said of the next period, whose exact sums these are."""
        if self.t is None:
            raise ValueError("found a period before the start")
        t, self.t = self.t, self.t + 1
        self._sums = self._sums + sums
        if self._phase == "hold-out":
            return self._held_out(t)
        block, tree = self.stream.block, self._planted()
        leaf, rest = divmod(t - self._since, block)
        if rest < block - 1:
            return self._said(t, tree)
        figures = self.stream.measure.figures(self._sums, self._threshold)
        noisy = [
            self._noisy(figure, leaf, noise) for figure, noise in zip(figures.tolist(), self._trees_of(), strict=True)
        ]
        self._sums = np.zeros_like(self._sums)
        if leaf == self.stream.tree.leaves - 1:
            self._end_tree()
        return self._said(t, tree, tuple(noisy))

    def _held_out(self, t: int) -> Curated:
        """A period of the hold-out. With the last one the threshold is chosen, and the next period begins a tree."""
        held = self.stream.holdout
        assert held is not None  # noqa: S101 - there is no such phase else
        if t - self._since == held.periods - 1:
            self._threshold = self._chosen()
            self._plant("tree")
        return self._said(t, None)

    def _chosen(self) -> int:
        """The threshold, by noisy max over the candidates."""
        stream, held, measure = self.stream, self.stream.holdout, self.stream.measure
        assert held is not None  # noqa: S101 - as above
        per_event = Fraction(stream.epsilon_micro, MICRO) / (stream.events or 1)
        costs = slope(stream)
        choice = NoisyMax(measure.candidates, slope=costs, gamma=per_event)
        digest = self._digest("murmurate/threshold/1", {"slope": repr(costs), "events": held.events})
        return choice.chosen(measure.above(self._sums), self._key, digest)

    def _plant(self, phase: Phase) -> None:
        """Begin a tree, or a hold-out, with the next period."""
        self._phase, self._since = phase, self.t or 0
        self._sums, self._noises = np.zeros_like(self._sums), None

    def _end_tree(self) -> None:
        self._trees += 1
        held = self.stream.holdout
        again = held is not None and held.again and self._trees >= self.stream.tree.fanout
        if again:
            self._trees = 0
        self._plant("hold-out" if again else "tree")

    def _trees_of(self) -> list[LeafNoise]:
        """The noise of this tree, of each figure; made anew after a recovery."""
        if self._noises is None:
            digest = self._noise_digest()
            self._noises = [
                LeafNoise(self.stream.tree, NodeNoise(self._key, digest, law, cell))
                for cell, law in enumerate(
                    law_of(self.stream.gamma(name, self._threshold)) for name in self.stream.names
                )
            ]
        return self._noises

    def _noisy(self, figure: int, leaf: int, noise: LeafNoise) -> tuple[int, int]:
        """A sum with its noise, as quotient and remainder. Beyond what JSON holds exactly it counts as the end of that:
        a bound of what is public already.
        """
        whole, rest = divmod(
            figure * self.stream.tree.denominator + noise.numerator(leaf), self.stream.tree.denominator
        )
        return (whole, rest) if abs(whole) <= SAFE_INTEGER else (SAFE_INTEGER if whole > 0 else -SAFE_INTEGER, 0)

    def _planted(self) -> Planted:
        return Planted(
            first_t=self._since, threshold=self._threshold, digest=self._noise_digest().hex()[:DIGEST_DIGITS]
        )

    def _said(self, t: int, tree: Planted | None, sums: tuple[tuple[int, int], ...] | None = None) -> Curated:
        return Curated(stream=self.stream.name, t=t, config=self.stream.config, tree=tree, sums=sums)

    def _noise_digest(self) -> bytes:
        gammas = [str(self.stream.gamma(name, self._threshold)) for name in self.stream.names]
        tree = self.stream.tree
        shape = {"fanout": tree.fanout, "levels": tree.levels, "block": self.stream.block, "gammas": gammas}
        return self._digest("murmurate/noise/1", {**shape, "threshold": self._threshold})

    def _digest(self, what: str, shape: dict[str, Any]) -> bytes:
        """The digest of all that shapes a noise: with another one it is another noise."""
        of = {"deployment": self._deployment, "stream": self.stream.name, "config": self.stream.config}
        said = {**of, "every_ms": self.stream.every_ms, "first_t": self._since, **shape}
        return hashlib.sha256(f"{what}\n".encode() + orjson.dumps(said, option=orjson.OPT_SORT_KEYS)).digest()

    # ---- state ----

    def facts(self) -> dict[str, Any]:
        """The part of the state that is no array."""
        return {
            "t": self.t, "phase": self._phase, "since": self._since, "threshold": self._threshold, "trees": self._trees,
        }  # fmt: skip

    def arrays(self) -> Arrays:
        """The exact sums so far, of this hold-out or leaf."""
        return {"sums": self._sums}

    def load(self, facts: dict[str, Any], arrays: Arrays) -> None:
        """Take over a state. The noise follows from it."""
        self.t, self._phase, self._since = facts["t"], facts["phase"], facts["since"]
        self._threshold, self._trees = facts["threshold"], facts["trees"]
        self._sums, self._noises = arrays["sums"].astype(np.int64), None
