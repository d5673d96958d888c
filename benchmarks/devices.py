# SPDX-License-Identifier: Apache-2.0
"""A round folded by the guards of a million users: who answers, booked and listed by row.

65 536 slots (the most there can be), w = 20.  Population division asks one slot in 20 each period, budget division asks
everybody for a twentieth of epsilon.  Every repetition is the next period, since a period is charged once.
"""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from benchmarks.measure import Row, at_most, best_seconds
from murmurate.randomizers import GRR, Ask, DeviceArray, Grant, Key, Secrets
from murmurate.randomizers.randomness import contexts
from murmurate.randomizers.terms import Division, StreamTerms, Terms

USERS, SLOTS, W = 1_000_000, 1 << 16, 20


def rows() -> Iterator[Row]:
    yield decided("population", 5)
    yield decided("budget", 20)


def decided(division: Division, target_ms: float) -> Row:
    """A round's decision for all users, by one way to divide the promise."""
    name, d = "screen", 16
    stream = StreamTerms(name, share_micro=1_000_000, w=W, slots=SLOTS, division=division, layout=("code", d))
    key = Key(bytes(range(32)), deployment="bench")
    guards = DeviceArray(Terms("bench", 1_000_000, (stream,)), name, Secrets(key, key, key))
    guards.enrol(contexts(np.arange(USERS)))
    mechanism = GRR(d=d, epsilon=1 if division == "population" else Fraction(1, W))
    groups = [np.arange(SLOTS) % W == turn for turn in range(W)] if division == "population" else [None]
    t = 0

    def next_period() -> None:
        nonlocal t
        t += 1
        mask = groups[t % len(groups)]
        grant = guards.charge(Ask(name, t, SLOTS, mask, mechanism, t.to_bytes(32, "little")))
        assert isinstance(grant, Grant)
        assert len(guards.rows(grant)) > USERS // (2 * len(groups))

    took = best_seconds({"round": next_period})["round"]
    return at_most(f"1 M users, {division}", took * 1000, target_ms, "ms")
