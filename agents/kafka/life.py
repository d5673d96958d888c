"""Where a Task stands, and who is told about it."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Protocol

from murmurate.agents.stages.stage import Out

if TYPE_CHECKING:
    from murmurate.agents.kafka.task import Task


class Life(Enum):
    """Where a Task stands."""

    CLOSED = "closed"
    """It owns nothing."""
    OPEN = "open"
    """It has fenced its predecessors and knows its marks."""
    LIVE = "live"
    """It folds and flushes."""
    PARKED = "parked"
    """Its partition was taken away and may come back."""


class Observer(Protocol):
    """Who is told what happens, for metrics; nothing depends on it."""

    def recovered(self, task: Task, seconds: float) -> None:
        """It is live."""
        ...

    def flushed(self, task: Task, seconds: float, out: tuple[Out, ...]) -> None:
        """A transaction has been committed."""
        ...
