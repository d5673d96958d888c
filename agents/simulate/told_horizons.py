# SPDX-License-Identifier: Apache-2.0
"""Whole horizons of keyed devices at a small size, and how their errors compare with exact variances.

Contract: the same seed gives the same reports, since all coins come from keys.  Users hold one of d values or none, and
move at random times; every round of a horizon is charged, answered and counted by the product's own code, from
`DeviceArray` to `ResidueEstimates`.  A node's error is that of its own users' mean change, whose variance is exact.
Not here: large sizes, by exact variances and normal errors (residue_errors.py).
"""

from __future__ import annotations

import hashlib
from fractions import Fraction
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.trees import NodeEstimate, ResidueEstimates
from murmurate.errors import MurmurateError
from murmurate.randomizers import Ask, DeviceArray, Grant, Key, Secrets
from murmurate.randomizers.residue_tree import ResidueTree
from murmurate.randomizers.sessions import Category, Horizon
from murmurate.randomizers.sessions.node import Node
from murmurate.randomizers.sessions.protocols import protocol
from murmurate.randomizers.terms import StreamTerms, Terms

STREAM: Final = "reproduce"
CODES: Final = 9
"""Eight values and none."""
MOVES: Final = 2
PERIODS: Final = 16
SLOTS_A_LEVEL: Final = 64


class ToldErrors(NamedTuple):
    """Mean squares of errors, each over its exact variance: 1 is what is expected."""

    nodes: float
    """Over all nodes and coordinates."""
    values: float
    """Over all periods and coordinates: values by least squares, whose users were drawn from all."""
    numbers: int
    """How many errors of nodes there are."""


def told_errors(name: str, epsilon: Fraction, users: int, seed: int) -> ToldErrors:
    """The errors of a horizon of 16 periods that so many users tell by a protocol of the product.

    1. Users, their values, and the horizon. 2. Round by round: ask, answer, count. 3. Values from all nodes so far.
    """
    # 1. values: int[T + 1, users], none before the first period
    tree, ones = ResidueTree(PERIODS, 2, every=True), Category(CODES, none=True)
    changes = 1 + 2 * MOVES
    protocols = tuple(
        protocol(name, ones.d, len(tree.nodes(level)), epsilon, {"s": min(changes, 2 * len(tree.nodes(level)))})
        for level in range(tree.levels)
    )
    slots = (SLOTS_A_LEVEL,) * tree.levels
    horizon = Horizon(tree, 0, 1, sum(slots), slots, ones, changes, protocols)
    values = _moving(users, np.random.default_rng([seed, users]))
    devices = _enrolled(horizon, users, seed)
    estimates, nodes, told_values = ResidueEstimates(tree, ones.d), [], []
    for step in range(1, PERIODS + 1):
        told = []
        for level, node in tree.ending(step):
            # 2. one round
            question = Node(horizon, level, node)
            digest = hashlib.sha256(f"{seed} {level} {node}".encode()).digest()
            grant = devices.charge(Ask(STREAM, step - 1, horizon.of, horizon.asked(level), question, digest))
            if not isinstance(grant, Grant):
                raise MurmurateError(f"reproduce: round of level {level}, node {node}: found a refusal: {grant.why}")
            rows, _, reports = devices.answer(grant, values[step])
            moved = ones.changes(values[question.begins][rows], values[step][rows])
            estimate = question.estimate(question.support(reports), len(rows))
            share = np.abs(moved).mean(axis=0)
            exact = question.variance(len(rows), share)
            nodes.append((estimate - moved.mean(axis=0)) ** 2 / exact)
            sampled = (share - moved.mean(axis=0) ** 2) * (1 / len(rows) - 1 / users)
            told.append(NodeEstimate(level, node, estimate, question.moments()[0] / len(rows), exact + sampled))
        devices.look(step - 1, values[step])
        # 3. a value
        closed = estimates.close(told)
        true = ones.vectors(values[step]).mean(axis=0)
        told_values.append((closed.estimate - true) ** 2 / closed.variance)
    every = np.concatenate(nodes)
    return ToldErrors(float(every.mean()), float(np.concatenate(told_values).mean()), len(every))


def _moving(users: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Values that begin at random and move at MOVES random later steps: int[T + 1, users]."""
    values = np.full((PERIODS + 1, users), CODES - 1)
    values[1:] = generator.integers(0, CODES - 1, users)
    when = generator.permuted(np.tile(np.arange(2, PERIODS + 1), (users, 1)), axis=1)[:, :MOVES]
    for step in range(2, PERIODS + 1):
        moves = (when == step).any(axis=1)
        values[step] = np.where(moves, (values[step - 1] + generator.integers(1, CODES - 1, users)) % (CODES - 1),
                                values[step - 1])  # fmt: skip
    return values


def _enrolled(horizon: Horizon, users: int, seed: int) -> DeviceArray:
    """The devices of so many users, with keys of this seed."""
    stream = StreamTerms(STREAM, 1_000_000, 1, horizon.of, "population", horizon.ones.layout)
    devices = DeviceArray(Terms(STREAM, horizon.epsilon_micro, (stream,)), STREAM, Secrets(*_keys(seed)))
    rows: NDArray[Any] = np.zeros((users, 16), np.uint8)
    rows[:, :8] = np.arange(users).view(np.uint8).reshape(users, 8)
    devices.enrol(rows)
    return devices


def _keys(seed: int) -> list[Key]:
    return [
        Key(hashlib.sha256(f"{STREAM} sao2 {part} {seed}".encode()).digest(), deployment=STREAM)
        for part in ("randomness", "slots", "split")
    ]
