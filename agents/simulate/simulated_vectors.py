# SPDX-License-Identifier: Apache-2.0
"""The support of simulated reports about sets and sparse vectors, drawn as counts instead of report by report.

Contract: numbers become signs as on a device.  Where a mechanism counts supported signs, the two counts of a coordinate
have their exact joint law, from the probabilities that it states; counts of different coordinates are drawn as if they
were independent, which matters to no variance.  Any other mechanism answers for every user.  Not here: who is asked
(simulated_answers.py).
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers import Key
from murmurate.randomizers.layouts import FILLER, UNIT, ItemsLayout, SignedLayout
from murmurate.randomizers.vectors import Collision, SetSubset, SparseOracle, VectorQuestion

_KEY: Final = Key(bytes(range(32)), deployment="simulated")
Ints = NDArray[np.int64]


def support_of_vectors(
    question: VectorQuestion, sample: Ints, generator: np.random.Generator, rows: NDArray[np.uint32]
) -> Ints:
    """The support of the reports of users who hold these rows. sample: how many hold each: int64[rows]."""
    if isinstance(question, SparseOracle) and question.outcomes == 2 * question.d:
        return _signed_support(question, sample, generator, rows)
    if isinstance(question, SetSubset):
        return _support_of_sets(question, (question.p, question.q), sample, generator, rows)
    if isinstance(question, Collision):
        chances = question.supports.own, question.supports.absent
        return _support_of_sets(question, chances, sample, generator, rows)
    values = np.repeat(rows, sample, axis=0)
    draw = _KEY.draw(generator.integers(0, 256, (len(values), 16), np.uint8), round=generator.bytes(32))
    asked = question.of_round(draw.round)
    return asked.support(asked.perturb(values, draw))


def _signed_support(
    question: SparseOracle, sample: Ints, generator: np.random.Generator, rows: NDArray[np.uint32]
) -> Ints:
    """The supports of +1 of all items, then those of -1."""
    n, supported = int(sample.sum()), np.zeros((2, question.d), np.int64)
    up, down = _holders_of_signs(question.of, sample, generator, rows)
    own, opposite, absent, both, neither = map(float, question.supports)
    kinds = (up, own, opposite, both), (down, opposite, own, both), (n - up - down, absent, absent, neither)
    for holders, of_up, of_down, of_both in kinds:
        chances = np.array([of_up - of_both, of_down - of_both, of_both])
        found = generator.multinomial(holders, np.append(chances, 1 - chances.sum()))
        supported += found[:, :2].T + found[:, 2]
    return np.asarray(np.clip(supported + _of_pool(question, supported, n, generator), 0, n).reshape(-1))


def _support_of_sets(
    question: VectorQuestion, chances: tuple[Fraction, Fraction], sample: Ints, generator: np.random.Generator,
    rows: NDArray[np.uint32],
) -> Ints:  # fmt: skip
    """The support of each item. chances: of supporting an item that is held, and one that is not."""
    n, (own, absent) = int(sample.sum()), map(float, chances)
    holders, _ = _holders_of_signs(question.of, sample, generator, rows)
    found = generator.binomial(holders, own) + generator.binomial(n - holders, absent)
    added = question.added_variance(n, holders / n) if n else np.zeros(question.d)
    error = np.rint(generator.normal(0, n * (own - absent) * np.sqrt(added))).astype(np.int64)
    return np.asarray(np.clip(found + error, 0, n))


def _of_pool(question: SparseOracle, supported: Ints, n: int, generator: np.random.Generator) -> Ints:
    """What users who share a hash function by chance add to the counts: int64[2, d]."""
    if not n:
        return np.zeros_like(supported)
    added = question.added_variance(n, question.plausible(question.estimate(supported.reshape(-1), n)))
    if not added.any():
        return np.zeros_like(supported)
    error = generator.normal(0, n * np.sqrt(added))
    difference = float(question.gap) * error[: question.d]
    whole = float(question.share_gap) * error[question.d :] if len(error) > question.d else 0.0
    return np.rint(np.stack((whole + difference, whole - difference)) / 2).astype(np.int64)


def _holders_of_signs(
    of: ItemsLayout | SignedLayout, sample: Ints, generator: np.random.Generator, rows: NDArray[np.uint32]
) -> tuple[Ints, Ints]:
    """How many hold +1 and how many -1 of each item: two int64[d]."""
    row, places, up = _entries(of, rows.tobytes())
    holders = sample[row]
    positive = generator.binomial(holders, up)
    counts = (np.bincount(places, weights, minlength=of.d) for weights in (positive, holders - positive))
    ups, downs = (np.rint(count).astype(np.int64) for count in counts)
    return ups, downs


@lru_cache(maxsize=8)
def _entries(of: ItemsLayout | SignedLayout, words: bytes) -> tuple[Ints, Ints, NDArray[np.float64]]:
    """The row, the item, and the chance of +1 of each entry of these rows."""
    rows = np.frombuffer(words, np.uint32).reshape(-1, of.words)
    if isinstance(of, ItemsLayout):
        items, up = rows, np.ones(rows.shape)
    else:
        items, up = rows[:, ::2], rows[:, 1::2] / (2 * UNIT)
    held = (items != FILLER) & ~of.silent(rows)[:, np.newaxis]
    return np.nonzero(held)[0], items[held].astype(np.int64), up[held]
