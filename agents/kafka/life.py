# SPDX-License-Identifier: Apache-2.0
"""The states of a Task's life, and the contract of observers of their changes."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol

from murmurate.agents.stages.stage import Out

if TYPE_CHECKING:
    from murmurate.agents.kafka.task import Task


class Life(Enum):
    """Where a Task stands."""

    CLOSED = "closed"
    """The Task owns nothing."""
    OPEN = "open"
    """The Task has fenced its predecessors and knows its marks."""
    LIVE = "live"
    """The Task folds and flushes."""
    PARKED = "parked"
    """The Task's partition was taken away and may come back."""


LIVES: Final[Mapping[Life, tuple[Life, ...]]] = MappingProxyType({
    Life.CLOSED: (Life.OPEN,),
    Life.OPEN: (Life.LIVE, Life.PARKED, Life.CLOSED),
    Life.LIVE: (Life.PARKED, Life.CLOSED),
    Life.PARKED: (Life.OPEN, Life.CLOSED),
})  # fmt: skip
"""What may follow: what is folded and flushed lies between `open` and `parked` or `closed`."""


class Observer(Protocol):
    """The receiver of a Task's events, for metrics; nothing depends on it."""

    def recovered(self, task: Task, seconds: float) -> None:
        """It is live."""
        ...

    def flushed(self, task: Task, seconds: float, out: tuple[Out, ...]) -> None:
        """A transaction has been committed."""
        ...
