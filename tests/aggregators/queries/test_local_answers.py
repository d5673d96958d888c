# SPDX-License-Identifier: Apache-2.0
"""Answers over local streams: sums and averages of `unbiased`, with the errors that releases say of it."""

from math import sqrt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmurate.aggregators.queries import QueryRefusedError, ReleaseIndex, answer
from murmurate.topics.times import instant
from tests.aggregators.queries.made import EVERY_MS, START_T, local

SHARES = {"home": 0.25, "help": -0.125}
ERRORS = {"home": 0.03, "help": 0.04}


def index(*records: dict[str, Any]) -> ReleaseIndex:
    found = ReleaseIndex()
    for record in records:
        found.add(record)
    return found


def over(low: int, high: int) -> str:
    return f"{instant((START_T + low) * EVERY_MS)} .. {instant((START_T + high) * EVERY_MS)}"


@st.composite
def releases(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Measured periods, some that repeat the last one, some before anything was measured, some that are not there."""
    found, last = [], None
    for t in range(draw(st.integers(1, 30))):
        kind = draw(st.sampled_from(["fresh", "fresh", "repeated", "absent"]))
        if kind == "fresh":
            last = START_T + t, draw(st.integers(-(10**6), 10**6)) / 10**6, draw(st.integers(1, 10**6)) / 10**6
        if kind != "absent" and last is None:
            found.append(local(START_T + t, {"home": None}, {"home": None}, measured=None))
        elif kind != "absent" and last is not None:
            measured, value, error = last
            found.append(local(START_T + t, {"home": value}, {"home": error}, measured=measured))
    return found


@given(releases(), st.integers(0, 30), st.integers(1, 30))
def test_a_sum_is_of_what_was_measured_and_a_report_that_speaks_twice_errs_twice(
    records: list[dict[str, Any]], low: int, length: int
) -> None:
    if not records:
        return
    (row,) = answer(index(*records), f"count of screen.home over {over(low, low + length)}").rows
    said = [r for r in records if low <= r["t"] - START_T < low + length and r["measured_t"] is not None]
    assert row.periods == len(said)
    assert row.carried == sum(r["measured_t"] != r["t"] for r in said)
    assert sum(row.missing.values()) == length - len(said)
    if said:
        times = {m: sum(r["measured_t"] == m for r in said) for m in {r["measured_t"] for r in said}}
        errors = {r["measured_t"]: r["stderr_unbiased"]["home"] for r in said}
        assert row.value == pytest.approx(sum(r["unbiased"]["home"] for r in said), abs=1e-9)
        assert row.stderr == pytest.approx(sqrt(sum((times[m] * errors[m]) ** 2 for m in times)), abs=1e-9)


def test_a_share_is_the_average_over_the_periods_with_a_bound_for_who_is_drawn() -> None:
    """Twelve periods of windows of 6: a user answers up to twice, so the bound is sqrt(2 6 / 5) times the error."""
    known = index(*(local(START_T + t, SHARES, ERRORS) for t in range(12)))
    home, helped = sorted(answer(known, "share of screen over all").rows, key=lambda row: -(row.value or 0))
    assert (home.name, home.value, helped.value) == ("home", 0.25, -0.125)
    assert home.stderr == pytest.approx(0.03 / sqrt(12), abs=1e-9)
    assert home.stderr_at_most == pytest.approx(0.03 / sqrt(12) * sqrt(12 / 5), abs=1e-9)
    everybody = index(*(local(START_T + t, SHARES, ERRORS, method="lbu") for t in range(12)))
    assert answer(everybody, "share of screen.home over all").rows[0].stderr_at_most is None


def test_counts_are_per_user_unless_it_is_said_how_many_there_are() -> None:
    known = index(*(local(START_T + t, SHARES, ERRORS) for t in range(4)))
    each, all_of_them = (answer(known, "count of screen.home over all", users=users) for users in (None, 1000))
    assert (each.value, all_of_them.value) == (1.0, 1000.0)
    assert all_of_them.stderr == pytest.approx(60.0)
    assert "per user of the population" in each.notes[0]
    with pytest.raises(QueryRefusedError, match="users: found share; allowed: with sum or count of a local stream"):
        answer(known, "share of screen.home over all", users=1000)


def test_without_errors_in_the_releases_the_answer_names_the_key_that_writes_them() -> None:
    some = index(*(local(START_T + t, SHARES, ERRORS if t else None) for t in range(3)))
    found = answer(some, "share of screen.home over all")
    assert (found.value, found.stderr) == (0.25, None)
    assert any("[releases] queries = true" in note for note in found.notes)
    assert answer(some, f"share of screen.home over {over(1, 3)}").stderr is not None


def test_a_mean_is_averaged_and_a_total_summed() -> None:
    said: dict[str, Any] = {"measure": "mean", "stream": "fare"}
    fares = index(*(local(START_T + t, {"mean": 20.0, "present": 0.5}, None, **said) for t in range(5)))
    assert answer(fares, "mean of fare over all").value == 20.0
    assert answer(fares, "share of fare over all").value == 0.5
    with pytest.raises(QueryRefusedError, match=r"fare: found sum; allowed: mean, share, count$"):
        answer(fares, "sum of fare over all")
    totals = index(*(local(START_T + t, {"total": 20.0}, {"total": 2.0}, measure="total") for t in range(4)))
    assert (answer(totals, "sum of screen over all").value, answer(totals, "sum of screen over all").stderr) == (80, 4)
