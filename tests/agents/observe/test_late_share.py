# SPDX-License-Identifier: Apache-2.0
"""How much was late shows within the minute, at the edge alone; a line of the log says it once a minute."""

from __future__ import annotations

from dataclasses import replace

import pytest

from murmurate.agents.observe.late_share import FEW, LateShares, RefusedShare
from tests.agents.observe.driven import ran, whole
from tests.agents.observe.test_metrics import samples, text
from tests.agents.world import FIRST, SECOND, crowd, deployment


class Hand:
    """A clock in the hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def judged(late: int, future: int, n: int, stream: str = "screen") -> dict[tuple[str, str], int]:
    return {(stream, "late"): late, (stream, "future"): future, (stream, "judged"): n}


def test_the_share_is_of_the_last_minute_and_of_each_stream() -> None:
    hand = Hand()
    shares = LateShares(hand)
    shares.take("door", judged(30, 10, 100))
    hand.now += 59
    shares.take("door", judged(0, 0, 300))
    shares.take("door", judged(0, 50, 100, "mood"))
    assert shares.minute() == [RefusedShare("mood", "door", 0, 50, 100), RefusedShare("screen", "door", 30, 10, 400)]
    assert [row.share for row in shares.minute()] == [0.5, 0.1]
    hand.now += 2
    assert shares.minute()[-1] == RefusedShare("screen", "door", 0, 0, 300)
    hand.now += 60
    assert shares.minute() == []


def test_few_refused_events_are_no_share() -> None:
    assert RefusedShare("screen", "door", FEW - 1, 0, FEW - 1).share == 0.0
    assert RefusedShare("screen", "door", FEW, 0, FEW).share == 1.0


def test_what_perturb_refuses_as_late_is_a_share_of_what_came_there() -> None:
    shares = LateShares(Hand())
    shares.take("perturb", {("screen", "late"): 25, ("screen", "accepted"): 75, ("screen", "second"): 9})
    assert shares.minute() == [RefusedShare("screen", "perturb", 25, 0, 100)]


def test_a_line_says_it_at_once_and_then_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    hand = Hand()
    shares = LateShares(hand)
    with caplog.at_level("WARNING", logger="murmurate.late"):
        shares.take("door", judged(10, 0, 100))  # not much
        assert not caplog.messages
        for _ in range(70):
            hand.now += 1
            shares.take("door", judged(60, 15, 100))
    first, second = caplog.messages
    said = "screen: {} % of the events of the last minute were refused at the door: {} late, {} too far ahead, of {}. "
    assert first.startswith(said.format(42, 70, 15, 200))
    assert second.startswith(said.format(75, 3600, 900, 6000))


def test_a_worker_whose_events_are_too_far_ahead_shows_it_at_the_edge_alone(caplog: pytest.LogCaptureFixture) -> None:
    plan = deployment()
    ahead = [replace(event, time=(FIRST + 5_000) * SECOND) for event in crowd(plan, users=40, periods=3)]
    with caplog.at_level("WARNING", logger="murmurate.late"):
        metrics, _, _ = whole(plan, ran(plan, ahead))
    assert samples(metrics.edge, "murmurate_late_share") == {("door", "mood"): 1.0, ("door", "screen"): 1.0}
    assert "murmurate_late_share" not in text(metrics.public)
    assert "too far ahead" in caplog.messages[0]
