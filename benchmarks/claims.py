# SPDX-License-Identifier: Apache-2.0
"""What it costs a release to claim what its window is worth: `python -m benchmarks.claims`.

Each row is one stream of GRR over 16 values (epsilon 1, w = 10, delta 10^-8, a tenth of the reports corrupt): the mean
CPU time that 1 000 releases spend on their claims, in a process that has claimed nothing before.  Users fluctuate from
period to period by 1 % or by 30 %, or grow fourfold.  Options: names of methods, which are all unless said; and
`--against PYTHON`, of another environment (a checkout before a change, say), whose figures and ratios then stand
beside ours, taken in turns.  Not here: one claim by itself (mixing.py).
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

METHODS = ("lpu", "lbu", "lsp", "lba", "lbd", "lpd", "lpa")
USERS = {"quiet": 0.01, "fluctuating": 0.3, "growing": 0.01}
RELEASES, W, N, GROWTH = 1_000, 10, 20_000, 4
TARGET_MS = 1.0


def rows() -> Iterator[object]:
    """The table of `make bench`: each in a process of its own."""
    from benchmarks.measure import at_most

    for name in METHODS:
        for kind in USERS:
            yield at_most(f"{name}, {kind} users", mean_ms(sys.executable, name, kind)[0], TARGET_MS, "ms")


def mean_ms(python: str, name: str, kind: str) -> tuple[float, float, int]:
    """Of a new process: milliseconds a release, the longest claim's, and how many different claims there were."""
    # not -m: the package `benchmarks` of another environment may not have this file
    run = subprocess.run([python, __file__, name, kind], check=True, capture_output=True)
    found: tuple[float, float, int] = tuple(json.loads(run.stdout))
    return found


def claimed(name: str, kind: str) -> tuple[float, float, int]:
    """The same in this process."""
    from murmurate.agents.simulate.simulated_answers import support
    from murmurate.aggregators.accounting.window import MixedWindow
    from murmurate.aggregators.measures.frequency import Frequency
    from murmurate.aggregators.methods.method import Answer, Request, Setting
    from murmurate.aggregators.methods.options import MethodOptions
    from murmurate.aggregators.methods.registry import METHODS as CLASSES
    from murmurate.aggregators.methods.registry import method

    chance = np.random.default_rng(1)
    setting = Setting(
        Frequency.of_size(16), epsilon_micro=1_000_000, w=W, slots=1_000, first_t=1, seed=bytes(32), mechanism="grr"
    )
    machine = method(MethodOptions(name, filter="off"), setting)
    window = MixedWindow(W, CLASSES[name].division, 1e-8, 0.1)
    shares, taken, claims = chance.dirichlet(np.ones(16)), list[float](), set[object]()
    for t in range(1, RELEASES + 1):
        users = N * math.exp(chance.normal(0, USERS[kind]))
        users *= GROWTH ** (t / RELEASES) if kind == "growing" else 1.0
        step = machine.open(t)
        spent = 0.0
        while isinstance(step, Request):
            n = int(users if step.asked is None else users * step.asked.mean())
            began = time.process_time()
            window.take(t, step.question, n)
            spent += time.process_time() - began
            step = machine.tally(Answer(support(step.question, chance.multinomial(n, shares), chance), n))
        began = time.process_time()
        claims.add(window.claim(t, machine.most_rounds()))
        taken.append(spent + time.process_time() - began)
    return 1000 * sum(taken) / len(taken), 1000 * max(taken), len(claims)


def main(options: list[str]) -> None:
    if len(options) == 2 and options[1] in USERS:
        print(json.dumps(claimed(*options)))
        return
    before = options[options.index("--against") + 1] if "--against" in options else None
    print(
        f"{'ms a release':<24}{'mean':>8}{'longest':>9}{'claims':>8}"
        + (f"{'before':>22}{'ratio':>8}" if before else "")
    )
    for name in [name for name in METHODS if name in options] or METHODS:
        for kind in USERS:
            mean, longest, claims = mean_ms(sys.executable, name, kind)
            line = f"{name + ', ' + kind:<24}{mean:>8.3f}{longest:>9.1f}{claims:>8}"
            if before is not None:
                other, most, many = mean_ms(before, name, kind)
                line += f"{other:>9.3f}{most:>8.1f}{many:>5}{other / mean:>8.1f}"
            print(line + ("" if mean <= TARGET_MS else " !"), flush=True)


if __name__ == "__main__":
    sys.path[:] = [path for path in sys.path if path != str(Path(__file__).parent)]
    main(sys.argv[1:])
