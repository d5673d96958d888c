# SPDX-License-Identifier: Apache-2.0
"""A worker hears of changes while it runs: with the old file it ends at the instant, and with a change taken back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import pytest

from murmurate.agents.kafka.agreement import Agreed, judged
from murmurate.agents.kafka.agreement_watch import AgreementWatch
from murmurate.agents.kafka.client import Place
from murmurate.agents.kafka.errors import AgreementError
from murmurate.agents.stages.errors import OutdatedError
from murmurate.agents.stages.plan_by_time import PlanByTime
from murmurate.config.plan import Plan
from murmurate.config.switch import before
from murmurate.topics.codec import encode
from murmurate.topics.messages import Config
from tests.config.test_switch import BOTH, FIRST, NEXT, OLD, T


class Got(NamedTuple):
    value: bytes


class Log:
    """The records of `rounds`, as a reader shows them."""

    def __init__(self, records: Sequence[Config]) -> None:
        self.records = list(records)

    async def bounds(self, places: Sequence[Place]) -> dict[Place, tuple[int, int]]:
        return {place: (0, len(self.records)) for place in places}

    async def between(self, place: Place, first: int, end: int) -> AsyncIterator[Got]:
        for record in self.records[first:end]:
            yield Got(encode(record))


def watch(plan: Plan, record: Config) -> AgreementWatch:
    nobody: Any = None
    judge = partial(judged, plan=plan, secrets={}, fed=False)
    return AgreementWatch(nobody, "shop.rounds", judge(record, now_ms=T - 100), judge, fed=False)


def look(one: AgreementWatch, log: Any, now_ms: int) -> Agreed:
    asyncio.run(one._look(log, now_ms))
    return one._agreed


def test_a_worker_with_the_old_file_hears_of_a_change_and_ends_at_its_instant() -> None:
    one, log = watch(OLD, FIRST), Log([FIRST])
    assert look(one, log, T - 20).ends_ms is None
    log.records.append(NEXT)
    assert look(one, log, T - 10) == Agreed(NEXT, T)
    assert look(one, log, T - 1).number == 1
    with pytest.raises(AgreementError, match=r"config 2 from 2026-09-21T14:13:20Z on: found a file with"):
        look(one, log, T)


def test_a_worker_with_the_new_file_ends_when_the_change_is_taken_back_and_one_with_the_old_goes_on() -> None:
    back = before(NEXT).model_copy(update={"number": 3})
    with pytest.raises(AgreementError, match=r"privacy.min_batch: found 7; allowed: "):
        look(watch(BOTH, NEXT), Log([FIRST, NEXT, back]), T - 1)
    assert look(watch(OLD, FIRST), Log([FIRST, NEXT, back]), T - 1).ends_ms is None


def test_a_change_without_an_instant_and_what_is_nobodys_change_nothing_until_a_restart() -> None:
    at_once = NEXT.model_copy(update={"until": None})
    out_of_order = NEXT.model_copy(update={"number": 9})
    assert look(watch(OLD, FIRST), Log([FIRST, out_of_order, at_once]), T + 1) == Agreed(FIRST, None)


def test_a_stage_stops_at_the_first_period_of_which_its_file_does_not_say_what_holds() -> None:
    old, new = PlanByTime(OLD, FIRST), PlanByTime(BOTH, FIRST)
    for one in (old, new):
        one.fold(replace_number(9))  # nobody's
        one.fold(NEXT)
    assert (new.at(T - 1).min_batch, new.at(T).min_batch) == (OLD.min_batch, 7)
    assert old.at(T - 1) == OLD
    assert not old.known(T)
    with pytest.raises(OutdatedError, match="the new values and the table"):
        old.at(T)
    old.fold(before(NEXT).model_copy(update={"number": 3}))
    assert old.at(T) == OLD
    assert PlanByTime(replace(BOTH, min_batch=9)).at(T).min_batch == 9  # no record, as in one process


def replace_number(number: int) -> Config:
    return NEXT.model_copy(update={"number": number})
