"""What a replay reads: batches of coded events, each with the clock that may be written before it.

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

BATCH_ROWS: Final = 50_000
NAMED_LINES: Final = 5
"""The most lines of each reason that a summary names."""

Ints = NDArray[np.int64]


class SourceError(MurmurateError):
    """A source that cannot be replayed: not there, empty, of another format, or without one good event."""


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Events of one stream, in the order of the source."""

    stream: str
    clock: int
    """T: what may be written as progress before these events, in milliseconds since 1970. Never goes back."""
    names: list[bytes] | None = field(repr=False)
    """Each event's user, where the source names users; else None, and `ids` tells them apart."""
    ids: Ints | None = field(repr=False)
    """int64[n], each event's user as a number from 0; `Source.names` gives the name of a number."""
    times: Ints = field(repr=False)
    """int64[n], milliseconds since 1970."""
    codes: NDArray[np.uint32] = field(repr=False)
    """uint32[n], or uint32[n, words] where a value takes several; REFUSED throughout where only the value was wrong:
    such an event enrols its user.
    """
    refused: Mapping[str, int]
    """Lines before this batch that gave no event, by reason. Events with a refused value are not among them."""
    lines: int
    """Lines (or array elements) read for it, those included."""
    long: Mapping[int, Words] = field(default_factory=dict, repr=False)
    """Rows whose lists have too many items, with the words of all: whoever holds the users' key cuts them."""

    def __len__(self) -> int:
        return len(self.times)


class Source(ABC):
    """Events of one or several streams of a plan."""

    streams: tuple[str, ...]
    """The streams that it may have events for."""
    enrolled: bool = False
    """Whether its users, 0 to `users() - 1`, are all enrolled before the first period, but for streams whose values
    stand for ever.
    """
    periods: int | None = None
    """How many periods it covers, where that is known beforehand."""
    total_rows: int | None = None
    """How many events there are, where that is known beforehand."""

    def __init__(self, plan: Plan, streams: tuple[str, ...]) -> None:
        self.plan, self.streams = plan, streams
        self.counts: Counter[str] = Counter()
        """Everything the source itself found wrong so far, by reason, refused values included."""
        self.complaints: dict[str, list[int]] = {}
        """The numbers of the first lines of each reason."""
        self.cut_line: int | None = None
        """The last line, where it has no line end."""
        self._end: int | None = None

    @abstractmethod
    def batches(self) -> Iterator[Batch]:
        """The events, from the beginning. After the last one `end_clock` is known."""

    @abstractmethod
    def first_t(self, stream: str) -> int:
        """The stream's first period, which its method counts as t = 1."""

    def users(self) -> int | None:
        """How many users there are, where they are numbered."""
        return None

    def names(self, ids: Ints) -> list[bytes]:
        """The names of numbered users: their decimal digits."""
        return [b"%d" % user for user in ids.tolist()]

    def fraction(self) -> float | None:
        """How much of the source has been read, from 0 to 1; None where nobody can say."""
        return None

    @property
    def end_clock(self) -> int:
        """The T after the last event: it closes the period of the last believable event, and no later one."""
        if self._end is None:
            raise SourceError("source: the last clock is known when all batches have been taken")
        return self._end

    def complaint_lines(self) -> list[str]:
        """What was wrong, a text per reason: `json: 7 lines (line 2, 9, 12, 40, 51, ...)`; never what a line said."""
        said = []
        for reason, count in sorted(self.counts.items()):
            named = self.complaints.get(reason, [])
            lines = ", ".join(f"{line:,}".replace(",", " ") for line in named)
            more = ", ..." if count > len(named) else ""
            cut = "; the last one has no end: it may have been cut off" if self.cut_line in named else ""
            said.append(f"{reason}: {count} {'line' if count == 1 else 'lines'} (line {lines}{more}{cut})")
        return said

    def _plans(self) -> list[AnyStreamPlan]:
        return [self.plan.any_stream(name) for name in self.streams]
