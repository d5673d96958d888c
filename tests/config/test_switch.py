# SPDX-License-Identifier: Apache-2.0
"""A change of values at an instant: what a file says, what a record says, and who agrees with whom until when."""

from __future__ import annotations

from dataclasses import replace

import pytest

from murmurate.config.agreement import successor, values
from murmurate.config.errors import ConfigError
from murmurate.config.loader import build
from murmurate.config.plan import Plan
from murmurate.config.planning import plan
from murmurate.config.switch import before, compared, table, until_of
from murmurate.config.until import HeldUntil
from murmurate.topics.codec import decode, encode
from murmurate.topics.config_parts import ConfigUntil
from murmurate.topics.messages import Config
from tests.config.deployments import small

T = 1_790_000_000_000
OLD = plan(build(small()))
NEW = replace(OLD, min_batch=7, patience_ms=9_000)
BOTH = replace(NEW, until=HeldUntil(T, min_batch=OLD.min_batch, patience_ms=OLD.patience_ms))
FIRST = Config(number=1, values=values(OLD, fed=False), secrets={})
NEXT = successor(FIRST, values(NEW, fed=False), {}).model_copy(update={"until": until_of(BOTH)})


def verdict(record: Config, made: Plan, now_ms: int = T - 1, *, fed: bool = False) -> tuple[list[str], int | None]:
    found = compared(record, made, {}, fed=fed, now_ms=now_ms)
    return [one.key for one in found.differences], found.ends_ms


def test_a_plan_holds_by_the_time_of_a_period_or_of_the_door() -> None:
    assert (BOTH.at(T - 1).min_batch, BOTH.at(T - 1).patience_ms) == (OLD.min_batch, OLD.patience_ms)
    assert BOTH.at(T - 1) == OLD
    assert BOTH.at(T) is BOTH
    assert OLD.at(0) is OLD


def test_until_the_instant_the_old_file_agrees_and_says_when_it_ends() -> None:
    assert verdict(NEXT, OLD) == ([], T)
    assert verdict(NEXT, BOTH) == ([], None)
    assert verdict(NEXT, NEW)[0] == ["until"]  # the new values alone would hold at once


def test_from_the_instant_on_the_new_file_alone_agrees() -> None:
    assert verdict(NEXT, OLD, T)[0] == ["privacy.min_batch", "time.patience_ms", "until"]
    assert verdict(NEXT, BOTH, T) == ([], None)
    assert verdict(NEXT, NEW, T)[0] == ["until"]  # a period of before may still be open


def test_a_change_that_was_taken_back_is_a_difference_of_the_new_file_alone() -> None:
    back = before(NEXT).model_copy(update={"number": 3})
    assert verdict(back, OLD) == ([], None)
    assert verdict(back, BOTH)[0] == ["privacy.min_batch", "time.patience_ms", "until"]


def test_the_table_of_a_change_that_is_past_does_not_hinder_the_next_one() -> None:
    later = replace(BOTH, min_batch=8, until=HeldUntil(T + 1000, min_batch=7))
    third = successor(NEXT, values(later, fed=False), {}).model_copy(update={"until": until_of(later)})
    assert verdict(third, BOTH, T + 999) == ([], T + 1000)
    assert verdict(third, later, T + 999) == ([], None)


def test_another_instant_or_other_values_before_it_are_differences() -> None:
    assert verdict(NEXT, replace(BOTH, until=HeldUntil(T - 5000, min_batch=OLD.min_batch, patience_ms=1)), 0)[0] == [
        "until"
    ]
    assert verdict(NEXT, replace(BOTH, epsilon_micro=5))[0] == ["privacy.epsilon_micro"]


def test_of_a_recording_the_instant_is_never_past_for_a_worker() -> None:
    first = FIRST.model_copy(update={"values": values(OLD, fed=True)})
    following = NEXT.model_copy(update={"values": values(NEW, fed=True)})
    assert compared(first, OLD, {}, fed=True, now_ms=0).differences == []
    assert verdict(following, OLD, 0, fed=True) == ([], T)


def test_the_record_is_a_message_whose_old_form_holds_at_once() -> None:
    assert decode(encode(NEXT)) == NEXT
    assert b"until" not in encode(FIRST)
    old = decode(encode(FIRST))
    assert isinstance(old, Config)
    assert old.until is None


def test_writing_the_record_again_keeps_its_instant_and_other_values_drop_it() -> None:
    assert successor(NEXT, values(BOTH, fed=False), {}) == NEXT
    assert successor(NEXT, values(OLD, fed=False), {}).until is None


def test_the_table_for_the_file_reads_as_the_change_it_was_made_of() -> None:
    import tomllib

    told = ConfigUntil(time=T, values={"privacy.min_batch": 20, "time.patience_ms": 30_000, "time.future_ms": 0})
    assert until_of(plan(build(small() | tomllib.loads(table(told))))) == told
    with pytest.raises(ConfigError, match=r'until.time: found .*soon.*; allowed: an instant such as "2026-11-18T09'):
        build(small(until={"time": "soon"}))
