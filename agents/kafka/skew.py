# SPDX-License-Identifier: Apache-2.0
"""Whether this machine's clock agrees with the brokers': asked before a worker lets its clock decide anything.

Contract: 1. A record of our own is appended, and its LogAppendTime is the brokers' clock between the moments at which
it was sent and acknowledged here: that bounds the skew from both sides, and however slow the brokers are, only what is
certain counts.  2. Between two such measurements the monotonic clock shows at once whether the wall clock was set.
3. `now` gives no time while the certain part is above the bound, so that no tick is given and nobody's patience ends.
The record is one per worker, under a key of its own in the first state topic of its zones, which that zone may write to
anyway; it says what was measured before, for `murmurate status`.  Source: ARCHITECTURE rule 15.  Not here: who goes by
the time (doors.py, worker.py), metrics (observe/).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from typing import Final, NamedTuple

import orjson

from murmurate.agents.kafka.client import Client, Place, Write
from murmurate.agents.kafka.errors import AwayError
from murmurate.config.quantities import shortest

EVERY_S: Final = 10.0
"""How often the clock is compared. One that drifts by a percent, as no clock does unless it is broken, moves a tenth of
a second meanwhile.
"""
SOON_S: Final = 1.0
"""How soon the clock is compared again while it is wrong, or nothing is known of it."""
STEP_MS: Final = 50
"""Wall clock and monotonic clock that part by more than this while a record is on its way: the clock was set."""
LOOKS, MOMENT_S = 5, 0.005
KEY: Final = b"clock/"
REMEDY: Final = "set it, or the brokers' (NTP does both)"
log = logging.getLogger("murmurate.clock")


class Skew(NamedTuple):
    """How far a clock is ahead of the brokers', in milliseconds: between these, both of which may be below 0."""

    least_ms: int
    most_ms: int

    @property
    def certain_ms(self) -> int:
        """The skew that is nearest to 0 of those that may be.

        >>> Skew(900, 1100).certain_ms, Skew(-40, 7).certain_ms, Skew(-9, -5).certain_ms
        (900, 0, -5)
        """
        return max(self.least_ms, min(0, self.most_ms))

    def moved(self, step_ms: int) -> Skew:
        """After the clock has been set by so much."""
        return Skew(self.least_ms + step_ms, self.most_ms + step_ms)


def bounded_by(sent_ms: int, appended_ms: int, received_ms: int) -> Skew:
    """The skew, given that the broker appended between two moments. Each time is rounded down to a millisecond."""
    return Skew(sent_ms - appended_ms - 1, received_ms - appended_ms + 1)


def words(certain_ms: int, bound_ms: int) -> str:
    """What is wrong with a clock and what to do about it."""
    side = "ahead of" if certain_ms > 0 else "behind"
    return (
        f"found this machine's clock {abs(certain_ms) / 1000:.1f} s {side} the brokers'; allowed: {shortest(bound_ms)} "
        f"(time.skew). No tick is given and no round is given up until they agree: {REMEDY}"
    )


class ComparedClock:
    """The wall clock of a worker, compared with the brokers'. `place`: where its records go; `also`: what else they
    say; `elapsed_s`: a clock that nobody sets.
    """

    def __init__(
        self, client: Client, place: Place, worker: str, now_ms: Callable[[], int], bound_ms: int, *,
        also: Callable[[], dict[str, int]] = dict, elapsed_s: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self._client, self._place, self._key = client, place, KEY + worker.encode()
        self._now_ms, self._elapsed_s, self.bound_ms = now_ms, elapsed_s, bound_ms
        self._also = also
        self._measured: Skew | None = None
        self._apart = 0  # the wall clock less the monotonic one, at the last measurement
        self._refused = False
        self._soon = asyncio.Event()

    @property
    def skew(self) -> Skew | None:
        """How far the clock is ahead now; None before it was measured."""
        return None if self._measured is None else self._measured.moved(self._read()[1] - self._apart)

    @property
    def wrong(self) -> str | None:
        """Why the clock may decide nothing now; None if it may."""
        skew = self.skew
        if skew is None:
            return "not compared with the brokers' yet"
        return words(skew.certain_ms, self.bound_ms) if abs(skew.certain_ms) > self.bound_ms else None

    def now(self) -> int | None:
        """The time in milliseconds; None while the clock may decide nothing."""
        if self._measured is None:
            return None
        now, apart = self._read()
        self._judge(self._measured.moved(apart - self._apart))
        return None if self._refused else now

    async def watch(self) -> None:
        """Measure again and again, until cancelled. What was measured holds while the brokers are away."""
        while True:
            with contextlib.suppress(AwayError):
                await self._measure_on()
            await asyncio.sleep(SOON_S)

    async def _measure_on(self) -> None:
        async with self._client.appender() as appender:
            await appender.know(self._place.topic)
            while True:
                sent, before = self._read()
                appended = await appender.append(Write(self._place, self._said(), self._key))
                received, after = self._read()
                if abs(after - before) <= STEP_MS:
                    self._measured, self._apart = bounded_by(sent, appended, received), after
                    self._judge(self._measured)
                self._soon.clear()
                with contextlib.suppress(asyncio.TimeoutError):
                    async with asyncio.timeout(SOON_S if self.wrong else EVERY_S):
                        await self._soon.wait()

    def _read(self) -> tuple[int, int]:
        """The wall clock, and how far it is from the monotonic one: both looked at within a moment, since this process
        may have to wait for a processor in between.
        """
        best = self._look()
        for _ in range(LOOKS):
            if best[0] < MOMENT_S:
                break
            best = min(best, self._look())
        return best[1:]

    def _look(self) -> tuple[float, int, int]:
        """How long it took to look at both clocks, the wall clock, and how far it is from the monotonic one."""
        began = self._elapsed_s()
        now = self._now_ms()
        ended = self._elapsed_s()
        return ended - began, now, now - round((began + ended) * 500)

    def _judge(self, skew: Skew) -> None:
        """Say it, when it changes."""
        refused = abs(skew.certain_ms) > self.bound_ms
        if refused and not self._refused:
            log.error("clock: %s", words(skew.certain_ms, self.bound_ms))
            self._soon.set()  # it may have been set right
        elif self._refused and not refused:
            log.info("clock: this machine's agrees with the brokers' again")
        self._refused = refused

    def _said(self) -> bytes:
        skew = self.skew
        return orjson.dumps({
            "skew_ms": None if skew is None else skew.certain_ms, "bound_ms": self.bound_ms, **self._also(),
        })  # fmt: skip
