# SPDX-License-Identifier: Apache-2.0
"""A round that one target of the shuffle has not sealed yet: its state, and the records that came for it.

Contract: it changes its state only as ROUND_STATES allows.  Not here: what makes it go on (shuffle.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Final

import numpy as np

from murmurate.aggregators.transitions import State
from murmurate.topics.messages import Close, Done, Round


class RoundState(Enum):
    """The state of a round at one target."""

    UNKNOWN = "unknown"
    """Records of the round came, a `close` maybe among them, but its descriptor has not been folded here."""
    ASKED = "asked"
    """The round is known, and its contributors are awaited."""
    EMPTY = "empty"
    """The round is known, and no contributor was done at the newest `give_up`. This only delays a `close`."""
    CLOSED = "closed"
    """The first `close` has named the contributors that count, and their reports are awaited."""
    SEALED = "sealed"
    """The round is over."""
    FORGOTTEN = "forgotten"
    """The descriptor can no longer come, and the records were dropped."""


ROUND_STATES: Final[Mapping[RoundState, tuple[RoundState, ...]]] = MappingProxyType({
    RoundState.UNKNOWN: (RoundState.ASKED, RoundState.FORGOTTEN),
    RoundState.ASKED: (RoundState.EMPTY, RoundState.CLOSED),
    RoundState.EMPTY: (RoundState.ASKED, RoundState.CLOSED),
    RoundState.CLOSED: (RoundState.SEALED,),
    RoundState.SEALED: (),
    RoundState.FORGOTTEN: (),
})  # fmt: skip


WAITING: Final = frozenset({RoundState.ASKED, RoundState.EMPTY})
"""The states in which it is not decided which contributors count."""


@dataclass(eq=False)
class Contribution:
    """The records that one contributor sent here for one round."""

    reports: list[np.ndarray] = field(default_factory=list)
    done: Done | None = None


@dataclass(eq=False)
class RoundInProgress:
    """A round that is not sealed yet."""

    state: State[RoundState]
    contributions: dict[int, Contribution] = field(default_factory=dict)
    round: Round | None = None
    """The round, once it is known here."""
    closes: list[Close] = field(default_factory=list)
    """What `closings` has of it while it is not closed: a `close` may come before the round."""
    closed: tuple[int, ...] = ()
    """The contributors who count, once the first `close` has named them."""
    first: dict[str, int] = field(default_factory=dict)
    """The offset of its first record in each log."""
    last: dict[str, int] = field(default_factory=dict)
    since: int = 0
    """How many rounds this instance had folded when the first record of this one came."""

    @classmethod
    def begun(cls, of: str, since: int) -> RoundInProgress:
        """A round without any record yet. of: its name in errors."""
        return cls(State(of, RoundState.UNKNOWN, ROUND_STATES), since=since)
