# SPDX-License-Identifier: Apache-2.0
"""Searches: disjoint slots for every phase, states between any two calls, and what was found is followed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from murmurate.aggregators.methods.first_sight import first_sight
from murmurate.aggregators.methods.method import Answer, Decision, Floats, Request, Setting
from murmurate.randomizers import ParameterError
from tests.aggregators.searches import Crowd, Rare, TwoPhases, found_in
from tests.measured import sized

USERS, SLOTS, W = 40_000, 400, 4
SETTING = Setting(Rare(least=0.01), 2_000_000, w=W, slots=SLOTS, first_t=1, seed=bytes(32))


def crowd(shares: Floats, seed: int = 1) -> Crowd:
    return Crowd.of(shares, USERS, SLOTS, seed)


def played(method: TwoPhases, crowds: Iterator[Crowd], *, lost: frozenset[int] = frozenset()) -> list[Decision]:
    """The decisions of periods from 1 on, the method restored from its state before every call; `lost` ones have too
    few reports.
    """
    decisions = []
    for t, users in enumerate(crowds, start=1):
        step = method.open(t)
        while isinstance(step, Request):
            again = TwoPhases(method.setting)
            again.load(method.state())
            assert again.state() == method.state()
            answer = users.answer(step, again._candidates)
            method, step = again, again.tally(Answer(answer.support * 0, 0) if t in lost else answer)
        decisions.append(step)
    return decisions


def test_every_phase_asks_slots_of_its_own_and_none_twice_in_w_periods() -> None:
    method, users = TwoPhases(SETTING), crowd(np.array([0.4, 0.2]))
    last: dict[int, int] = {}
    phases = Counter[int]()
    for t in range(1, 12):
        step = method.open(t)
        while isinstance(step, Request):
            assert step.asked is not None
            slots = np.flatnonzero(step.asked).tolist()
            assert all(t - last.get(slot, -W) >= W for slot in slots)
            last |= dict.fromkeys(slots, t)
            phases[len(slots)] += 1
            step = method.tally(users.answer(step, method._candidates))
    assert phases == {SLOTS // W // 2: 22}


def test_who_is_asked_depends_on_no_answer() -> None:
    def asked(shares: Floats) -> list[bytes]:
        method, users, masks = TwoPhases(SETTING), crowd(shares), []
        for t in range(1, 6):
            step = method.open(t)
            while isinstance(step, Request):
                assert step.asked is not None
                masks.append(step.asked.tobytes())
                step = method.tally(users.answer(step, method._candidates))
        return masks

    assert asked(np.array([0.5])) == asked(np.array([0.0, 0.0, 0.3, 0.3]))


def test_what_is_found_is_followed_says_when_it_was_seen_moves_and_goes() -> None:
    quiet, loud = crowd(np.array([0.5, 0.2])), crowd(np.array([0.5, 0.0, 0.3]), seed=2)
    decisions = played(TwoPhases(SETTING), iter([quiet] * 12 + [loud] * 12))
    found = [found_in(one) for one in decisions]
    values = [set(one.values.tolist()) for one in found]
    assert values[5] == {0, 1, 39}
    assert values[-1] == {0, 2, 39}
    assert 1 in {code for one in found for code in (one.finding.gone.tolist() if one.finding else ())}
    last = found[-1]
    assert last.finding is not None
    assert last.values[0] == 0
    assert last.estimates == pytest.approx(sorted(last.estimates, reverse=True))
    since = dict(zip(last.values.tolist(), last.finding.since.tolist(), strict=True))
    assert since[0] == 1
    assert since[2] >= 13
    assert set(last.finding.seen.tolist()) == {24}
    fell = [one.values[one.finding.moved < 0].tolist() for one in found if one.finding is not None]
    assert any(1 in some or 39 in some for some in fell[12:])
    errors = np.array([one.errors[0] for one in found])
    assert errors[10] < errors[0] / 1.5
    assert abs(found[10].estimates[0] - 0.5) < 4 * errors[10]


def test_a_period_without_an_answer_asks_and_finds_nothing_and_forgets_nothing() -> None:
    decisions = played(TwoPhases(SETTING), iter([crowd(np.array([0.5]))] * 5), lost=frozenset({1, 4}))
    first, second, fourth = (found_in(decisions[at]) for at in (0, 1, 3))
    assert not len(first.values)
    assert (decisions[0].published, decisions[0].measured_t) == (False, None)
    assert first.finding is not None
    assert first.finding.threshold is None
    assert len(second.values)
    assert (decisions[3].published, decisions[3].measured_t) == (False, 3)
    assert fourth.finding is not None
    assert fourth.finding.threshold is None
    assert fourth.unbiased is not None
    assert np.isnan(fourth.unbiased).all()
    assert set(second.values.tolist()) <= set(fourth.values.tolist())


def test_a_search_may_find_nothing_and_still_says_its_threshold() -> None:
    few = Setting(Rare(least=0.9), 2_000_000, w=W, slots=SLOTS, first_t=1, seed=bytes(32))
    (decision,) = played(TwoPhases(few), iter([crowd(np.array([0.5]))]))
    found = found_in(decision)
    assert not len(found.values)
    assert decision.published
    assert found.finding is not None
    assert found.finding.threshold is not None
    figures = few.measure.result(decision).named
    assert figures.names == ()
    assert figures.found


def test_no_more_is_followed_than_there_is_room_for() -> None:
    narrow = Setting(Rare(top=2, least=0.01), 2_000_000, w=W, slots=SLOTS, first_t=1, seed=bytes(32))
    shares = np.array([0.3, 0.2, 0.1, 0.25])
    decisions = played(TwoPhases(narrow), iter([crowd(shares)] * 8))
    assert all(len(found_in(one).values) <= 2 for one in decisions)
    assert found_in(decisions[-1]).values.tolist() == [0, 3]


def test_a_search_needs_slots_for_all_phases_and_a_stream_whose_names_are_found() -> None:
    with pytest.raises(ParameterError, match="two-phases: found 7 slots to divide, w = 4; allowed: at least 8"):
        TwoPhases(Setting(Rare(), 2_000_000, w=4, slots=7, first_t=1, seed=bytes(32)))
    with pytest.raises(ParameterError, match="found a stream of frequency; allowed: one whose values it finds"):
        TwoPhases(Setting(sized(9), 2_000_000, w=4, slots=80, first_t=1, seed=bytes(32)))


@pytest.mark.parametrize("truth", [0.0, 1.0, 3.0, 4.0, 5.0, 9.0])
def test_errors_of_a_first_sight_cover_the_truth_whatever_it_is(truth: float) -> None:
    """Expected are 95 %; of 1 500 that exceed the bar, fewer than 92.2 % by chance once in a million runs."""
    rng, bar = np.random.default_rng(7), 4.0
    if truth >= 3:
        seen = truth + rng.standard_normal(20_000)
        seen = seen[seen > bar][:1_500]
    else:  # a normal tail, by rejection from an exponential one
        seen = bar - np.log(rng.random(4_000)) / (bar - truth)
        seen = seen[rng.random(len(seen)) < np.exp(-((seen - bar) ** 2) / 2)][:1_500]
    estimate, errors = first_sight(seen, np.ones(1_500), np.full(1_500, bar))
    assert (np.abs(estimate - truth) <= 2 * errors).mean() > 0.922
    assert (estimate >= 0).all()
