# SPDX-License-Identifier: Apache-2.0
"""How a figure is taken and how a row is printed.

Contract: contenders of one row take turns in one process, and each is given its best time of several; no figure is ever
asserted, its target stands beside it.  Fits 80 columns.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

PEERS = ("pure-ldp", "multi-freq")
REPETITIONS = 5
LEAST_S = 1.0  # of measuring a contender, so that fast ones get more repetitions


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table, its cells as they are printed."""

    what: str
    ours: str
    target: str
    met: bool
    peers: Mapping[str, str] = field(default_factory=dict)
    ratio: str = ""


def best_seconds(contenders: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """The shortest of at least five times of each, in turns, after one that is not counted (compilers, caches)."""
    for run in contenders.values():
        run()
    times: dict[str, list[float]] = {name: [] for name in contenders}
    waiting = list(contenders)
    while waiting:
        for name in waiting:
            start = time.perf_counter()
            contenders[name]()
            times[name].append(time.perf_counter() - start)
        waiting = [name for name in waiting if len(times[name]) < REPETITIONS or sum(times[name]) < LEAST_S]
    return {name: min(taken) for name, taken in times.items()}


def against_peers(what: str, times: int, rates: Mapping[str, float]) -> Row:
    """A row of rates (per second) of `murmurate` and its peers, with the ratio to the best of them."""
    peers = {name: rate for name, rate in rates.items() if name != "murmurate"}
    ratio = rates["murmurate"] / max(peers.values())
    cells = {name: short(rate) for name, rate in peers.items()}
    return Row(what, short(rates["murmurate"]), f">= {times}x", ratio >= times, cells, f"{ratio:.1f}x")


def at_least(what: str, figure: float, target: float, unit: str = "/s") -> Row:
    """A row that should not fall below its target."""
    return Row(what, short(figure) + unit, f">= {short(target)}", figure >= target)


def at_most(what: str, figure: float, target: float, unit: str) -> Row:
    """A row that should not rise above its target."""
    return Row(what, f"{figure:.3g} {unit}", f"<= {target:g} {unit}", figure <= target)


def short(figure: float) -> str:
    """Three digits and a unit prefix: 98 300 000 is 98.3 M."""
    for prefix, size in ((" G", 1e9), (" M", 1e6), (" k", 1e3)):
        if figure >= size:
            return f"{figure / size:.3g}{prefix}"
    return f"{figure:.3g}"


def line(row: Row) -> str:
    """A row in at most 80 columns; `!` marks a target that was missed."""
    one, other = (row.peers.get(name, "") for name in PEERS)
    return f"{columns(row.what, row.ours, one, other, row.ratio)} {row.target}{'' if row.met else ' !'}"


def heading() -> str:
    """The names of the columns."""
    return columns("", "murmurate", *PEERS, "ratio") + " target"


def columns(what: str, ours: str, one: str, other: str, ratio: str) -> str:
    return f"{what:<27}{ours:>11}{one:>10}{other:>12}{ratio:>8}"
