"""The support of simulated reports about sets and sparse vectors, drawn as counts instead of report by report.

Contract: numbers become signs as on a device.  Where a mechanism counts supported signs, the two counts of a coordinate
have their exact joint law, from the probabilities that it states; counts of different coordinates are drawn as if they
were independent, which matters to no variance.  Any other mechanism answers for every user.  Not here: who is asked
(simulated_answers.py).
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers import Key
from murmurate.randomizers.layouts import FILLER, UNIT, ItemsLayout
from murmurate.randomizers.vectors import SparseOracle, VectorQuestion

_KEY: Final = Key(bytes(range(32)), deployment="simulated")
Ints = NDArray[np.int64]


def support_of_vectors(
    question: VectorQuestion, sample: Ints, generator: np.random.Generator, rows: NDArray[np.uint32]
) -> Ints:
    """The support of the reports of users who hold these rows. sample: how many hold each: int64[rows]."""
    if not isinstance(question, SparseOracle) or question.outcomes != 2 * question.d:
        values = np.repeat(rows, sample, axis=0)
        draw = _KEY.draw(generator.integers(0, 256, (len(values), 16), np.uint8), round=generator.bytes(32))
        asked = question.of_round(draw.round)
        return asked.support(asked.perturb(values, draw))
    up, down = _holders_of_signs(question, sample, generator, rows)
    own, opposite, absent, both_held, both_absent = map(float, question.supports)
    nobody = int(sample.sum()) - up - down
    supported = np.zeros((2, question.d), np.int64)
    for holders, of_up, of_down, both in (
        (up, own, opposite, both_held), (down, opposite, own, both_held), (nobody, absent, absent, both_absent)
    ):  # fmt: skip
        chances = np.array([of_up - both, of_down - both, both])
        found = generator.multinomial(holders, np.append(chances, 1 - chances.sum()))
        supported += found[:, :2].T + found[:, 2]
    return supported.reshape(-1)


def _holders_of_signs(
    question: SparseOracle, sample: Ints, generator: np.random.Generator, rows: NDArray[np.uint32]
) -> tuple[Ints, Ints]:
    """How many hold +1 and how many -1 of each item: two int64[d]."""
    of = question.of
    if isinstance(of, ItemsLayout):
        items, up = rows, np.ones(rows.shape)
    else:
        items, up = rows[:, ::2], rows[:, 1::2] / (2 * UNIT)
    held = (items != FILLER) & ~of.silent(rows)[:, np.newaxis]
    places, holders = items[held], np.broadcast_to(sample[:, np.newaxis], items.shape)[held]
    positive = generator.binomial(holders, up[held])
    counts = (np.bincount(places, weights, minlength=question.d) for weights in (positive, holders - positive))
    ups, downs = (np.rint(count).astype(np.int64) for count in counts)
    return ups, downs
