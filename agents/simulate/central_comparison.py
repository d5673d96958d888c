# SPDX-License-Identifier: Apache-2.0
"""The errors of ToPS and of what it is compared with, over random stretches of a stream of events.

Contract: a function of its arguments: the same seed gives the same errors.  All noise of trees and of noisy max is the
product's own, keyed; a percentile's Laplace number, the stretches and the bootstrap are NumPy's, with the seed.  Errors
are means of squares over STRETCHES stretches of the events after those that are held out.  Thresholds are rounded to
whole numbers, and one of 0 releases zeros, which is Base.
  hierarchies   H2, H16, H16c and Chan's tree: noise alone, over theta^2 / epsilon^2, at theta = p95
  smoothed      H16c and what smoothers make of blocks of 16^s, at theta = p95, the truth clipped there, too
  thresholds    what a threshold that was found makes of events drawn from those that are held out, by H16c and Recent
  end_to_end    ToPS, PAK, and both with one half of the other, over the unclipped truth
Source: ToPS, section 5.  Not here: the streams (value_streams.py), what is expected (agents/cli/reproductions).
"""

from __future__ import annotations

import hashlib
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.simulate.value_streams import HELD_OUT, Numbers, ValueStream
from murmurate.aggregators.central.chan import chan_shares, even_shares
from murmurate.aggregators.central.event_release import ToPS
from murmurate.aggregators.central.percentile import PAK_BETA, PAK_SHARE, SHARE, SmoothPercentile
from murmurate.aggregators.trees.hierarchy import NodeSums
from murmurate.aggregators.trees.lazy import LeafNoise
from murmurate.aggregators.trees.smoothers import SMOOTHERS
from murmurate.randomizers import Key
from murmurate.randomizers.central.noise import NodeNoise
from murmurate.randomizers.central.noisy_max import count_above
from murmurate.randomizers.trees import Tree

Floats = NDArray[np.float64]

STRETCHES: Final = 200
BLOCK: Final = 3
"""The number s of levels that are left out in `thresholds` and `end_to_end`."""
TREE_EPSILON: Final = Fraction(1, 20)
"""What the tree has where only the threshold's epsilon changes."""
BINARY, WIDE, UNBOUNDED = Tree(2, 20), Tree(16, 5), Tree(2, 21)
"""The trees over 2^20 events: two of H2, sixteen of H16, one of Chan's."""
HIERARCHIES: Final = ("H2", "H16", "H16c", "Chan")
THRESHOLDS: Final = ("NM-E", "S-PAK", "S-P")
END_TO_END: Final = ("ToPS", "NM-E + H2", "S-PAK + Recent", "PAK")
BASE: Final = "Base"


def stretches(length: int, seed: int) -> Numbers:
    """The ends of random stretches, each with at least one event: int64[STRETCHES, 2]."""
    generator = np.random.default_rng([seed, 9])
    one, other = generator.integers(0, length + 1, STRETCHES), generator.integers(0, length, STRETCHES)
    return np.sort(np.column_stack((one, other + (other >= one))), axis=1)


def key_of(seed: int) -> Key:
    """The key of a run."""
    return Key(hashlib.sha256(b"murmurate reproduce tops %d" % seed).digest(), deployment="reproduce")


def hierarchies(theta: int, epsilon: Fraction, seed: int, length: int) -> dict[str, float]:
    """The squared errors of each hierarchy, over theta^2 / epsilon^2."""
    over = float((theta / epsilon) ** 2)
    ends = stretches(length, seed)
    plain = {
        "H2": (BINARY, even_shares(BINARY.levels)),
        "H16": (WIDE, even_shares(WIDE.levels)),
        "Chan": (UNBOUNDED, chan_shares(UNBOUNDED.levels)),
    }
    found = dict[str, float]()
    for name, (tree, shares) in plain.items():
        sums = _node_sums(tree, shares, theta, epsilon, name, seed, length)
        found[name] = _mean_square([sums.answer(*each) for each in ends.tolist()])
    consistent = _until(_leaf_noise(WIDE, theta, epsilon, seed, length))
    found["H16c"] = _mean_square(consistent[ends[:, 1]] - consistent[ends[:, 0]])
    return {name: found[name] / over for name in HIERARCHIES}


def smoothed(stream: ValueStream, epsilon: Fraction, block: int, seed: int) -> dict[str, float]:
    """The squared errors of each smoother, and of none (H16c)."""
    theta = max(1, round(float(np.percentile(stream.values[:HELD_OUT], 95))))
    values = np.minimum(stream.values[HELD_OUT:], theta)
    ends = stretches(len(values), seed)
    found = {
        name: squared_error(_released(stream.top, values, theta, epsilon, block, name, seed), values, ends)
        for name in SMOOTHERS
    }
    noise = _until(_leaf_noise(WIDE, theta, epsilon, seed, len(values)))
    return found | {
        "H16c": _mean_square(noise[ends[:, 1]] - noise[ends[:, 0]]),
        BASE: squared_error(None, values, ends),
    }


def thresholds(stream: ValueStream, epsilon: Fraction, seed: int) -> dict[str, tuple[float, float]]:
    """The threshold that each method finds, and the squared error to which it leads; Base's is 0."""
    held_out = stream.values[:HELD_OUT]
    drawn = np.random.default_rng([seed, 10]).integers(0, len(held_out), len(stream.values) - HELD_OUT)
    values = held_out[drawn]
    ends = stretches(len(values), seed)
    out = {BASE: (0.0, squared_error(None, values, ends))}
    for name in THRESHOLDS:
        theta = found_threshold(name, stream, epsilon, seed, TREE_EPSILON)
        released = _released(stream.top, values, theta, TREE_EPSILON, BLOCK, "recent", seed) if theta else None
        out[name] = float(theta), squared_error(released, values, ends)
    return out


def end_to_end(stream: ValueStream, epsilon: Fraction, seed: int) -> dict[str, float]:
    """The squared errors of whole methods, where threshold and tree have epsilon each."""
    values = stream.values[HELD_OUT:]
    ends = stretches(len(values), seed)
    out = {BASE: squared_error(None, values, ends)}
    for finds, (smoothing, plain) in {"NM-E": END_TO_END[:2], "S-PAK": END_TO_END[2:]}.items():
        theta = found_threshold(finds, stream, epsilon, seed, epsilon)
        if not theta:
            out[smoothing] = out[plain] = out[BASE]
            continue
        out[smoothing] = squared_error(
            _released(stream.top, values, theta, epsilon, BLOCK, "recent", seed), values, ends
        )
        sums = _node_sums(BINARY, even_shares(BINARY.levels), theta, epsilon, "H2", seed, len(values))
        missing = _until(np.minimum(values, theta) - values)
        out[plain] = _mean_square([sums.answer(*each) + missing[each[1]] - missing[each[0]] for each in ends.tolist()])
    return {name: out[name] for name in (*END_TO_END, BASE)}


def found_threshold(name: str, stream: ValueStream, epsilon: Fraction, seed: int, tree_epsilon: Fraction) -> int:
    """The threshold that a method finds by the events that are held out."""
    held_out = stream.values[:HELD_OUT]
    if name == "NM-E":
        choice = ToPS(epsilon, stream.top, held_out=len(held_out)).choice(tree_epsilon)
        return choice.chosen(count_above(held_out, choice.candidates), key_of(seed), _digest("threshold"))
    share, beta = (PAK_SHARE, PAK_BETA) if name == "S-PAK" else (SHARE, None)
    delta = float(len(stream.values)) ** -2
    percentile = SmoothPercentile(share, float(epsilon), delta, stream.top, beta)
    return round(percentile.threshold(held_out, float(np.random.default_rng([seed, 11]).laplace())))


def squared_error(released: Floats | None, values: Numbers, ends: Numbers) -> float:
    """The mean squared error over stretches of what was released instead of these values; None: zeros, by Base."""
    off = _until(-values.astype(np.float64) if released is None else released - values)
    return _mean_square(off[ends[:, 1]] - off[ends[:, 0]])


def _released(
    top: int, values: Numbers, theta: int, epsilon: Fraction, block: int, smoother: str, seed: int
) -> Floats:  # fmt: skip
    method = ToPS(epsilon, top, tree=WIDE, block=block, smoother=smoother)
    return method.released(theta, key_of(seed), _digest("release")).add(values)


def _leaf_noise(tree: Tree, theta: int, epsilon: Fraction, seed: int, length: int) -> Floats:
    key, gamma, parts = key_of(seed), epsilon / (tree.levels * theta), list[Floats]()
    for at in range(-(-length // tree.leaves)):
        noise = LeafNoise(tree, NodeNoise(key, _digest(f"leaves {at}"), gamma))
        parts.append(noise.numerators(0, tree.leaves) / tree.denominator)
    return np.concatenate(parts)[:length]


def _node_sums(
    tree: Tree, shares: Floats, theta: int, epsilon: Fraction, name: str, seed: int, length: int
) -> NodeSums:  # fmt: skip
    key, trees = key_of(seed), -(-length // tree.leaves)
    levels = [
        NodeNoise(key, _digest(name), epsilon * Fraction(share).limit_denominator(10**9) / theta).of(
            level, 0, trees * tree.nodes(level)
        )
        for level, share in enumerate(shares.tolist(), 1)
    ]
    return NodeSums(tree, levels)


def _until(numbers: NDArray[Any]) -> Floats:
    """Sums of the first 0, 1, 2, ... of them."""
    return np.concatenate((np.zeros(1), np.cumsum(numbers, dtype=np.float64)))


def _mean_square(off: Any) -> float:
    return float((np.asarray(off, np.float64) ** 2).mean())


def _digest(what: str) -> bytes:
    return hashlib.sha256(what.encode()).digest()
