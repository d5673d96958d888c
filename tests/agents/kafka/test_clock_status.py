# SPDX-License-Identifier: Apache-2.0
"""What is said of clocks that are wrong: by workers' records, by doors' states, by the ticks that wait, by `repair`."""

from __future__ import annotations

import logging
import time
from typing import Any

import pytest

from murmurate.agents.cli.repair_clock import as_table, lines
from murmurate.agents.kafka.client import Got, Place
from murmurate.agents.kafka.clock_status import STILL_MS, _door, _workers
from murmurate.agents.kafka.repair_clock import ClocksAhead, DoorAhead, _closed
from murmurate.agents.kafka.state import StateRecord, state_key
from murmurate.agents.kafka.tick_watch import WAITS_S, TickWatch
from murmurate.agents.stages.closing import opened
from murmurate.agents.stages.door import Door, set_back
from murmurate.agents.stages.stage import Log
from murmurate.topics.messages import Tick
from tests.agents.world import KEYS, TOPIC, deployment

PLAN = deployment()  # periods of a second, lateness 500 ms
NOW = 1_790_000_000_000
SOURCE = Place(TOPIC, 1)
LATER = "2026-09-21T16:13:20Z"
HOURS_2 = 7_200_000
LONGEST_MS = PLAN.lateness_ms + max(stream.every_ms for stream in PLAN.streams)


def state(clock: int) -> Got:
    """A door's newest state record, appended now."""
    small = set_back(Door(PLAN, KEYS.edge.pepper, *SOURCE).small(), clock)
    record = StateRecord({Log(*SOURCE): 5}, {Log(*SOURCE): 5}, small, None, {})
    return Got(Place("shop.state.door", 1), 7, state_key(1), record.dump(), NOW)


@pytest.mark.parametrize(
    ("clock", "later", "said"),
    [
        (NOW - 40, 0, None),
        (NOW + 2 * PLAN.skew_ms, 0, None),
        (NOW + HOURS_2, 0, "found its clock 7200.0 s ahead of the brokers'"),
        (NOW, STILL_MS + LONGEST_MS, None),
        (NOW, STILL_MS + LONGEST_MS + 1, f"found no tick passed for {(STILL_MS + LONGEST_MS) // 1000} s"),
        (0, HOURS_2, None),  # it has never shown a time
    ],
)
def test_a_door_is_wrong_that_stands_ahead_of_its_own_record_or_still(clock: int, later: int, said: str | None) -> None:
    found = list(_door(PLAN, state(clock), NOW + later, manned=True))
    assert [said in one for one in found if said] == ([] if said is None else [True])
    assert all(one.startswith(f"door {TOPIC}/1: ") for one in found)


def test_a_door_that_nobody_runs_does_not_stand_still() -> None:
    assert not list(_door(PLAN, state(NOW), NOW + HOURS_2, manned=False))


def test_workers_that_run_are_judged_by_their_own_records() -> None:
    told: dict[str, dict[str, Any]] = {
        "good": {"skew_ms": 12, "bound_ms": 1000, "bounded": 0},
        "new": {"skew_ms": None, "bound_ms": 1000},
        "behind": {"skew_ms": -2500, "bound_ms": 1000},
        "cut": {"skew_ms": 0, "bound_ms": 1000, "bounded": 3},
        "gone": {"skew_ms": HOURS_2, "bound_ms": 1000},
    }
    behind, cut = _workers(told, {"good", "new", "behind", "cut"})
    assert behind.startswith("worker behind: found its clock 2.5 s behind the brokers'; allowed: 1s (time.skew)")
    assert cut.startswith("worker cut: found 3 ticks with ends above those of their sources")


def test_ticks_that_wait_are_cut_or_lie_ahead_are_logged_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch, now = TickWatch(skew_ms=1000), [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    tick = Tick(topic=TOPIC, partition=1, time=NOW, end=900)
    with caplog.at_level(logging.WARNING, logger="murmurate.door"):
        for _ in range(3):
            watch.note({SOURCE: tick})
            now[0] += WAITS_S
        assert watch.waits_s == {SOURCE: 3 * WAITS_S}
        assert [watch.cut(SOURCE, tick, 20).end for _ in range(2)] == [20, 20]
        for clock in (NOW + 2000, NOW + 2001, NOW + 3000, None):
            watch.compare(SOURCE, clock, NOW)
            assert watch.ahead_ms[SOURCE] == (0 if clock is None else clock - NOW)
        watch.note({SOURCE: None})
    assert watch.waits_s == {SOURCE: 0.0}
    assert watch.bounded == {SOURCE: 1}
    still, cut, ahead = caplog.messages
    assert "its clock stands still: a tick has waited for 120 s for the records below offset 900" in still
    assert "found a tick that waits for the records below offset 900; allowed: at most 20" in cut
    assert "its clock stands 2.0 s ahead" in ahead


def test_repair_says_what_it_would_do_and_what_nothing_can_mend() -> None:
    doors = [DoorAhead(SOURCE, Place("shop.state.door", 1), NOW + HOURS_2, NOW)]
    one_of_two = _closed(PLAN, doors, {TOPIC: [NOW + HOURS_2, NOW]})
    assert one_of_two == {}
    closed = _closed(PLAN, doors, {TOPIC: [NOW + HOURS_2]})
    assert closed == {one.name: opened(one.every_ms, PLAN.lateness_ms, NOW + HOURS_2) for one in PLAN.streams}
    found = ClocksAhead(doors, closed)
    for mended in (False, True):
        said = list(lines(found, PLAN, mended=mended))
        assert all(len(line) <= 80 for line in said)
        text = " ".join(" ".join(said).split())
        done = "was set back" if mended else "would be set back"
        assert f"{TOPIC} 1: its clock stood at {LATER}, 7200.0 s ahead, and {done} to 2026-09-21T14:13:20Z" in text
        assert "and what comes for them is late: up to 2026-09-21T16:13:19Z" in text
        assert ("nothing was changed (see --yes)" in text) == (not mended)
        assert as_table(found, mended=mended)["ok"] is mended
    assert list(lines(ClocksAhead([], {}), PLAN, mended=False)) == ["no door's clock stands ahead"]
