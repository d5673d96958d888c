# SPDX-License-Identifier: Apache-2.0
"""Reports a second of one core's time, of every mechanism for sparse vectors: keyed randomness and estimates included.

`python -m benchmarks.vectors` prints, for vectors of signs with 8 of 1 024 items at epsilon 1, the rates of client and
server, and beside them those of a plain NumPy implementation where this file has one: a loop over users, and one over
reports, as papers' code has them.  Then the client for 64 of 65 536 items, with the most memory that it takes at once
beyond its values and reports, for two numbers of users.  `python -m benchmarks.vectors TREE` prints instead the rates
of subsets of coordinates beside those of another working tree (say, of the commit before; it needs its `build/typed`,
which `python tools/link.py` makes): processes of both take turns, and their reports are compared.  Processor time of
one core, best of several; nothing is asserted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.measure import short
from benchmarks.questions import least_seconds
from murmurate.randomizers.errors import ParameterError
from murmurate.randomizers.layouts import UNIT
from murmurate.randomizers.randomness import Key, contexts
from murmurate.randomizers.registry import VECTORS

N, PLAIN_N, WIDE_N = 100_000, 300, 10_000
D, S, WIDE_D, WIDE_S, EPSILON = 1024, 8, 65_536, 64, 1.0
KEY, ROUND = Key(bytes(range(32)), deployment="bench"), bytes([2]) * 32
TARGETS = {
    "collision": (3.3e6, 4.5e6, 2e5),
    "coco": (3.3e6, 4.5e6, 2e5),
    "exsub": (1.5e6, 5e6, 2e5),
    "exsub_majority": (None, 5e6, None),
}
"""Users a second, reports a second, and users a second with 64 of 65 536 items."""
PRIME = (1 << 31) - 1

Vectors = np.ndarray[Any, np.dtype[np.uint32]]


def vectors(of: Any, n: int) -> Vectors:
    """Vectors of s signs each, or sets of s items."""
    rng = np.random.default_rng(1)
    rows = np.empty((n, 2 * of.s), np.uint32)
    rows[:, ::2] = np.sort(rng.integers(0, of.d - of.s, (n, of.s)), axis=1) + np.arange(of.s)
    rows[:, 1::2] = np.where(rng.random((n, of.s)) < 0.5, 0, 2 * UNIT)
    return rows if of.signed else np.ascontiguousarray(rows[:, ::2])


def lines() -> Iterator[str]:
    yield f"{'':<30}{'murmurate':>11}{'plain':>10}{'ratio':>9}  target"
    for name in VECTORS:
        targets = TARGETS.get(name, (None, None, None))
        for halves, d, s in ((few_lines, D, S), (wide_lines, WIDE_D, WIDE_S)):
            try:
                kind = "signed" if VECTORS[name].signs_are_drawn else "items"
                made = VECTORS[name]([kind, d, s, 0], EPSILON)
            except ParameterError as refused:  # reports of many items may be too long
                yield f"{refused}"[:80]
                continue
            yield from halves(name, made.of_round(ROUND), targets)


def few_lines(name: str, asked: Any, targets: Sequence[float | None]) -> Iterator[str]:
    """Both halves for few items."""
    values, users = vectors(asked, N), contexts(np.arange(N), part=3)
    plain = PLAIN[name](asked) if name in PLAIN else {}
    rate = N / least_seconds(lambda: asked.perturb(values, KEY.draw(users, round=ROUND)))
    yield line(f"{name} client", rate, plain.get("client"), targets[0])
    if name in TARGETS:
        yield line(f"{name} client, two threads", together(asked, values, users), plain.get("client"), targets[0])
    reports = asked.perturb(values, KEY.draw(users, round=ROUND))
    rate = N / least_seconds(lambda: asked.estimate(asked.support(reports), N))
    yield line(f"{name} server", rate, plain.get("server"), targets[1])


def together(asked: Any, values: Vectors, users: Any) -> float:
    """Users a second of wall time where two threads perturb a half each: much of the work holds no lock."""
    half = len(values) // 2
    draw = KEY.draw(users, round=ROUND)
    parts = [(values[:half], draw.of(slice(0, half))), (values[half:], draw.of(slice(half, len(values))))]
    with ThreadPoolExecutor(2) as pool:
        return len(values) / least_seconds(
            lambda: list(pool.map(lambda part: asked.perturb(*part), parts)), perf_counter
        )


def wide_lines(name: str, asked: Any, targets: Sequence[float | None]) -> Iterator[str]:
    """The client for many items, and its memory."""
    values, users = vectors(asked, 2 * WIDE_N), contexts(np.arange(2 * WIDE_N), part=3)
    half = KEY.draw(users[:WIDE_N], round=ROUND)
    rate = WIDE_N / least_seconds(lambda: asked.perturb(values[:WIDE_N], half))
    yield line(f"{name} client, {WIDE_S} of {WIDE_D}", rate, None, targets[2])
    if name in TARGETS:
        yield line("  two threads", together(asked, values, users), None, targets[2])
    peaks = []
    for n in (WIDE_N, 2 * WIDE_N):
        draw = KEY.draw(users[:n], round=ROUND)
        tracemalloc.start()
        asked.perturb(values[:n], draw)
        peaks.append((tracemalloc.get_traced_memory()[1] - n * asked.wire_size) / 1e6)
        tracemalloc.stop()
    yield f"  memory of {WIDE_N} and {2 * WIDE_N} users: {peaks[0]:.0f} MB and {peaks[1]:.0f} MB"


def beside(tree: Path) -> Iterator[str]:
    """Rates here, there and their ratio, of two processes that take turns."""
    best: dict[str, dict[str, Any]] = {"here": {}, "there": {}}
    for turn in range(2 * TURNS):
        which = "there" if turn % 2 else "here"
        root = tree if turn % 2 else Path(__file__).resolve().parent.parent
        environment = {**os.environ, "PYTHONPATH": str(root / "build" / "typed")}
        command = [sys.executable, "-P", "-c", _SUBSETS.replace("@ROOT", repr(str(root)))]
        ran = subprocess.run(command, check=True, capture_output=True, env=environment)
        for what, (client, server, digest) in json.loads(ran.stdout).items():
            before = best[which].get(what, (0, 0, digest))
            best[which][what] = max(before[0], client), max(before[1], server), digest
    yield f"{'':<46}{'here':>11}{'there':>11}{'ratio':>8}"
    for what, (*rates, digest) in best["here"].items():
        *others, other = best["there"][what]
        for half, rate, beside_it in zip(("client", "server"), rates, others, strict=True):
            same = "" if digest == other else "  other reports!"
            shown = f"{short(rate) + '/s':>11}{short(beside_it) + '/s':>11}{rate / beside_it:>7.2f}x"
            yield f"{what + ' ' + half:<46}{shown}{same}"


TURNS = 5
_SUBSETS = """
import hashlib, json, sys, time
import numpy as np
from murmurate.randomizers import Key, __file__ as where
from murmurate.randomizers.layouts import UNIT
from murmurate.randomizers.randomness import contexts
from murmurate.randomizers.registry import VECTORS
assert where.startswith(@ROOT), where
key, found = Key(bytes(range(32)), deployment="bench"), {}
for name, d, s, m, n in (
    ("exsub", 1024, 8, None, 50_000), ("exsub_majority", 1024, 8, None, 50_000), ("set_subset", 1024, 8, None, 50_000),
    ("exsub", 1024, 8, 300, 10_000), ("exsub", 65_536, 64, None, 4_000), ("exsub_majority", 65_536, 64, None, 2_000),
):
    made = VECTORS[name](["signed" if VECTORS[name].signs_are_drawn else "items", d, s, 0], 1.0, m)
    rng = np.random.default_rng(1)
    values = np.empty((n, 2 * s), np.uint32)
    values[:, ::2] = np.sort(rng.integers(0, d - s, (n, s)), axis=1) + np.arange(s)
    values[:, 1::2] = np.where(rng.random((n, s)) < 0.5, 0, 2 * UNIT)
    values = values if made.signed else np.ascontiguousarray(values[:, ::2])
    draw = key.draw(contexts(np.arange(n), part=3), round=bytes([2]) * 32)
    times = [[], []]
    for _ in range(6):
        start = time.process_time()
        reports = made.perturb(values, draw)
        between = time.process_time()
        counts = made.support(reports)
        times[0].append(between - start)
        times[1].append(time.process_time() - between)
    digest = hashlib.sha256(reports.tobytes() + counts.tobytes()).hexdigest()
    found[f"{name}, {s} of {d}, m = {made.m}"] = n / min(times[0]), n / min(times[1]), digest
json.dump(found, sys.stdout)
"""


def line(what: str, rate: float, plain: float | None, target: float | None) -> str:
    """One row of the table; `!` marks a target that was missed."""
    peer = f"{short(plain):>10}{rate / plain:>8.0f}x" if plain else " " * 19
    goal = "" if target is None else f">= {short(target)}{'' if rate >= target else ' !'}"
    return f"{what:<30}{short(rate) + '/s':>11}{peer}  {goal}"


def plain_rates(made: Any, client: Callable[[Any, Any], Any], server: Callable[[Any], Any]) -> dict[str, float]:
    """Users and reports a second of a loop over each."""
    rows = vectors(made, PLAIN_N)
    users = [(row[::2].astype(np.int64), np.where(row[1::2] > 0, 1, -1)) for row in rows]
    reports = [client(*user) for user in users]
    return {
        "client": PLAIN_N / least_seconds(lambda: [client(*user) for user in users]),
        "server": PLAIN_N / least_seconds(lambda: server(reports)),
    }


def plain_collision(made: Any) -> dict[str, float]:
    """Collision as it is described: a weight for each of t cells, one draw from them; all symbols for each report."""
    rng, t, e = np.random.default_rng(2), made.t, np.exp(EPSILON)
    whole, every = S * e + t - S, np.arange(2 * D)

    def cells(seed: int, symbols: Any) -> Any:
        return (symbols * 48_271 + seed) % PRIME * 69_621 % PRIME % t

    def client(items: Any, signs: Any) -> tuple[int, int]:
        seed = int(rng.integers(0, PRIME))
        held = np.unique(cells(seed, 2 * items + (signs < 0)))
        weights = np.full(t, (whole - len(held) * e) / (t - len(held)))
        weights[held] = e
        return seed, int(rng.choice(t, p=weights / whole))

    def server(reports: Any) -> Any:
        counts = np.zeros(2 * D)
        for seed, cell in reports:
            counts += cells(seed, every) == cell
        return (counts[::2] - counts[1::2]) / (len(reports) * (e / whole - 1 / t))

    return plain_rates(made, client, server)


def plain_coco(made: Any) -> dict[str, float]:
    """CoCo as it is described: entries in random order overwrite the weights of their pair of cells."""
    rng, t, e = np.random.default_rng(2), made.t, np.exp(EPSILON)
    whole, every = S * (e + 1) + t - 2 * S, np.arange(D)

    def cells(seed: int, items: Any) -> Any:
        return (items * 48_271 + seed) % PRIME * 69_621 % PRIME % t

    def client(items: Any, signs: Any) -> tuple[int, int]:
        seed = int(rng.integers(0, PRIME))
        held = rng.permutation(cells(seed, items) ^ (signs < 0))
        pairs = len(np.unique(held >> 1))
        weights = np.full(t, 1 + (S - pairs) * (e - 1) / max(1, t - 2 * pairs))
        for cell in held:
            weights[cell], weights[cell ^ 1] = e, 1
        return seed, int(rng.choice(t, p=weights / weights.sum()))

    def server(reports: Any) -> Any:
        counts = np.zeros(D)
        for seed, cell in reports:
            hashed = cells(seed, every)
            counts += (hashed == cell) * 1.0 - (hashed == cell ^ 1)
        return counts / len(reports) * whole / (e - 1)

    return plain_rates(made, client, server)


PLAIN: dict[str, Callable[[Any], dict[str, float]]] = {"collision": plain_collision, "coco": plain_coco}


if __name__ == "__main__":
    for text in beside(Path(sys.argv[1]).resolve()) if sys.argv[1:] else lines():
        print(text, flush=True)
