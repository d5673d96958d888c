"""Which rounds a raw partition hears at all, and which it refuses whole before it looks at any slot.

Contract: shares no code with the stages.  A round about a period that is over by then, settled or before the stream's
start, is as if it had not been asked: nobody answers, and no `done` says so.  One of another config, for other
partitions, or about a period too far ahead is refused for everybody, costs nothing, and ends with empty `done` records.
Both follow from `rounds` alone.  Not here: what slots may pay (auditor.py), sessions (transcripts.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from murmurate.config.plan import Plan
from murmurate.topics.block import Block
from murmurate.topics.message import Message
from murmurate.topics.messages import Round, Settled, Start

AHEAD = 8
"""The periods beyond a window that a round may ask ahead of what is settled."""


class HeardRound(NamedTuple):
    """A round that is heard."""

    number: int
    """The number of the round in the log."""
    round: Round
    fits: bool
    """Whether it is for this deployment, and about a period near enough."""


def heard(plan: Plan, records: Iterable[tuple[int, Block | Message]]) -> Iterator[HeardRound]:
    """The rounds of `rounds`, but for those that are about what is over."""
    streams = {stream.name: stream for stream in plan.streams}
    first: dict[str, int] = {}
    settled: dict[str, int] = {}
    told = set[str]()
    for number, record in records:
        match record:
            case Start():
                first.setdefault(record.stream, record.t)
            case Settled():
                settled[record.stream] = max(record.t, settled.get(record.stream, -1))
            case Round() if (digest := record.digest.hex()) in told:
                pass  # it was answered once
            case Round() if record.t > settled.get(record.stream, -1) and record.t >= first.get(record.stream, 0):
                told.add(digest)
                stream = streams.get(record.stream)
                open_t = max(first.get(record.stream, 0), settled.get(record.stream, -1) + 1)
                fits = stream is not None and (
                    record.t <= open_t + AHEAD + stream.w
                    and (record.config, record.revision) == (stream.config, stream.revision)
                    and (record.contributors, record.slots.of) == (plan.partitions, stream.slots)
                    and record.targets <= plan.targets
                )
                yield HeardRound(number, record, fits)
            case _:
                pass
