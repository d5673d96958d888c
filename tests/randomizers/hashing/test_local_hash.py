"""BLH and OLH: golden values, the promise under every seed, one text from three implementations, and what a pool costs.

Keys are fixed, so a test passes always or never; over the choice of a key each would alarm by chance with probability
at most 1e-6 (where it says otherwise: 6e-5 a cell).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from murmurate.randomizers import Draw, Key, ParameterError, ReportError, ValueRefusedError
from murmurate.randomizers.audit import audit_exact, measure, trials_for
from murmurate.randomizers.frequency import local_hash
from murmurate.randomizers.frequency.hashing import hash_one, hash_pairs
from murmurate.randomizers.frequency.local_hash import BLH, DEFAULT_POOL, OLH, LocalHash
from murmurate.randomizers.randomness import Lanes, contexts
from murmurate.randomizers.thresholds import exp_floor
from tests.audit.registry import EPSILONS
from tests.randomizers.hashing import slow_hash

KEY = Key(hashlib.sha256(b"local hash").digest(), deployment="shop")
ROUND = hashlib.sha256(b"round").digest()
KNOWN: list[dict[str, Any]] = json.loads(slow_hash.REPORTS.read_text(encoding="ascii"))
KINDS = pytest.mark.parametrize("kind", [BLH, OLH])
TWO_64 = 2**64


def draw(n: int, part: int = 0) -> Draw:
    return KEY.draw(contexts(np.arange(n), part), round=ROUND)


def chi_square_limit(freedom: int) -> float:
    """What a chi-square exceeds with probability below 1e-6 (Laurent and Massart 2000)."""
    x = math.log(1e6)
    return freedom + 2 * math.sqrt(freedom * x) + 2 * x


class Chosen(Draw):
    """A draw whose two words a user are given."""

    __slots__ = ("given",)

    def __init__(self, given: np.ndarray) -> None:
        self.given = given

    def __len__(self) -> int:
        return len(self.given)

    def open(self, mechanism: bytes, values: Any) -> Lanes:
        return ChosenLanes(self.given)


class ChosenLanes(Lanes):
    """All of them in one lane."""

    __slots__ = ("given",)

    def __init__(self, given: np.ndarray) -> None:
        self.given = given

    def words(self, k: int, dtype: Any) -> Iterator[tuple[slice, np.ndarray]]:
        assert (k, dtype) == (2, np.uint64)
        yield slice(0, len(self.given)), self.given


# ---- golden values of the dissertation (section 5 of its digest) ----


@pytest.mark.parametrize(
    ("epsilon", "g", "p", "q", "olh", "blh"),
    [
        (0.5, 3, 0.4518627619, 0.3333333333, 15.81740028, 16.67079236),
        (1, 4, 0.4753668864, 0.25, 3.691654617, 4.682694377),
        (2, 8, 0.5135191668, 0.125, 0.7245913891, 1.724061661),
        (4, 56, 0.4981667119, 0.01785714286, 0.07602285187, 1.07602183),
    ],
)
@pytest.mark.parametrize("d", [2, 1024])
def test_probabilities_and_variances_are_the_golden_values(
    epsilon: float, g: int, p: float, q: float, olh: float, blh: float, d: int
) -> None:
    one, other = OLH(d=d, epsilon=epsilon), BLH(d=d, epsilon=epsilon)
    assert (one.g, other.g) == (g, 2)
    found = [float(one.p), float(one.q), float(one.variance(1, 0)), float(other.variance(1, 0))]
    assert found == pytest.approx([p, q, olh, blh], rel=1e-7)


def test_estimates_and_their_variance_are_the_golden_values() -> None:
    olh = OLH(d=4, epsilon=1)
    estimates = olh.estimate(np.array([420, 310, 260, 240]), 1000) * 1000
    assert estimates.tolist() == pytest.approx([754.325548, 266.232546, 44.372091, -44.372091], rel=1e-7)
    assert float(olh.variance(1000, 0.3)) * 1000**2 == pytest.approx(4057.235983, rel=1e-7)


@pytest.mark.parametrize("epsilon", [*EPSILONS, Fraction(405465, 10**6), Fraction(405466, 10**6)], ids=str)
def test_g_is_the_nearest_whole_number_and_p_is_computed_again_for_it(epsilon: Fraction) -> None:
    for made in (OLH(d=9, epsilon=epsilon), BLH(d=9, epsilon=epsilon)):
        e = exp_floor(made.epsilon_micro)
        assert made.name == "blh" or made.g == max(2, math.floor(e + Fraction(3, 2)))
        other = (1 - made.p) / (made.g - 1)
        assert made.realised == made.p / other <= e
        assert 0 <= other - 1 / (e + made.g - 1) < Fraction(1, TWO_64)
        assert made.q == Fraction(1, made.g)


# ---- the promise ----


@KINDS
@pytest.mark.parametrize("epsilon", [e for e in EPSILONS if e <= 4][::2], ids=str)
@pytest.mark.parametrize("d", [2, 3, 4, 5])
@pytest.mark.parametrize("pool", [1, 2, 3, 4])
def test_no_report_tells_more_than_epsilon(kind: type[LocalHash], epsilon: Fraction, d: int, pool: int) -> None:
    made = kind(d=d, epsilon=epsilon, pool=pool)
    found = audit_exact(made)
    assert found.violations == ()
    assert found.realised <= found.claimed
    assert len(made.law(0)) == made.reports_possible == pool * made.g


@KINDS
@pytest.mark.parametrize(
    "epsilon", [Fraction(1, 10**6), Fraction(1, 3), Fraction(1), Fraction(2), Fraction(3)], ids=str
)
def test_under_each_of_1000_fresh_seeds_no_cell_tells_more_than_epsilon(
    kind: type[LocalHash], epsilon: Fraction
) -> None:
    made = kind(d=5, epsilon=epsilon, pool=0)
    bound = exp_floor(made.epsilon_micro)
    separated = 0
    for seed in np.random.default_rng(1).integers(0, TWO_64, 1000, np.uint64).tolist():
        laws = [made.law_given(seed, value) for value in range(5)]
        cells = [hash_one(seed, value, made.g) for value in range(5)]
        assert all(law == made.law_given(seed, cells.index(cell)) for law, cell in zip(laws, cells, strict=True))
        for one in laws[: 5 if made.g < 100 else 1]:
            assert sum(one) == 1
            assert min(one) > 0
        for cell in set(cells):
            ratio = max(law[cell] for law in laws) / min(law[cell] for law in laws)
            assert ratio in (1, made.realised)
            assert ratio <= bound
        separated += len(set(cells)) > 1
    assert separated > 900


@KINDS
@pytest.mark.parametrize("epsilon", EPSILONS[::3], ids=str)
@pytest.mark.parametrize("pool", [0, 1, 3, 4, 256])
def test_each_cell_gets_exactly_as_many_words_as_the_law_says(
    kind: type[LocalHash], epsilon: Fraction, pool: int
) -> None:
    # The seed changes at multiples of 2^32 / pool of the first word, the cell at multiples of the low level of the
    # second one: look at both ends of each stretch.
    made = kind(d=6, epsilon=epsilon, pool=pool)
    if made.g > 64:
        return
    low = int((1 - made.p) / (made.g - 1) * TWO_64)
    edges = [*(k * low for k in range(made.g)), TWO_64]
    for number in range(min(pool, 4)) if pool else (0, 12345, TWO_64 - 1):
        first = [-(-(k << 32) // pool) << 32 for k in (number, number + 1)] if pool else [number, number + 1]
        for value in range(6):
            found = [Fraction(0)] * made.g
            for a, b in pairwise(edges):
                ends = np.array([(s, y) for s in (first[0], first[1] - 1) for y in (a, b - 1)], np.uint64)
                reports = made.perturb(np.full(4, value), Chosen(ends))
                assert len({report.tobytes() for report in reports}) == 1
                seed = int.from_bytes(reports[0, : 8 if not pool else 1].tobytes(), "little")
                cell = int.from_bytes(reports[0, 8 if not pool else 1 :].tobytes(), "little")
                assert seed == number
                found[cell] += Fraction(b - a, TWO_64)
            assert found == made.law_given(number, value)


@KINDS
@pytest.mark.parametrize(("epsilon", "pool"), [(0.5, 1), (1.0, 3), (2.0, 4)])
def test_reports_come_as_often_as_the_law_says(kind: type[LocalHash], epsilon: float, pool: int) -> None:
    made = kind(d=5, epsilon=epsilon, pool=pool)
    for value in (0, 4):
        reports = made.perturb(np.full(50_000, value), draw(50_000, value))
        names, found = np.unique(reports, axis=0, return_counts=True)
        law = made.law(value)
        expected = np.array([float(law[name.tobytes()]) * 50_000 for name in names])
        assert len(names) == len(law)
        assert ((found - expected) ** 2 / expected).sum() < chi_square_limit(len(law) - 1)


@KINDS
@pytest.mark.parametrize("pool", [0, 7, DEFAULT_POOL, local_hash.MAX_POOL])
def test_the_seed_says_nothing_about_the_value(kind: type[LocalHash], pool: int) -> None:
    made = kind(d=2, epsilon=1.0, pool=pool)
    of = [made._read(made.perturb(np.full(140_000, value), draw(140_000, value)))[0] for value in (0, 1)]
    for seeds in of:
        groups = (seeds * np.uint64(7) // np.uint64(pool)) if pool else seeds // np.uint64(TWO_64 // 7 + 1)
        share = np.diff([-(-k * pool // 7) for k in range(8)]) / pool if pool else np.full(7, 1 / 7)
        found = np.bincount(groups.astype(np.int64), minlength=7)
        assert ((found - 140_000 * share) ** 2 / (140_000 * share)).sum() < chi_square_limit(6)


@KINDS
def test_no_more_than_the_claim_is_measured_and_most_of_it_is(kind: type[LocalHash]) -> None:
    for made in (kind(d=16, epsilon=1.0), kind(d=128, epsilon=1.0, pool=0)):
        found = measure(made, KEY, trials=trials_for(made, 0.1))
        assert found.holds
        assert found.at_least > 0.8


# ---- one text ----


def test_the_committed_reports_are_what_the_slow_implementation_computes() -> None:
    assert slow_hash.REPORTS.read_text(encoding="ascii") == slow_hash.text(slow_hash.reports())


def test_devices_give_the_reports_of_the_slow_implementation() -> None:
    for vector in KNOWN:
        kind = {"blh": BLH, "olh": OLH}[vector["name"]]
        made = kind(d=vector["d"], epsilon=Fraction(vector["epsilon_micro"], 10**6), pool=vector["pool"])
        assert made.digest.hex() == vector["digest"]
        key = Key(bytes.fromhex(vector["secret"]), deployment=vector["deployment"])
        user, round = bytes.fromhex(vector["user"]), bytes.fromhex(vector["round"])
        assert made.perturb_one(vector["value"], key.draw_one(user, round=round)).hex() == vector["report"]
        one = key.draw(np.frombuffer(user, np.uint8)[None], round=round)
        reports = made.perturb(np.array([vector["value"]]), one)
        assert reports.tobytes().hex() == vector["report"]
        assert not made.malformed(reports).any()


@KINDS
@pytest.mark.parametrize("pool", [0, 1, 3, 256, 257, DEFAULT_POOL])
@pytest.mark.parametrize("epsilon", [0.5, 5.9, 20])
def test_one_user_gets_the_report_that_a_batch_gives_them(kind: type[LocalHash], pool: int, epsilon: float) -> None:
    made, values = kind(d=300, epsilon=epsilon, pool=pool), np.arange(60) * 5
    reports = made.perturb(values, draw(60))
    width = (8 if not pool else 1 if pool <= 256 else 2) + (1 if made.g <= 256 else 2 if made.g < 65536 else 4)
    assert reports.shape == (60, made.wire_size) == (60, width)
    for i, user in enumerate(contexts(np.arange(60))):
        assert made.perturb_one(int(values[i]), KEY.draw_one(user.tobytes(), round=ROUND)) == reports[i].tobytes()


def test_a_lane_is_no_boundary() -> None:
    olh = OLH(d=100, epsilon=1.0)
    values = np.arange(40_000) % 100
    whole = olh.perturb(values, draw(40_000))
    users = contexts(np.arange(40_000))
    cut = KEY.draw(users[16_000:], round=ROUND)
    assert (whole[16_000:] == olh.perturb(values[16_000:], cut)).all()


# ---- counting ----


def counted(made: LocalHash, reports: np.ndarray) -> list[int]:
    """Support by the definition: report by report, value by value."""
    width = 8 if not made.pool else 1 if made.pool <= 256 else 2
    pairs = [(int.from_bytes(r[:width], "little"), int.from_bytes(r[width:], "little")) for r in map(bytes, reports)]
    return [sum(hash_one(seed, value, made.g) == cell for seed, cell in pairs) for value in range(made.d)]


@KINDS
@pytest.mark.parametrize("pool", [0, 1, 5, 64, 1000])
@pytest.mark.parametrize("table", [1 << 22, 64])
def test_support_counts_the_values_in_the_cell_of_each_report(
    kind: type[LocalHash], pool: int, table: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_hash, "_TABLE", table)  # small: the table of the pool is made in parts
    made = kind(d=12, epsilon=1.9, pool=pool)
    for n in (0, 1, 700):
        reports = made.perturb(np.arange(n) % 12, draw(n))
        assert made.support(reports).tolist() == counted(made, reports)
        assert made.support_of(reports, np.array([11, 0, 11])).tolist() == [
            made.support(reports)[v] for v in (11, 0, 11)
        ]


@pytest.mark.parametrize("pool", [0, 3, DEFAULT_POOL])
def test_support_is_additive_in_any_grouping(pool: int) -> None:
    # 50 000 reports are counted as a table, the parts pair by pair.
    olh = OLH(d=40, epsilon=1.0, pool=pool)
    reports = olh.perturb(np.arange(50_000) % 40, draw(50_000))
    whole = olh.support(reports)
    assert whole.dtype == np.int64
    parts = [olh.support(reports[a:b]) for a, b in pairwise((0, 1, 64, 9000, 50_000))]
    assert (np.sum(parts, axis=0) == whole).all()


def test_at_an_epsilon_of_millions_of_cells_support_needs_no_table() -> None:
    olh = OLH(d=5, epsilon=17, pool=1)
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
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
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


@pytest.mark.parametrize(("epsilon", "pool"), [(0.5, 1), (1.0, 2), (2.0, 2)])
def test_a_pool_adds_the_variance_it_says(epsilon: float, pool: int) -> None:
    # 25 000 runs, each with a pool of its own: the seeds pool * run and those that follow, through the device's code.
    # The addition is a quarter of the rest or more here. Bounds as above.
    runs, n, d = 25_000, 36, 4
    made, pooled = OLH(d=d, epsilon=epsilon, pool=0), OLH(d=d, epsilon=epsilon, pool=pool)
    values = np.tile(np.repeat([0, 0, 0, 1, 1, 2], 6), runs)
    given = np.random.default_rng(4).integers(0, TWO_64, (runs * n, 2), np.uint64)
    given[:, 0] %= np.uint64(pool)
    given[:, 0] += np.repeat(np.arange(runs, dtype=np.uint64) * np.uint64(pool), n)
    seeds, cells = made._read(made.perturb(values, Chosen(given)))
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


# ---- what is refused ----


@KINDS
@pytest.mark.parametrize("pool", [-1, local_hash.MAX_POOL + 1, 1.0, True, None, "7"])
def test_a_pool_that_is_none_is_refused(kind: type[LocalHash], pool: Any) -> None:
    with pytest.raises(ParameterError, match=r"pool: found .*allowed: a whole number from 1 to 65536, or 0"):
        kind(d=4, epsilon=1, pool=pool)


@KINDS
@pytest.mark.parametrize("d", [1, 0, True, 2.0, (1 << 24) + 1])
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


@pytest.mark.parametrize(
    ("made", "good", "bad"),
    [
        (OLH(d=5, epsilon=1), [0xFF, 0x3F, 3], [0x00, 0x40, 3]),  # a seed past the pool of 16384
        (OLH(d=5, epsilon=1), [0xFF, 0x3F, 3], [0x00, 0x00, 4]),  # a cell past the last of 4
        (OLH(d=5, epsilon=1, pool=3), [2, 0], [3, 0]),
        (BLH(d=5, epsilon=1, pool=1), [0, 1], [0, 2]),
        (BLH(d=5, epsilon=1, pool=0), [255] * 8 + [1], [0] * 8 + [2]),
        (OLH(d=5, epsilon=6, pool=256), [255, 0x93, 1], [255, 0x94, 1]),  # g = 404
    ],
    ids=repr,
)
def test_a_report_that_no_value_gives_is_marked_and_never_counted(
    made: LocalHash, good: list[int], bad: list[int]
) -> None:
    reports = np.array([good, bad, good], np.uint8)
    assert made.malformed(reports).tolist() == [False, True, False]
    with pytest.raises(ReportError, match="found 1 that no value gives"):
        made.support(reports)
    assert made.support(reports[[0, 2]]).max() <= 2


@KINDS
@pytest.mark.parametrize(
    "values", [np.array([0, 5]), np.array([-1, 0]), np.array([0.0, 1.0]), [0, 1], np.array([0])], ids=repr
)
def test_values_outside_the_domain_are_refused(kind: type[LocalHash], values: Any) -> None:
    made = kind(d=5, epsilon=1)
    with pytest.raises(ValueRefusedError, match="allowed:"):
        made.perturb(values, draw(2))
    with pytest.raises(ValueRefusedError, match="allowed: a whole number from 0 to 4"):
        made.perturb_one(5, KEY.draw_one(bytes(16), round=ROUND))
    with pytest.raises(ValueRefusedError, match="allowed: 0 to 4"):
        made.support_of(np.zeros((1, 3), np.uint8), np.array([5]))


@pytest.mark.parametrize(
    "reports", [np.zeros((3, 7), np.uint8), np.zeros(3, np.uint8), np.zeros((3, 3), np.int64), [b"a"]], ids=repr
)
def test_reports_of_another_shape_are_refused(reports: Any) -> None:
    made = OLH(d=5, epsilon=1)
    for read in (made.support, made.malformed, lambda rows: made.evidence(rows, 0, 1)):
        with pytest.raises(ReportError, match="reports: found"):
            read(reports)


@pytest.mark.parametrize(("n", "f"), [(0, np.zeros(3)), (5, np.zeros(4)), (5, np.array([0, 1.1, 0])), (5, 0.5)])
def test_the_cost_of_a_pool_needs_all_frequencies(n: int, f: Any) -> None:
    with pytest.raises(ParameterError, match="pool_variance: found"):
        OLH(d=3, epsilon=1).pool_variance(n, f)
