# SPDX-License-Identifier: Apache-2.0
"""What leaves perturb and shuffle stands in the keyed order, target by target, to the report; and nothing is added.

Exact: the whole output of a stage beside an order made here by sorting 128-bit words, one target at a time.  What the
orders look like to somebody without the key: tests/agents/test_leaks.py.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from murmurate.agents.stages.errors import StageError
from murmurate.agents.stages.shuffle import Shuffle
from murmurate.agents.stages.stage import Log
from murmurate.randomizers import Key, mechanism
from murmurate.randomizers.randomness import contexts
from murmurate.topics.block import BatchBlock, encode_reports
from murmurate.topics.messages import Close, Done, Round, Seal
from tests.agents.stages.hands import (
    CLOSINGS,
    RAW,
    ROUNDS,
    Hand,
    perturb,
    progress,
    pseudonyms,
    question,
    read,
    reports,
    rows,
    start,
)
from tests.agents.world import FIRST, KEYS, SECOND, deployment, key, stream

USERS = pseudonyms(300)
GRR = mechanism({"name": "grr", "d": 5, "epsilon_micro": 2_000_000})
WIDE = mechanism({"name": "grr", "d": 1 << 16, "epsilon_micro": 2_000_000})


def by_words(keyed: Key, who: np.ndarray, digest: bytes) -> list[int]:
    """Positions in the order of their words: the first decides, then the second."""
    words = keyed.words("permutation", who, round=digest, k=2)
    return sorted(range(len(who)), key=lambda i: (int(words[i, 0]), int(words[i, 1])))


@pytest.mark.parametrize("targets", [1, 2, 3, 7])
def test_each_target_gets_its_users_reports_in_the_keyed_order_and_not_in_that_of_their_enrolment(targets: int) -> None:
    plan = deployment(stream("screen"), partitions=1, targets=targets)
    hand, round_ = perturb(plan), question(plan, plan.streams[0], FIRST)
    codes = [i % 4 for i in range(len(USERS))]
    before, during = ([moment * SECOND] * len(USERS) for moment in (FIRST - 1, FIRST))
    hand.give(RAW, *rows(plan, plan.streams[0], USERS, before, codes), progress(FIRST * SECOND))
    hand.give(RAW, *rows(plan, plan.streams[0], USERS, during, codes))
    hand.give(ROUNDS, start(plan.streams[0]), round_)
    sent = reports(hand.give(RAW, progress((FIRST + 2) * SECOND)))
    randomness = KEYS.edge.devices.randomness
    said = GRR.perturb(np.array(codes), randomness.draw(USERS, round=round_.digest))
    home = [int(word) % targets for word in randomness.words("scatter", USERS, round=round_.digest)[:, 0]]
    order = by_words(randomness, USERS, round_.digest)
    for q in range(targets):
        assert sent[round_.digest.hex(), q] == [said[i].tobytes() for i in order if targets == 1 or home[i] == q]
    assert sum(map(len, sent.values())) == len(USERS)


TAGS = np.arange(400, dtype="<u2").view(np.uint8).reshape(-1, 2)
"""Reports that all differ."""
PLAN = deployment(stream("screen"), partitions=1, targets=3, min_batch=2)


def sealed(q: int, round_: Round, sent: int, came: Sequence[np.ndarray]) -> tuple[list[bytes], Seal]:
    """The sub-batch of a target to which one contributor says `done`, and sends this."""
    hand, digest = Hand(Shuffle(PLAN, key("shuffle"), q)), round_.digest
    hand.give(ROUNDS, round_)
    for each in came:
        hand.give(Log("reports", q), *encode_reports(digest, 0, each))
    hand.give(Log("reports", q), Done(round=digest.hex(), contributor=0, sent=sent, total=sent))
    found = read(hand.give(CLOSINGS, Close(round=digest.hex(), contributors=(0,))))
    (seal,) = [one for one in found if isinstance(one, Seal)]
    return [row.tobytes() for one in found if isinstance(one, BatchBlock) for row in one.reports], seal


def test_each_target_orders_its_sub_batch_by_words_of_its_own() -> None:
    orders = []
    for t in (FIRST, FIRST + 1):
        round_ = question(PLAN, PLAN.streams[0], t, mechanism=WIDE.spec())
        for q in range(3):
            found, seal = sealed(q, round_, len(TAGS), [TAGS[:150], TAGS[150:]])
            order = by_words(key("shuffle"), contexts(np.arange(len(TAGS)), q), round_.digest)
            assert found == [TAGS[i].tobytes() for i in order]
            assert (seal.received, seal.counted) == (len(TAGS), len(TAGS))
            orders.append(tuple(found))
    assert len(set(orders)) == 6  # another one for every target, and every round


@pytest.mark.parametrize(("said", "came"), [(9, 10), (9, 18), (0, 1), (10, 9), (1, 0)])
def test_a_sub_batch_of_other_reports_than_its_contributors_counted_is_never_sealed(said: int, came: int) -> None:
    # more would be reports that nobody's `done` vouches for, fewer are missing: both contradict, and stop the stage
    round_ = question(PLAN, PLAN.streams[0], FIRST, mechanism=WIDE.spec())
    with pytest.raises(StageError, match=f"shuffle 1: contributor 0 sent {said}, {came} came"):
        sealed(1, round_, said, [TAGS[:came]] if came else [])
    seal = sealed(1, round_, said, [TAGS[:said]] if said else [])[1]
    assert (seal.received, seal.rejected.undersized) == ((said, False) if said >= PLAN.min_batch else (0, True))
