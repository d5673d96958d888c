# SPDX-License-Identifier: Apache-2.0
"""What users had to tell in their sessions, told a second time: from raw values and the key, level by level.

Contract: shares no code with devices and their sessions.  Of each horizon it keeps who belonged to its population in
its first period; each of them draws the secret counters, and at each node that is asked tells what has changed between
the values of two periods, until as many changes are told as there may be.  Nodes are told in the order of their rounds.
Source: ARCHITECTURE section 5.18.  Not here: which rounds and slots (asked.py).
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.audit.people import Mask, PeopleAtPartition
from murmurate.agents.audit.user_table import Rows
from murmurate.randomizers import Key
from murmurate.randomizers.randomness import canonical_words
from murmurate.randomizers.sessions.horizon import Horizon
from murmurate.randomizers.sessions.node import Node
from murmurate.randomizers.sessions.specs import horizon_of


class LevelTold:
    """The members of one level of a horizon, and how far each of them has told."""

    def __init__(self, rows: Rows, counters: NDArray[Any], left: NDArray[np.int64]) -> None:
        self.rows, self.counters, self.left = rows, counters, left


class HorizonTold:
    """One horizon at one raw partition."""

    def __init__(self, horizon: Horizon, first_t: int, levels: dict[int, LevelTold]) -> None:
        self.horizon, self.first_t, self.levels = horizon, first_t, levels
        self._looks = [horizon.tree.looks(level) for level in range(horizon.tree.levels)]

    @property
    def last_t(self) -> int:
        """Its last period."""
        return self.first_t + self.horizon.tree.periods - 1

    def before(self, since: int) -> set[int]:
        """The periods up to `since` at whose values nodes that end later may look: of each level the newest one."""
        step = since - self.first_t + 1
        newest = ((looks, bisect_right(looks, step)) for looks in self._looks)
        return {self.first_t + looks[count - 1] - 1 for looks, count in newest if count}


class Transcripts:
    """The sessions of a stream's users at one contributor."""

    def __init__(self, key: Key, people: PeopleAtPartition) -> None:
        self._key, self._people = key, people
        self._held: dict[tuple[int, int], HorizonTold] = {}

    def told(self, node: Node, t: int, digest: bytes, allowed: Mask) -> tuple[Rows, NDArray[np.uint8]]:
        """Who has to tell this node, which ends with period t, and what: rows, and uint8[n, width].

        1. The first node's round takes in the population. 2. Who of its level may answer. 3. Their changes, lane by
        lane.
        """
        at = node.horizon.cohort, node.first_t(t)
        if node.opens and at not in self._held:
            self._begin(HorizonTold(node.horizon, t, {}))
        held = self._held.get(at)
        if held is None:
            return np.zeros(0, np.int64), np.zeros((0, node.wire_size), np.uint8)
        level, protocol, ones = held.levels[node.level], node.protocol, node.horizon.ones
        chosen = np.flatnonzero(allowed[self._people.slots[level.rows]])
        rows = level.rows[chosen]
        after = self._people.closed[t].values[rows]
        if node.begins:
            before = self._people.closed[held.first_t + node.begins - 1].values[rows]
        else:
            before = np.empty_like(after)
            before[:] = np.asarray(ones.nothing).astype(after.dtype)
        counters, left = level.counters[chosen], level.left[chosen]
        reports = np.empty((len(rows), node.wire_size), np.uint8)
        said = canonical_words(np.concatenate((_words(before), _words(after)), axis=1))
        draw = self._key.draw(self._people.users(rows), round=digest)
        for lane, words in draw.open(node.digest, said).words(protocol.tell_words, np.uint64):
            changes = ones.changes(before[lane], after[lane])
            wanted = np.abs(changes).sum(axis=1)
            over = wanted > left[lane]
            changes[over] = 0
            left[lane] = np.where(over, 0, left[lane] - wanted)
            reports[lane] = protocol.tell(counters[lane], changes, words)
        level.counters[chosen], level.left[chosen] = counters, left
        return rows, reports

    def _begin(self, held: HorizonTold) -> None:
        """Everybody in the population of the first period draws the secret counters of their level."""
        self._held[held.horizon.cohort, held.first_t] = held
        members = np.flatnonzero(self._people.closed[held.first_t].members)
        level_of = held.horizon.level_of_slot[self._people.slots[members]]
        for level, protocol in enumerate(held.horizon.protocols):
            rows = members[level_of == level]
            identity = held.horizon.identity(held.first_t, level)
            lanes = self._key.draw(self._people.users(rows), round=identity).open(identity, None, "session")
            drawn = [protocol.begin(words) for _, words in lanes.words(protocol.begin_words, np.uint64)]
            empty = protocol.begin(np.zeros((0, protocol.begin_words), np.uint64))
            held.levels[level] = LevelTold(rows, np.concatenate([empty, *drawn]), np.full(len(rows), protocol.s))

    def needed(self, since: int) -> set[int]:
        """The closed periods at whose values nodes that end after this period may look."""
        if not self._held:
            return set()
        later = {t for t in self._people.closed if t > since}
        return later.union(*(held.before(since) for held in self._held.values()))

    def forget(self, t: int) -> None:
        """Let go of the horizons that end with this period or before it."""
        self._held = {at: held for at, held in self._held.items() if held.last_t > t}

    def state(self) -> list[Any]:
        """Everything, for a checkpoint."""
        return [
            (held.horizon.spec(), held.first_t,
             {level: (one.rows, one.counters, one.left) for level, one in held.levels.items()})
            for held in self._held.values()
        ]  # fmt: skip

    def load(self, state: list[Any]) -> None:
        """Take over a state."""
        for spec, first_t, levels in state:
            horizon = horizon_of(spec)
            held = HorizonTold(horizon, first_t, {level: LevelTold(*one) for level, one in levels.items()})
            self._held[horizon.cohort, first_t] = held


def _words(values: NDArray[Any]) -> NDArray[np.uint32]:
    rows = values.astype(np.int64).astype(np.uint32)
    return rows[:, np.newaxis] if rows.ndim == 1 else rows
