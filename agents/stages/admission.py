# SPDX-License-Identifier: Apache-2.0
"""Which events come in, and as what: one rule for the door and for a replay.

Contract: 1. An event is late if its period was over, lateness included, at the clock before it, and from the future if
it lies further ahead than `future` of the clock that covers it: both kinds are counted and dropped.  2. Of a list with
too many items those stay whose keyed ranks are smallest, a function of user and item alone: a user keeps the same ones
in every period.  3. What is left goes to the raw partition of its user, in blocks.  Whether an event is admitted, and
where it goes, does not depend on its value.  Counts of raw events are for the edge alone.  Not here: reading events
(topics/events.py), clocks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.stages.closing import ahead, late
from murmurate.agents.stages.ordering import by_target
from murmurate.agents.stages.stage import Log, Out
from murmurate.config.plan import AnyStreamPlan, Plan
from murmurate.randomizers import Pepper
from murmurate.randomizers.identity import partitions
from murmurate.topics.block import encode_raw
from murmurate.topics.domains import Domain, Words
from murmurate.topics.names import stream_id

Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]
Values = NDArray[np.uint32]


class Admission:
    """Admits the events of one source."""

    def __init__(self, plan: Plan, pepper: Pepper) -> None:
        self._plan, self._pepper = plan, pepper
        self.counts: Counter[tuple[str, str]] = Counter()
        """(stream, late | future | cut) -> events: the first two are dropped; of the third some items were cut."""
        self.judged: Counter[str] = Counter()
        """For each stream, the events whose times were judged."""

    def admit(
        self, stream: AnyStreamPlan, users: Bytes, times: Ints, values: Values, long: Mapping[int, Words],
        *, before: int | None, now: int,
    ) -> Sequence[Out]:  # fmt: skip
        """The admitted events of one stream as raw records. long: rows whose lists have too many items, with all of
        their words. before: the clock before the events, None before the first; now: the one that covers them.
        """
        too_late, too_early = late(self._plan, stream, times, before), ahead(self._plan, times, now)
        self.judged[stream.name] += len(times)
        self.counts[stream.name, "late"] += int(too_late.sum())
        self.counts[stream.name, "future"] += int(too_early.sum())
        good = ~(too_late | too_early)
        long = {row: words for row, words in long.items() if good[row]}
        if long:
            self.counts[stream.name, "cut"] += len(long)
            values = cut(stream.domain, self._pepper, users, values, long)
        if not good.all():
            users, times, values = users[good], times[good], values[good]
        return raw_records(self._plan, stream.name, users, times, values) if len(users) else ()


def cut(domain: Domain, pepper: Pepper, users: Bytes, values: Values, long: Mapping[int, Words]) -> Values:
    """The values, with the lists that had too many items cut to their length."""
    rows = np.array(sorted(long), np.int64)

    def ranks(owner: Ints, items: Ints) -> NDArray[np.uint64]:
        return pepper.ranks(users[rows[owner]], items)

    found = domain.cut([long[row] for row in rows.tolist()], ranks)
    values = values.copy()
    values[rows] = found.reshape(len(rows), *values.shape[1:])
    return values


def raw_records(plan: Plan, stream: str, users: Bytes, times: Ints, values: Values) -> Sequence[Out]:
    """Events of one stream as blocks, each for the raw partition of its users."""
    if plan.partitions == 1:
        parts: Iterable[NDArray[Any] | slice] = [slice(None)]
    else:
        parts = by_target(partitions(users, plan.partitions), plan.partitions)
    identity = stream_id(stream)
    return [
        Out(Log("raw", p), block)
        for p, mine in enumerate(parts)
        if len(users[mine])
        for block in encode_raw(identity, users[mine], times[mine], values[mine])
    ]
