# SPDX-License-Identifier: Apache-2.0
"""What methods cost a server, and a pipeline: `python -m benchmarks.methods`.

1. A publish decision at d = 1024: all that a method does in a period (questions, answers, release, the filter with it),
OUE, w = 20, S = 4 000, shares that move; the median over periods that ask something.  Beside its state, how much larger
it is with twice the slots, and with twice the domain.  2. Raw to releases by every method, as in pipeline.py, beside
LPU's rate in turns.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from benchmarks.measure import Row, at_most, heading, line, short
from benchmarks.pipeline import fresh
from murmurate.agents.simulate.simulated_answers import support
from murmurate.aggregators.measures.frequency import Frequency
from murmurate.aggregators.methods.method import Answer, Request, Setting
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.aggregators.methods.registry import METHODS, method

D, W, SLOTS, USERS, PERIODS, WARM = 1024, 20, 4_000, 200_000, 120, 40
RUNS = 2
REVISE = 4
"""The most that a stream of so many values may ask for."""


def rows() -> Iterator[Row]:
    yield from decisions()
    yield from throughput()


def decisions() -> Iterator[Row]:
    for filtering in ("off", "adaptive"):
        with_it = "" if filtering == "off" else ", filter"
        for name in METHODS:
            seconds, state = decided(name, filtering)
            yield at_most(f"{name}{with_it}", 1000 * seconds, 1, "ms")
            twice = [decided(name, filtering, **{what: 2})[1] / state for what in ("slots", "d")]
            slots, d = (f"{more:.2f}x" for more in twice)
            yield Row(f"  state: 2S {slots} 2d {d}", f"{state / 1024:.0f} kB", "", True)

    seconds, _ = decided("lpu", "adaptive", revise=REVISE)
    yield Row(f"lpu, filter, revise = {REVISE}", f"{1000 * seconds:.3g} ms", "one more look at each", True)


def decided(name: str, filtering: str, *, slots: int = 1, d: int = 1, revise: int = 0) -> tuple[float, int]:
    """Seconds that a period takes, and bytes of the state after all of them."""
    chance = np.random.default_rng(1)
    setting = Setting(
        Frequency.of_size(d * D), epsilon_micro=1_000_000, w=W, slots=slots * SLOTS, first_t=1, seed=bytes(32),
        mechanism="oue",
    )  # fmt: skip
    machine, taken = method(MethodOptions(name, filter=filtering, revise=revise), setting), []
    shares = chance.dirichlet(np.ones(d * D))
    for t in range(1, PERIODS + 1):
        shares = shares * np.exp(chance.normal(0, 0.05, d * D))
        shares /= shares.sum()
        began = time.perf_counter()
        step = machine.open(t)
        spent = time.perf_counter() - began
        asks = isinstance(step, Request)
        while isinstance(step, Request):
            n = USERS if step.asked is None else int(USERS * step.asked.sum() / len(step.asked))
            answer = Answer(support(step.question, chance.multinomial(n, shares), chance), n)
            began = time.perf_counter()
            step = machine.tally(answer)
            spent += time.perf_counter() - began
        if asks and t > WARM:
            taken.append(spent)
    return statistics.median(taken), len(machine.state())


def throughput() -> Iterator[Row]:
    """Every method's rate beside LPU's."""
    rates: dict[str, float] = {}
    for _ in range(RUNS):
        for name in METHODS:
            run = json.loads(fresh("-m", "benchmarks.pipeline", name))
            rates[name] = max(rates.get(name, 0.0), run["rate"])
    for name, rate in rates.items():
        slower = rates["lpu"] / rate
        yield replace(
            at_most(f"{name}, raw to releases", slower, 2, "x"), ours=f"{short(rate)}/s", ratio=f"{slower:.2f}x"
        )


def main() -> None:
    print(heading())
    for row in decisions() if sys.argv[1:] == ["decisions"] else rows():
        print(line(row), flush=True)


if __name__ == "__main__":
    main()
