# SPDX-License-Identifier: Apache-2.0
"""What a round may ask costs whoever reads it little memory, however it is put."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

from murmurate.randomizers import Key, ParameterError, Size, ValueRefusedError, candidates, question
from murmurate.randomizers.frequency import she

KEY = Key(bytes(range(32)), deployment="shop")
MANY = 12
OF_A_MILLION = ["items", 1 << 20, 2, 0]


def by_candidates(i: int) -> dict[str, Any]:
    view = {"name": "padded", "layout": OF_A_MILLION, "length": 1, "candidates": [i, i + 7]}
    return {"name": "viewed", "view": view, "mechanism": {"name": "grr", "d": 3, "epsilon_micro": 1_000_000}}


def by_noise(i: int) -> dict[str, Any]:
    told = {"name": "she", "d": 3, "epsilon_micro": 1_000_000 + i, "grid": 2, "reach": 1}
    return {"name": "viewed", "view": {"name": "size", "layout": OF_A_MILLION}, "mechanism": told}


@pytest.mark.parametrize("one", [by_candidates, by_noise])
def test_a_question_of_many_branches_keeps_no_table_for_each(one: Any) -> None:
    tracemalloc.start()
    try:
        question_ = question({"name": "branches", "of": [[1, one(i)] for i in range(MANY)]})
        values = np.array([[3, 10], [7, 0x7FFFFFFF]] * 20, np.uint32)
        users = np.random.default_rng(1).integers(0, 256, (len(values), 16), np.uint8)
        reports = question_.perturb(values, KEY.draw(users, round=bytes(32)))
        alone = [
            question_.perturb_one(tuple(value), KEY.draw_one(user.tobytes(), round=bytes(32)))
            for user, value in zip(users, values.tolist(), strict=True)
        ]
        for of, name in ((she, "levels"), (she, "_table"), (candidates, "_numbers")):
            if kept := getattr(of, name, None):  # of a few questions at a time, whoever asks
                kept.cache_clear()
        kept_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [report.tobytes() for report in reports] == alone
    assert kept_bytes < (1 << 18) * MANY


def test_sizes_by_many_sets_take_the_memory_of_a_lane_however_many_users_there_are() -> None:
    of = Size(("items", 1 << 10, 1, 0), [[item] for item in range(1 << 10)])
    values = np.arange(1 << 16, dtype=np.uint32) % 1024
    values[::3] = 0x7FFFFFFF
    tracemalloc.start()
    try:
        codes = of.codes(values, KEY.draw(np.zeros((len(values), 16), np.uint8), round=bytes(32)))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert codes.tolist() == (values != 0x7FFFFFFF).tolist()
    assert most < 32 << 20  # of 1 024 items in 16 384 rows 16 MB


@pytest.mark.parametrize(("oracle", "most"), [("oue", 4096 * 8), ("she", 2048)])
def test_a_report_about_wide_values_is_no_longer_than_a_device_can_hold_for_each_user(oracle: str, most: int) -> None:
    def question_(d: int) -> Any:
        view = {"name": "level", "layout": ["row", [1 << 20], 0], "widths": [-(-(1 << 20) // d)]}
        return {"name": "viewed", "view": view, "mechanism": {"name": oracle, "d": d, "epsilon_micro": 1_000_000}}

    assert question(question_(most)).wire_size == 4096
    with pytest.raises(ParameterError, match=r"found reports of \d+ bytes; allowed: 4096"):
        question(question_(2 * most))


@pytest.mark.parametrize("kind", [np.int64, np.uint64])
def test_a_word_of_more_than_32_bits_is_no_value(kind: type[np.integer[Any]]) -> None:
    padded = {"name": "padded", "layout": ["items", 4, 1, 1], "length": 2}
    told = {"name": "grr", "d": 6, "epsilon_micro": 1_000_000}
    one = question({"name": "viewed", "view": padded, "mechanism": told})
    two = question({"name": "viewed", "view": padded | {"layout": ["items", 4, 2, 1]}, "mechanism": told})
    beside = question({"name": "weighted", "inner": told, "levels": 10, "quantum": 1})
    draw = KEY.draw(np.zeros((1, 16), np.uint8), round=bytes(32))
    for question_, value in ((one, 3), (two, [1, 3]), (beside, [1, 3])):
        question_.perturb(np.array([value], kind), draw)
        with pytest.raises(ValueRefusedError, match="outside the domain"):
            question_.perturb(np.array([value], kind) + kind(1 << 32), draw)
