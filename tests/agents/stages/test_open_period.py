# SPDX-License-Identifier: Apache-2.0
"""Where the open period of a stream stands, and what may follow."""

from __future__ import annotations

from itertools import product

import pytest

from murmurate.agents.stages.open_period import PERIOD_STATES, OpenPeriod, PeriodState
from murmurate.agents.stages.publish import Publish
from murmurate.agents.stages.stage import Log
from murmurate.aggregators.accounting.window import MixedWindow
from murmurate.aggregators.methods.registry import method
from murmurate.aggregators.transitions import State, TransitionError
from murmurate.topics.messages import Rejected, Round, Tally
from murmurate.topics.release import Release
from tests.agents.stages.hands import ROUNDS, Hand, read, start
from tests.agents.world import FIRST, deployment, stream

PLAN = deployment(stream("screen", "lsp"), min_batch=8)
SCREEN = PLAN.streams[0]


def course() -> OpenPeriod:
    mixed = MixedWindow(SCREEN.w, SCREEN.division, PLAN.delta, PLAN.assumed_corrupt)
    return OpenPeriod(SCREEN, method(SCREEN.method, SCREEN.setting(PLAN, FIRST)), FIRST, FIRST, mixed)


def tallies(of: Round, counted: int) -> list[Tally]:
    return [
        Tally(
            round=of.digest.hex(), q=q, received=counted, counted=counted, rejected=Rejected(malformed=0), missing=(),
            stream=of.stream, t=of.t, targets=of.targets, counts=(counted, 0, 0, 0, 0),
        )
        for q in range(of.targets)
    ]  # fmt: skip


@pytest.mark.parametrize(("now", "then"), list(product(PeriodState, PeriodState)), ids=lambda turn: turn.value)
def test_a_period_goes_on_only_as_the_table_allows(now: PeriodState, then: PeriodState) -> None:
    stands = State("publish: stream 'screen'", now, PERIOD_STATES)
    if then in PERIOD_STATES[now]:
        stands.to(then)
        assert stands.now is then
        return
    allowed = ", ".join(turn.value for turn in PERIOD_STATES[now])
    with pytest.raises(TransitionError, match=f"'screen': found {then.value} after {now.value}; allowed: {allowed}"):
        stands.to(then)
    assert stands.now is now


def test_a_period_cannot_end_before_it_is_asked_nor_wait_for_two_rounds() -> None:
    with pytest.raises(TransitionError, match="found opening after opening; allowed: asked, unasked"):
        course().end()
    hand = Hand(Publish(PLAN))
    hand.give(ROUNDS, start(SCREEN))
    stands = hand.stage._periods["screen"]  # type: ignore[attr-defined]
    with pytest.raises(TransitionError, match="found asked after asked; allowed: answered"):
        stands.ask(stands.open)


def test_a_state_that_no_period_stands_in_is_refused() -> None:
    with pytest.raises(TransitionError, match="found 'decided' in a state; allowed: opening, asked, answered, unasked"):
        course().state.load("decided")


def test_of_a_period_of_which_nothing_is_asked_a_round_to_nobody_says_when_it_is_over_and_across_a_crash() -> None:
    hand = Hand(Publish(PLAN))
    round_, *ahead = read(hand.give(ROUNDS, start(SCREEN)))
    out = read(hand.give(Log("tallies", 0), *tallies(round_, 20)))
    nobody = next(one for one in out if isinstance(one, Round) and one.t == FIRST + 1)
    assert (nobody.slots.count(), nobody.purpose) == (0, "publication")
    assert [one.t for one in ahead if isinstance(one, Round)] == [FIRST + SCREEN.w]  # everybody's next turn
    other = Hand(Publish(PLAN))
    other.stage.restore(hand.stage.small(), ())
    for each in (hand, other):
        stands = each.stage._periods["screen"]  # type: ignore[attr-defined]
        assert stands.state.now is PeriodState.UNASKED
        assert stands.decided is not None
        found = read(each.give(Log("tallies", 0), *tallies(nobody, 0)))
        (released,) = (one for one in found if isinstance(one, Release))
        assert (released.t, released.measured_t, released.decision) == (FIRST + 1, FIRST, "approximated")
        assert released.reports
        assert (released.reports.slots, released.reports.received) == (0, 0)
