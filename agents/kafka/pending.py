# SPDX-License-Identifier: Apache-2.0
"""Records of a Task that are folded and not yet committed: how many at once, and how long they may wait."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from murmurate.agents.stages.stage import Out, Outbox

OUTPUT_S = 0.2
"""The longest that outputs which are not decisive wait for a transaction."""
MARKS_S, FEW_MARKS_S = 1.0, 10.0
"""The longest that marks without outputs wait for a transaction; the second while few bytes were folded, which a
successor folds again in no time. Most of them go with the next outputs.
"""
FEW_BYTES = 1 << 16
TURN = 4 << 20
"""Bytes folded before others get a turn."""
RUN = 10_000
"""Records given at once to a stage that takes runs."""
GROUP_BYTES = 1 << 20
"""Decisions that come together share a transaction of up to this size, or one of them has it for itself."""


@dataclass
class Pending:
    """What the next transaction holds."""

    out: list[Out] = field(default_factory=list)
    urgent: bool = False
    folded: int = 0
    since: float = 0.0
    size: int = 0
    """Bytes of `out`."""
    input: int = 0
    """Bytes that were folded."""

    def add(self, box: Outbox) -> None:
        """Add the output of a stage."""
        if box.records:
            self.out += box.records
            self.size += sum(len(record.value) for record in box.records)
            self.since = self.since or time.monotonic()
        self.urgent |= box.urgent

    @property
    def full(self) -> bool:
        """Whether it is time to write, whatever else there is to fold."""
        return self.urgent and self.size >= GROUP_BYTES

    @property
    def due_s(self) -> float:
        """How long it may wait, from its first record on."""
        if self.out or self.urgent:
            return 0.0 if self.urgent else OUTPUT_S
        return FEW_MARKS_S if self.input < FEW_BYTES else MARKS_S
