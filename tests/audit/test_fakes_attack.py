# SPDX-License-Identifier: Apache-2.0
"""What somebody who knows all other users' reports learns through the stages where the mixing zone adds fakes.

Two worlds differ in one user's value.  The attacker knows every other report and in which sub-batch it is, takes them
off what `batches` hold, and is left with the user's report among the fakes, target by target.  They take the exact
likelihood ratio of what is left, as in test_mixing_attack.py: a lower bound of epsilon, false in one of 10^6 cases, is
at most what `against_users` claims.  Planted leaks are seen: fakes from a known seed, and a count of the fakes of each
sub-batch.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pytest

from murmurate.agents.stages.faking import fakes_of
from murmurate.agents.stages.shuffle import Shuffle
from murmurate.agents.stages.stage import Log, Out
from murmurate.aggregators.accounting import claim_against_users
from murmurate.randomizers import GRR, Faked
from murmurate.topics.block import BatchBlock, encode_reports
from murmurate.topics.messages import Close, Done, Seal
from tests.agents.stages.hands import CLOSINGS, ROUNDS, Hand, question, read
from tests.agents.world import FIRST, deployment, key, stream
from tests.audit.test_mixing_attack import DELTA, shown

USERS, FAKES, TARGETS = 50, 40, 4
GRR_2 = GRR(d=2, epsilon=2)
ASKED = Faked(GRR_2, FAKES)
PLAN = deployment(
    stream("screen", "lsp", w=1), partitions=1, targets=TARGETS, min_batch=USERS, fakes=FAKES
)  # fmt: skip
CLAIM = claim_against_users(GRR_2, USERS, FAKES, DELTA)


class Left(NamedTuple):
    """What is left of a round without the reports that are known."""

    reports: list[Counter[int]]
    """Of each target, the reports that may be the user's or fakes."""
    fakes: list[Counter[int]]
    """The fakes among them, which nobody but the mixing zone knows."""


def rounds(code: int, many: int) -> Iterator[Left]:
    """Rounds of a world in which the user holds this code; all others hold the last one."""
    rng = np.random.default_rng([code, many])
    hands = [Hand(Shuffle(PLAN, key("shuffle"), q)) for q in range(TARGETS)]
    for t in range(FIRST, FIRST + many):
        round_ = question(PLAN, PLAN.streams[0], t, mechanism=ASKED.spec())
        users = rng.integers(0, 256, (USERS, 16), np.uint8)
        sent = ASKED.perturb(np.array([code] + [1] * (USERS - 1)), key("randomness").draw(users, round=round_.digest))
        to = key("randomness").words("scatter", users, round=round_.digest)[:, 0] % np.uint64(TARGETS)
        left, fakes = [], []
        for q, hand in enumerate(hands):
            mine = sent[to == q]
            done = Done(round=round_.digest.hex(), contributor=0, sent=len(mine), total=USERS)
            blocks = list(encode_reports(round_.digest, 0, mine)) if len(mine) else []
            hand.give(ROUNDS, round_)
            hand.give(Log("reports", q), *blocks, done)
            out: list[Out] = hand.give(CLOSINGS, Close(round=round_.digest.hex(), contributors=(0,)))
            rows = Counter(int(row) for one in read(out) if isinstance(one, BatchBlock) for row in one.reports.ravel())
            (seal,) = [one for one in read(out) if isinstance(one, Seal)]
            assert seal.counted == rows.total()  # no count that would tell fakes from users
            known = Counter(int(row) for row in sent[1:][to[1:] == q].ravel())
            left.append(rows - known)
            fakes.append(Counter(fakes_of(key("shuffle"), ASKED, q, TARGETS, round=round_.digest).ravel().tolist()))
        yield Left(left, fakes)


def ratio(likely: list[float], other: list[float]) -> float:
    return math.log(sum(likely) / sum(other))


P = [[float(GRR_2.law(code)[bytes([report])]) for report in range(2)] for code in range(2)]
"""The chance of each report from the holder of each code."""


def without_the_key(left: Left) -> float:
    """The likelihood ratio of the two worlds: any of the reports that are left may be the user's, alike likely."""
    counts = sum(left.reports, Counter[int]())
    assert counts.total() == FAKES + 1
    return ratio(*([P[code][report] * n for report, n in counts.items()] for code in (0, 1)))


def with_the_key(left: Left) -> float:
    """A leak: whoever knows the fakes takes them off, too, and the user's report is left."""
    ((report, _),) = (sum(left.reports, Counter[int]()) - sum(left.fakes, Counter[int]())).items()
    return ratio([P[0][report]], [P[1][report]])


def by_target(left: Left) -> float:
    """A leak: whoever is told how many fakes each sub-batch has knows in which one the user's report is."""
    (q,) = (q for q in range(TARGETS) if left.reports[q].total() > left.fakes[q].total())
    return ratio(*([P[code][report] * n for report, n in left.reports[q].items()] for code in (0, 1)))


def measured(score: Callable[[Left], float], many: int) -> float:
    """The epsilon that such an attacker shows, of the two worlds in either order."""
    first, second = (np.array([score(left) for left in rounds(code, many)]) for code in (0, 1))
    return max(shown(first, second), shown(-second, -first))


@pytest.mark.parametrize("many", [150, pytest.param(20_000, marks=pytest.mark.audit)])
@pytest.mark.timeout(1800)
def test_whoever_knows_all_other_reports_measures_no_more_than_is_claimed(many: int) -> None:
    assert CLAIM.bound == "fakes"
    assert CLAIM.epsilon < ASKED.epsilon
    found = measured(without_the_key, many)
    assert found <= CLAIM.epsilon
    if many >= 20_000:
        assert found > 0  # the attack is one


def test_fakes_from_a_known_seed_are_seen_to_hide_nobody() -> None:
    assert measured(with_the_key, 300) > CLAIM.epsilon


@pytest.mark.audit
@pytest.mark.timeout(1800)
def test_a_count_of_the_fakes_of_each_sub_batch_would_be_seen_to_show_more() -> None:
    assert measured(by_target, 20_000) > CLAIM.epsilon
