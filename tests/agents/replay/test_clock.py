# SPDX-License-Identifier: Apache-2.0
"""T: the median of 1 001 lines, given out when the half below it has been read."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from murmurate.agents.replay.clock import EDGE, REACH, Clock, Ticks, cut_sorted, edge, first_period

TICKS = Ticks((60_000,), 10_000, 150_000)


def clocks(times: np.ndarray, ticks: Ticks = TICKS, rows: int = 50_000) -> list[tuple[slice, int]]:
    """Every part and its T, taking the source in stretches of 1 200 lines."""
    clock, found, start = Clock(ticks, rows), [], 0
    while start < len(times):
        end = len(times) if len(times) - start < 2_400 else start + 1_200
        cuts = clock.cut(times[start:end], times[end : end + REACH], ends=end + REACH >= len(times))
        found += [(slice(rows.start + start, rows.stop + start), now) for rows, now in cuts]
        start = end
    return found


def defined(times: np.ndarray) -> list[int]:
    """The definition, line by line."""
    size, margin = len(times), edge(len(times))
    found: list[int] = []
    for line in range(size):
        middle = min(max(line, margin), max(margin, size - 1 - margin))
        reach = min(REACH, middle, size - 1 - middle)
        median = sorted(times[middle - reach : middle + reach + 1].tolist())[reach]
        found.append(max(median, found[-1] if found else 0))
    return found


def last(times: np.ndarray) -> int:
    return clocks(times)[-1][1]


@pytest.mark.parametrize("size", [1, 2, 3, 50, 1_000, 1_001, 1_700, 5_000])
def test_the_clock_is_the_running_maximum_of_the_medians(size: int) -> None:
    generator = np.random.default_rng(size)
    times = np.arange(size) * 700 + generator.integers(-90_000, 90_000, size) + 10**9
    want = defined(times)
    for part, clock in clocks(times):
        assert clock == want[part.start]


@pytest.mark.parametrize("size", [40, 3_000])
def test_a_clock_stands_still_only_until_it_would_close_a_period(size: int) -> None:
    generator = np.random.default_rng(3)
    times = np.arange(size) * 2_000 + generator.integers(-20_000, 20_000, size) + 10**9
    want = defined(times)
    for part, clock in clocks(times):
        assert all(now < TICKS.after(clock) for now in want[part])


def test_in_a_sorted_source_the_clock_is_the_time_of_the_line_however_far_lines_are_apart() -> None:
    times = np.arange(3_000) * 100_000 + 10**9
    parts = clocks(times)
    assert all(clock == times[part.start] for part, clock in parts[EDGE:-EDGE])
    assert len(parts) > 2_900


def test_one_forged_line_moves_nothing() -> None:
    times = np.arange(5_000) * 10 + 10**9
    forged = times.copy()
    forged[2_000] = 4 * 10**12
    # a line less makes a median one line younger, and no more
    assert all(abs(a - b) <= 10 for a, b in zip(defined(times), defined(forged), strict=True))
    assert last(forged) <= times[-1]


@pytest.mark.parametrize("where", [0, 4_999])
def test_one_forged_line_at_an_end_moves_nothing(where: int) -> None:
    times = np.arange(5_000) * 10 + 10**9
    times[where] = 4 * 10**12
    assert last(times) <= 10**9 + 50_000


def test_five_hundred_forged_lines_in_a_row_move_nothing_and_one_more_is_the_majority() -> None:
    times = np.arange(5_000) * 10 + 10**9
    forged = times.copy()
    forged[2_000:2_500] = 4 * 10**12
    assert last(forged) <= times[-1]
    forged[2_500] = 4 * 10**12
    assert last(forged) == 4 * 10**12


def test_a_thousand_forged_lines_among_fifty_thousand_move_nothing() -> None:
    times = np.arange(50_000) * 10 + 10**9
    times[np.random.default_rng(1).choice(np.arange(100, 49_900), 1_000, replace=False)] = 4 * 10**12
    assert last(times) <= 10**9 + 500_000


def test_a_forged_early_line_does_not_begin_the_recording_in_1970() -> None:
    times = np.arange(2_000) * 10 + 10**9
    times[0] = 0
    assert first_period(times[:1_001], TICKS, 60_000, ends=False) == 10**9 // 60_000


def test_a_part_holds_at_most_so_many_rows() -> None:
    times = np.full(5_000, 10**9)
    assert [part.stop - part.start for part, _ in clocks(times, rows=1_000)] == [1_000, 200] * 3 + [1_000, 400]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 400_000), min_size=1, max_size=80), st.integers(1, 20))
def test_sorted_times_are_cut_wherever_a_period_closes(times: list[int], rows: int) -> None:
    ordered = np.sort(np.array(times, np.int64)) + 10**9
    at = 0
    for part, clock in cut_sorted(ordered, TICKS, rows):
        assert part.start == at < part.stop <= at + rows
        assert clock == ordered[at]
        assert ordered[part.stop - 1] < TICKS.after(clock)
        at = part.stop
    assert at == len(ordered)
