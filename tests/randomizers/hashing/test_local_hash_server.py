# SPDX-License-Identifier: Apache-2.0
"""BLH and OLH on the server: what is counted, what estimates and a pool of seeds are worth, and what is refused.

Keys are fixed, so a test passes always or never; over the choice of a key each would alarm by chance with probability
at most 1e-6 (where it says so: 6e-5 a cell).
"""

from __future__ import annotations

import hashlib
import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from murmurate.randomizers import ParameterError, ReportError, ValueRefusedError
from murmurate.randomizers.frequency import local_hash
from murmurate.randomizers.frequency.hashing import hash_one, hash_pairs
from murmurate.randomizers.frequency.local_hash import DEFAULT_POOL, LocalHash
from murmurate.randomizers.frequency.olh import BLH, OLH
from murmurate.randomizers.randomness import contexts
from tests.cases import every
from tests.randomizers.hashing.draws import KEY, ROUND, TWO_64, chosen, draw

KINDS = every("kind", [BLH, OLH])


# ---- counting ----


def counted(made: LocalHash, reports: np.ndarray) -> list[int]:
    """Support by the definition: report by report, value by value."""
    width = 8 if not made.pool else 1 if made.pool <= 256 else 2
    pairs = [(int.from_bytes(r[:width], "little"), int.from_bytes(r[width:], "little")) for r in map(bytes, reports)]
    first = int.from_bytes(hashlib.sha256(b"murmurate/pool/1\n" + ROUND).digest()[:8], "little") if made.pool else 0
    return [sum(hash_one(first + seed, value, made.g) == cell for seed, cell in pairs) for value in range(made.d)]


@KINDS
@pytest.mark.parametrize("pool", [0, 1, 5, 64, 1000])
@pytest.mark.parametrize("table", [1 << 22, 64])
def test_support_counts_the_values_in_the_cell_of_each_report(
    kind: type[LocalHash], pool: int, table: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_hash, "_TABLE", table)  # small: the table of the pool is made in parts
    made = kind(d=12, epsilon=1.9, pool=pool).of_round(ROUND)
    for n in (0, 1, 700):
        reports = made.perturb(np.arange(n) % 12, draw(n))
        assert made.support(reports).tolist() == counted(made, reports)
        assert made.support_of(reports, np.array([11, 0, 11])).tolist() == [
            made.support(reports)[v] for v in (11, 0, 11)
        ]


@every("pool", [0, 3, DEFAULT_POOL])
def test_support_is_additive_in_any_grouping(pool: int) -> None:
    # 50 000 reports are counted as a table, the parts pair by pair.
    olh = OLH(d=40, epsilon=1.0, pool=pool).of_round(ROUND)
    reports = olh.perturb(np.arange(50_000) % 40, draw(50_000))
    whole = olh.support(reports)
    assert whole.dtype == np.int64
    parts = [olh.support(reports[a:b]) for a, b in pairwise((0, 1, 64, 9000, 50_000))]
    assert (np.sum(parts, axis=0) == whole).all()


def test_at_an_epsilon_of_millions_of_cells_support_needs_no_table() -> None:
    olh = OLH(d=5, epsilon=17, pool=1).of_round(ROUND)
    reports = olh.perturb(np.arange(2000) % 5, draw(2000))
    assert olh.support(reports).sum() > 900  # half of the reports tell the cell, which no other value shares
    assert olh.support(reports).tolist() == counted(olh, reports)


def test_evidence_is_a_cell_that_holds_one_value_and_not_the_other() -> None:
    olh = OLH(d=9, epsilon=1.0, pool=0)
    chances = []
    for value in (2, 7):
        reports = olh.perturb(np.full(200_000, value), draw(200_000, value))
        seeds, cells = olh._read(reports)
        told = (hash_pairs(seeds, np.array([2]), 4) == cells) & (hash_pairs(seeds, np.array([7]), 4) != cells)
        assert (olh.evidence(reports, 2, 7) == told).all()
        chances.append(told.mean())
    for found, chance in zip(chances, map(float, olh.telling), strict=True):
        assert abs(found - chance) < 5 * math.sqrt(chance * (1 - chance) / 200_000)


# ---- estimates ----


@KINDS
@every("epsilon", [0.5, 1.0, 3.0])
def test_estimates_from_fresh_seeds_are_unbiased_and_vary_as_they_say(kind: type[LocalHash], epsilon: float) -> None:
    # 25 000 runs. Within 4 standard errors of the truth (false alarm 6e-5 a cell) and 5 % of the variance (over 5
    # standard errors, which are 0.9 %).
    runs, n, d = 25_000, 30, 4
    made = kind(d=d, epsilon=epsilon, pool=0)
    values = np.repeat([0, 0, 0, 1, 1, 2], 5)
    seeds, cells = made._read(made.perturb(np.tile(values, runs), draw(runs * n)))
    estimates = np.empty((runs, d))
    for value in range(d):
        hits = (hash_pairs(seeds, np.array([value]), made.g) == cells).reshape(runs, n).sum(axis=1)
        estimates[:, value] = (hits / n - float(made.q)) / float(made.p - made.q)
    truth = np.array([0.5, 1 / 3, 1 / 6, 0])
    exact = made.variance(n, truth)
    assert (np.abs(estimates.mean(axis=0) - truth) < 4 * np.sqrt(exact / runs)).all()
    assert (np.abs(estimates.var(axis=0) / exact - 1) < 0.05).all()


@every(("epsilon", "pool"), [(0.5, 1), (1.0, 2), (2.0, 2)])
def test_a_pool_adds_the_variance_it_says(epsilon: float, pool: int) -> None:
    # 25 000 runs, each with a pool of its own: the seeds pool * run and those that follow, through the device's code.
    # The addition is a quarter of the rest or more here. Bounds as above.
    runs, n, d = 25_000, 36, 4
    made, pooled = OLH(d=d, epsilon=epsilon, pool=0), OLH(d=d, epsilon=epsilon, pool=pool)
    values = np.tile(np.repeat([0, 0, 0, 1, 1, 2], 6), runs)
    given = np.random.default_rng(4).integers(0, TWO_64, (runs * n, 2), np.uint64)
    given[:, 0] %= np.uint64(pool)
    given[:, 0] += np.repeat(np.arange(runs, dtype=np.uint64) * np.uint64(pool), n)
    seeds, cells = made._read(made.perturb(values, chosen(given)))
    estimates = np.empty((runs, d))
    for value in range(d):
        hits = (hash_pairs(seeds, np.array([value]), made.g) == cells).reshape(runs, n).sum(axis=1)
        estimates[:, value] = (hits / n - float(made.q)) / float(made.p - made.q)
    truth = np.array([0.5, 1 / 3, 1 / 6, 0])
    added, exact = pooled.pool_variance(n, truth), made.variance(n, truth)
    assert (added[1:] > 0.25 * exact[1:]).all()
    assert (np.abs(estimates.mean(axis=0) - truth) < 4 * np.sqrt((exact + added) / runs)).all()
    assert (np.abs(estimates.var(axis=0) / (exact + added) - 1) < 0.05).all()
    assert (made.pool_variance(n, truth) == 0).all()


def test_the_default_pool_adds_less_than_five_percent_where_it_says() -> None:
    n, olh = 100_000, OLH(d=20, epsilon=1.0)
    f = np.array([0.24] + 19 * [0.04])
    assert 8700 < n * (f**2).sum() < 9000
    assert (olh.pool_variance(n, f) < 0.05 * olh.variance(n, 0)).all()
    assert olh.pool_variance(n, np.eye(20)[3])[0] == pytest.approx((1 - 1e-5) / (DEFAULT_POOL * 3))


@KINDS
def test_the_error_of_a_pool_averages_out_over_rounds(kind: type[LocalHash]) -> None:
    # 300 rounds of the same users. A pool of 4 seeds adds far more than the coins do, so that means of 25 and of 300
    # rounds are told apart: within 5 standard errors of the truth (false alarm 1e-6 a cell), by round and on average.
    rounds, n = 300, 400
    made = kind(d=4, epsilon=2.0, pool=4)
    values = np.repeat([0, 0, 0, 1, 1, 2], [67, 67, 66, 67, 66, 67])
    truth = np.bincount(values, minlength=4) / n
    users, errors = contexts(np.arange(n)), np.empty((rounds, 4))
    for number in range(rounds):
        drawn = KEY.draw(users, round=hashlib.sha256(b"round %d" % number).digest())
        support = made.of_round(drawn.round).support(made.perturb(values, drawn))
        errors[number] = made.estimate(support, n) - truth
    exact, added = made.variance(n, truth), made.pool_variance(n, truth)
    assert (added[1:] > 3 * exact[1:]).all()
    for first in (25, rounds):
        assert (np.abs(errors[:first].mean(axis=0)) < 5 * np.sqrt((exact + added) / first)).all(), first
    square = (errors**2).mean(axis=0)  # of one round: what it says, within 5 standard errors of a mean of squares
    assert (np.abs(square / (exact + added) - 1) < 5 * np.std(errors**2, axis=0) / square / math.sqrt(rounds)).all()


@KINDS
def test_a_server_reads_a_round_only_with_the_functions_of_that_round(kind: type[LocalHash]) -> None:
    made, other = kind(d=8, epsilon=3.0), hashlib.sha256(b"another round").digest()
    reports = made.perturb(np.full(4000, 5), draw(4000))
    right, wrong = (made.estimate(made.of_round(round).support(reports), 4000)[5] for round in (ROUND, other))
    assert right > 0.9 > 0.2 > abs(wrong)
    for read in (made.support, lambda rows: made.evidence(rows, 0, 1)):
        with pytest.raises(ParameterError, match=r"round: found none, .*allowed: of_round\(the digest of the round\)"):
            read(reports)
    with pytest.raises(ParameterError, match="round: found none"):
        kind(d=8, epsilon=3.0, pool=2).law(0)
    for digest in (b"", ROUND[:31], "x" * 32, None):
        with pytest.raises(ParameterError, match="round: found"):
            made.of_round(digest)  # type: ignore[arg-type]


@KINDS
def test_a_mechanism_of_one_round_refuses_to_answer_another(kind: type[LocalHash]) -> None:
    made, other = kind(d=8, epsilon=3.0), hashlib.sha256(b"another round").digest()
    mine, theirs = made.of_round(ROUND), made.of_round(other)
    assert made.digest == mine.digest == theirs.digest
    assert mine == made.of_round(ROUND) != theirs
    assert mine != made
    assert theirs.of_round(ROUND) == mine
    assert (mine.perturb(np.arange(8), draw(8)) == made.perturb(np.arange(8), draw(8))).all()
    with pytest.raises(ValueRefusedError, match="draw: found one of another round"):
        theirs.perturb(np.arange(8), draw(8))
    with pytest.raises(ValueRefusedError, match="draw: found one of another round"):
        theirs.perturb_one(1, KEY.draw_one(bytes(16), round=ROUND))


@KINDS
def test_without_a_pool_there_is_nothing_to_know_of_a_round(kind: type[LocalHash]) -> None:
    made = kind(d=8, epsilon=3.0, pool=0)
    assert made.of_round(ROUND) is made
    assert (made.version, kind(d=8, epsilon=3.0).version) == (1, 2)


# ---- what is refused ----


@KINDS
@every("pool", [-1, local_hash.MAX_POOL + 1, 1.0, True, None, "7"])
def test_a_pool_that_is_none_is_refused(kind: type[LocalHash], pool: Any) -> None:
    with pytest.raises(ParameterError, match=r"pool: found .*allowed: a whole number from 1 to 65536, or 0"):
        kind(d=4, epsilon=1, pool=pool)


@KINDS
@every("d", [1, 0, True, 2.0, (1 << 24) + 1])
def test_a_domain_that_is_none_is_refused(kind: type[LocalHash], d: Any) -> None:
    with pytest.raises(ParameterError, match="d: found"):
        kind(d=d, epsilon=1)


def test_another_pool_is_another_mechanism() -> None:
    digests = {kind(d=4, epsilon=0.1, pool=pool).digest for kind in (BLH, OLH) for pool in (0, 1, DEFAULT_POOL)}
    assert len(digests) == 6
    assert OLH(d=4, epsilon=1) == OLH(d=4, epsilon=1, pool=DEFAULT_POOL)
    assert OLH(d=4, epsilon=1).spec() == {"name": "olh", "d": 4, "epsilon_micro": 10**6, "pool": DEFAULT_POOL}


@KINDS
def test_a_law_of_too_many_reports_is_refused_and_says_what_there_is(kind: type[LocalHash]) -> None:
    with pytest.raises(ParameterError, match=r"law: found fresh seeds .*allowed: at most 4096 .*`law_given`"):
        kind(d=4, epsilon=1, pool=0).law(0)
    with pytest.raises(ParameterError, match=r"law: found a pool of 16384 seeds"):
        kind(d=4, epsilon=1).law(0)
    with pytest.raises(ParameterError, match=r"law_given: found g = 8104"):
        OLH(d=4, epsilon=9).law_given(1, 1)


@every(
    ("made", "good", "bad"),
    [
        (OLH(d=5, epsilon=1), [0xFF, 0x3F, 3], [0x00, 0x40, 3]),  # a seed past the pool of 16384
        (OLH(d=5, epsilon=1), [0xFF, 0x3F, 3], [0x00, 0x00, 4]),  # a cell past the last of 4
        (OLH(d=5, epsilon=1, pool=3), [2, 0], [3, 0]),
        (BLH(d=5, epsilon=1, pool=1), [0, 1], [0, 2]),
        (BLH(d=5, epsilon=1, pool=0), [255] * 8 + [1], [0] * 8 + [2]),
        (OLH(d=5, epsilon=6, pool=256), [255, 0x93, 1], [255, 0x94, 1]),  # g = 404
    ],
)
def test_a_report_that_no_value_gives_is_marked_and_never_counted(
    made: LocalHash, good: list[int], bad: list[int]
) -> None:
    reports = np.array([good, bad, good], np.uint8)
    assert made.malformed(reports).tolist() == [False, True, False]
    with pytest.raises(ReportError, match="found 1 that no value gives"):
        made.support(reports)
    assert made.of_round(ROUND).support(reports[[0, 2]]).max() <= 2


@KINDS
@every("values", [np.array([0, 5]), np.array([-1, 0]), np.array([0.0, 1.0]), [0, 1], np.array([0])])
def test_values_outside_the_domain_are_refused(kind: type[LocalHash], values: Any) -> None:
    made = kind(d=5, epsilon=1)
    with pytest.raises(ValueRefusedError, match="allowed:"):
        made.perturb(values, draw(2))
    with pytest.raises(ValueRefusedError, match="allowed: a whole number from 0 to 4"):
        made.perturb_one(5, KEY.draw_one(bytes(16), round=ROUND))
    with pytest.raises(ValueRefusedError, match="allowed: 0 to 4"):
        made.of_round(ROUND).support_of(np.zeros((1, 3), np.uint8), np.array([5]))


@every("reports", [np.zeros((3, 7), np.uint8), np.zeros(3, np.uint8), np.zeros((3, 3), np.int64), [b"a"]])
def test_reports_of_another_shape_are_refused(reports: Any) -> None:
    made = OLH(d=5, epsilon=1)
    for read in (made.support, made.malformed, lambda rows: made.evidence(rows, 0, 1)):
        with pytest.raises(ReportError, match="reports: found"):
            read(reports)


@every(("n", "f"), [(0, np.zeros(3)), (5, np.zeros(4)), (5, np.array([0, 1.1, 0])), (5, 0.5)])
def test_the_cost_of_a_pool_needs_all_frequencies(n: int, f: Any) -> None:
    with pytest.raises(ParameterError, match="pool_variance: found"):
        OLH(d=3, epsilon=1).pool_variance(n, f)
