# SPDX-License-Identifier: Apache-2.0
"""BLH and OLH: golden values, the promise under every seed, and one text from three implementations.

Keys are fixed, so a test passes always or never; over the choice of a key each would alarm by chance with probability
at most 1e-6.
"""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from murmurate.randomizers import Key
from murmurate.randomizers.audit import audit_exact, measure, trials_for
from murmurate.randomizers.frequency import local_hash
from murmurate.randomizers.frequency.hashing import hash_one
from murmurate.randomizers.frequency.local_hash import DEFAULT_POOL, LocalHash
from murmurate.randomizers.frequency.olh import BLH, OLH
from murmurate.randomizers.randomness import contexts
from murmurate.randomizers.thresholds import exp_floor
from tests.audit.registry import EPSILONS
from tests.cases import every
from tests.randomizers.hashing import slow_hash
from tests.randomizers.hashing.draws import KEY, ROUND, TWO_64, chi_square_limit, chosen, draw

KNOWN: list[dict[str, Any]] = json.loads(slow_hash.REPORTS.read_text(encoding="ascii"))
KINDS = every("kind", [BLH, OLH])


# ---- golden values of the dissertation (section 5 of its digest) ----


@every(
    ("epsilon", "g", "p", "q", "olh", "blh"),
    [
        (0.5, 3, 0.4518627619, 0.3333333333, 15.81740028, 16.67079236),
        (1, 4, 0.4753668864, 0.25, 3.691654617, 4.682694377),
        (2, 8, 0.5135191668, 0.125, 0.7245913891, 1.724061661),
        (4, 56, 0.4981667119, 0.01785714286, 0.07602285187, 1.07602183),
    ],
)
@every("d", [2, 1024])
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


@every("epsilon", [*EPSILONS, Fraction(405465, 10**6), Fraction(405466, 10**6)])
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
@every("epsilon", [e for e in EPSILONS if e <= 4][::2])
@every("d", [2, 3, 4, 5])
@every("pool", [1, 2, 3, 4])
def test_no_report_tells_more_than_epsilon(kind: type[LocalHash], epsilon: Fraction, d: int, pool: int) -> None:
    made = kind(d=d, epsilon=epsilon, pool=pool).of_round(ROUND)
    found = audit_exact(made, round=ROUND)
    assert found.violations == ()
    assert found.realised <= found.claimed
    assert len(made.law(0)) == made.reports_possible == pool * made.g


@KINDS
@every("epsilon", [Fraction(1, 10**6), Fraction(1)], long=[Fraction(1, 3), Fraction(2), Fraction(3)])
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
@every("epsilon", EPSILONS[::3])
@every("pool", [0, 1, 3, 4, 256])
def test_each_cell_gets_exactly_as_many_words_as_the_law_says(
    kind: type[LocalHash], epsilon: Fraction, pool: int
) -> None:
    # The seed changes at multiples of 2^32 / pool of the first word, the cell at multiples of the low level of the
    # second one: look at both ends of each stretch.
    made = kind(d=6, epsilon=epsilon, pool=pool).of_round(bytes(32))
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
                reports = made.perturb(np.full(4, value), chosen(ends))
                assert len({report.tobytes() for report in reports}) == 1
                seed = int.from_bytes(reports[0, : 8 if not pool else 1].tobytes(), "little")
                cell = int.from_bytes(reports[0, 8 if not pool else 1 :].tobytes(), "little")
                assert seed == number
                found[cell] += Fraction(b - a, TWO_64)
            assert found == made.law_given(number, value)


@KINDS
@every(("epsilon", "pool"), [(0.5, 1), (1.0, 3), (2.0, 4)])
def test_reports_come_as_often_as_the_law_says(kind: type[LocalHash], epsilon: float, pool: int) -> None:
    made = kind(d=5, epsilon=epsilon, pool=pool).of_round(ROUND)
    for value in (0, 4):
        reports = made.perturb(np.full(50_000, value), draw(50_000, value))
        names, found = np.unique(reports, axis=0, return_counts=True)
        law = made.law(value)
        expected = np.array([float(law[name.tobytes()]) * 50_000 for name in names])
        assert len(names) == len(law)
        assert ((found - expected) ** 2 / expected).sum() < chi_square_limit(len(law) - 1)


@KINDS
@every("pool", [0, 7, DEFAULT_POOL, local_hash.MAX_POOL])
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
        named = {"g": vector["g"]} if "g" in vector else {}
        kind: Any = {"blh": BLH, "olh": OLH}[vector["name"]]
        made = kind(d=vector["d"], epsilon=Fraction(vector["epsilon_micro"], 10**6), pool=vector["pool"], **named)
        assert made.digest.hex() == vector["digest"]
        key = Key(bytes.fromhex(vector["secret"]), deployment=vector["deployment"])
        user, round = bytes.fromhex(vector["user"]), bytes.fromhex(vector["round"])
        assert made.perturb_one(vector["value"], key.draw_one(user, round=round)).hex() == vector["report"]
        one = key.draw(np.frombuffer(user, np.uint8)[None], round=round)
        reports = made.perturb(np.array([vector["value"]]), one)
        assert reports.tobytes().hex() == vector["report"]
        assert not made.malformed(reports).any()


@KINDS
@every("pool", [0, 1, 3, 256, 257, DEFAULT_POOL])
@every("epsilon", [0.5, 5.9, 20])
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
