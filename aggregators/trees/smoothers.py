# SPDX-License-Identifier: Apache-2.0
"""What stands for single periods while a block is open: predictions from the blocks that are complete.

Contract: a block of n periods is released as n - 1 times the prediction and, with its last period, what its noisy sum
has beyond those (`spread`): so periods add up to the tree's leaves.  A prediction depends on the noisy sums of
complete blocks only (u_1 .. u_t, and u_0, which is half of the largest possible sum), so it costs no privacy.

    recent   u_t / n                              mean         (u_0 + .. + u_t) / ((t + 1) n)
    median   median(u_1 .. u_t) / n               exponential  p_0 = u_0 / n, p_t = a u_t / n + (1 - a) p_(t-1)
    moving   the mean of the last w of u_0 .. u_t, over n

Source: ToPS algorithm 1 and appendix D, with ARCHITECTURE erratum E15 and erratum E16.  Numbers are floats or
Fractions; what comes out is of their kind.  Not here: how long a block is (block.py).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import insort
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, ClassVar

from murmurate.randomizers.errors import ParameterError, shown

Number = Any
"""A float or a Fraction."""


class Smoother(ABC):
    """Predicts the value of one period from the noisy sums of complete blocks."""

    name: ClassVar[str]

    def __init__(self, block: int, first: Number) -> None:
        """Begin with u_0 (`first`), which stands for a block of `block` periods before one is complete."""
        if isinstance(block, bool) or not isinstance(block, int) or block < 1:
            raise ParameterError(f"block: found {shown(block)} periods; allowed: at least 1")
        self.block = block
        self._kept: list[Number] = [first]
        """All that predictions depend on; of what kind says the class."""

    @abstractmethod
    def add(self, total: Number) -> None:
        """Take in the noisy sum of one more complete block."""

    @property
    def prediction(self) -> Number:
        """What stands for one period now."""
        return self._kept[-1] / self.block

    def state(self) -> list[Number]:
        """All that `restore` needs to go on from here."""
        return list(self._kept)

    def restore(self, state: Sequence[Number]) -> None:
        """Go on from the state of another smoother of the same kind, block and options."""
        self._kept = list(state)


class RecentSmoother(Smoother):
    """The last complete block goes on."""

    name = "recent"

    def add(self, total: Number) -> None:
        """Take in the noisy sum of one more complete block."""
        self._kept = [total]


class MeanSmoother(Smoother):
    """All blocks so far, u_0 included, go on. Kept: their sum and their number."""

    name = "mean"

    def __init__(self, block: int, first: Number) -> None:
        super().__init__(block, first)
        self._kept = [first, 1]

    def add(self, total: Number) -> None:
        """Take in the noisy sum of one more complete block."""
        self._kept = [self._kept[0] + total, self._kept[1] + 1]

    @property
    def prediction(self) -> Number:
        """What stands for one period now."""
        return self._kept[0] / (self._kept[1] * self.block)


class MedianSmoother(Smoother):
    """The median block so far goes on, without u_0 once there is one. Kept: u_0, then all blocks in order of size."""

    name = "median"

    def add(self, total: Number) -> None:
        """Take in the noisy sum of one more complete block."""
        insort(self._kept, total, lo=1)

    @property
    def prediction(self) -> Number:
        """What stands for one period now."""
        count = len(self._kept) - 1
        if not count:
            return self._kept[0] / self.block
        return (self._kept[1 + (count - 1) // 2] + self._kept[1 + count // 2]) / (2 * self.block)


class MovingSmoother(Smoother):
    """The mean of the last `width` blocks goes on; of fewer, u_0 among them, until there are as many."""

    name = "moving"

    def __init__(self, block: int, first: Number, *, width: int = 2) -> None:
        super().__init__(block, first)
        if isinstance(width, bool) or not isinstance(width, int) or width < 1:
            raise ParameterError(f"width: found {shown(width)} blocks; allowed: at least 1")
        self.width = width

    def add(self, total: Number) -> None:
        """Take in the noisy sum of one more complete block."""
        self._kept = [*self._kept, total][-self.width :]

    @property
    def prediction(self) -> Number:
        """What stands for one period now."""
        return sum(self._kept) / (len(self._kept) * self.block)


class ExponentialSmoother(Smoother):
    """Recent blocks count most: each takes the share `recent` of the prediction and leaves the rest to older ones."""

    name = "exponential"

    def __init__(self, block: int, first: Number, *, recent: Number = Fraction(3, 5)) -> None:
        super().__init__(block, first)
        if not 0 <= recent <= 1:
            raise ParameterError(f"recent: found {shown(recent)}; allowed: 0 to 1")
        self.recent = recent
        self._kept = [first / block]

    def add(self, total: Number) -> None:
        """Take in the noisy sum of one more complete block."""
        self._kept = [self.recent * (total / self.block) + (1 - self.recent) * self._kept[0]]

    @property
    def prediction(self) -> Number:
        """What stands for one period now."""
        return self._kept[0]


KINDS: tuple[type[Smoother], ...] = (
    RecentSmoother,
    MeanSmoother,
    MedianSmoother,
    MovingSmoother,
    ExponentialSmoother,
)
SMOOTHERS = {kind.name: kind for kind in KINDS}
"""Every smoother by the name that a file gives it."""


def spread(totals: Iterable[Number], smoother: Smoother) -> Iterator[Number]:
    """The released values of all periods, from the noisy sums of blocks: their sum over a block is its noisy sum.

    >>> list(spread([20.0, 36.0], RecentSmoother(4, 16.0)))
    [4.0, 4.0, 4.0, 8.0, 5.0, 5.0, 5.0, 21.0]
    """
    for total in totals:
        guess = smoother.prediction
        for _ in range(smoother.block - 1):
            yield guess
        yield total - guess * (smoother.block - 1)
        smoother.add(total)
