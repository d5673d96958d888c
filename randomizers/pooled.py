# SPDX-License-Identifier: Apache-2.0
"""Questions with a pool of hash functions, which are others in every round.

Contract: the pool's functions follow from the round's digest (frequency/hashing.py); `of_round` gives the question with
those of a round, and two questions are equal only if they have the same.  With pool 0 every report carries a fresh
seed, and nothing depends on the round.  Not here: what is hashed, and how a report names a function.
"""

from __future__ import annotations

from copy import copy
from typing import Self

from murmurate.randomizers.question import Question
from murmurate.randomizers.randomness import checked_digest


class PooledQuestion(Question):
    """A question whose hash functions may be those of a round."""

    pool: int
    """The number of hash functions of a round; 0: every report has a fresh one."""
    _round: bytes | None
    """The digest of the round whose functions it has; None for none yet."""

    def of_round(self, round: bytes) -> Self:
        """The question with the hash functions of this round, with which its reports are read."""
        if not self.pool:
            return self
        bound = copy(self)
        vars(bound)["_round"] = checked_digest(round, "round")
        return bound

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other) and isinstance(other, PooledQuestion) and self._round == other._round

    def __hash__(self) -> int:
        return hash((self.digest, self._round))
