# SPDX-License-Identifier: Apache-2.0
"""What searches among sets of items find is really there, and their error bars hold: over several kinds of data.

Coverage is over all names of all releases, the ones that were just found among them; a name is wrong whose items nobody
holds together.  Seeds are fixed: a failure is no chance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from murmurate.topics.domains.domain import FILLER
from tests.aggregators.set_searches import Rows, Searched, found, sets_of, setting

D, MOST, PERIODS = 200, 8, 6
Draw = np.random.Generator
Kind = Callable[[Draw, int], Rows]


def zipf(rng: Draw, users: int) -> Rows:
    """Shares like 1 / rank, items apart from each other; half of the items nobody holds."""
    shares = np.minimum(0.6, 1.2 / np.arange(1, D + 1) ** 1.1)
    shares[D // 2 :] = 0
    return sets_of(rng.permutation(shares), users, MOST, int(rng.integers(1 << 30)))


def few(rng: Draw, users: int) -> Rows:
    """Six items that anybody holds."""
    shares = np.zeros(D)
    shares[rng.choice(D, 6, replace=False)] = (0.5, 0.3, 0.2, 0.1, 0.1, 0.05)
    return sets_of(shares, users, MOST, int(rng.integers(1 << 30)))


def bundles(rng: Draw, users: int) -> Rows:
    """Items that are held together or not at all, so that some items lie in larger sets than others."""
    held = np.zeros((users, D), np.bool_)
    for size, share in zip((1, 2, 3, 6, 1, 2), (0.3, 0.25, 0.15, 0.15, 0.1, 0.05), strict=True):
        held[np.ix_(rng.random(users) < share, rng.choice(D, size, replace=False))] = True
    return rows_of(held)


def sizes(rng: Draw, users: int) -> Rows:
    """Six users in ten hold one of three items, the others eight of twelve others."""
    items, held = rng.permutation(D)[:15], np.zeros((users, D), np.bool_)
    many = rng.random(users) < 0.4
    held[np.flatnonzero(~many), items[rng.integers(0, 3, int((~many).sum()))]] = True
    chosen = rng.permuted(np.tile(items[3:], (int(many.sum()), 1)), axis=1)[:, :MOST]
    held[np.flatnonzero(many)[:, np.newaxis], chosen] = True
    return rows_of(held)


def rows_of(held: NDArray[np.bool_]) -> Rows:
    """The first MOST items that each user holds."""
    rows = np.full((len(held), MOST), FILLER, np.uint32)
    user, item = np.nonzero(held)
    place = np.arange(len(user)) - np.searchsorted(user, user)
    rows[user[place < MOST], place[place < MOST]] = item[place < MOST]
    return rows


KINDS: tuple[Kind, ...] = (zipf, few, bundles, sizes)


def of_search(name: str, kind: Kind, seed: int, users: int, epsilon: float) -> NDArray[np.bool_]:
    """Of each name of each release whether its truth is within two standard errors, and whether anybody holds it:
    bool[2, names].
    """
    rows = kind(np.random.default_rng([seed, len(kind.__name__)]), users)
    made = setting(name, D, most=MOST, epsilon=epsilon, w=4, slots=160, top=16, seed=seed)
    one, (values, counts) = Searched(made, name, rows, seed=seed), np.unique(rows, axis=0, return_counts=True)
    held = []
    for decision in one.periods(PERIODS):
        told = found(decision)
        truth = made.measure.true_shares(values, counts, told.values)  # type: ignore[attr-defined]
        held.append(np.stack((np.abs(told.estimates - truth) <= 2 * told.errors, truth > 0)))
    return np.concatenate(held, axis=1)


def measured(
    name: str, seeds: range, users: int, epsilons: tuple[float, ...], kinds: Sequence[Kind] = KINDS
) -> tuple[float, float, int]:
    """Coverage and precision over these kinds of data, and the number of names."""
    every = [of_search(name, kind, seed, users, epsilon) for kind in kinds for seed in seeds for epsilon in epsilons]
    both = np.concatenate(every, axis=1)
    coverage, precision = both.mean(axis=1)
    return float(coverage), float(precision), both.shape[1]


@pytest.mark.parametrize("name", ["svim", "svsm"])
def test_nine_names_in_ten_are_within_two_errors_and_held_by_somebody(name: str) -> None:
    coverage, precision, names = measured(name, range(1), 6_000, (4.0,), (few, bundles))
    assert names > 60
    assert coverage >= 0.9
    assert precision >= 0.9


@pytest.mark.audit
@pytest.mark.parametrize("name", ["svim", "svsm", "ldp_miner"])
@pytest.mark.parametrize(("users", "epsilons"), [(16_000, (2.0, 4.0)), (80_000, (1.0,))])
def test_nine_names_in_ten_hold_over_many_seeds(name: str, users: int, epsilons: tuple[float, ...]) -> None:
    coverage, precision, _ = measured(name, range(20), users, epsilons)
    assert coverage >= 0.93
    assert precision >= 0.95
