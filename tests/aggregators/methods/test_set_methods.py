# SPDX-License-Identifier: Apache-2.0
"""What searches among sets of items ask and find: who is asked, by what candidates, and what nothing is made of."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.typing import NDArray

from murmurate.aggregators.measures.found_items import FoundItems
from murmurate.aggregators.measures.items import ItemShares
from murmurate.aggregators.methods.last_estimate import packed, unpacked
from murmurate.aggregators.methods.method import FoundValues, Setting
from murmurate.aggregators.methods.set_phases import PARTS, PhasedSearch, SetPhase, SetPlan
from murmurate.aggregators.methods.set_questions import candidates_question, prefix_lengths, shares_question
from murmurate.randomizers import ParameterError, Viewed
from murmurate.randomizers.layouts import FILLER, layout
from murmurate.topics.domains import Items
from tests.aggregators.set_searches import METHODS, Rows, Searched, found, names, nobody, sets_of, setting
from tests.cases import drawn, every

D = 60
SHARES = np.concatenate(([0.7, 0.5, 0.4, 0.3], np.full(D - 4, 0.005)))
USERS = 4000


def search(name: str, rows: Rows | None = None, **changes: object) -> Searched:
    """A search with 4 000 users who hold some of 60 items, 4 of them often."""
    own = {key: changes.pop(key) for key in ("stops", "lost", "other", "seed") if key in changes}
    made = setting(name, D, top=8, **changes)  # type: ignore[arg-type]
    return Searched(made, name, sets_of(SHARES, USERS, 4, 1) if rows is None else rows, **own)  # type: ignore[arg-type]


def phases(one: Searched, t: int) -> list[str]:
    """What is asked in a period, in words."""
    told = [request.question for at, request in one.asked if at == t]
    return [question.view.name if isinstance(question, Viewed) else question.name for question in told]


def test_frequent_items_and_sets_are_found_and_nothing_else() -> None:
    for name in ("svim", "svsm"):
        one = search(name)
        decisions = list(one.periods(3))
        assert all(decision.published for decision in decisions)
        said = names(one, decisions[-1])
        assert set(said) >= {"0", "1", "2", "3"}
        assert {part for each in said for part in each.split(" + ")} == {"0", "1", "2", "3"}
        assert ("0 + 1" in said) is (name == "svsm")
        assert phases(one, 3)[:3] == ["padded", "size", "padded"]
        assert len(phases(one, 3)) == (5 if name == "svsm" else 3)


@every("top", [1, 2, 4])
def test_sets_are_guessed_however_few_names_a_release_has(top: int) -> None:
    rows = np.full((2_000, 4), FILLER, np.uint32)
    rows[:, :3] = 3, 4, 5
    one = Searched(setting("svsm", 12, top=top), "svsm", rows)
    list(one.periods(2))
    assert phases(one, 2)[-2:] == ["size", "itemsets"]


def test_ldp_miner_asks_first_how_many_items_users_hold_and_finds_less() -> None:
    one = search("ldp_miner", epsilon=6.0)
    (decision,) = one.periods(1)
    assert phases(one, 1) == ["size", "padded", "padded"]
    assert one.asked[2][1].question.spec()["view"]["length"] == 16
    assert set(names(one, decision)) <= {"0", "1", "2", "3"}


@every("name", METHODS)
def test_no_slot_answers_two_phases_in_any_w_periods_and_who_is_asked_depends_on_no_answer(name: str) -> None:
    w = 3
    one, other = (search(name, rows, w=w, slots=90, seed=2) for rows in (None, nobody(USERS, 4)))
    for both in (one, other):
        assert len(list(both.periods(2 * w))) == 2 * w
        last = np.full(90, -w)
        for t, request in both.asked:
            assert request.asked is not None
            assert (t - last[request.asked] >= w).all()
            last[request.asked] = t
    asked = {(t, k): request.asked for k, (t, request) in enumerate(one.asked) if name != "svsm"}
    again = {(t, k): request.asked for k, (t, request) in enumerate(other.asked)}
    assert all((mask == again[key]).all() for key, mask in asked.items() if mask is not None)


@drawn(4, long=200, seed=st.integers(0, 2**32), name=st.sampled_from(sorted(METHODS)))
def test_candidates_come_from_reports_alone(seed: int, name: str) -> None:
    def elsewhere(t: int, phase: int, mine: NDArray[np.bool_]) -> Rows:
        rng = np.random.default_rng([seed, t, phase])
        rows = sets_of(rng.random(D), USERS // 4, 4, int(rng.integers(1 << 30)))
        rows[mine] = held[mine]
        return rows

    held = sets_of(SHARES, USERS // 4, 4, seed)
    one = search(name, held, seed=seed % 1000)
    other = search(name, held, seed=seed % 1000, other=elsewhere)
    assert [packed(step) for step in one.periods(2)] == [packed(step) for step in other.periods(2)]
    assert [request.question for _, request in one.asked] == [request.question for _, request in other.asked]
    assert one.states == other.states


@every("name", METHODS)
def test_a_search_goes_on_from_its_state_between_any_two_phases(name: str) -> None:
    one, other = search(name), search(name, stops=True)
    for step, again in zip(one.periods(3), other.periods(3), strict=True):
        assert packed(step) == packed(again)
        assert packed(unpacked(packed(step))) == packed(step)
    assert one.states == other.states


@every(("name", "lost", "asked"), [
    ("svim", 0, ["padded"]), ("svim", 1, ["padded", "size"]), ("svim", 2, ["padded", "size", "padded"]),
    ("svsm", 3, ["padded", "size", "padded", "size"]),
])  # fmt: skip
def test_what_follows_a_phase_without_an_answer_is_not_asked(name: str, lost: int, asked: list[str]) -> None:
    one = search(name, lost=lambda t, phase: t == 2 and phase == lost)
    first, second, third = one.periods(3)
    assert phases(one, 2) == asked
    assert second.published is (lost == 3)
    assert (found(second).finding.threshold is None) is not second.published  # type: ignore[union-attr]
    assert set(names(one, first)) == set(names(one, second)) or second.published
    assert third.published
    if not second.published:
        assert np.isnan(found(second).unbiased).all()  # type: ignore[arg-type]


@every("name", METHODS)
def test_a_period_in_which_nothing_is_found_says_up_to_where_chance_reaches(name: str) -> None:
    for rows in (nobody(USERS, 4), sets_of(np.zeros(D), USERS, 4, 0)):
        one = search(name, rows, least=0.2)  # beyond what chance ever reaches with so many users
        for decision in one.periods(2):
            assert decision.published
            told = found(decision)
            assert len(told.values) == 0
            assert told.finding is not None
            assert told.finding.threshold is not None
            assert 0 < told.finding.threshold < 3
            assert one.setting.measure.result(decision).named.names == ()


def test_of_few_items_all_are_candidates_and_of_sets_of_one_nobody_is_asked_for_the_size() -> None:
    few = SetPlan("svim", ("items", 30, 4, 1), 1, 10, 1)
    assert list(few.parts) == [SetPhase.SIZES, SetPhase.SHARES]
    one = SetPlan("svim", ("items", 1000, 1, 1), 1, 10, 1)
    assert list(one.parts) == [SetPhase.CANDIDATES, SetPhase.SHARES]
    question = few.first
    assert isinstance(question, Viewed)
    assert question.view.held.parameters() == {}  # type: ignore[attr-defined]
    assert sum(PARTS["svim"].values()) == 10
    assert sum(PARTS["svsm"].values()) == 20


def test_what_is_followed_is_a_candidate_again_and_so_are_itemsets_as_far_as_a_round_can_name() -> None:
    one = search("svsm", lost=lambda t, phase: False)
    first, _ = one.periods(2)
    followed = {tuple(item for item in row if item < D) for row in found(first).values.tolist()}
    listed = [request.question for t, request in one.asked if t == 2]
    items, itemsets = (listed[at].spec()["view"]["candidates"] for at in (2, 4))
    assert {of[0] for of in followed if len(of) == 1} <= set(items)
    assert {of for of in followed if len(of) > 1} <= set(itemsets)
    assert len(items) == len(set(items)) == 16
    assert len(itemsets) == len(set(itemsets)) <= 16


def test_more_itemsets_than_a_round_can_name_are_left_out() -> None:
    from murmurate.aggregators.methods.set_phases import MeasuredShares

    plan = SetPlan("svsm", ("items", (1 << 31) - 1, 16, 1), 1, 512, 8)
    made = PhasedSearch(plan, np.zeros((0, 8), np.uint32))
    made.items = (1 << 31) - 2 - np.arange(1024)[::-1]
    shares = np.full(1024, 0.9)
    listed = made._guessed(MeasuredShares(made._rows([(int(item),) for item in made.items]), shares, shares))
    assert 100 < len(listed) <= 1024
    assert len(set(listed)) == len(listed)
    made.itemsets = listed
    made.heard = 3
    assert made.question(3) is not None  # the question takes them


def test_prefixes_of_a_huge_domain_fit_what_a_server_can_hash_in_a_second() -> None:
    assert prefix_lengths(1_000_000, 64) == (13, 20)
    assert prefix_lengths((1 << 31) - 1, 64)[-1] == 31
    assert prefix_lengths(1 << 20, 1024)[-1] == 20


def test_each_of_what_cannot_be_asked_is_one_line() -> None:
    sets = layout(("items", 9, 3, 1)).spec()
    for candidates, found_, allowed in (
        ([1, 2, 1], "one twice", "each once"),
        ([], r"\[\]", "one or more"),
        ([9], "9", "items from 0 to 8"),
        ([[1, 2, 3, 4]], r"\[1, 2, 3, 4\]", "lists of 1 to 3 items"),
        ([[1, 2], [2, 1]], "one twice", "each once"),
        (list(range(40_000)), "more than 65536 bytes", "a shorter list"),
    ):
        with pytest.raises(ParameterError, match=f"^[a-z]+: candidates: found {found_}; allowed: {allowed}$"):
            shares_question(sets, 2, candidates, 1)
    declared = Setting(ItemShares(Items(9, 3), True, pad=2), 1_000_000, 2, 80, 1, bytes(32))
    for other in (setting("svsm", D, top=8), declared):
        with pytest.raises(
            ParameterError, match=r"^svim: found a stream of items; allowed: one whose values it finds$"
        ):
            METHODS["svim"](other)
    with pytest.raises(ParameterError, match=r"^svim: found 16 slots to divide, w = 2; allowed: at least 20$"):
        METHODS["svim"](setting("svim", D, top=8, slots=16))


def test_a_release_names_what_a_decision_found() -> None:
    one = search("svsm")
    (decision,) = one.periods(1)
    measure = one.setting.measure
    assert isinstance(measure, FoundItems)
    told = measure.result(decision).named
    assert told.found
    assert told.names == names(one, decision)
    assert isinstance(decision.outcome, FoundValues)
    assert candidates_question(measure.layout, 1, 16, 3.0).spec() == measure.choose(3.0).spec()
