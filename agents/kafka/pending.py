"""Records on their way through a Task: folded and not committed."""

from __future__ import annotations

from dataclasses import dataclass, field

from murmurate.agents.stages.stage import Out

OUTPUT_S = 0.2
"""Outputs that are not decisive wait at most this long for a transaction,"""
MARKS_S = 1.0
"""and marks alone this long."""


@dataclass
class Pending:
    """What the next transaction holds."""

    out: list[Out] = field(default_factory=list)
    urgent: bool = False
    folded: int = 0
    since: float = 0.0

    @property
    def due_s(self) -> float:
        """How long it may wait, from its first record on."""
        return 0.0 if self.urgent else OUTPUT_S if self.out else MARKS_S
