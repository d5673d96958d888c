# SPDX-License-Identifier: Apache-2.0
"""A machine's clock beside the brokers': what is certain of their difference, and what follows while it is too much."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, cast

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmurate.agents.kafka.client import Client, Place, Write
from murmurate.agents.kafka.skew import STEP_MS, ComparedClock, Skew, bounded_by

PLACE = Place("shop.state.door", 0)
BOUND_MS = 1000
TRUE_MS = 1_790_000_000_000


class Brokers:
    """Brokers that append at their own time, after so long, and acknowledge after as long again."""

    def __init__(self, delay_ms: int = 0) -> None:
        self.elapsed_ms, self.delay_ms, self.ahead_ms = 0, delay_ms, 0
        self.written: list[Write] = []
        self.asked: Callable[[], None] = lambda: None

    def now_ms(self) -> int:
        """The wall clock of the machine that asks."""
        return TRUE_MS + self.elapsed_ms + self.ahead_ms

    def elapsed_s(self) -> float:
        return self.elapsed_ms / 1000

    # what a client is asked for

    def appender(self) -> Brokers:
        return self

    async def __aenter__(self) -> Brokers:
        return self

    async def __aexit__(self, *what: object) -> None:
        pass

    async def know(self, topic: str) -> None:
        pass

    async def append(self, write: Write) -> int:
        self.written.append(write)
        self.elapsed_ms += self.delay_ms
        appended = TRUE_MS + self.elapsed_ms
        self.elapsed_ms += self.delay_ms
        self.asked()
        return appended


def compared(brokers: Brokers) -> ComparedClock:
    return ComparedClock(
        cast(Client, brokers), PLACE, "one", brokers.now_ms, BOUND_MS, elapsed_s=brokers.elapsed_s,
        also=lambda: {"bounded": 2},
    )  # fmt: skip


async def once(clock: ComparedClock, brokers: Brokers) -> None:
    """One more measurement."""
    before, watching = len(brokers.written), asyncio.create_task(clock.watch())
    while len(brokers.written) == before:
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)


@given(
    ahead=st.integers(-(10**7), 10**7), there=st.integers(0, 10**5), back=st.integers(0, 10**5),
    fractions=st.tuples(*[st.integers(0, 999)] * 2),
)  # fmt: skip
def test_the_skew_always_lies_between_the_bounds(ahead: int, there: int, back: int, fractions: tuple[int, int]) -> None:
    """In microseconds, rounded down to milliseconds as every clock here does."""
    sent, appended = fractions[0] + 10**9, fractions[0] + 10**9 + there
    received = appended + back
    found = bounded_by((sent + ahead) // 1000, appended // 1000, (received + ahead) // 1000)
    assert found.least_ms * 1000 <= ahead <= found.most_ms * 1000
    assert found.most_ms - found.least_ms <= (there + back) / 1000 + 3


def test_nothing_is_decided_before_the_clock_was_compared() -> None:
    clock = compared(Brokers())
    assert clock.now() is None
    assert clock.skew is None
    assert clock.wrong == "not compared with the brokers' yet"


@pytest.mark.parametrize(("ahead_ms", "right"), [(0, True), (990, True), (-990, True), (1010, False), (-1010, False)])
def test_a_clock_further_off_than_the_bound_gives_no_time(ahead_ms: int, right: bool) -> None:
    brokers = Brokers(delay_ms=2)
    brokers.ahead_ms = ahead_ms
    clock = compared(brokers)
    asyncio.run(once(clock, brokers))
    assert (clock.now() is not None) == right
    assert (clock.wrong is None) == right


def test_slow_brokers_count_for_the_benefit_of_the_clock() -> None:
    brokers = Brokers(delay_ms=5000)
    brokers.ahead_ms = 3000  # may be the way there
    clock = compared(brokers)
    asyncio.run(once(clock, brokers))
    assert clock.now() is not None
    assert clock.skew == Skew(-2001, 8001)
    brokers.ahead_ms += 10_000
    assert clock.now() is None


def test_a_clock_that_is_set_is_found_at_once_and_one_that_is_set_right_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    brokers = Brokers()
    clock = compared(brokers)
    with caplog.at_level(logging.INFO, logger="murmurate.clock"):
        asyncio.run(once(clock, brokers))
        assert clock.now() == TRUE_MS
        brokers.elapsed_ms += 5000
        brokers.ahead_ms = 7_200_000
        for _ in range(3):
            assert clock.now() is None  # nobody was asked in between
        brokers.ahead_ms = 0
        assert clock.now() == TRUE_MS + 5000
    first, second = caplog.messages
    assert first.startswith(
        "clock: found this machine's clock 7200.0 s ahead of the brokers'; allowed: 1s (time.skew)."
    )
    assert second == "clock: this machine's agrees with the brokers' again"


def test_a_clock_that_drifts_is_found_by_the_next_measurement() -> None:
    brokers = Brokers()
    clock = compared(brokers)
    asyncio.run(once(clock, brokers))
    real = brokers.elapsed_s
    clock._elapsed_s = lambda: real() + brokers.ahead_ms / 1000  # both clocks of the machine run too fast
    brokers.ahead_ms = -1500
    assert clock.now() is not None
    asyncio.run(once(clock, brokers))
    assert clock.now() is None
    assert "1.5 s behind the brokers'" in str(clock.wrong)


def test_a_measurement_during_which_the_clock_was_set_counts_for_nothing() -> None:
    brokers = Brokers()
    clock = compared(brokers)

    def set_back() -> None:
        brokers.ahead_ms -= STEP_MS + 1

    brokers.asked = set_back
    asyncio.run(once(clock, brokers))
    assert clock.skew is None


def test_a_process_that_waits_for_a_processor_between_two_looks_suspects_no_clock() -> None:
    brokers = Brokers()
    clock = compared(brokers)
    asyncio.run(once(clock, brokers))
    real, pauses = brokers.now_ms, [2000, 3000, 0]

    def paused() -> int:
        now = real()
        brokers.elapsed_ms += pauses.pop(0) if pauses else 0
        return now

    clock._now_ms = paused
    assert clock.now() == TRUE_MS + 5000
    assert not pauses


def test_the_record_says_what_was_measured_before_for_status() -> None:
    brokers = Brokers()
    brokers.ahead_ms = 1500
    clock = compared(brokers)
    asyncio.run(once(clock, brokers))
    asyncio.run(once(clock, brokers))
    said: list[dict[str, Any]] = [orjson.loads(write.value) for write in brokers.written]
    assert {(write.place, write.key) for write in brokers.written} == {(PLACE, b"clock/one")}
    assert said[0] == {"skew_ms": None, "bound_ms": BOUND_MS, "bounded": 2}
    assert said[1]["skew_ms"] == 1499
