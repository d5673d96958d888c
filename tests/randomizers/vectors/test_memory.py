# SPDX-License-Identifier: Apache-2.0
"""What a sparse vector's mechanism holds besides values and reports does not grow with the number of users."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from murmurate.randomizers import ValueRefusedError
from murmurate.randomizers.randomness import contexts
from murmurate.randomizers.registry import VECTORS
from murmurate.randomizers.vectors import VectorQuestion
from tests.cases import every
from tests.randomizers.vectors.laws import KEY

N = 1500
USERS = contexts(np.arange(2 * N))


def peak(made: VectorQuestion, n: int) -> int:
    """The most bytes that are held at once while n users report, without their reports."""
    values = np.repeat(made.of.array([made.extremes[0]]), n, axis=0)
    draw = KEY.draw(USERS[:n], round=bytes(32))
    tracemalloc.start()
    made.perturb(values, draw)
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found - n * made.wire_size


@every("name", sorted(VECTORS))
def test_memory_does_not_grow_with_the_users(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("murmurate.randomizers.vectors.vector._LANE", 2000)
    kind = VECTORS[name]
    made = kind(["signed" if kind.signs_are_drawn else "items", 60, 4, 0], 1).of_round(bytes(32))
    peak(made, 600)  # what is computed once
    few, many = peak(made, N), peak(made, 2 * N)
    assert many < few + 16 * 1024, (few, many)  # one array of a byte for each of four entries would show


@every("name", ["exsub", "kvue", "collision"])
def test_lanes_do_not_show_in_reports_and_errors_name_the_row_of_the_whole(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = VECTORS[name](["signed", 50, 3, 0], 1)
    values = np.repeat(made.of.array([made.value(((4, 1), (7, -1)))]), 100, axis=0)
    draw = KEY.draw(USERS[:100], round=bytes(32))
    whole = made.perturb(values, draw)
    monkeypatch.setattr("murmurate.randomizers.vectors.vector._LANE", 100)
    assert (made.perturb(values, draw) == whole).all()
    values[70, 0] = 60
    with pytest.raises(ValueRefusedError, match="the first in row 70"):
        made.perturb(values, draw)
