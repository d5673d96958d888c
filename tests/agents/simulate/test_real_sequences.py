# SPDX-License-Identifier: Apache-2.0
"""Real sequences by path: their form is found from the file, and what is none is refused in one line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from murmurate.agents.replay.source import SourceError
from murmurate.agents.simulate.real_sequences import DAY, WEEK, form_of, holders

CHANCE = np.random.default_rng(1)


def saved(path: Path, array: np.ndarray) -> Path:
    np.save(path, array)
    return path


def test_events_are_cut_into_periods_and_rare_values_are_one(tmp_path: Path) -> None:
    events = np.array([5, 9, 5, 5, 7, 9, 1, 2] * 10)
    path = saved(tmp_path / "sizes.npy", events)
    assert form_of(path).kind == "events"
    # A period is [5, 9, 5, 5] or [7, 9, 1, 2]: of 5, 9 and all others.
    assert holders(path, 0, d=3, users=400, periods=20)[:2].tolist() == [[300, 100, 0], [0, 100, 300]]


def test_every_item_of_a_line_counts(tmp_path: Path) -> None:
    path = tmp_path / "baskets.dat"
    path.write_text("3 4\n3\n4 3 8\n" * 4, encoding="ascii")
    assert form_of(path).kind == "items"
    assert holders(path, 0, d=3, users=600, periods=4)[0].tolist() == [300, 200, 100]


def test_a_population_is_drawn_anew_by_the_seed(tmp_path: Path) -> None:
    path = saved(tmp_path / "fares.npy", np.linspace(0.01, 1, 100))
    assert form_of(path).kind == "population"
    one, same, other = (holders(path, seed, d=4, users=4_000, periods=30) for seed in (1, 1, 2))
    assert one.mean(axis=0) == pytest.approx([1_000] * 4, rel=0.05)
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_a_recording_is_taken_as_shares(tmp_path: Path) -> None:
    path = saved(tmp_path / "recording.npy", np.array([[0, 1, 1, 2], [2, 2, 2, 2]]))
    assert form_of(path).tried[0][0] == 3
    assert holders(path, 0, d=3, users=8, periods=2).tolist() == [[2, 4, 2], [0, 0, 8]]


def test_weeks_are_dealt_out_by_whom_belongs_together(tmp_path: Path) -> None:
    path = tmp_path / "places.csv"
    rows = [f"{who},{day},{hour},{who % 2}" for who in range(4) for day in range(7) for hour in range(DAY)]
    path.write_text("\n".join(["who,day,hour,category", *rows]), encoding="utf-8")
    assert form_of(path).kind == "weeks"
    held = holders(path, 0, d=2, users=10, periods=2 * WEEK)
    assert held[:WEEK].tolist() == [[10, 0]] * WEEK  # who is 0 or 2
    assert held[WEEK:].tolist() == [[0, 10]] * WEEK


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("sorted.txt", b"1\n1\n1\n2\n2\n2\n" + b"3\n" * 200),
        ("words.txt", b"one two\n"),
        ("empty.txt", b""),
        ("other.csv", b"a,b\n1,2\n"),
        ("empty.csv", b""),
        ("short.csv", b"who,day,hour,category\n1,2\n"),
        ("broken.npy", b"\x93NUMPY"),
        ("bytes.bin", bytes(range(256))),
    ],
)
def test_what_is_no_sequence_is_refused_in_one_line(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(SourceError, match=rf"^{name}: found [^\n]*; allowed: [^\n]*$"):
        form_of(path)


def test_arrays_that_are_no_sequence_are_refused(tmp_path: Path) -> None:
    for i, array in enumerate((np.array([0.5, 0.2]), np.array([-1, 1] * 3).reshape(2, 3), np.zeros(0, int))):
        with pytest.raises(SourceError, match="found no sequence"):
            form_of(saved(tmp_path / f"{i}.npy", array))
