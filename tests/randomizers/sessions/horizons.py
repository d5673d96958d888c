# SPDX-License-Identifier: Apache-2.0
"""Horizons, and guards that answer their nodes, for the tests of sessions: real devices, ledgers and keys."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers import Ask, Device, DeviceArray, Grant
from murmurate.randomizers.residue_tree import ResidueTree
from murmurate.randomizers.sessions import Category, Horizon, Ones
from murmurate.randomizers.sessions.node import Node
from murmurate.randomizers.sessions.protocols import protocol
from murmurate.randomizers.terms import StreamTerms, Terms
from tests.randomizers.guards import SECRETS

EPSILON = Fraction(2)
STREAM = "screen"


def horizon(
    periods: int = 8,
    fanout: int = 2,
    *,
    every: bool = False,
    cohort: int = 0,
    cohorts: int = 2,
    each: int = 2,
    of: Ones | None = None,
    changes: int = 3,
    name: str = "exsub_online",
    parameters: dict[str, Any] | None = None,
) -> Horizon:
    """A horizon in which every level has `each` slots of its cohort."""
    tree, ones = ResidueTree(periods, fanout, every), of or Category(4, none=True)
    levels = []
    for level in range(tree.levels):
        nodes = len(tree.nodes(level))
        s = min(changes, ones.most_changes * nodes)
        levels.append(protocol(name, ones.d, nodes, EPSILON, {"s": s, **(parameters or {})}))
    slots = (each,) * tree.levels
    return Horizon(tree, cohort, cohorts, cohorts * sum(slots), slots, ones, changes, tuple(levels))


def terms(made: Horizon, w: int) -> Terms:
    """The promise of a deployment with this stream alone."""
    stream = StreamTerms(STREAM, 1_000_000, w, made.of, "population", made.ones.layout)
    return Terms("shop", made.epsilon_micro, (stream,))


def ask(made: Horizon, first_t: int, level: int, node: int) -> Ask:
    """The round of a node, in a horizon that begins at first_t."""
    question = Node(made, level, node)
    t = first_t + question.step - 1
    named = f"{question.digest.hex()} {t}".encode()
    return Ask(STREAM, t, made.of, made.asked(level), question, hashlib.sha256(named).digest())


class Crowd:
    """The same users guarded one by one and all together, and what they said."""

    def __init__(self, made: Horizon, users: NDArray[np.uint8], *, w: int = 5) -> None:
        self.terms = terms(made, w)
        self.array = DeviceArray(self.terms, STREAM, SECRETS)
        self.array.enrol(users)
        self.devices = [Device(self.terms, user.tobytes(), SECRETS) for user in users]
        self.said: list[tuple[int, int, NDArray[np.uint8]]] = []

    def round(self, one: Ask, values: Any, members: NDArray[np.bool_] | None = None) -> NDArray[np.uint8] | None:
        """The reports of a round, which one device and all of them together must give alike; None where refused."""
        grant = self.array.charge(one)
        alone = [device.answer(one, value, now=1 << 40) for device, value in zip(self.devices, values, strict=True)]
        told = [(row, answer) for row, answer in enumerate(alone) if isinstance(answer, bytes)]
        if not isinstance(grant, Grant):
            assert not told
            return None
        rows, _, reports = self.array.answer(grant, np.asarray(values), members)
        if members is None:
            assert [(row, report.tobytes()) for row, report in zip(rows.tolist(), reports, strict=True)] == told
        return reports

    def look(self, t: int, values: Any) -> None:
        """Read everybody's values of a period, and go on with what is over."""
        self.array.look(t, np.asarray(values))
        self.array.end_sessions(t)
        for device, value in zip(self.devices, values, strict=True):
            device.look(STREAM, t, value)

    def crash(self) -> None:
        """Go on from snapshots."""
        self.array = DeviceArray.restore(self.array.snapshot(), self.terms, STREAM, SECRETS)
        self.devices = [Device.restore(device.snapshot(), self.terms, device._user, SECRETS) for device in self.devices]
