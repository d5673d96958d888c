# SPDX-License-Identifier: Apache-2.0
"""A horizon: who of a stream's users tells changes of which length through T periods, and what it costs.

Contract: pure data.  Slots are dealt to cohorts by their number mod K, and within a cohort to levels in runs, so that a
user's cohort and level follow from the slot and are public.  A cohort's horizon begins at period t0 and lasts T
periods; its levels tell the nodes of a residue tree, each with a protocol of its own.  The bill of a level is the same
for all its nodes: one epsilon for the periods from its first to its last node.  Two horizons that differ in anything,
or begin at other times, have different bills.  Source: ARCHITECTURE section 5.18.  Not here: a user's state
(sessions.py), the round of a node (node.py), how many users each level gets (aggregators/trees).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.bill import Bill
from murmurate.randomizers.errors import ParameterError
from murmurate.randomizers.mechanism import whole
from murmurate.randomizers.residue_tree import ResidueTree
from murmurate.randomizers.sessions.ones import Ones
from murmurate.randomizers.sessions.protocol import Protocol
from murmurate.randomizers.terms import MAX_SLOTS
from murmurate.randomizers.views import canonical_json

MAX_COHORTS = 1 << 10


@dataclass(frozen=True, eq=False)
class Horizon:
    """The horizon of one cohort, wherever in time it begins."""

    tree: ResidueTree
    cohort: int
    """The number of this cohort, from 0."""
    cohorts: int
    """K, the number of cohorts that take turns."""
    of: int
    """S, the number of slots; those that no level has are never asked."""
    slots: tuple[int, ...]
    """The number of slots of each level in a cohort, from level 0."""
    ones: Ones
    """How a value is a vector of zeros and ones."""
    changes: int
    """The most changes that a user tells in a horizon."""
    protocols: tuple[Protocol, ...]
    """What the users of each level do, from level 0."""

    def __post_init__(self) -> None:
        whole("horizon", "cohorts", self.cohorts, 1, MAX_COHORTS)
        whole("horizon", "cohort", self.cohort, 0, self.cohorts - 1)
        whole("horizon", "changes", self.changes, 1, 1 << 12)
        if len(self.slots) != self.tree.levels or len(self.protocols) != self.tree.levels:
            found = f"slots of {len(self.slots)} levels and {len(self.protocols)} protocols"
            raise ParameterError(f"horizon: found {found}; allowed: one for each of {self.tree.levels} levels")
        for count in self.slots:
            whole("horizon", "slots", count, 1, MAX_SLOTS)
        whole("horizon", "of", self.of, 1, MAX_SLOTS)
        if sum(self.slots) > self.of // self.cohorts:
            found, allowed = f"{sum(self.slots)} slots of a cohort", f"{self.of // self.cohorts} of {self.of}"
            raise ParameterError(f"horizon: found {found}; allowed: {allowed}")
        epsilons = {protocol.epsilon_micro for protocol in self.protocols}
        if len(epsilons) > 1:
            raise ParameterError("horizon: found levels of different epsilon; allowed: one for all")
        for level, protocol in enumerate(self.protocols):
            wanted = self.ones.d, len(self.tree.nodes(level))
            if (protocol.d, protocol.nodes) != wanted or protocol.s > self.changes:
                found = f"{protocol.d} coordinates, {protocol.nodes} nodes and {protocol.s} changes"
                raise ParameterError(
                    f"horizon: level {level}: found a protocol of {found}; allowed: {wanted[0]}, {wanted[1]}, and at "
                    f"most {self.changes}"
                )

    @property
    def epsilon_micro(self) -> int:
        """The price of a transcript."""
        return self.protocols[0].epsilon_micro

    def spec(self) -> dict[str, Any]:
        """The canonical description, of words, whole numbers, lists and tables."""
        return {
            "periods": self.tree.periods,
            "fanout": self.tree.fanout,
            "every": int(self.tree.every),
            "cut": self.tree.cut,
            "cohort": self.cohort,
            "cohorts": self.cohorts,
            "of": self.of,
            "slots": list(self.slots),
            "ones": self.ones.spec(),
            "changes": self.changes,
            "epsilon_micro": self.epsilon_micro,
            "name": self.protocols[0].name,
            "levels": [protocol.parameters() for protocol in self.protocols],
        }

    @cached_property
    def digest(self) -> bytes:
        """The identity of the horizon, wherever in time it begins."""
        return hashlib.sha256(b"murmurate/horizon/1\n" + canonical_json(self.spec())).digest()

    @cached_property
    def level_of_slot(self) -> NDArray[np.int16]:
        """The level of each slot in this cohort, -1 for slots of other cohorts: int16[S]."""
        found = np.full(self.of, -1, np.int16)
        levels = np.repeat(np.arange(len(self.slots), dtype=np.int16), self.slots)
        found[self.cohort :: self.cohorts][: len(levels)] = levels
        found.flags.writeable = False
        return found

    def asked(self, level: int) -> NDArray[np.bool_]:
        """The slots of a level in this cohort: bool[S]."""
        return np.asarray(self.level_of_slot == level)

    def step_of(self, level: int, node: int) -> int:
        """The step at which a node ends, from 1."""
        return node * self.tree.span(level)

    def bill(self, first_t: int, level: int) -> Bill:
        """The bill of a level of the horizon whose first step is this period."""
        nodes = self.tree.nodes(level)
        first, last = (first_t + self.step_of(level, node) - 1 for node in (nodes[0], nodes[-1]))
        return Bill(first, last, self.identity(first_t, level), self.epsilon_micro)

    def identity(self, first_t: int, level: int) -> bytes:
        """The digest of a level of a horizon in time: what is charged once, and from which its secrets are drawn."""
        named = {"horizon": self.digest.hex(), "first_t": first_t, "level": level}
        return hashlib.sha256(b"murmurate/session/1\n" + canonical_json(named)).digest()
