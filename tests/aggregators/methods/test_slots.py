# SPDX-License-Identifier: Apache-2.0
"""Who is asked: fresh slots only, by a public order, and how many users they are."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmurate.aggregators.methods.slots import Crowd, Pool, groups
from murmurate.randomizers import ParameterError, SnapshotError

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[2] / "data" / "methods.json").read_text(encoding="ascii")
)
SEED = bytes(range(32))


def test_slots_become_eligible_as_in_the_golden_pool() -> None:
    golden = GOLDEN["slot_pool"]
    pool = Pool(slots=golden["S"], w=golden["w"], seed=SEED)
    for t, eligible, used in golden["rows"]:
        assert np.flatnonzero(pool.eligible(t)).tolist() == eligible
        pool.use(t, np.isin(np.arange(golden["S"]), used))


def test_groups_have_the_golden_sizes_and_hold_each_slot_once() -> None:
    golden = GOLDEN["LPU_group_sizes"]
    group = groups(slots=golden["S"], w=golden["w"], seed=SEED)
    assert np.bincount(group).tolist() == golden["sizes"]


@given(st.integers(1, 300), st.integers(1, 12), st.data())
def test_a_draw_gives_so_many_fresh_slots_and_uses_them(slots: int, w: int, data: st.DataObject) -> None:
    pool = Pool(slots=slots, w=w, seed=SEED)
    for t in range(4):
        count = data.draw(st.integers(0, int(pool.eligible(t).sum())))
        eligible = pool.eligible(t)
        asked = pool.draw(t, count, "publication")
        assert asked.sum() == count
        assert not (asked & ~eligible).any()
        assert not (asked & pool.eligible(t)).any()


def test_a_draw_is_the_same_on_every_machine() -> None:
    # Known answers: slots drawn by (seed, t, purpose) on any machine, now and later.
    pool = Pool(slots=1000, w=3, seed=SEED)
    drawn = b"".join(np.packbits(pool.draw(t, 100, "dissimilarity")).tobytes() for t in range(5))
    drawn += groups(slots=1000, w=7, seed=SEED).astype("<i8").tobytes()
    assert hashlib.sha256(drawn).hexdigest()[:16] == "be8ec819bd8566f9"


def test_seed_period_and_purpose_each_give_other_slots() -> None:
    def drawn(seed: bytes, t: int, purpose: Any) -> bytes:
        return Pool(slots=1000, w=3, seed=seed).draw(t, 100, purpose).tobytes()

    answers = {
        drawn(seed, t, p) for seed in (SEED, bytes(32)) for t in (1, 2) for p in ("publication", "dissimilarity")
    }
    assert len(answers) == 8


def test_draws_favour_no_slot() -> None:
    pool = Pool(slots=400, w=1, seed=SEED)
    times = np.zeros(400)
    for t in range(1000):
        times += pool.draw(t, 100, "publication")
    # Hits of a slot: mean 250, variance 187.5; their chi-square over 400 slots that draw without replacement has 399
    # degrees of freedom: mean 399, s.d. 28.2. False alarm above 399 + 5.3 s.d.: 1e-6.
    assert ((times - 250) ** 2).sum() / 187.5 / (400 / 399) < 399 + 5.3 * 28.2


def test_more_than_is_free_cannot_be_drawn() -> None:
    pool = Pool(slots=10, w=3, seed=SEED)
    pool.draw(1, 6, "publication")
    with pytest.raises(ParameterError, match="t = 2: found 5 to draw; allowed: the 4 that are free"):
        pool.draw(2, 5, "publication")


@given(st.integers(1, 12), st.lists(st.integers(0, 9), min_size=1, max_size=12), st.integers(0, 12))
def test_ages_are_the_whole_state(w: int, counts: list[int], pause: int) -> None:
    pool = Pool(slots=40, w=w, seed=SEED)
    for t, count in enumerate(counts):
        pool.draw(t, min(count, int(pool.eligible(t).sum())), "publication")
    other = Pool(slots=40, w=w, seed=SEED)
    other.load(len(counts) - 1, pool.ages(len(counts) - 1))
    later = len(counts) + pause
    assert np.array_equal(pool.eligible(later), other.eligible(later))
    assert np.array_equal(pool.ages(later), other.ages(later))


def test_a_pool_of_another_size_is_refused() -> None:
    with pytest.raises(SnapshotError, match="found a state of 10; allowed: 11"):
        Pool(slots=11, w=3, seed=SEED).load(1, Pool(slots=10, w=3, seed=SEED).ages(1))


@pytest.mark.parametrize("seed", [b"short", bytes(33)])
def test_a_seed_has_32_bytes(seed: bytes) -> None:
    with pytest.raises(ParameterError, match="allowed: 32"):
        Pool(slots=4, w=1, seed=seed).draw(1, 1, "publication")


def test_the_crowd_is_unknown_before_the_first_answer_and_follows_what_slots_hold() -> None:
    crowd = Crowd(1000)
    assert crowd.behind(50) is None
    crowd.learn(50, 0)
    assert crowd.behind(50) is None
    crowd.learn(50, 500)
    assert crowd.users == 10_000
    for _ in range(60):
        crowd.learn(25, 500)
    assert crowd.users == pytest.approx(20_000, rel=1e-3)
    crowd.learn(25, 0)
    assert crowd.behind(25) == pytest.approx(500, rel=1e-3)
