# SPDX-License-Identifier: Apache-2.0
"""Strings that are found: their names and values, the truth about them, and searches with little to find."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from murmurate.aggregators.measures.found_strings import FoundStrings
from murmurate.aggregators.methods.method import Answer, Decision, FoundValues, Request, Setting
from murmurate.aggregators.methods.options import MethodOptions
from murmurate.aggregators.methods.pem import PEM, usual_pool
from murmurate.aggregators.methods.registry import method
from murmurate.randomizers import Key, ParameterError
from murmurate.topics.domains import Bits

WORDS = FoundStrings(Bits(16), top=4, least=0.01, pool=256)
HEX = FoundStrings(Bits(16, "hex"), top=4)
SETTING = Setting(WORDS, 3_000_000, w=2, slots=64, first_t=1, seed=bytes(32))
KEY = Key(hashlib.sha256(b"found").digest(), deployment="found")
USERS = 6_000


def found(rows: np.ndarray, setting: Setting = SETTING, periods: int = 2) -> FoundValues:
    """What a search finds among users with these values."""
    made, slot = PEM(setting), np.arange(USERS) % setting.slots
    ids = np.zeros((USERS, 16), np.uint8)
    ids[:, :4] = np.arange(USERS, dtype="<u4").view(np.uint8).reshape(-1, 4)
    step: Request | Decision | None = None
    for t in range(1, periods + 1):
        step, digest = made.open(t), hashlib.sha256(b"%d" % t).digest()
        while isinstance(step, Request):
            assert step.asked is not None
            asked = step.asked[slot]
            reports = step.question.perturb(rows[asked], KEY.draw(ids[asked], round=digest))
            support = step.question.of_round(digest).support(reports)
            step = made.tally(Answer(support, int(asked.sum()), digest))
    assert isinstance(step, Decision)
    assert isinstance(step.outcome, FoundValues)
    return step.outcome


def test_a_name_stands_for_one_string_and_back() -> None:
    rows = np.vstack((WORDS.domain.rows(["hi", "", "a"]), [[0x7F800000]], [[0x18180000]])).astype(np.uint32)
    names = WORDS.names_of(rows)
    assert names == ("hi", "0x0000", "a", "0xff00", "00")
    assert (WORDS.values_of(names) == rows).all()
    assert HEX.names_of(HEX.domain.rows(["00ff"])) == ("0x00ff",)
    assert (HEX.values_of(("0x00ff",)) == HEX.domain.rows(["00ff"])).all()


def test_any_name_that_a_release_may_have_may_have_a_threshold_and_no_other() -> None:
    assert all(map(WORDS.monitors, ("hi", "a", "0xff00")))
    assert not any(map(WORDS.monitors, ("much too long", "none", "", "0x6869", "0xf", "0xzzzz")))
    assert HEX.monitors("0x00ff")
    assert not HEX.monitors("00ff")


def test_the_truth_is_the_share_of_the_users_who_hold_a_string() -> None:
    rows = WORDS.domain.rows(["a", "hi"])
    truth = WORDS.true_shares(rows, np.array([30, 10]), WORDS.values_of(("hi", "zz", "a")))
    assert truth.tolist() == [0.25, 0.0, 0.75]


def test_nothing_is_found_where_nobody_has_a_string() -> None:
    told = found(np.full(USERS, WORDS.domain.nothing[0], np.uint32))
    assert not len(told.values)
    assert told.finding is not None
    assert told.finding.threshold is not None
    assert 0 < told.finding.threshold < 1


def test_one_string_that_everybody_holds_is_found_with_an_error_that_covers_all_of_them() -> None:
    told = found(np.repeat(WORDS.domain.rows(["hi"])[:, 0], USERS))
    assert WORDS.names_of(told.values)[0] == "hi"
    assert abs(told.estimates[0] - 1) < 4 * told.errors[0]
    assert told.errors[0] > 0


def test_the_pool_follows_the_users_and_stays_within_a_tally() -> None:
    large = FoundStrings(Bits(48))
    assert len(large.plan.bits) == 6
    assert 16_000 < usual_pool(large, 2, 1_000_000) < 17_000  # type: ignore[arg-type]
    assert usual_pool(large, 2, 1_000) == 1024  # type: ignore[arg-type]
    assert usual_pool(large, 8, 10**9) == large.most_pool(8)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="pool: found 65536; allowed: at most 1730, with this epsilon"):
        large.grouped(6, 65_536)


def test_an_epsilon_with_more_cells_than_a_tally_holds_is_named() -> None:
    with pytest.raises(ParameterError, match=r"found epsilon 15 in 3 groups, .*; allowed: a smaller epsilon, or"):
        FoundStrings(Bits(32, "text"), says_none=True, top=4).choose(15)


def test_a_search_needs_a_measure_and_a_budget_of_questions_that_it_can_keep() -> None:
    with pytest.raises(ParameterError, match="allowed: with pem, pem_rounds, tree_hist, tree_hist_all, priv_trie"):
        method(MethodOptions("lpu"), SETTING)
    with pytest.raises(ParameterError, match="queries"):
        PEM(replace(SETTING, measure=FoundStrings(Bits(256), top=512)))
