# SPDX-License-Identifier: Apache-2.0
"""Which rounds can be judged: those of which it is known who had to answer, and of which everything is still there.

Contract: where the logs do not go back to their beginning, a stream's rounds are judged from the first period on whose
users, and the answers in whose windows, have all come since.  A node is judged if its horizon's first round is.  Not
here: from when on that is known of users (people.py) and slots (asked.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from murmurate.agents.audit.asked import AskedRound, AskedSlots
from murmurate.agents.audit.people import PeopleAtPartition
from murmurate.randomizers.sessions.node import Node

HorizonAt = tuple[str, int, int]
"""A stream, a cohort and a first period."""


class KnownRounds:
    """What can be judged of one deployment. covers: whether everything of a round is still there."""

    def __init__(
        self, people: Mapping[tuple[str, int], PeopleAtPartition], slots: Mapping[str, AskedSlots], *,
        all_people: bool, short: bool, covers: Callable[[str], bool],
    ) -> None:  # fmt: skip
        self._people, self._slots, self._all_people, self._covers = people, slots, all_people, covers
        self.since: dict[str, int | None] = dict.fromkeys(slots) if short else {}
        """Per stream the first period that is judged, where the logs do not go back to the beginning; None while that
        is not known.
        """
        self.begun = not short
        """Whether a first pass is over; until then a report may be of a round that the logs have forgotten."""
        self.skipped: dict[str, HorizonAt | None] = {}
        """Rounds of which not everything is there; of a node also its horizon."""

    def skips(self, asked: AskedRound) -> bool:
        """Whether not everything of a round is there any more, which is noted."""
        if self._covers(asked.digest):
            return False
        self.skipped[asked.digest] = _horizon(asked)
        return True

    def judges(self, asked: AskedRound) -> bool:
        """Whether it is known who had to answer."""
        stream, horizon = asked.round.stream, _horizon(asked)
        if not self._all_people or not asked.known or (horizon is not None and horizon in self.skipped.values()):
            return False
        if stream not in self.since:
            return True
        since = self._since(stream)
        return since is not None and (asked.round.t if horizon is None else horizon[2]) >= since

    def _since(self, name: str) -> int | None:
        if self.since[name] is None:
            known = [people.known_from for (of, _), people in self._people.items() if of == name]
            asked = self._slots[name].known_from
            if asked is not None and all(t is not None for t in known):
                self.since[name] = max(asked, *(t for t in known if t is not None))
        return self.since[name]


def _horizon(asked: AskedRound) -> HorizonAt | None:
    """The horizon that a node belongs to."""
    node = asked.question
    if not isinstance(node, Node):
        return None
    return asked.round.stream, node.horizon.cohort, node.first_t(asked.round.t)
