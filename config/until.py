# SPDX-License-Identifier: Apache-2.0
"""What held before a change of values, and until when: the table [until] of a deployment file.

Contract: a file with this table holds both values of whatever changes, the new one in its place and here the one that
was before, so that every zone goes by values of its own file before the instant and after it.  For a period its
beginning counts, for the door its clock.  Not here: writing the table (agents/cli/config.py), comparing it (switch.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final

from murmurate.config.kinds import Kind, WholeNumber
from murmurate.config.quantities import Duration
from murmurate.config.streams import ConfigTable
from murmurate.topics.times import InstantReader

FORM: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z"


@dataclass(frozen=True)
class InstantKind(Kind):
    """A moment, in milliseconds since 1970."""

    @property
    def allowed(self) -> str:
        """Its form."""
        return 'an instant such as "2026-11-18T09:00:00Z"'

    @property
    def schema(self) -> dict[str, Any]:
        """A text of that form."""
        return {"type": "string", "pattern": f"^{FORM}$"}

    def read(self, found: Any) -> int:
        """The milliseconds. TOML has instants of its own, which may stand there too."""
        if isinstance(found, datetime) and found.tzinfo is not None:
            return round(found.timestamp() * 1000)
        if not isinstance(found, str) or not re.fullmatch(FORM, found):
            raise ValueError
        return InstantReader().milliseconds(found)


class UntilTable(ConfigTable):
    """What holds until an instant, before the values of the other tables do."""

    time: Annotated[int, InstantKind()]
    """The instant from which the values of the other tables hold, in the time of `time.clock`."""
    min_batch: Annotated[int, WholeNumber(2, 1_000_000_000)] | None = None
    """The `privacy.min_batch` of periods that begin before it; left out where it does not change."""
    future: Annotated[int, Duration("0s", "24d")] | None = None
    """The `time.future` of events that come before it."""
    patience: Annotated[int, Duration("1ms", "1d")] | None = None
    """The `time.patience` of rounds about periods that begin before it."""


@dataclass(frozen=True)
class HeldUntil:
    """The values that held before an instant; None for what did not change."""

    time_ms: int
    min_batch: int | None = None
    future_ms: int | None = None
    patience_ms: int | None = None
