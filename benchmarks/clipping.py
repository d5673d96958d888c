# SPDX-License-Identifier: Apache-2.0
"""What a clipping threshold that is found gains, by kinds of amounts: python -m benchmarks.clipping --method lbu

For each kind the root mean squared error of `clip = "found"` over that of "declared", how often two standard errors
held, and the thresholds that were found, as parts of the range.  Errors are those of the estimates after the first
window, in which the one asks and the other waits.  All who hold amounts keep them, but for --grow, a factor by which
they grow in the middle of a run, as far as the range goes.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.cli.reproductions.runs import spread_out
from murmurate.agents.simulate.simulated_answers import run
from murmurate.aggregators.measures.mean import Mean
from murmurate.aggregators.methods.method import Setting
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.randomizers import view_clipped
from murmurate.randomizers.numeric.mean import GRID
from murmurate.topics.domains import Grid

Floats = NDArray[np.float64]

KINDS: Mapping[str, Callable[[int, np.random.Generator], Floats]] = {
    "incomes": lambda n, rng: np.where(
        rng.random(n) < 0.005, 1, np.where(rng.random(n) < 0.08, rng.random(n) * 0.15, 0)
    ),
    "skewed": lambda n, rng: rng.lognormal(np.log(0.02), 1, n),
    "spread out": lambda n, rng: rng.random(n),
    "a hill": lambda n, rng: rng.normal(0.5, 0.15, n),
    "spiky": lambda n, rng: rng.choice([0.01, 0.05, 0.4, 0.99], n, p=[0.7, 0.2, 0.09, 0.01]),
    "heavy-tailed": lambda n, rng: 0.01 * rng.pareto(1.2, n),
}
"""Amounts as parts of the range, from its low end; larger ones count as its high end."""


@dataclass(frozen=True)
class Case:
    """One run."""

    kind: str
    clip: str
    seed: int
    options: MethodOptions
    users: int
    epsilon: float
    w: int
    periods: int
    grow: float


def measured(case: Case) -> tuple[Floats, Floats, float]:
    """Errors and standard errors of each period after the first window, and the threshold."""
    amounts = KINDS[case.kind](case.users, np.random.default_rng([case.seed, 7]))
    holders = np.empty((case.periods, GRID), np.int64)
    for factor, part in ((1.0, slice(case.periods // 2)), (case.grow, slice(case.periods // 2, None))):
        codes = np.rint(np.clip(amounts * factor, 0, 1) * (GRID - 1)).astype(np.int64)
        holders[part] = np.bincount(codes, minlength=GRID)
    measure = Mean(Grid(0.0, 1.0, GRID, "points"), says_none=False)
    setting = Setting(
        measure,
        round(case.epsilon * 1e6),
        case.w,
        2_000,
        1,
        bytes([case.seed % 251]) * 32,
    )
    off, error, clip = list[float](), list[float](), 1.0
    for period in run(holders, replace(case.options, clip=case.clip), setting, seed=case.seed):
        decision = period.decision
        if decision.t <= case.w:
            continue
        told = measure.result(decision)
        off.append(float(told.estimate[0] - holders[decision.t - 1] @ np.linspace(0, 1, GRID) / case.users))
        error.append(float(told.stderr[0]))
        if (view := view_clipped(decision.question)) is not None:
            clip = view.clip / (GRID - 1)
    return np.array(off), np.array(error), clip


def main() -> None:
    """Print a line a kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--method", default="lpu")
    parser.add_argument("--filter", default="adaptive", choices=("adaptive", "off"))
    parser.add_argument("--users", type=int, default=32_561)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--w", type=int, default=20)
    parser.add_argument("--periods", type=int, default=100)
    parser.add_argument("--grow", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0, help="of the first run")
    parser.add_argument("--processes", type=int, default=2)
    args = parser.parse_args()
    options = MethodOptions(args.method, filter=args.filter)
    shape = options, args.users, args.epsilon, args.w, args.periods, args.grow
    print("                   error   within 2 errors       thresholds")
    print("          found/declared   found   declared           found")
    for kind in KINDS:
        cases = [Case(kind, clip, args.seed + at, *shape) for clip in ("found", "declared") for at in range(args.runs)]
        runs = list(spread_out(measured, cases, args.processes))
        found, declared = runs[: args.runs], runs[args.runs :]
        roots = [float(np.sqrt(np.mean([(off**2).mean() for off, _, _ in part]))) for part in (found, declared)]
        held = [float(np.mean([np.abs(off) <= 2 * error for off, error, _ in part])) for part in (found, declared)]
        clips = sorted(clip for _, _, clip in found)
        ends = f"{clips[0]:.2f} to {clips[-1]:.2f}"
        print(f"{kind:13} {roots[0] / roots[1]:10.2f} {held[0]:7.3f} {held[1]:10.3f} {ends:>15}", flush=True)


if __name__ == "__main__":
    main()
