# SPDX-License-Identifier: Apache-2.0
"""The compared mechanisms give byte for byte what a second implementation got from docs/WIRE.md."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from murmurate.randomizers import Key, question
from murmurate.randomizers.registry import VECTORS

FILE = Path(__file__).resolve().parents[2] / "data" / "known_answers" / "compared.json"
SCRIPT = Path(__file__).with_name("slow_compared.py")
KNOWN: dict[str, Any] = json.loads(FILE.read_text(encoding="ascii"))
KEY = Key(bytes.fromhex(KNOWN["secret"]), deployment=KNOWN["deployment"])
ROUND = bytes.fromhex(KNOWN["round"])
USERS = [bytes.fromhex(user) for user in KNOWN["users"]]


def told(value: list[int]) -> Any:
    return value[0] if len(value) == 1 else tuple(value)


def test_one_device_and_a_batch_give_the_known_reports() -> None:
    for spec, answers in KNOWN["answers"]:
        made = question(spec)
        assert made.spec() == {**spec, "layout": made.layout}
        values = [told(value) for value, _ in answers]
        expected = [report for _, report in answers]
        one = [made.perturb_one(v, KEY.draw_one(u, round=ROUND)).hex() for v, u in zip(values, USERS, strict=True)]
        assert one == expected, spec
        users = np.frombuffer(b"".join(USERS), np.uint8).reshape(-1, 16)
        of: Any = made
        batch = made.perturb(of.of.array(values), KEY.draw(users, round=ROUND))
        assert [row.tobytes().hex() for row in batch] == expected, spec


def test_there_are_a_hundred_of_each_with_every_kind_of_value() -> None:
    names = Counter(spec["name"] for spec, answers in KNOWN["answers"] for _ in answers)
    assert set(names) <= set(VECTORS)
    assert set(names.values()) == {100}
    assert len(names) == 9
    every = [(spec, value) for spec, answers in KNOWN["answers"] for value, _ in answers]
    assert sum(value[0] == 0xFFFFFFFE for _, value in every) >= 20
    assert sum(value[0] == 0x7FFFFFFF for _, value in every) >= 100
    numbers = [number for spec, value in every if spec["layout"][0] == "signed" for number in value[1::2]]
    assert sum(number not in (0, 131_072) for number in numbers) >= 500


def test_the_committed_answers_are_what_the_separate_script_prints_without_any_installed_package() -> None:
    alone = subprocess.run([sys.executable, "-I", "-S", SCRIPT], capture_output=True, check=True)
    assert alone.stdout == FILE.read_bytes()
