"""A round that one target of the shuffle has not sealed yet: where it stands, and what came for it.

Contract: it goes through ROUND_STATES and no other states.  Not here: what makes it go on (shuffle.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Final

import numpy as np

from murmurate.aggregators.transitions import State
from murmurate.topics.messages import Done, Round


class RoundState(Enum):
    """Where a round stands at one target."""

    STRANGE = "strange"
    """Something came for the round before the round itself is known here."""
    ASKED = "asked"
    """The round is known, and its contributors are awaited."""
    EMPTY = "empty"
    """The round is known, and the newest `give_up` found nobody here. This moves only the moment of a `close`."""
    CLOSED = "closed"
    """The first `close` says who counts, and they are awaited."""
    SEALED = "sealed"
    """The round is over."""
    FORGOTTEN = "forgotten"
    """Nobody will ask for it any more."""


ROUND_STATES: Final[Mapping[RoundState, tuple[RoundState, ...]]] = MappingProxyType({
    RoundState.STRANGE: (RoundState.ASKED, RoundState.FORGOTTEN),
    RoundState.ASKED: (RoundState.EMPTY, RoundState.CLOSED),
    RoundState.EMPTY: (RoundState.ASKED, RoundState.CLOSED),
    RoundState.CLOSED: (RoundState.SEALED,),
    RoundState.SEALED: (),
    RoundState.FORGOTTEN: (),
})  # fmt: skip


WAITING: Final = frozenset({RoundState.ASKED, RoundState.EMPTY})
"""Where it is still open who counts."""


@dataclass(eq=False)
class Contribution:
    """What one contributor sent here for one round."""

    reports: list[np.ndarray] = field(default_factory=list)
    done: Done | None = None


@dataclass(eq=False)
class RoundInProgress:
    """A round that is not sealed yet."""

    state: State[RoundState]
    contributions: dict[int, Contribution] = field(default_factory=dict)
    round: Round | None = None
    """The round, once it is known here."""
    closed: tuple[int, ...] = ()
    """The contributors who count, once the first `close` has named them."""
    first: dict[str, int] = field(default_factory=dict)
    """The offset of its first record in each log."""
    last: dict[str, int] = field(default_factory=dict)
    since: int = 0
    """How many rounds this instance had met when its first record came."""

    @classmethod
    def begun(cls, of: str, since: int) -> RoundInProgress:
        """A round of which nothing has come yet. of: which one, for errors."""
        return cls(State(of, RoundState.STRANGE, ROUND_STATES), since=since)
