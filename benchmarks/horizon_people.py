# SPDX-License-Identifier: Apache-2.0
"""The filter behind horizons with few users, each of whom is followed: what is asked of them is the product's own.

`python -m benchmarks.horizon_people 64 2 4 800` has, for T = w periods, s changes, d values and n users, on each kind
of stream of agents/simulate/stream_kinds.py, four horizons of five seeds: the mean squared error of the filter over
that of the method's own series, and the shares of truths within two standard errors of both.  Every user has a slot, a
place in the order of users and so a value, and moves when shares do: whoever is drawn for a level tells all of its
nodes, so nodes have the sampling errors of the same users.  The truth is the share among all users.  Reports are drawn
from their laws, coordinate by coordinate; clamping is left out.  Not here: many users (horizon_filter.py).
"""

from __future__ import annotations

import hashlib
import sys
from typing import Any

import numpy as np

from murmurate.agents.simulate.stream_kinds import KINDS
from murmurate.aggregators.measures.frequency import Frequency
from murmurate.aggregators.methods.method import Answer, Request, Setting
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.aggregators.methods.registry import method
from murmurate.randomizers.sessions.node import Node

Floats = np.ndarray
SEEDS, HORIZONS, SLOTS = 5, 4, 16_384


def counted(node: Node, before: np.ndarray, after: np.ndarray, rng: np.random.Generator) -> Answer:
    """What users with these values before and after would be counted as: int[n], each up to d - 1, or -1 for none."""
    own, opposite, absent = map(float, node.protocol.supports)
    laws = {1: (own, opposite), -1: (opposite, own), 0: (absent, absent)}
    support = np.zeros((2, node.statistics), np.int64)
    for value in range(node.statistics):
        change = (after == value).astype(np.int64) - (before == value)
        for sign, (up, down) in laws.items():
            support[:, value] += rng.multinomial(int((change == sign).sum()), (up, down, max(0.0, 1 - up - down)))[:2]
    return Answer(support.ravel(), len(before))


def errors(values: np.ndarray, periods: int, changes: int, d: int, seed: int) -> Floats:
    """Squared errors and variances, of the own series and of the filter: float64[4, t, d], from int[t, n]."""
    rng, users = np.random.default_rng(seed), values.shape[1]
    key = hashlib.sha256(b"%d" % seed).digest()
    setting = Setting(Frequency.of_size(d, says_none=False), 10**6, periods, SLOTS, first_t=0, seed=key, min_batch=100)
    options: dict[str, Any] = {"horizon": str(periods), "changes": str(changes), "users": str(users)}
    machine, slots = method(MethodOptions("sao2", **options, filter="adaptive"), setting), rng.integers(0, SLOTS, users)
    found = np.full((4, len(values), d), np.nan)
    for t, now in enumerate(values):
        step = machine.open(t)
        while isinstance(step, Request):
            node = step.question
            assert isinstance(node, Node)
            assert step.asked is not None
            of = step.asked[slots]
            begins = node.first_t(t) + node.begins - 1
            before = values[begins] if node.begins else np.full(users, -1)
            step = machine.tally(counted(node, before[of], now[of], rng))
        truth = np.bincount(now, minlength=d) / users
        best = step.vector.best
        if best is not None:
            found[:, t] = ((step.vector.unbiased - truth) ** 2, step.vector.variance,
                           (best.statistics - truth) ** 2, best.variance)  # fmt: skip
    return found


def kinds(periods: int, changes: int, d: int, users: int) -> None:
    """The table of kinds."""
    print(f"filter / sao2, T = {periods}, s = {changes}, d = {d}, {users} users: ratio of mean squared errors, and")
    print("truths within two standard errors, with the filter and without")
    for name, shares in KINDS.items():
        each = []
        for seed in range(SEEDS):
            rng = np.random.default_rng([seed, 6, *name.encode()])
            edges = np.cumsum(shares(rng, HORIZONS * periods, d), axis=1)[:, :-1]
            place = rng.random(users)
            values = (place[np.newaxis, :, np.newaxis] > edges[:, np.newaxis, :]).sum(axis=2)
            each.append(errors(values, periods, changes, d, seed))
        plain, variance, best, said = np.stack(each, axis=1)
        print(f"  {name:12}{np.nanmean(best) / np.nanmean(plain):6.2f} {(best <= 4 * said).mean():7.1%} "
              f"{(plain <= 4 * variance).mean():7.1%}", flush=True)  # fmt: skip


if __name__ == "__main__":
    kinds(*([int(float(word)) for word in sys.argv[1:]] or (64, 2, 4, 800)))
