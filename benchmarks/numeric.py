# SPDX-License-Identifier: Apache-2.0
"""Numbers: reports per second of the mean mechanisms and Square Wave, EM against dense matrices.

Fair to the dense EM: the same loop, NumPy's matrix product on as many threads as it takes (they wait for
the cores of a busy machine), matrices made beforehand.
`python -m benchmarks.numeric` prints these rows alone.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import Row, against_peers, at_least, at_most, best_seconds, heading, line
from murmurate.aggregators.distribution import Channel, em
from murmurate.aggregators.distribution_waves import Buckets, WaveChannel
from murmurate.randomizers import Key, Mechanism
from murmurate.randomizers.numeric import HM, PM, SR, SW, ValueAndPresence
from murmurate.randomizers.randomness import contexts

N = 200_000
EPSILON = 1.0
CELLS = 1024
STEPS = 50
KEY = Key(bytes(range(32)), deployment="bench")
ROUND = b"\x01" * 32
USERS = contexts(np.arange(N), part=7)


def rows() -> Iterator[Row]:
    for made in (SR(epsilon=EPSILON), PM(epsilon=EPSILON), HM(epsilon=EPSILON), ValueAndPresence(epsilon=EPSILON)):
        yield from mechanism(made)
    yield from mechanism(SW(d=CELLS, epsilon=EPSILON))
    yield from distribution("em step, bucketised 1024", Buckets(SW(d=CELLS, epsilon=EPSILON)))
    yield from distribution("em step, continuous 1024", WaveChannel(EPSILON, inputs=CELLS, outputs=CELLS))


def mechanism(made: Mechanism) -> Iterator[Row]:
    """Device and server of one mechanism, keyed randomness included."""
    values = np.random.default_rng(made.d).integers(0, made.d, N)
    reports = made.perturb(values, KEY.draw(USERS, round=ROUND))
    took = best_seconds(
        {
            "client": lambda: made.perturb(values, KEY.draw(USERS, round=ROUND)),
            "server": lambda: made.estimate(made.support(reports), N),
        }
    )
    name = made.name.replace("value_presence", "value, none")
    yield at_least(f"{name} client d={made.d}", N / took["client"], 10e6)
    yield at_least(f"{name} server", N / took["server"], 10e6)


class Dense:
    """The same channel by its matrix: the peer."""

    def __init__(self, channel: Channel) -> None:
        self.inputs, self.outputs = channel.inputs, channel.outputs
        self._matrix = np.stack([channel.forward(unit) for unit in np.eye(channel.inputs)], axis=1)
        self._transpose = np.ascontiguousarray(self._matrix.T)

    def forward(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(self._matrix @ x)

    def backward(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(self._transpose @ w)


def distribution(what: str, channel: Channel) -> Iterator[Row]:
    """One EM step, and how many times a dense matrix takes."""
    truth = np.exp(-np.arange(channel.inputs) / 200)
    seen = channel.forward(truth / truth.sum())
    counts = np.random.default_rng(1).multinomial(N, seen / seen.sum())
    dense = Dense(channel)
    took = best_seconds(
        {
            "murmurate": lambda: em(channel, counts, tau=0, shift=0, most=STEPS),
            "dense": lambda: em(dense, counts, tau=0, shift=0, most=STEPS),
        }
    )
    yield at_most(what, took["murmurate"] / STEPS * 1e6, 100, "us")
    yield against_peers("  steps/s; peer: dense", 8, {name: STEPS / seconds for name, seconds in took.items()})


if __name__ == "__main__":
    print(heading())
    for row in rows():
        print(line(row), flush=True)
