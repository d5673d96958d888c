# SPDX-License-Identifier: Apache-2.0
"""What sessions of a million users take: node answers a second through DeviceArray, bytes of state and of snapshots.

`python -m benchmarks.session_states [USERS]` opens a horizon of 128 periods for users of 16 values and 8 changes at
epsilon 1, in two cohorts, answers the nodes of its first 16 periods, and prints what a second of processor time
answers (ledger, slots and session included), what a user's session takes, and how much a snapshot grows by it.  A
snapshot is never older than about a minute of running (agents/kafka).  Nothing is asserted.  Not here: protocols
alone (sessions.py).
"""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from benchmarks.measure import Row, at_least, at_most, heading, line
from murmurate.aggregators.trees.residue_portions import ResidueTask, best_tree
from murmurate.randomizers import Ask, DeviceArray, Grant, Key
from murmurate.randomizers.guard import Secrets
from murmurate.randomizers.sessions import Category, Horizon
from murmurate.randomizers.sessions.node import Node
from murmurate.randomizers.sessions.protocols import protocol
from murmurate.randomizers.terms import StreamTerms, Terms

PERIODS, D, CHANGES, COHORTS, EPSILON = 128, 16, 8, 2, 1.0
LOOKED = 16
"""The periods of which nodes are answered."""
SECRETS = Secrets(*(Key(bytes(range(i, i + 32)), deployment="bench") for i in range(3)))


def horizon() -> Horizon:
    """The horizon of the first cohort, its slots by the best portions."""
    of, task = Category(D + 1, none=True), ResidueTask(D, CHANGES, 2, int(EPSILON * 10**6))
    dealt = best_tree(PERIODS, 2, task)
    slots = tuple(max(1, round(1_000 * share)) for share in dealt.portions)
    protocols = tuple(
        protocol("exsub_online", D, level.nodes, Fraction(EPSILON), {"s": level.changes, "m": level.m})
        for level in dealt.levels
    )
    return Horizon(dealt.tree, 0, COHORTS, COHORTS * sum(slots), slots, of, CHANGES, protocols)


def rows(users: int) -> Iterator[Row]:
    """1. Enrol. 2. Answer the nodes of the first periods. 3. What is held."""
    start = time.process_time()
    made = horizon()
    portions_s = time.process_time() - start

    # 1. everybody, in all cohorts
    stream = StreamTerms("stage", 1_000_000, PERIODS, made.of, "population", made.ones.layout)
    array = DeviceArray(Terms("bench", made.epsilon_micro, (stream,)), "stage", SECRETS)
    rng = np.random.default_rng(1)
    array.enrol(rng.integers(0, 256, (users, 16), np.uint8))
    before = len(array.snapshot())

    # 2. values of which one in sixteen changes in a period
    values, told, taken = rng.integers(0, D + 1, users), 0, 0.0
    for t in range(1, LOOKED + 1):
        moved = rng.random(users) < 1 / 16
        values = np.where(moved, rng.integers(0, D + 1, users), values)
        for level, number in made.tree.ending(t):
            node = Node(made, level, number)
            digest = hashlib.sha256(node.digest + b"%d" % t).digest()
            ask = Ask("stage", t, made.of, made.asked(level), node, digest)
            start = time.process_time()
            grant = array.charge(ask)
            assert isinstance(grant, Grant)
            told += len(array.answer(grant, values).reports)
            taken += time.process_time() - start
        start = time.process_time()
        array.look(t, values)
        taken += time.process_time() - start

    # 3. arrays of sessions beside all else
    held = sum(found.nbytes for found in array._sessions.arrays().values())
    begun = sum(len(rows_) for one in array._sessions._held.values() for rows_ in one.rows)
    after = len(array.snapshot())
    yield at_least("node answers/s, all included", told / taken, 1e6)
    yield at_most("state of a session, a user", held / begun, 40 + D, "B")
    yield at_most("snapshot, one a minute", after / 1e6 / 60, 2, "MB/s")
    yield at_most("  that of sessions", (after - before) / 1e6 / 60, 2, "MB/s")
    yield at_most("portions, m and protocols", portions_s, 0.5, "s")


if __name__ == "__main__":
    print(heading())
    for row in rows(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000):
        print(line(row), flush=True)
