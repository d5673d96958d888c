# SPDX-License-Identifier: Apache-2.0
"""What queries say of sums over a horizon's releases, by what its users are divided for, and how large the errors are.

`python -m benchmarks.horizon_sums` prints, for each goal of `for`, the standard error of a period, and that of sums
over the first periods of a horizon and over any stretch of two horizons: what `murmurate query` says of them, how large
their errors were, and what would be said if the releases' errors were independent.  `revised` prints the errors of sums
of what is released while a horizon runs, and of what is known after it, by noise alone, and `seconds` how long answers
take.  Not here: how the method compares with others (horizons.py).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from time import process_time
from typing import Any

import numpy as np

from benchmarks.horizons import decisions, rising
from murmurate.aggregators.measures.mean import Mean
from murmurate.aggregators.methods.horizons import SaO2
from murmurate.aggregators.methods.method import Setting
from murmurate.aggregators.queries import ReleaseIndex, answer
from murmurate.aggregators.trees.residue import NodeEstimate, ResidueEstimates
from murmurate.aggregators.trees.residue_portions import GOALS
from murmurate.aggregators.trees.residue_squares import ResidueSquares
from murmurate.aggregators.trees.residue_sums import OnlineSums
from murmurate.randomizers.sessions.node import Node
from murmurate.topics.times import instant
from tests.aggregators.queries.made import EVERY_MS, START_T, local

USERS, W, RUNS, STRETCHES = 10**6, 128, 100, 10
MANY, LONG = 64, 8_192


def records(goal: str, share: np.ndarray, seed: int) -> Iterator[dict[str, Any]]:
    """The releases of a run, with what queries read of them."""
    for one in decisions(USERS, W, share, seed, goal=goal):
        assert one.horizon is not None
        assert one.measured_t is not None
        value, error = (one.vector.unbiased[0] + 1) / 2, one.vector.measured_variance[0] ** 0.5 / 2
        record = local(START_T + one.t, {"bit": round(float(value), 6)}, {"bit": round(float(error), 6)}, method="sao2")
        step = one.horizon.model_copy(update={"first_t": START_T + one.horizon.first_t})
        yield record | {"horizon": step.model_dump(exclude_defaults=True)}


def index(found: Iterable[dict[str, Any]]) -> ReleaseIndex:
    """These releases, to be asked."""
    of = ReleaseIndex()
    for record in found:
        of.add(record)
    return of


def asked(of: ReleaseIndex, low: int, high: int) -> tuple[float, float]:
    """The sum over the periods low..high-1, and its standard error."""
    first, end = (instant((START_T + t) * EVERY_MS) for t in (low, high))
    row = answer(of, f"count of screen.bit over {first} .. {end}").rows[0]
    assert row.value is not None
    assert row.stderr is not None
    return row.value, row.stderr


def goals() -> None:
    """The table."""
    print(f"sao2, one bit, {USERS:.0e} users, epsilon 1, T = w = {W}, s = 1: root mean squares over {RUNS} runs")
    print("for       a period   prefixes: said  was  if apart   stretches: said  was  if apart")
    for goal in GOALS:
        rng, found = np.random.default_rng(1), {"prefix": list[list[float]](), "stretch": list[list[float]]()}
        single = list[float]()
        for seed in range(RUNS):
            share = rising(W, 16, seed)
            released = list(records(goal, share, seed))
            of, errors = index(released), [record["stderr_unbiased"]["bit"] for record in released]
            single += errors
            ends = [("prefix", 0, int(rng.integers(1, W + 1))) for _ in range(STRETCHES)]
            drawn = (sorted(rng.choice(2 * W + 1, 2, replace=False).tolist()) for _ in range(STRETCHES))
            ends += [("stretch", low, high) for low, high in drawn]
            for kind, low, high in ends:
                value, error = asked(of, low, high)
                apart = float(np.linalg.norm(errors[low:high]))
                found[kind].append([error, value - float(share[low:high].sum()), apart])
        said = [np.sqrt(np.mean(np.square(rows), axis=0)) for rows in found.values()]
        columns = "".join(f"{one[0]:17.3f}{one[1]:6.3f}{one[2]:9.3f}" for one in said)
        print(f"{goal:<9}{np.sqrt(np.mean(np.square(single))):9.5f}{columns}", flush=True)


def seconds() -> None:
    """How long a stretch of many statistics takes that cuts two horizons, once releases are read."""
    names = [f"value-{place:02d}" for place in range(MANY)]
    of, levels = ReleaseIndex(), LONG.bit_length()
    for t in range(3 * LONG):
        step = t % LONG + 1
        ended = (step & -step).bit_length() - 1
        record = local(START_T + t, dict.fromkeys(names, 0.25), dict.fromkeys(names, 0.03), method="sao2")
        horizon = {"first_t": START_T + t - step + 1, "periods": LONG, "fanout": 2, "levels": levels}
        of.add(record | {"horizon": horizon | {"shares": [0.4] * ended}})
    question = f"count of screen over {instant((START_T + 100) * EVERY_MS)} .. "
    question += instant((START_T + 3 * LONG - 100) * EVERY_MS)
    for what in ("first", "again"):
        began = process_time()
        answer(of, question)
        took = process_time() - began
        print(f"{MANY} statistics over {3 * LONG - 200} periods of three horizons, {what}: {took:.2f} s")


def revised() -> None:
    """Standard errors of sums of what is released while a horizon runs, and of what is known after it."""
    print(f"sao2, one bit, {USERS:.0e} users, epsilon 1, T = w = {W}, s = 1: noise alone, released / revised")
    setting = Setting(Mean.of_size(2, says_none=False), 10**6, W, 16_384, first_t=0, seed=bytes(32), min_batch=100)
    first = np.tril(np.ones((W, W)))
    anywhere = [first[end] - first[begin] for begin in range(W) for end in range(begin + 1, W, 7)]
    for goal in GOALS:
        made = SaO2(setting, horizon=str(W), changes="1", users=str(USERS), goal=goal)
        tree, slots = made._levels.tree, made._levels.slots
        nodes = [Node(made._horizons[0], level, tree.nodes(level)[0]) for level in range(tree.levels)]
        of = [node.moments()[0] * setting.slots / (USERS * own) for node, own in zip(nodes, slots, strict=True)]
        estimates, variances = ResidueEstimates(tree, 1), np.zeros(W + 1)
        shares = [np.zeros(W // tree.span(level)) for level in range(1, tree.levels)]
        for step in range(1, W + 1):
            ends = [NodeEstimate(level, node, np.zeros(1), of[level]) for level, node in tree.ending(step)]
            closed = estimates.close(ends)
            variances[step] = closed.variance[0]
            for level, share in enumerate(closed.shares, 1):
                shares[level - 1][step // tree.span(level) - 1] = share
        sums = OnlineSums(tree, np.arange(1, W + 1), shares)
        levels = [np.full(W // tree.span(level), of[level]) for level in range(tree.levels)]
        after = ResidueSquares(tree, levels)
        said = []
        for answers in (first, np.array(anywhere)):
            steps = [np.flatnonzero(row) + 1 for row in answers]
            running = [sums.variance(sums.weights(some, np.ones(len(some))), variances) for some in steps]
            known = after.variances(answers, [level[:, np.newaxis] for level in levels])
            said.append(f"{np.mean(running) ** 0.5:.3f} / {known.mean() ** 0.5:.3f}")
        print(f"{goal:<9}prefixes: {said[0]}   stretches: {said[1]}")


if __name__ == "__main__":
    {"seconds": seconds, "revised": revised}.get("".join(sys.argv[1:]), goals)()
