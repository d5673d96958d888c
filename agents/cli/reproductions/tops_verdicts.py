# SPDX-License-Identifier: Apache-2.0
"""What ToPS is held to, beside what the paper says of it, and what of that is missed.

Contract: H2, H16 and H16c within 15 % of the errors that other code found for them (KNOWN), and of what is exact; in
every stream and at every epsilon noisy max's threshold at least 10^4 times better than S-PAK's and S-P's, and ToPS at
least 10^6 times better than PAK, by means of squared errors; where noise is what counts (epsilon .01) Recent over 16^3
events at least three times better than H16c.  Hierarchies and thresholds are judged from FEWEST runs on: S-P's error
is that of its few largest numbers.  An exception stands here with its cause, and is printed whenever it is one.
Not here: what is measured (agents/simulate/central_comparison.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from math import log10
from typing import Any, Final

import numpy as np

from murmurate.agents.simulate import central_comparison as compare
from murmurate.agents.simulate.value_streams import RANGE
from murmurate.aggregators.central.chan import chan_shares, even_shares, stretch_variance
from murmurate.aggregators.trees.variance import range_variance

Row = tuple[str, str, float, int]
Rows = Mapping[Row, Sequence[Mapping[str, Any]]]
"""The runs of each row: table, stream, epsilon and block."""

KNOWN: Final = {"H2": 15_010, "H16": 3_130, "H16c": 1_150}
"""What 30 runs of other code found."""
HIERARCHY: Final = {
    "H2": "",
    "H16": "5 times better than H2",
    "H16c": "2 times better than H16",
    "Chan": "not in a figure",
}
"""What the paper says of each tree."""
NEAR: Final = 0.15
FEWEST: Final = 20
"""Runs from which hierarchies and thresholds are judged."""
THRESHOLD_ORDERS, WHOLE_ORDERS = 4.0, 6.0
"""By how many powers of ten noisy max is to be better than S-PAK and S-P, and ToPS than PAK."""
SMOOTHER: Final = 3.0
"""How many times less error Recent is to have than H16c."""
QUIETEST: Final = 0.01
STRETCH_SEEDS: Final = 30
"""How many sets of stretches are behind the exact errors."""


EXCEPTIONS: Final[Mapping[tuple[str, str], str]] = {
    ("thresholds", "taxi201801_fare"): (
        "with the paper's c = 60 noisy max says about 1,214 and clipping alone makes 99 % of its error there; 2,500 "
        "would have 150 times less"
    )
}
"""The cause of each known miss, by table and stream."""


def missed(rows: Rows) -> Iterator[str]:
    """A line for all that is not reproduced without an excuse."""
    yield from (text for (table, stream, *_), text in _all_missed(rows) if (table, stream) not in EXCEPTIONS)


def excused(rows: Rows) -> Iterator[str]:
    """A line for all that is not reproduced and has a cause that is known."""
    for (table, stream, *_), text in _all_missed(rows):
        if cause := EXCEPTIONS.get((table, stream)):
            yield f"{text}: {cause}"


def _all_missed(rows: Rows) -> Iterator[tuple[Row, str]]:
    for row, runs in rows.items():
        table, stream, epsilon, block = row
        where = f"{table}, {stream}, epsilon {epsilon:g}"
        if table == "hierarchies" and len(runs) >= FEWEST:
            for name, known in KNOWN.items():
                found = float(np.mean([run[name] for run in runs]))
                for which, beside in (("known", known), ("exact", exact(name))):
                    if abs(found / beside - 1) > NEAR:
                        yield row, f"{table}, {name}: {found:,.0f}, {which} {beside:,.0f}; at most {NEAR:.0%} apart"
        elif table == "smoothers" and epsilon == QUIETEST and block == compare.BLOCK:
            times = 10 ** orders(runs, "H16c", "recent")
            if times < SMOOTHER:
                yield row, f"{where}: Recent {times:.1f} times better than H16c; at least {SMOOTHER:g}"
        elif table == "thresholds" and len(runs) >= FEWEST:
            for name in ("S-PAK", "S-P"):
                if (found := orders(runs, name, "NM-E")) < THRESHOLD_ORDERS:
                    yield row, f"{where}: {name} worse than NM-E by 10^{found:.1f}; at least 10^{THRESHOLD_ORDERS:g}"
        elif table == "end-to-end" and (found := orders(runs, "PAK", "ToPS")) < WHOLE_ORDERS:
            yield row, f"{where}: PAK worse than ToPS by 10^{found:.1f}; at least 10^{WHOLE_ORDERS:g}"


def orders(runs: Sequence[Mapping[str, Any]], worse: str, better: str) -> float:
    """By how many powers of ten one mean squared error is larger than another one."""
    one, other = (sum(_error(run[name]) for run in runs) for name in (worse, better))
    return log10(one / other)


@lru_cache(maxsize=8)
def exact(name: str) -> float:
    """The expected squared error of a tree over theta^2 / epsilon^2, on the average over stretches."""
    ends = np.concatenate([compare.stretches(RANGE, seed) for seed in range(STRETCH_SEEDS)]).tolist()
    if name == "H16c":
        unit = 2 * compare.WIDE.levels**2
        return unit * float(np.mean([range_variance(compare.WIDE, *each) for each in ends]))
    tree = {"H2": compare.BINARY, "H16": compare.WIDE, "Chan": compare.UNBOUNDED}[name]
    shares = chan_shares(tree.levels) if name == "Chan" else even_shares(tree.levels)
    return float(np.mean([stretch_variance(tree, low, high, shares) for low, high in ends]))


def _error(found: float | tuple[float, float]) -> float:
    return found[1] if isinstance(found, tuple) else found
