# SPDX-License-Identifier: Apache-2.0
"""The shape of a tree over leaves in a row: which node lies above which, and which nodes add up to a stretch.

Contract: geometry only.  A tree has one root, `levels` levels (1 = leaf, `levels` = root) and fanout^(levels - 1)
leaves; trees follow each other without end, so that leaf i belongs to tree i // leaves and no node lies above a root.
Node j of level l holds the leaves j b^(l-1) .. (j + 1) b^(l-1) - 1, counted over all trees in a row.
Source: ToPS 3.4 (its hierarchy over r = b^h values is b such trees).  Not here: noise (central/) and estimates
(aggregators/trees).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from murmurate.randomizers.errors import ParameterError, shown


@dataclass(frozen=True)
class Tree:
    """A tree of `levels` levels in which every inner node has `fanout` children.

    >>> tree = Tree(16, 5)
    >>> tree.leaves, tree.nodes(2), tree.denominator == 2**32, Tree(2, 3).canonical_nodes(1, 7)
    (65536, 4096, True, [(1, 1), (1, 6), (2, 1), (2, 2)])
    """

    fanout: int
    """Number of children of an inner node, at least 2."""
    levels: int
    """Number of levels: leaves are level 1, the root is this one."""

    def __post_init__(self) -> None:
        for name, value, least in (("fanout", self.fanout, 2), ("levels", self.levels, 1)):
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ParameterError(f"{name}: found {shown(value)}; allowed: a whole number from {least}")
        if self.fanout > 1 << 16 or self.levels > 64 or self.denominator > 1 << 62:
            found = f"{shown(self.fanout)} and {shown(self.levels)}"
            raise ParameterError(f"fanout and levels: found {found}; allowed: fanout^(2 (levels - 1)) up to 2^62")

    @property
    def leaves(self) -> int:
        """Number of leaves of one tree."""
        return int(self.fanout ** (self.levels - 1))

    @property
    def denominator(self) -> int:
        """Denominator of a leaf's consistent noise with the weights (b - 1) / b: b^(2 (levels - 1))."""
        return int(self.fanout ** (2 * (self.levels - 1)))

    def nodes(self, level: int) -> int:
        """Number of nodes of a level, in one tree."""
        return int(self.fanout ** (self.levels - self.checked_level(level)))

    def span(self, level: int) -> int:
        """Number of leaves below a node of a level."""
        return int(self.fanout ** (self.checked_level(level) - 1))

    def checked_level(self, level: int) -> int:
        """The level, if the tree has it."""
        if not 1 <= level <= self.levels:
            raise ParameterError(f"level: found {shown(level)}; allowed: 1 to {self.levels}")
        return level

    def canonical_runs(self, low: int, high: int) -> Iterator[tuple[int, int, int]]:
        """The fewest nodes that hold exactly the leaves low..high-1, as (level, first node, node after the last)."""
        if not 0 <= low <= high:
            raise ParameterError(f"leaves: found {shown(low)} to {shown(high)}; allowed: from 0, and not backwards")
        for level in range(1, self.levels):
            start, end = -(-low // self.fanout), high // self.fanout  # of the level above
            if start >= end:
                break
            if low < start * self.fanout:
                yield level, low, start * self.fanout
            if end * self.fanout < high:
                yield level, end * self.fanout, high
            low, high = start, end
        else:
            level = self.levels
        if low < high:
            yield level, low, high

    def canonical_nodes(self, low: int, high: int) -> list[tuple[int, int]]:
        """The fewest nodes that hold exactly the leaves low..high-1, as (level, node), over all trees in a row."""
        return [(level, node) for level, first, end in self.canonical_runs(low, high) for node in range(first, end)]
