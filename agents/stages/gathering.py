"""A round that one target of the shuffle has not sealed yet: where it stands, and what came for it.

Contract: it goes through the states of STANDS and no others.  Not here: what makes it go on (shuffle.py).
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


class Stand(Enum):
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


STANDS: Final[Mapping[Stand, tuple[Stand, ...]]] = MappingProxyType({
    Stand.STRANGE: (Stand.ASKED, Stand.FORGOTTEN),
    Stand.ASKED: (Stand.EMPTY, Stand.CLOSED),
    Stand.EMPTY: (Stand.ASKED, Stand.CLOSED),
    Stand.CLOSED: (Stand.SEALED,),
    Stand.SEALED: (),
    Stand.FORGOTTEN: (),
})  # fmt: skip


WAITING: Final = frozenset({Stand.ASKED, Stand.EMPTY})
"""Where it is still open who counts."""


@dataclass(eq=False)
class Contribution:
    """What one contributor sent here for one round."""

    reports: list[np.ndarray] = field(default_factory=list)
    done: Done | None = None


@dataclass(eq=False)
class Gathering:
    """A round that is not sealed yet."""

    stand: State[Stand]
    contributions: dict[int, Contribution] = field(default_factory=dict)
    asked: Round | None = None
    """The round, once it is known here."""
    closed: tuple[int, ...] = ()
    """The contributors who count, once the first `close` has named them."""
    first: dict[str, int] = field(default_factory=dict)
    """The offset of its first record in each log."""
    last: dict[str, int] = field(default_factory=dict)
    since: int = 0
    """How many rounds this instance had met when its first record came."""

    @classmethod
    def begun(cls, of: str, since: int) -> Gathering:
        """A round of which nothing has come yet. of: which one, for errors."""
        return cls(State(of, Stand.STRANGE, STANDS), since=since)
