# SPDX-License-Identifier: Apache-2.0
"""Source partitions that are added while a deployment runs: a place for each one's door, and who has announced itself.

Contract: the state of the doors gets the partitions that it lacks, if the brokers let this worker add them; if not, one
log line names the command that does, and only the doors that lack a place wait for it.  The door of an added partition
announces itself by a progress record of time 0; until it has, no door takes another tick, so no period closes before
its events are in `raw`.  Source: ARCHITECTURE rule 15.  Not here: what a progress record of such a partition means
(stages/closing.py), whose partitions are whose (doors.py).
"""

from __future__ import annotations

import logging
from collections.abc import Collection

from murmurate.agents.kafka.client import Admin, Client, Place
from murmurate.agents.kafka.errors import AwayError, BrokerError
from murmurate.agents.kafka.recovery import newest
from murmurate.agents.kafka.topology import Topology
from murmurate.agents.kafka.wiring import Wiring
from murmurate.agents.stages.door import clock_of
from murmurate.agents.stages.stage import Log

log = logging.getLogger("murmurate.doors")


class AddedSources:
    """What is known of the source partitions of a deployment, as of the last look. `topics`: the source topics."""

    def __init__(self, client: Client, topology: Topology, topics: Collection[str]) -> None:
        self._client, self._topology, self._topics = client, topology, sorted(topics)
        self.waiting: frozenset[Place] = frozenset()
        """Added partitions whose doors have a place and have not announced themselves."""
        self.fresh = False
        """Whether the last look found partitions that the one before it did not."""
        self.places: frozenset[Place] = frozenset()
        """Every source partition."""
        self._announced: set[Place] = set()
        self._room = 0  # partitions of the doors' state
        self._tried = 0  # how many we asked the brokers for in vain

    def wiring(self, place: Place) -> Wiring:
        """The door of a source partition."""
        return self._topology.wiring("door", Log(*place))

    def has_place(self, place: Place) -> bool:
        """Whether there is a partition for the state of its door."""
        return self.wiring(place).partition < self._room

    async def look(self, admin: Admin) -> None:
        """1. Which partitions there are. 2. A place for each. 3. Which of the added ones have announced themselves."""
        state = self.wiring(Place(self._topics[0], 0)).state.topic
        counts = await admin.partitions([*self._topics, state])
        self._room = counts.get(state, 0)
        places = {Place(topic, p) for topic in self._topics for p in range(counts.get(topic, 0))}
        self.fresh = bool(self.places) and not places <= self.places
        self.places |= places
        needed = self._topology.door_states({topic: counts.get(topic, 0) for topic in self._topics})
        if needed > self._room:
            await self._make_room(admin, state, needed)
        added = {place for place in places - self._announced if self.wiring(place).added}
        open_ = sorted(place for place in added if self.has_place(place))
        if open_:
            async with self._client.reader() as reader:
                for place in open_:
                    found = await newest(reader, self.wiring(place).state)
                    if found is not None and clock_of(found[1].small) is not None:
                        self._announced.add(place)
        self.waiting = frozenset(open_) - self._announced

    async def _make_room(self, admin: Admin, state: str, needed: int) -> None:
        """Add partitions to the state of the doors, or say once who can."""
        if self._tried == needed:
            return
        self._tried = needed
        try:
            await admin.widen(state, needed)
            reason = "they are not to be seen yet"
        except AwayError:
            raise
        except BrokerError as error:  # another worker was first, or we may not
            reason = str(error)
        self._room = (await admin.partitions([state])).get(state, self._room)
        if self._room < needed:
            log.warning(
                "%s: found %d partitions; needed %d, since a source has been given more (see `murmurate topics "
                "create`); until then the new ones are not read, and all others are (%s)",
                state, self._room, needed, reason,
            )  # fmt: skip
        else:
            log.info("partitions were added to a source: %s has %d now", state, self._room)
