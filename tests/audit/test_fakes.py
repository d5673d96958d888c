# SPDX-License-Identifier: Apache-2.0
"""Is what fake reports are said to add true?  Every histogram of a few users' reports and a few uniform fakes.

Contract: for each mechanism that takes fakes, delta of the exact law of the multiset is at most the engine's, for both
orders of every pair of values of one user, for all values the others may hold, and where the others' reports are known.
Reports whose chances are proportional from value to value and to the fakes' are counted as one: that loses nothing.
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, permutations

import pytest

from murmurate.aggregators.accounting import fakes_delta
from murmurate.randomizers import BLH, GRR, OLH, HadamardResponse, SubsetSelection
from murmurate.randomizers.frequency.local_hash import LocalHash
from murmurate.randomizers.mechanism import PureOracle
from murmurate.randomizers.packing import int_bytes
from tests.audit.test_mixing import Law, Mixed, added

ROUND = hashlib.sha256(b"fakes").digest()


def faked(epsilon: Fraction) -> Iterator[PureOracle]:
    yield from (GRR(d=2, epsilon=epsilon), GRR(d=3, epsilon=epsilon), GRR(d=5, epsilon=epsilon))
    yield from (OLH(d=3, epsilon=epsilon, pool=6).of_round(ROUND), BLH(d=3, epsilon=epsilon, pool=5).of_round(ROUND))
    yield from (HadamardResponse(d=2, epsilon=epsilon), HadamardResponse(d=3, epsilon=epsilon))
    yield from (SubsetSelection(d=4, epsilon=epsilon, k=2), SubsetSelection(d=3, epsilon=epsilon, k=2))


def law_of_a_fake(mechanism: PureOracle) -> dict[bytes, Fraction]:
    """Uniform over all reports; of a pool, each hash function as often as users name it."""
    law = mechanism.law(0)
    if not isinstance(mechanism, LocalHash):
        return {report: Fraction(1, len(law)) for report in law}
    seeds: dict[bytes, Fraction] = defaultdict(Fraction)
    width = int_bytes(mechanism.g)
    for report, chance in law.items():
        seeds[report[:-width]] += chance
    return {report: seeds[report[:-width]] / mechanism.g for report in law}


def kinds_of(mechanism: PureOracle) -> tuple[list[Law], Law]:
    """The law of each value and that of a fake, over kinds of reports."""
    laws = [*(mechanism.law(value) for value in range(mechanism.d)), law_of_a_fake(mechanism)]
    kinds: dict[tuple[Fraction, ...], int] = {}
    found: list[Law] = [{} for _ in laws]
    for report in sorted(laws[-1]):
        chances = [law.get(report, Fraction(0)) for law in laws]
        kind = kinds.setdefault(tuple(chance / chances[-1] for chance in chances), len(kinds))
        for law, chance in zip(found, chances, strict=True):
            law[kind] = law.get(kind, 0.0) + float(chance)
    return found[:-1], found[-1]


def worst_shown(laws: Sequence[Law], fake: Law, users: int, fakes: int, epsilons: Sequence[float]) -> list[float]:
    """The largest delta of any two neighbours at each epsilon, over all that the other users may hold."""
    worst = [0.0] * len(epsilons)
    for others in combinations_with_replacement(range(len(laws)), users - 1):
        mixed: Mixed = {(): 1.0}
        for law in (*(laws[value] for value in others), *[fake] * fakes):
            mixed = added(mixed, law)
        by_value = [added(mixed, law) for law in laws]
        for one, other in permutations(by_value, 2):
            for k, epsilon in enumerate(epsilons):
                worst[k] = max(worst[k], shown(one, other, epsilon))
    return worst


def shown(one: Mapping[tuple[int, ...], float], other: Mapping[tuple[int, ...], float], epsilon: float) -> float:
    ratio = math.exp(epsilon)
    return sum(max(0.0, chance - ratio * other.get(reports, 0.0)) for reports, chance in one.items())


def check(mechanism: PureOracle, users: int, fakes: int, parts: Sequence[float] = (0.1, 0.5, 0.9)) -> None:
    laws, fake = kinds_of(mechanism)
    epsilons = [part * mechanism.epsilon for part in parts]
    for epsilon, seen in zip(epsilons, worst_shown(laws, fake, users, fakes, epsilons), strict=True):
        claimed = fakes_delta(mechanism, users, fakes, epsilon).bound
        assert seen <= claimed + 1e-14, (mechanism, users, fakes, epsilon)


def test_no_histogram_of_few_users_and_fakes_shows_more_than_is_claimed() -> None:
    for mechanism in faked(Fraction(1)):
        kinds = len(kinds_of(mechanism)[1])
        for users, fakes in ((1, 1), (1, 2), (2, 1), (2, 2)):
            if math.comb(kinds + users + fakes - 1, users + fakes) <= 60:
                check(mechanism, users, fakes)


@pytest.mark.audit
@pytest.mark.timeout(3600)
def test_none_shows_more_with_up_to_four_users_and_three_fakes() -> None:
    for epsilon in (Fraction(1, 100), Fraction(1, 2), Fraction(1), Fraction(3)):
        for mechanism in faked(epsilon):
            kinds = len(kinds_of(mechanism)[1])
            for users in (1, 2, 3, 4):
                for fakes in (1, 2, 3):
                    if math.comb(kinds + users + fakes - 1, users + fakes) <= 400:
                        check(mechanism, users, fakes, (0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99))


def test_whoever_knows_the_others_reports_sees_exactly_what_is_said() -> None:
    """With GRR every pair of values is the worst one, and the fakes' bound is no bound but the delta itself."""
    for d in (2, 3):
        for epsilon in (0.5, 2):
            laws, fake = kinds_of(grr := GRR(d=d, epsilon=epsilon))
            for fakes in (1, 2, 3):
                for part in (0.2, 0.6, 0.9):
                    (seen,) = worst_shown(laws, fake, 1, fakes, [part * epsilon])
                    claimed = fakes_delta(grr, 1, fakes, part * epsilon).bound
                    assert claimed == pytest.approx(seen, rel=1e-2, abs=1e-12), (d, epsilon, fakes, part)


def test_fakes_that_are_counted_twice_are_caught() -> None:
    laws, fake = kinds_of(GRR(d=3, epsilon=1))
    (seen,) = worst_shown(laws, fake, 1, 1, [0.3])
    assert seen > fakes_delta(GRR(d=3, epsilon=1), 1, 2, 0.3).bound
