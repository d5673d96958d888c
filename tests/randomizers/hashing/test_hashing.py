# SPDX-License-Identifier: Apache-2.0
"""The hash family: its known answers, and that it behaves as random functions where seeds and values are regular.

Nothing here is drawn anew, so a test passes always or never; were the cells truly random, each would alarm with
probability at most 1e-6.
"""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmurate.randomizers import ParameterError
from murmurate.randomizers.frequency.hashing import (
    MAX_CELLS,
    count_matches,
    first_seed,
    hash_one,
    hash_pairs,
    sum_table,
)
from tests.cases import every
from tests.randomizers.hashing import slow_hash
from tests.randomizers.hashing.draws import chi_square_limit

KNOWN: list[list[int]] = json.loads(slow_hash.FAMILY.read_text(encoding="ascii"))
CELLS = [2, 3, 4, 8, 56, 404]
RARE = math.log(1e6)
RANDOM = np.random.default_rng(20).integers(0, 2**64, 20_000, np.uint64)
COUNTING = np.arange(20_000, dtype=np.uint64)
SPARSE = COUNTING << np.uint64(49)
POOL = COUNTING + np.uint64(first_seed(hashlib.sha256(b"round").digest()))
FIRSTS = np.array([first_seed(hashlib.sha256(b"round %d" % i).digest()) for i in range(20_000)], np.uint64)
SEEDS = every("seeds", [COUNTING, SPARSE, RANDOM, POOL, FIRSTS])


def cells(seeds: np.ndarray, values: np.ndarray, g: int) -> np.ndarray:
    """All pairs: int64[values, seeds]."""
    return np.array([hash_pairs(seeds, np.array([value]), g) for value in values]).astype(np.int64)


def test_the_committed_answers_are_what_the_slow_implementation_computes() -> None:
    assert slow_hash.FAMILY.read_text(encoding="ascii") == slow_hash.text(slow_hash.family())


def test_plain_python_and_arrays_give_the_known_answers() -> None:
    assert all(hash_one(seed, value, g) == cell for seed, value, g, cell in KNOWN)
    for seed, value, g, cell in KNOWN:
        assert hash_pairs(np.array([seed], np.uint64), np.array([value]), g).tolist() == [cell]


@given(seed=st.integers(0, 2**64 - 1), value=st.integers(0, 2**32), g=st.integers(2, MAX_CELLS))
def test_three_implementations_agree_everywhere(seed: int, value: int, g: int) -> None:
    cell = slow_hash.cell(seed, value, g)
    assert hash_one(seed, value, g) == cell
    assert hash_pairs(np.array([seed, 0], np.uint64), np.array([value, value]), g)[0] == cell
    one, values = np.array([seed], np.uint64), np.array([value])
    for other in {cell, (cell + 1) % g, g - 1}:
        assert count_matches(one, np.array([other], np.uint64), values, g)[0] == (other == cell)


@every("g", CELLS[:-1])
@every(("n", "m"), [(0, 3), (1, 40_000), (3, 0), (9000, 11), (20_000, 1)])
def test_counts_over_many_pairs_are_those_of_the_pairs_one_by_one(g: int, n: int, m: int) -> None:
    seeds, values = RANDOM[:n], np.arange(m) * 3
    said = hash_pairs(seeds, np.arange(n) % 5, g)
    table = np.random.default_rng(g).integers(0, 1000, n * g)
    matches, sums = count_matches(seeds, said, values, g), sum_table(table, seeds, values, g)
    assert matches.shape == sums.shape == (m,)
    for k in range(0, m, max(1, m // 50)):
        own = hash_pairs(seeds, values[k : k + 1], g)
        assert matches[k] == np.count_nonzero(own == said)
        assert sums[k] == table[own.astype(np.int64) + np.arange(n) * g].sum()


@SEEDS
@every("g", CELLS)
def test_each_value_falls_evenly_into_the_cells(seeds: np.ndarray, g: int) -> None:
    values = np.array([0, 1, 2, 3, 1000, 2**24 - 1])
    for row in cells(seeds, values, g):
        found = np.bincount(row, minlength=g)
        assert ((found - len(seeds) / g) ** 2 * g / len(seeds)).sum() < chi_square_limit(g - 1, len(values))


@every("g", CELLS)
def test_each_seed_spreads_a_domain_evenly_over_the_cells(g: int) -> None:
    values = np.arange(20_000)
    for seed in (0, 1, 2, 16_383, 2**63):
        found = np.bincount(hash_pairs(np.full(20_000, seed, np.uint64), values, g).astype(np.int64), minlength=g)
        assert ((found - 20_000 / g) ** 2 * g / 20_000).sum() < chi_square_limit(g - 1, 5)


@SEEDS
@every("g", CELLS)
def test_two_values_share_a_cell_for_one_seed_in_g(seeds: np.ndarray, g: int) -> None:
    # Collisions of each of 2016 pairs are binomial (Bernstein), and their standardised squares average to 1: pairs are
    # uncorrelated, a square has variance below 2 + 1 / (n/g).
    n, values = len(seeds), np.concatenate([np.arange(48), 1 << np.arange(6, 22)])
    rows = cells(seeds, values, g)
    shared = np.array([np.count_nonzero(rows[i] == rows[:i], axis=1) for i in range(64)], dtype=object)
    found = np.concatenate(list(shared)).astype(np.float64)
    spread = math.sqrt(n * (1 - 1 / g) / g)
    assert len(found) == 2016
    x = RARE + math.log(2 * len(found))
    assert np.abs(found - n / g).max() < spread * math.sqrt(2 * x) + 2 * x / 3
    assert abs((((found - n / g) / spread) ** 2).mean() - 1) < 5 * math.sqrt((2 + g / n) / len(found))


@every("g", CELLS)
def test_two_seeds_agree_on_one_value_in_g(g: int) -> None:
    seeds, values = (
        np.concatenate([COUNTING[:48], np.uint64(1) << np.arange(6, 22, dtype=np.uint64)]),
        np.arange(20_000),
    )
    rows = np.array([hash_pairs(np.full(20_000, seed), values, g) for seed in seeds])
    found = np.concatenate([np.count_nonzero(rows[i] == rows[:i], axis=1) for i in range(1, 64)])
    spread, x = math.sqrt(20_000 * (1 - 1 / g) / g), RARE + math.log(2 * 2016)
    assert np.abs(found - 20_000 / g).max() < spread * math.sqrt(2 * x) + 2 * x / 3
    assert abs((((found - 20_000 / g) / spread) ** 2).mean() - 1) < 5 * math.sqrt((2 + g / 20_000) / 2016)


@SEEDS
def test_triples_of_values_share_a_cell_as_often_as_chance_has_it(seeds: np.ndarray) -> None:
    # The variance that a pool adds rests on triples: P[H(a) = H(b) = H(c)] = 1/g^2.
    g, n, x = 4, len(seeds), RARE + math.log(2 * 40)
    rows = cells(seeds, np.arange(42), g)
    for i in range(40):
        found = np.count_nonzero((rows[i] == rows[i + 1]) & (rows[i] == rows[i + 2]))
        assert abs(found - n / g**2) < math.sqrt(2 * x * n / g**2) + 2 * x / 3


@every("what", ["seed", "value"])
@every("regular", [True, False])
def test_any_flipped_bit_flips_each_bit_of_the_cell_half_the_time(what: str, regular: bool) -> None:
    n, out, bits = 8000, 24, 64 if what == "seed" else 24
    seeds, values = (COUNTING if regular else RANDOM)[:n], np.arange(n) * (1 if regular else 1049)
    before = hash_pairs(seeds, values, 1 << out)
    limit = math.sqrt(n * (RARE + math.log(2 * out * bits)) / 2)  # Hoeffding
    for bit in range(bits):
        if what == "seed":
            after = hash_pairs(seeds ^ np.uint64(1 << bit), values, 1 << out)
        else:
            after = hash_pairs(seeds, values ^ (1 << bit), 1 << out)
        changed = before ^ after
        for place in range(out):
            ones = np.count_nonzero(changed >> np.uint64(place) & np.uint64(1))
            assert abs(ones - n / 2) < limit


def test_no_two_of_300_000_functions_begin_alike() -> None:
    # Two values in 2^32 cells each: any two functions begin alike with probability 2^-64, a pair of these with 3e-9.
    seeds = np.arange(300_000, dtype=np.uint64)
    first, second = (hash_pairs(seeds, np.array([value]), 2**32) for value in (0, 1))
    assert len(np.unique(first << np.uint64(32) | second)) == len(seeds)


def seed_that_takes(value: int, z: int) -> int:
    """The one seed for which the z of this value is what is asked for: every step of the family undone."""

    def unshifted(z: int, shift: int) -> int:
        whole = z
        for _ in range(64 // shift):
            whole = z ^ whole >> shift
        return whole

    def unmixed(z: int) -> int:
        for factor, shift in ((0x94D049BB133111EB, 27), (0xBF58476D1CE4E5B9, 30)):
            z = unshifted(z * pow(factor, -1, 2**64) % 2**64, shift)
        return z

    step = 0x9E3779B97F4A7C15
    return (unmixed(unshifted((unmixed(z) - value * step) % 2**64, 31)) - step) % 2**64


@every("g", [*CELLS, 5, 7, 485_165_196, MAX_CELLS])
@every("value", [0, 5, 2**24 - 1])
def test_a_cell_has_its_share_of_all_2_to_the_64_seeds_up_to_one_seed(g: int, value: int) -> None:
    # Seeds and z go one to one, and cell c begins exactly at z = ceil(c 2^64 / g).
    for cell in {1, g // 2, g - 1}:
        edge = -(-(cell << 64) // g)
        seeds = [seed_that_takes(value, z) for z in (edge - 1, edge)]
        assert [hash_one(seed, value, g) for seed in seeds] == [cell - 1, cell]
        both, values = np.array(seeds, np.uint64), np.array([value])
        assert hash_pairs(both, values, g).tolist() == [cell - 1, cell]
        assert count_matches(both, np.array([cell - 1, cell], np.uint64), values, g).tolist() == [2]
        assert count_matches(both, np.array([cell, cell - 1], np.uint64), values, g).tolist() == [0]


@every("g", [1, 0, -2, 2**32 + 1, 2.0, True, None])
def test_a_number_of_cells_that_is_none_is_refused(g: Any) -> None:
    with pytest.raises(ParameterError, match="g: found"):
        hash_one(1, 1, g)
    with pytest.raises(ParameterError, match="g: found"):
        hash_pairs(RANDOM[:3], np.arange(3), g)
