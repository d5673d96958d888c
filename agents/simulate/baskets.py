# SPDX-License-Identifier: Apache-2.0
"""Users' sets of items: made-up baskets and files by path, for searches of frequent items and sets of items.

Contract: the same shape and seed give the same baskets.  For a made-up basket items are drawn, a Poisson number of
them, with chances that fall as a power of the rank; what is drawn twice is held once.  Wang 2021, section 5.5, names of
its synthetic baskets the number of items and the mean size (IBM's generator: 1000 items, 5 on average).  The power and
the number of draws are ours: 1.1, and 5.5 draws, which leave 4.9 items.  Files are read by path, and never kept.  Not
here: searching (set_searches.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.replay.source import SourceError
from murmurate.randomizers.layouts.layout import MAX_MOST

Ints = NDArray[np.int64]


class FrequentSet(NamedTuple):
    """A set of items, or an item alone, and who holds it."""

    items: tuple[int, ...]
    holders: int


@dataclass(frozen=True, eq=False)
class Baskets:
    """A set of items for each user, one after the other."""

    name: str
    items: Ints
    """The items of all users, each user's together, rising: int64[held]."""
    users: Ints
    """The user of each of these items, rising from 0: int64[held]."""
    n: int
    """The number of users, some of whom may hold nothing."""
    d: int
    """The number of different items."""

    def of(self, chosen: NDArray[np.bool_]) -> Baskets:
        """The baskets of the chosen users, bool[n], numbered anew."""
        numbers = np.cumsum(chosen) - 1
        held = chosen[self.users]
        return Baskets(self.name, self.items[held], numbers[self.users[held]], int(chosen.sum()), self.d)

    def parts(self, weights: tuple[int, ...], generator: np.random.Generator) -> list[Baskets]:
        """The baskets of disjoint users, drawn in proportion to the weights."""
        ends = np.cumsum(weights) * self.n // sum(weights)
        part = np.searchsorted(ends, generator.permutation(self.n), side="right")
        return [self.of(part == place) for place in range(len(weights))]

    @property
    def counts(self) -> Ints:
        """The number of users who hold each item: int64[d]."""
        return np.bincount(self.items, minlength=self.d).astype(np.int64)


def frequent(baskets: Baskets, k: int, largest: int = 1) -> list[FrequentSet]:
    """The k most frequent sets of up to `largest` items, the most frequent first and of equals the smaller numbers.

    None of them has an item that is not among the k most frequent ones, nor a subset that is rarer than the k-th item;
    so sets are grown item by item from those that are not.
    """
    counts = baskets.counts
    order = np.argsort(-counts, kind="stable")[:k]
    found = [FrequentSet((int(item),), int(counts[item])) for item in order]
    least = max(1, found[-1].holders if len(found) == k else 1)
    number = np.full(baskets.d, -1, np.int64)
    number[order] = np.arange(len(order))
    holds = np.zeros((len(order), baskets.n), np.bool_)
    among = number[baskets.items] >= 0
    holds[number[baskets.items[among]], baskets.users[among]] = True
    packed = np.packbits(holds, axis=1)
    grown: list[tuple[tuple[int, ...], NDArray[np.uint8]]]
    grown = [((place,), packed[place]) for place in range(len(order))]
    for _ in range(1, largest):
        longer = []
        for places, holders in grown:
            both = holders & packed[places[-1] + 1 :]
            sizes = np.bitwise_count(both).sum(axis=1, dtype=np.int64)
            for more in np.flatnonzero(sizes >= least):
                of = (*places, places[-1] + 1 + int(more))
                longer.append((of, both[more]))
                found.append(FrequentSet(tuple(sorted(int(order[place]) for place in of)), int(sizes[more])))
        grown = longer
    return sorted(found, key=lambda one: (-one.holders, one.items))[:k]


class BasketShape(NamedTuple):
    """Made-up baskets."""

    n: int
    d: int
    draws: float
    """The mean number of items drawn for a user."""
    power: float
    """Chances fall as this power of the rank."""


SYNTHETIC: Final = BasketShape(200_000, 1000, 5.5, 1.1)
"""The baskets of the figures by epsilon."""


def made_up_baskets(shape: BasketShape = SYNTHETIC, seed: int = 5) -> Baskets:
    """Baskets of a shape; item 0 is the most frequent."""
    generator = np.random.default_rng([seed, shape.n])
    sizes = np.minimum(generator.poisson(shape.draws, shape.n), MAX_MOST)
    chances = np.arange(1, shape.d + 1) ** -shape.power
    drawn = generator.choice(shape.d, int(sizes.sum()), p=chances / chances.sum())
    return _listed("synthetic", np.repeat(np.arange(shape.n), sizes), drawn, shape.n, shape.d)


def baskets_of(path: Path) -> Baskets:
    """The sets of a file of whole numbers, a user a line; of longer lines the first 64 numbers."""
    try:
        with path.open(encoding="ascii") as lines:
            sets = [np.array(line.split()[:MAX_MOST], np.int64) for line in lines if line.strip()]
    except (OSError, ValueError):
        sets = []
    if len(sets) < 2:
        raise SourceError(f"{path.name}: found no users; allowed: a line of whole numbers for each")
    domain, items = np.unique(np.concatenate(sets), return_inverse=True)
    users = np.repeat(np.arange(len(sets)), [len(of) for of in sets])
    return _listed(path.stem.partition("_")[0], users, items, len(sets), len(domain))


def _listed(name: str, users: Ints, items: Ints, n: int, d: int) -> Baskets:
    """Baskets of pairs of a user and an item, each pair once."""
    pairs = np.unique(users.astype(np.int64) * d + items)
    return Baskets(name, pairs % d, pairs // d, n, d)
