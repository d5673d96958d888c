# SPDX-License-Identifier: Apache-2.0
"""Users a second of one core's time through `perturb`: of questions over several words, and of mechanisms of one code.

`python -m benchmarks.questions` prints the first; `python -m benchmarks.questions TREE` also the ratio of every
mechanism of one code to that of another working tree (say, of the commit before), whose package is imported in a
process of its own and takes turns with this one.  TREE needs its `build/typed`, which `python tools/link.py` makes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.measure import Row, at_least, heading, line
from murmurate.randomizers import GRR, OLH, Key, Marginal, Padded, Prefix, Question, Viewed
from murmurate.randomizers.layouts import FILLER, layout
from murmurate.randomizers.randomness import contexts

N = 1 << 19
TURNS = 7
KEY = Key(bytes(range(32)), deployment="bench")
USERS, ROUND = contexts(np.arange(N), part=3), bytes([2]) * 32
DOMAINS = {"value_presence": 65_538, "sr": 65_537, "pm": 65_537, "hm": 65_537}
FEW = {"oue": 16, "sue": 16, "the": 16, "she": 16, "subset": 8}
"""Mechanisms whose words or reports are many: so many times fewer users."""


def sets(d: int, most: int) -> np.ndarray:
    """Sets of 0 to most items, each size as often."""
    rng = np.random.default_rng(1)
    rows = np.sort(rng.integers(0, d, (N, most)), axis=1).astype(np.uint32)
    rows[:, 1:][rows[:, 1:] == rows[:, :-1]] = FILLER
    rows[np.arange(most) >= rng.integers(0, most + 1, (N, 1))] = FILLER
    return np.sort(rows, axis=1)


def strings(m: int) -> np.ndarray:
    """Strings of m bits, 32 to 63."""
    numbers = np.random.default_rng(2).integers(0, 1 << m, N, dtype=np.uint64) << np.uint64(63 - m)
    return np.column_stack((numbers >> np.uint64(32), numbers & np.uint64(0xFFFFFFFF))).astype(np.uint32)


def questions() -> Iterator[tuple[str, Question, np.ndarray, float]]:
    """Name, question, values, and users a second at least."""
    items, row, bits = ("items", 1024, 8, 0), ("row", (4,) * 8, 1), ("bits", 48, 1)
    padded, marginal = Padded(items, 8), Marginal(row, [0, 3, 6])
    yield "sets of 8, Padded . OLH", Viewed(padded, OLH(d=padded.d, epsilon=1.0)), sets(1024, 8), 2e6
    yield "sets of 8, Padded . GRR", Viewed(padded, GRR(d=padded.d, epsilon=1.0)), sets(1024, 8), 2e6
    some = Padded(items, 3, list(range(0, 1024, 16)))
    yield "sets of 8, 64 candidates", Viewed(some, OLH(d=some.d, epsilon=1.0)), sets(1024, 8), 2e6
    rows = np.random.default_rng(3).integers(0, 4**8, N)
    yield "rows of 8, Marginal . GRR", Viewed(marginal, GRR(d=marginal.d, epsilon=1.0)), rows, 5e6
    for length in (16, 48):
        prefix = Prefix(bits, length)
        name = f"48 bits, Prefix({length}) . OLH"
        yield name, Viewed(prefix, OLH(d=prefix.d, epsilon=1.0)), strings(48), 5e6


def told(question: Question, values: np.ndarray) -> Callable[[], object]:
    assert not layout(question.layout).wrong(values).any()
    return lambda: question.perturb(values, KEY.draw(USERS[: len(values)], round=ROUND))


def rows() -> Iterator[Row]:
    """Of questions."""
    for name, question, values, target in questions():
        yield at_least(name, len(values) / least_seconds(told(question, values)), target)


def least_seconds(run: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    """The shortest of several times, of the processor's own clock: what else the machine does is not counted. clock:
    another one, for what runs on several processors.
    """
    times = []
    for _ in range(TURNS):
        start = clock()
        run()
        times.append(clock() - start)
    return min(times)


def beside(tree: Path) -> Iterator[Row]:
    """Of every mechanism of one code, against another tree: the best of several turns of each."""
    best: dict[str, dict[str, float]] = {"here": {}, "there": {}}
    for turn in range(TURNS):
        for which in ("here", "there") if turn % 2 else ("there", "here"):
            root = Path(__file__).resolve().parent.parent if which == "here" else tree
            for name, rate in _codes_of(root).items():
                best[which][name] = max(rate, best[which].get(name, 0.0))
    for name, rate in best["here"].items():
        yield at_least(f"{name}, to the tree before", rate / best["there"][name], 0.95, "x")


def _codes_of(root: Path) -> dict[str, float]:
    """In a process of its own, with the package of that tree: users a second of every mechanism of one code."""
    source = _ONE_WORD.replace("@FEW", repr(FEW)).replace("@DOMAINS", repr(DOMAINS)).replace("@N", str(N))
    source = source.replace("@ROOT", repr(str(root)))
    environment = {**os.environ, "PYTHONPATH": str(root / "build" / "typed")}
    ran = subprocess.run([sys.executable, "-P", "-c", source], check=True, capture_output=True, env=environment)
    found: dict[str, float] = json.loads(ran.stdout)
    return found  # -P: or the package of the working directory would be taken


_ONE_WORD = """
import json, sys, time
import numpy as np
from murmurate.randomizers import STREAMED, Key, mechanism
from murmurate.randomizers import __file__ as where
from murmurate.randomizers.randomness import contexts
assert where.startswith(@ROOT), where
key, users, found = Key(bytes(range(32)), deployment="bench"), contexts(np.arange(@N), part=3), {}
for name in sorted(STREAMED):
    made = mechanism({"name": name, "d": @DOMAINS.get(name, 64), "epsilon": 1.0})
    values = np.random.default_rng(4).integers(0, made.d, @N // @FEW.get(name, 1))
    best = 1e9
    for _ in range(4):
        start = time.process_time()
        made.perturb(values, key.draw(users[:len(values)], round=bytes([2]) * 32))
        best = min(best, time.process_time() - start)
    found[name] = len(values) / best
json.dump(found, sys.stdout)
"""


if __name__ == "__main__":
    print(heading())
    for row in rows():
        print(line(row), flush=True)
    for row in beside(Path(sys.argv[1]).resolve()) if sys.argv[1:] else ():
        print(line(row), flush=True)
