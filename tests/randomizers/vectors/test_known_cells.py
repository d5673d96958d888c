# SPDX-License-Identifier: Apache-2.0
"""Collision and CoCo give byte for byte what a second implementation (known_cells.py) got from docs/WIRE.md."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from murmurate.randomizers import Key, question
from tests.cases import every

FOLDER = Path(__file__).resolve().parents[2] / "data" / "known_answers"
SCRIPT = Path(__file__).with_name("known_cells.py")
NAMES = ["collision", "coco"]


def vectors(name: str) -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = json.loads((FOLDER / f"{name}.json").read_text(encoding="ascii"))
    return loaded


@every("name", NAMES)
def test_specs_have_the_known_digests_and_devices_give_the_known_reports(name: str) -> None:
    assert len(vectors(name)) == 100
    for number, vector in enumerate(vectors(name)):
        made = question(vector["spec"])
        assert made.digest.hex() == vector["digest"]
        key, round = Key(bytes.fromhex(vector["secret"]), deployment="shop"), bytes.fromhex(vector["round"])
        user, value = bytes.fromhex(vector["user"]), tuple(vector["value"])
        one = value[0] if made.words == 1 else value
        assert made.perturb_one(one, key.draw_one(user, round=round)).hex() == vector["report"]
        row = number % 3
        users = np.arange(48, dtype=np.uint8).reshape(3, 16)
        users[row] = np.frombuffer(user, np.uint8)
        values = np.array([value] * 3, np.uint32)
        reports = made.perturb(values[:, 0] if made.words == 1 else values, key.draw(users, round=round))
        assert reports[row].tobytes().hex() == vector["report"]


@every("name", NAMES)
def test_the_committed_answers_are_what_the_separate_script_prints_without_any_installed_package(name: str) -> None:
    alone = subprocess.run([sys.executable, "-I", "-S", SCRIPT, name], capture_output=True, check=True)
    assert alone.stdout == (FOLDER / f"{name}.json").read_bytes()


@every("name", NAMES)
def test_the_answers_hold_own_cells_of_sets_and_other_cells(name: str) -> None:
    own = []
    for vector in vectors(name):
        made: Any = question(vector["spec"])
        if vector["spec"]["layout"][0] == "items" and vector["value"][0] < made.d:
            asked = made.of_round(bytes.fromhex(vector["round"]))
            row = np.frombuffer(bytes.fromhex(vector["report"]), np.uint8)[np.newaxis]
            own.append(any(asked.supported(row, item, 1)[0] for item in vector["value"] if item < made.d))
    assert 3 <= sum(own) <= len(own) - 3
