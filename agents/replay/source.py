# SPDX-License-Identifier: Apache-2.0
"""The contract of a replay's source: batches of coded events, each with the clock that may be announced before it.

Contract: `batches()` can be called again and gives the same batches; a batch holds events of one stream, none of which
needs a later clock than its own: T is fresh to within half of `future` and to the closing of every period.  Not here:
pseudonyms, refusing late events (agents/stages), the kinds of source (sources.py).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from murmurate.config.plan import AnyStreamPlan, Plan
from murmurate.errors import MurmurateError
from murmurate.topics.domains import Words
from murmurate.topics.events import Reason

BATCH_ROWS: Final = 50_000
NAMED_LINES: Final = 5
"""The most line numbers of each reason that a summary lists."""

TIMES: Final = "a time is RFC 3339 with a zone, like 2026-11-19T10:00:00Z, or whole milliseconds since 1970"
HINTS: Final[Mapping[str, str]] = {
    Reason.TIME.value: TIMES,
    Reason.VALUE.value: "it is none that the file declares",
}
"""What is allowed, for reasons that a newcomer meets."""
SECONDS_MS: Final = 365 * 86_400_000
"""Whoever takes seconds for milliseconds has events of 1970 alone."""

Ints = NDArray[np.int64]


class SourceError(MurmurateError):
    """An error for a source that cannot be replayed: missing, empty, of another format, or without one good event."""


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Events of one stream, in the order of the source."""

    stream: str
    clock: int
    """The T that may be announced before these events, in milliseconds since 1970. It never goes back."""
    names: list[bytes] | None = field(repr=False)
    """The user of each event, where the source names users; else None, and `ids` identify them."""
    ids: Ints | None = field(repr=False)
    """The user of each event as a number from 0: int64[n]. `Source.names` gives the names of numbers. A source that
    does not know its users beforehand numbers them as they come.
    """
    times: Ints = field(repr=False)
    """The time of each event, in milliseconds since 1970: int64[n]."""
    codes: NDArray[np.uint32] = field(repr=False)
    """The code of each event: uint32[n], or uint32[n, words] where a value takes several; REFUSED throughout where only
    the value was wrong: such an event enrols its user.
    """
    refused: Mapping[str, int]
    """The number of lines before this batch that gave no event, by reason. Events with a refused value are not among
    them.
    """
    lines: int
    """The number of lines (or array elements) read for it, including those that gave no event."""
    long: Mapping[int, Words] = field(default_factory=dict, repr=False)
    """Rows whose lists have too many items, with the words of all items: the holder of the users' key cuts them."""
    records: list[tuple[bytes, bytes]] | None = field(default=None, repr=False)
    """Where the source keeps them: the records, with their users, that stand in no batch before. One of them may be an
    event of several streams.
    """

    def __len__(self) -> int:
        return len(self.times)


class Source(ABC):
    """A source of events of one or several streams of a plan."""

    streams: tuple[str, ...]
    """The streams of which it may have events."""
    enrolled: bool = False
    """Whether its users, 0 to `users() - 1`, are all enrolled before the first period, but for streams whose values
    stand for ever.
    """
    periods: int | None = None
    """The number of periods, where it is known beforehand."""
    total_rows: int | None = None
    """The number of events, where it is known beforehand."""
    unit: str = "line"
    """What a record is called where one is named by its number."""
    shared: bool = False
    """Whether one record may be an event of several streams."""

    def __init__(self, plan: Plan, streams: tuple[str, ...]) -> None:
        self.plan, self.streams = plan, streams
        self.counts: Counter[str] = Counter()
        """The numbers of all faults that the source itself found so far, by reason, refused values included."""
        self.complaints: dict[str, list[int]] = {}
        """The numbers of the first lines with each fault."""
        self.cut_line: int | None = None
        """The number of the last line, where it has no line end."""
        self.remarks: list[str] = []
        """What else there is to say about the source as it was read, in sentences."""
        self._end: int | None = None

    @abstractmethod
    def batches(self) -> Iterator[Batch]:
        """The events, from the beginning. After the last one `end_clock` is known."""

    @abstractmethod
    def first_t(self, stream: str) -> int:
        """The first period of the stream, which its method counts as t = 1."""

    def users(self) -> int | None:
        """The number of users, where they are numbered."""
        return None

    def names(self, ids: Ints) -> list[bytes]:
        """The names of numbered users, which are their decimal digits."""
        return [b"%d" % user for user in ids.tolist()]

    def keep_records(self) -> None:
        """From now on batches hold their records as JSON, for whoever writes them elsewhere."""
        raise SourceError("source: found no records; allowed: a source whose records several streams share")

    def fraction(self) -> float | None:
        """The part of the source that has been read, from 0 to 1; None where it is unknown."""
        return None

    @property
    def end_clock(self) -> int:
        """The T after the last event, which closes the period of the last event that is not from the future, and no
        later one.
        """
        if self._end is None:
            raise SourceError("source: the last clock is known when all batches have been taken")
        return self._end

    def complaint_lines(self) -> list[str]:
        """The faults found, one text per reason: `json: 7 lines (line 2, 9, 12, 40, 51, ...)`; never the content of a
        line.
        """
        texts = []
        for reason, count in sorted(self.counts.items()):
            named = self.complaints.get(reason, [])
            lines = ", ".join(f"{line:,}".replace(",", " ") for line in named)
            more = ", ..." if count > len(named) else ""
            cut = "; the last one has no end: it may have been cut off" if self.cut_line in named else ""
            said = f"; {HINTS[reason]}" if reason in HINTS else ""
            what = f"{count} {self.unit}{'' if count == 1 else 's'}"
            texts.append(f"{reason}: {what} ({self.unit} {lines}{more}{cut}{said})")
        return texts + self.remarks

    def _plans(self) -> list[AnyStreamPlan]:
        return [self.plan.any_stream(name) for name in self.streams]
