# SPDX-License-Identifier: Apache-2.0
"""What metrics take from a committed transaction: the counts that a stage keeps, and the messages that it wrote.

Contract: counts only grow while a stage lives, and whoever takes them compares with those at its recovery.  Not here:
what is made of them (metrics.py, late_share.py).
"""

from __future__ import annotations

from collections import Counter as Count
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Protocol, runtime_checkable

import orjson

from murmurate.agents.kafka.task import Task
from murmurate.agents.stages.aggregate import Aggregate
from murmurate.agents.stages.curate import Curate
from murmurate.agents.stages.door import Door
from murmurate.agents.stages.perturb import Perturb
from murmurate.agents.stages.publish import Publish
from murmurate.agents.stages.shuffle import Shuffle
from murmurate.agents.stages.stage import Out
from murmurate.topics.block import MAGIC

JUDGED: Final = "judged"
"""The name of a door's count of events whose times it has judged."""


@runtime_checkable
class HoldsLedger(Protocol):
    """A stage that shows the contents of its ledger."""

    @property
    def users(self) -> int:
        """In the ledger."""
        ...

    @property
    def most_spent_micro(self) -> Mapping[str, int]:
        """For each stream, the largest window of any user, ever."""
        ...

    @property
    def initial(self) -> Mapping[str, int]:
        """For each stream whose values stand for ever, how many users count as its initial value."""
        ...


def counts(task: Task) -> Count[Any]:
    """The counts of the stage that none of its records contain."""
    match task.stage:
        case Door() as stage:
            return Count(stage.counts) + Count({(stream, JUDGED): n for stream, n in stage.judged.items()})
        case Curate() | Shuffle() | Aggregate() as stage:
            return Count(stage.counts)
        case Perturb() as stage:
            found: Count[Any] = Count({("event", key): n for key, n in stage.edge_counts.items()})
            found.update({("refusal", key): n for key, n in stage.refusals.items()})
            return found
        case Publish() as stage:
            return Count(stage.given_up)
        case _:
            return Count()


def messages(out: Iterable[Out], topic: str) -> Iterator[dict[str, Any]]:
    """The messages among the records for a topic, as the stage wrote them."""
    for to, value, *_ in out:
        if to.topic == topic and not value.startswith(MAGIC):
            yield orjson.loads(value)
