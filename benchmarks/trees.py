# SPDX-License-Identifier: Apache-2.0
"""Trees: discrete Laplace noise from keyed words, and consistent noise of 65 536 leaves beside a float version of it.

Fair to the float version: it takes its noise by a logarithm from one word of the same keyed words a node, and its
consistency is NumPy's, whole levels at a time.  Consistency alone is compared with a loop over nodes, as dp-cont, the
authors' code of ToPS, has it: that took 602 ms for 16^5 leaves where ours took 2.6 ms, in one run on two busy cores.
`python -m benchmarks.trees` prints these rows alone.
"""

import tracemalloc
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import Row, against_peers, at_least, at_most, best_seconds, heading, line
from murmurate.aggregators.trees import LeafNoise, dyadic_leaves, least_squares, range_variance
from murmurate.randomizers import Key
from murmurate.randomizers.central import DiscreteLaplace, NodeNoise, keyed_noise
from murmurate.randomizers.randomness import contexts
from murmurate.randomizers.trees import Tree

N = 200_000
KEY = Key(bytes(range(32)), deployment="bench")
DIGEST = b"\x01" * 32
TREE = Tree(16, 5)
GAMMA = Fraction(1, 20_000)


def rows() -> Iterator[Row]:
    index = np.arange(N)
    for scale in (2, 2048, 10**6):
        law = DiscreteLaplace(Fraction(1, scale))

        def draw(law: DiscreteLaplace = law) -> object:
            return keyed_noise(law, KEY, index, digest=DIGEST)

        yield at_least(f"discrete laplace 1/{scale}", N / best_seconds({"noise": draw})["noise"], 5e6)
    took = best_seconds({"exact": exact_leaves, "float": float_leaves, "slow": one_by_one})
    yield at_most("noise of 65 536 leaves", took["exact"] * 1e3, 15, "ms")
    yield at_most("  float version", took["float"] * 1e3, 15, "ms")
    yield at_most("  times the float version", took["exact"] / took["float"], 3, "x")
    yield at_most("  as they are needed", took["slow"] * 1e3, 15, "ms")
    yield from consistency()
    took = best_seconds({"tables": lambda: DiscreteLaplace(GAMMA)})
    yield at_most("tables of a gamma, once", took["tables"] * 1e3, 15, "ms")
    yield at_most("memory for 2^20 leaves", memory_mib(), 8, "MiB")
    took = best_seconds({"answer": lambda: range_variance(TREE, 12_345, 777_777)})
    yield at_most("error of a stretch of 2^20", took["answer"] * 1e6, 1000, "us")


def consistency() -> Iterator[Row]:
    """Consistency alone, of sixteen trees in a row; the peer goes from node to node."""
    rng = np.random.default_rng(1)
    whole = [rng.integers(-(10**5), 10**5, 16 * TREE.nodes(level)) for level in range(1, TREE.levels + 1)]
    floats = [level.astype(np.float64) for level in whole]
    took = best_seconds({"murmurate": lambda: dyadic_leaves(whole, 16), "loop": lambda: node_by_node(floats, 16)})
    rates = {name: 1 / seconds for name, seconds in took.items()}
    yield against_peers("16^5 leaves/s; peer: loop", 10, rates)


def node_by_node(levels: list[NDArray[np.float64]], fanout: int) -> NDArray[np.float64]:
    """Least squares by a loop over nodes."""
    found = [level.copy() for level in levels]
    for level in range(1, len(found)):
        share = (fanout ** (level + 1) - fanout**level) / (fanout ** (level + 1) - 1)
        for node in range(len(found[level])):
            below = sum(found[level - 1][node * fanout : (node + 1) * fanout])
            found[level][node] = share * found[level][node] + (1 - share) * below
    for level in range(len(found) - 1, 0, -1):
        for node in range(len(found[level])):
            children = found[level - 1][node * fanout : (node + 1) * fanout]
            children += (found[level][node] - sum(children)) / fanout
    return found[0]


def exact_leaves() -> NDArray[np.int64]:
    """Whole-number noise of all leaves of a tree; the tables of its law are those of the tree before."""
    return LeafNoise(TREE, NodeNoise(KEY, DIGEST, GAMMA), chunk=TREE.leaves).numerators(0, TREE.leaves)


def one_by_one() -> NDArray[np.int64]:
    """The same in little memory, as a stage does it that needs a leaf now and then."""
    return LeafNoise(TREE, NodeNoise(KEY, DIGEST, GAMMA)).numerators(0, TREE.leaves)


def float_leaves() -> NDArray[np.float64]:
    """The same by floats: Laplace noise by its inverse, least squares."""
    levels = []
    for level in range(1, TREE.levels + 1):
        index = contexts(np.arange(TREE.nodes(level)), part=level)
        word = KEY.words("noise", index, round=DIGEST, k=1)[:, 0]
        share = (word >> np.uint64(11)).astype(np.float64) * 2.0**-53 - 0.5
        levels.append(np.copysign(np.log1p(-2 * np.abs(share)), share) * -float(1 / GAMMA))
    return np.asarray(least_squares(levels, TREE.fanout)[0])


def memory_mib() -> float:
    """The most that is held while 2^20 leaves are reached one after the other."""
    lazy = LeafNoise(Tree(16, 6), NodeNoise(KEY, DIGEST, GAMMA))
    tracemalloc.start()
    for leaf in range(0, 1 << 20, 1 << 16):
        lazy.numerator(leaf)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / (1 << 20)


if __name__ == "__main__":
    print(heading())
    for row in rows():
        print(line(row), flush=True)
