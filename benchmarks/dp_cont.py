# SPDX-License-Identifier: Apache-2.0
"""EM and consistency beside dp-cont, the code of ToPS's authors, which is run from wherever it was fetched to.

`python -m benchmarks.dp_cont PATH` prints these rows; PATH: a checkout of github.com/dp-cont/dp-cont. It wants the
environment of run.sh (SciPy). With --values FILE.npy the lengths of POS, or any others, instead of made-up baskets.

Fair to it: its EM runs on its own counts and its own matrix, which it has at hand; ours on the same counts, without a
matrix, with the same rule to stop.  Its consistency runs on the same five levels of 16^5 leaves; both must agree.
"""

import argparse
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import Row, best_seconds, heading, line
from murmurate.agents.simulate.value_streams import HELD_OUT, made_up
from murmurate.aggregators.central.percentile import SHARE, SmoothPercentile
from murmurate.aggregators.distribution import em
from murmurate.aggregators.distribution_waves import WaveChannel
from murmurate.aggregators.trees import dyadic_leaves, least_squares

CELLS, EPSILON, TOP = 1024, 0.5, 1657
FANOUT, LEVELS = 16, 5
TIMES = 10
"""How many times faster than dp-cont is the target."""


def rows(peer: Path, values: NDArray[Any]) -> Iterator[Row]:
    """EM, consistency, smooth sensitivity."""
    sys.path.insert(0, str(peer))
    primitive = importlib.import_module("primitive")
    hierarchy = importlib.import_module("range_estimator.hierarchy").Hierarchy
    yield from waves(primitive, values)
    yield from consistency(hierarchy)
    yield from percentile(primitive, values)


def waves(primitive: Any, values: NDArray[Any]) -> Iterator[Row]:
    its_em, seen = primitive.EM, list[Any]()

    def kept(*given: Any) -> Any:
        seen[:] = given
        return np.full(CELLS, 1 / CELLS)

    np.random.seed(0)
    primitive.EM = kept  # its counts and its matrix, as it hands them over
    primitive.sw(values.astype(float), 0, TOP, EPSILON)
    primitive.EM = its_em
    channel = WaveChannel(EPSILON, inputs=CELLS, outputs=CELLS)
    counts = seen[1]
    took = best_seconds({"ours": lambda: em(channel, counts), "dp-cont": lambda: its_em(*seen)})
    apart = float(np.abs(em(channel, counts).frequencies - its_em(*seen)).sum())
    yield from beside(f"EM, {len(values):,} values", took, f"L1 {apart:.0e}")


def consistency(hierarchy: Any) -> Iterator[Row]:
    rng = np.random.default_rng(0)
    levels = [rng.integers(-(10**6), 10**6, FANOUT ** (LEVELS - at)) for at in range(LEVELS)]
    floats = [level.astype(np.float64) for level in levels]
    shape = SimpleNamespace(fanout=FANOUT)
    took = best_seconds({
        "ours": lambda: dyadic_leaves(levels, FANOUT),
        "floats": lambda: least_squares(floats, FANOUT),
        "dp-cont": lambda: hierarchy.consist(shape, [level.copy() for level in floats]),
    })  # fmt: skip
    its = hierarchy.consist(shape, [level.copy() for level in floats])[0]
    apart = float(np.abs(least_squares(floats, FANOUT)[0] - its).max() / 10**6)
    yield from beside("consistency, whole numbers", took, f"{apart:.0e}")
    yield beside("  least squares", {"ours": took["floats"], "dp-cont": took["dp-cont"]})[0]


def percentile(primitive: Any, values: NDArray[Any]) -> Iterator[Row]:
    ordered = np.sort(values).astype(float)
    ours = SmoothPercentile(SHARE, 0.05, 1e-12, TOP)
    rank = int(SHARE * len(values)) + 1
    few = ordered[:: max(1, len(ordered) // 4096)]  # its time grows with the square
    rank = int(SHARE * len(few)) + 1
    took = best_seconds({
        "ours": lambda: ours.law(few),
        "dp-cont": lambda: primitive.smooth_ell(rank, ours.b, TOP, few),
    })  # fmt: skip
    yield from beside(f"percentile, {len(few):,} values", took)
    took = best_seconds({"ours": lambda: ours.law(values)})
    yield Row(f"percentile, {len(values):,} values", f"{took['ours'] * 1e3:.3g} ms", "", met=True)


def beside(what: str, took: dict[str, float], apart: str = "") -> list[Row]:
    """A row with the ratio of both, and one with dp-cont's time and how far apart the results are."""
    ratio = took["dp-cont"] / took["ours"]
    mine = Row(what, f"{took['ours'] * 1e3:.3g} ms", f">= {TIMES}x", ratio >= TIMES, {}, f"{ratio:.1f}x")
    return [mine, Row("  dp-cont", f"{took['dp-cont'] * 1e3:.3g} ms", apart, met=True)]


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", type=Path, help="a checkout of github.com/dp-cont/dp-cont")
    parser.add_argument("--values", type=Path, help="a row of whole numbers as .npy")
    args = parser.parse_args()
    values = np.load(args.values) if args.values else made_up("baskets", 0, HELD_OUT).values
    print(heading())
    for row in rows(args.peer.resolve(), values[:HELD_OUT]):
        print(line(row), flush=True)


if __name__ == "__main__":
    main()
