# SPDX-License-Identifier: Apache-2.0
"""What the curator said of one central stream, recomputed: every noisy sum and every threshold, tree by tree.

Contract: shares no code with stages and trees.  Each period is curated once, in order, from the stream's start on
(`miscurated`); each noisy sum is the exact one with the key's consistent noise of its leaf, in the tree that the record
names (`misnoised`); each threshold the one that the events of its hold-out and the key give (`mischosen`), until the
next hold-out.  Source: ARCHITECTURE rule 27, section 5.12.  Not here: exact sums (event_sums.py), how a threshold is
chosen (chosen.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from murmurate.agents.audit.chosen import chosen_threshold, drawn_under
from murmurate.agents.audit.event_sums import Sums
from murmurate.agents.audit.findings import Audit
from murmurate.config.plan import CentralPlan, Plan
from murmurate.randomizers import Key
from murmurate.randomizers.central import NodeNoise
from murmurate.topics.curated import Curated, Planted
from murmurate.topics.message import SAFE_INTEGER


class CuratorAudit:
    """Follows one stream from its start, hold-out by hold-out and tree by tree."""

    def __init__(self, plan: Plan, stream: CentralPlan, key: Key, found: Audit, t: int) -> None:
        self._plan, self._stream, self._key, self._found, self._t = plan, stream, key, found, t
        self._since, self._trees = t, 0
        self._threshold = None if stream.holdout else stream.measure.threshold_without_search
        self._leaf = np.zeros(stream.measure.cells, np.int64)
        self._right: int | None = None  # the threshold that the last hold-out has to choose, until a tree says one
        self._noise: list[list[int]] = []

    @property
    def due(self) -> int:
        """The period that is due."""
        return self._t

    def take(self, one: Curated, sums: Sequence[Sums]) -> None:
        """The next record of the log, and the exact sums of its period at all partitions. One that comes twice may be a
        second noise of the same sums.
        """
        where = f"stream {self._stream.name!r}, period {one.t}"
        if one.t != self._t or one.config != self._stream.config:
            self._found.wrong("miscurated", 1, f"{where} where period {self._t} was due")
            return
        self._t += 1
        self._period(one, self._added(sums), where)

    def _added(self, sums: Sequence[Sums]) -> np.ndarray:
        """The sums of all partitions."""
        return np.asarray(np.array(sums, np.int64).reshape(-1, len(self._leaf)).sum(axis=0))

    def _period(self, one: Curated, sums: np.ndarray, where: str) -> None:
        stream, held = self._stream, self._stream.holdout
        if self._threshold is None and held is not None:  # in a hold-out
            self._found.wrong("misnoised", int(one.tree is not None or one.sums is not None), f"{where}, a hold-out")
            self._leaf = self._leaf + sums
            if one.t - self._since == held.periods - 1:
                self._right = chosen_threshold(self._plan, stream, self._key, self._since, self._leaf.tolist())
                self._since, self._threshold, self._leaf = one.t + 1, self._right, np.zeros_like(self._leaf)
            return
        self._leaf = self._leaf + sums
        at, rest = divmod(one.t - self._since, stream.block)
        if one.tree is None:
            self._found.wrong("misnoised", 1, where)
            return
        if not self._noise:
            self._plant(one.tree)
        digest = _digest(self._plan, stream, self._since, self._threshold or 0)
        named = (one.tree.first_t, one.tree.threshold, one.tree.digest)
        right = named == (self._since, self._threshold, digest.hex()[:16])
        expected = self._noisy(at) if rest == stream.block - 1 else None
        self._found.leaves += expected is not None
        self._found.wrong("misnoised", int(not right or one.sums != expected), where)
        if rest == stream.block - 1:
            self._leaf = np.zeros_like(self._leaf)
            if at == stream.tree.leaves - 1:
                self._end_tree(one.t + 1)

    def _plant(self, tree: Planted) -> None:
        """A tree begins: with the threshold that it says, if one was to be found, and with noise of its own. Another
        candidate than the right one is one finding, and what follows is compared with the trees of that candidate.
        """
        stream = self._stream
        if self._right is not None:
            told = f"threshold {tree.threshold} where the hold-out and the key choose {self._right}"
            where = f"stream {stream.name!r}, period {self._since}: {told}"
            self._found.thresholds += 1
            self._found.wrong("mischosen", int(tree.threshold != self._right), where)
            if tree.threshold in stream.measure.candidates:
                self._threshold = tree.threshold
            self._right = None
        self._draw()

    def _draw(self) -> None:
        """The noise of all leaves of the tree that began last."""
        stream, threshold = self._stream, self._threshold or 0
        digest = _digest(self._plan, stream, self._since, threshold)
        self._noise = [
            _consistent(stream, NodeNoise(self._key, digest, stream.gamma(name, threshold), cell))
            for cell, name in enumerate(stream.names)
        ]

    def _noisy(self, leaf: int) -> tuple[tuple[int, int], ...]:
        """The leaf's figures with their noise."""
        whole = self._stream.tree.fanout ** (2 * (self._stream.tree.levels - 1))
        figures = self._stream.measure.figures(self._leaf, self._threshold or 0).tolist()
        noisy = [
            divmod(figure * whole + noise[leaf], whole) for figure, noise in zip(figures, self._noise, strict=True)
        ]
        most = SAFE_INTEGER
        return tuple((q, r) if -most <= q <= most else (most if q > 0 else -most, 0) for q, r in noisy)

    def _end_tree(self, t: int) -> None:
        self._since, self._trees, self._noise = t, self._trees + 1, []
        held = self._stream.holdout
        if held is not None and held.again and self._trees == self._stream.tree.fanout:
            self._threshold, self._trees = None, 0

    def state(self) -> dict[str, Any]:
        """Everything, for a checkpoint; noise is drawn anew."""
        return {
            "t": self._t, "since": self._since, "trees": self._trees, "threshold": self._threshold,
            "leaf": self._leaf, "right": self._right, "planted": bool(self._noise),
        }  # fmt: skip

    def load(self, state: dict[str, Any]) -> None:
        """Take over a state."""
        self._t, self._since, self._trees = state["t"], state["since"], state["trees"]
        self._threshold, self._leaf, self._right = state["threshold"], state["leaf"], state["right"]
        if state["planted"]:
            self._draw()


def _consistent(stream: CentralPlan, noise: NodeNoise) -> list[int]:
    """Noise of all leaves of a tree, over fanout^(2 (levels - 1)): up, each node weighed against its children, and
    down, what a family lacks to its parent in equal parts.
    """
    b, h = stream.tree.fanout, stream.tree.levels
    own = [[Fraction(n) for n in noise.of(level, 0, b ** (h - level)).tolist()] for level in range(1, h + 1)]
    upwards = [own[0]]
    for level in own[1:]:
        below = upwards[-1]
        upwards.append([((b - 1) * n + sum(below[b * j : b * j + b])) / b for j, n in enumerate(level)])
    down = upwards[-1]
    for level in reversed(upwards[:-1]):
        lack = [parent - sum(level[b * j : b * j + b]) for j, parent in enumerate(down)]
        down = [n + lack[j // b] / b for j, n in enumerate(level)]
    whole = b ** (2 * (h - 1))
    return [int(n * whole) for n in down]


def _digest(plan: Plan, stream: CentralPlan, first_t: int, threshold: int) -> bytes:
    """What a tree's noise is drawn under."""
    shape = {
        "block": stream.block, "fanout": stream.tree.fanout, "levels": stream.tree.levels, "threshold": threshold,
        "gammas": [str(stream.gamma(name, threshold)) for name in stream.names],
    }  # fmt: skip
    return drawn_under(plan, stream, "murmurate/noise/1", first_t, shape)
