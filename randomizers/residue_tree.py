# SPDX-License-Identifier: Apache-2.0
"""The shape of a tree over the periods of a horizon: which stretches of change a level tells, and when it reads values.

Contract: geometry only.  Steps 1 to T are the periods of a horizon; step 0 stands before it, where every value is zero.
Node q of level h is the change from step (q - 1) r^h to step q r^h, told at its end; levels are 0 to floor(log_r T),
or fewer.  The value at a step is the sum of the nodes of its `path`.  No path has a node whose number is divisible by
r, but at the top: such nodes need not be told, and then exactly one node ends at each step.  Where `every` node is
told, changes are told twice and more, which least squares puts to use.
Source: Wang et al. 2023 (SaO2), section 4; ARCHITECTURE section 5.18.  Not here: trees of sums (trees.py), estimates
(aggregators/trees/residue.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from murmurate.randomizers.errors import ParameterError, shown

MAX_PERIODS = 1 << 16
"""The most periods of a horizon."""


@dataclass(frozen=True)
class ResidueTree:
    """The nodes of a horizon of so many periods.

    >>> tree = ResidueTree(13, 2)
    >>> tree.levels, tree.path(13), tree.ending(12), tree.looks(1)
    (4, ((3, 1), (2, 3), (0, 13)), ((2, 3),), (2, 4, 6, 8, 10))
    """

    periods: int
    """T, the number of steps."""
    fanout: int
    """The number r of nodes of a level that make one of the next, at least 2."""
    every: bool = False
    """Whether all nodes of a level are told; otherwise those alone that a path has."""
    cut: int = 0
    """The number of levels at the top that are left out: the next one is the top then, with more nodes."""

    def __post_init__(self) -> None:
        for name, value, least in (("periods", self.periods, 1), ("fanout", self.fanout, 2)):
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= MAX_PERIODS:
                raise ParameterError(f"{name}: found {shown(value)}; allowed: {least} to {MAX_PERIODS}")
        if not isinstance(self.every, bool):
            raise ParameterError(f"every: found {shown(self.every)}; allowed: true or false")
        if isinstance(self.cut, bool) or not isinstance(self.cut, int) or not 0 <= self.cut < self._whole:
            raise ParameterError(f"cut: found {shown(self.cut)}; allowed: 0 to {self._whole - 1}")

    @cached_property
    def _whole(self) -> int:
        """The number of levels of a tree of which none is cut: floor(log_r T) + 1."""
        levels, span = 1, self.fanout
        while span <= self.periods:
            levels, span = levels + 1, span * self.fanout
        return levels

    @property
    def levels(self) -> int:
        """The number of levels: floor(log_r T) + 1, less those that are cut."""
        return self._whole - self.cut

    def span(self, level: int) -> int:
        """The number of steps of a node of a level: r^h."""
        if isinstance(level, bool) or not isinstance(level, int) or not 0 <= level < self.levels:
            raise ParameterError(f"level: found {shown(level)}; allowed: 0 to {self.levels - 1}")
        return int(self.fanout**level)

    def tells(self, level: int, node: int) -> bool:
        """Whether a level tells a node: within the horizon, and on some path unless `every` node is told."""
        if not 1 <= node <= self.periods // self.span(level):
            return False
        return self.every or level == self.levels - 1 or node % self.fanout != 0

    def nodes(self, level: int) -> tuple[int, ...]:
        """The numbers of the nodes that a level tells, rising."""
        return tuple(q for q in range(1, self.periods // self.span(level) + 1) if self.tells(level, q))

    def ending(self, step: int) -> tuple[tuple[int, int], ...]:
        """The nodes told at a step, as (level, number), from the lowest level: one, unless `every` node is told."""
        spans = ((level, self.span(level)) for level in range(self.levels))
        ends = ((level, step // span) for level, span in spans if step % span == 0)
        return tuple((level, node) for level, node in ends if self.tells(level, node))

    def looks(self, level: int) -> tuple[int, ...]:
        """The steps at which a level reads values, rising: where nodes end and, but for step 0, where they begin."""
        span, nodes = self.span(level), self.nodes(level)
        return tuple(sorted({q * span for q in nodes} | {(q - 1) * span for q in nodes if q > 1}))

    def path(self, step: int) -> tuple[tuple[int, int], ...]:
        """The fewest nodes whose sum is the value at a step, as (level, number), from the top."""
        if isinstance(step, bool) or not isinstance(step, int) or not 1 <= step <= self.periods:
            raise ParameterError(f"step: found {shown(step)}; allowed: 1 to {self.periods}")
        found, top = [], self.levels - 1
        for level in range(top, -1, -1):
            last = step // self.span(level)
            first = 0 if level == top else step // self.span(level + 1) * self.fanout
            found += [(level, node) for node in range(first + 1, last + 1)]
        return tuple(found)
