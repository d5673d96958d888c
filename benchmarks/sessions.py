# SPDX-License-Identifier: Apache-2.0
"""Answers of nodes a second of one core's time, keyed words included, and reports counted.

`python -m benchmarks.sessions` takes level 0 of 128 periods (64 nodes), 16 coordinates, 8 changes that lie anywhere and
epsilon 1, and of each protocol the quickest stretch of four nodes.  Processor time; nothing is asserted.  Then what a
user's counters take, and how long the protocols of all levels of a long horizon take to be built.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from benchmarks.measure import Row, at_least, at_most, heading, line
from benchmarks.questions import least_seconds
from murmurate.randomizers.randomness import Key, contexts
from murmurate.randomizers.residue_tree import ResidueTree
from murmurate.randomizers.sessions.protocol import Protocol
from murmurate.randomizers.sessions.protocols import PROTOCOLS, protocol

N, D, S, PERIODS, EPSILON, STRETCH = 1 << 16, 16, 8, 128, 1.0, 4
KEY, USERS = Key(bytes(range(32)), deployment="bench"), contexts(np.arange(N), part=3)
CASES = {**{name: (name, {"s": S}) for name in PROTOCOLS}, "  its majority": ("exsub_online", {"s": S, "tau": 1})}


def told(made: Protocol) -> Iterator[np.ndarray]:
    """The reports of all users, node by node."""
    rng = np.random.default_rng(1)
    counters = np.concatenate([made.begin(np.zeros((1, made.begin_words), np.uint64))] * N)
    for rows, words in (
        KEY.draw(USERS, round=bytes(32)).open(bytes(32), None, "branch").words(made.begin_words, np.uint64)
    ):
        counters[rows] = made.begin(words)
    when = rng.permuted(np.tile(np.arange(made.nodes * D), (N // 64, 1)), axis=1)[:, :S]  # of one user in 64
    signs = rng.choice(np.array([-1, 1], np.int8), when.shape)
    for node in range(made.nodes):
        changes = np.zeros((N // 64, D), np.int8)
        user, which = np.nonzero(when // D == node)
        changes[user, when[user, which] % D] = signs[user, which]
        changes = np.tile(changes, (64, 1))
        reports = np.empty((N, made.wire_size), np.uint8)
        start = time.process_time()
        lanes = KEY.draw(USERS, round=bytes([node]) * 32).open(bytes(32), changes.view(np.uint8), "report")
        for rows, words in lanes.words(made.tell_words, np.uint64):
            reports[rows] = made.tell(counters[rows], changes[rows], words)
        SPENT.append(time.process_time() - start)
        yield reports


SPENT: list[float] = []
"""The seconds of each node."""


def rows() -> Iterator[Row]:
    nodes = len(ResidueTree(PERIODS, 2).nodes(0))
    for what, (name, parameters) in CASES.items():
        made = protocol(name, D, nodes, EPSILON, parameters)
        SPENT.clear()
        for reports in told(made):
            counted = reports
        stretches = [sum(SPENT[at : at + STRETCH]) for at in range(0, nodes, STRETCH)]
        yield at_least(what, STRETCH * N / min(stretches), 1e6)
        seconds = least_seconds(lambda: made.support(counted))  # noqa: B023
        yield at_least("  counted", N / seconds, 4.5e6)
        if name == "exsub_online":
            yield at_most("  counters of a user", made.counters * 2, 40, "B")
    yield at_most("all levels, d=16, T=8192", least_seconds(built), 0.5, "s")


def built() -> None:
    """Build ExSub online for every level of a long horizon, with the best m of each."""
    tree = ResidueTree(8192, 2)
    for level in range(tree.levels):
        nodes = len(tree.nodes(level))
        protocol("exsub_online", D, nodes, EPSILON, {"s": min(S, D * nodes)})


if __name__ == "__main__":
    print(heading())
    for row in rows():
        print(line(row))
