# SPDX-License-Identifier: Apache-2.0
"""Subsets of coordinates are byte for byte what a second implementation got from docs/WIRE.md."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from murmurate.randomizers import Key, question
from murmurate.randomizers.layouts import layout

FILE = Path(__file__).resolve().parents[2] / "data" / "known_answers" / "subsets.json"
SCRIPT = Path(__file__).with_name("slow_subsets.py")
ANSWERS: list[dict[str, Any]] = json.loads(FILE.read_text(encoding="ascii"))


@lru_cache(maxsize=512)
def made_of(spec: str) -> Any:
    return question(json.loads(spec))


def told(vector: dict[str, Any]) -> Any:
    words = vector["value"]
    return words[0] if len(words) == 1 else tuple(words)


def test_a_spec_has_the_known_digest_and_reads_back() -> None:
    for vector in ANSWERS:
        made = made_of(json.dumps(vector["spec"]))
        assert made.digest.hex() == vector["digest"]
        assert question(made.spec()) == made


def test_one_device_and_a_batch_give_the_known_reports() -> None:
    for number, vector in enumerate(ANSWERS):
        made, user, round = (
            made_of(json.dumps(vector["spec"])),
            bytes.fromhex(vector["user"]),
            bytes.fromhex(vector["round"]),
        )
        key = Key(bytes.fromhex(vector["secret"]), deployment="shop")
        assert made.perturb_one(told(vector), key.draw_one(user, round=round)).hex() == vector["report"]
        users, row = np.arange(3 * 16, dtype=np.uint8).reshape(3, 16), number % 3
        users[row] = np.frombuffer(user, np.uint8)
        of = layout(made.layout)
        values = of.array([told(vector) if i == row else of.nothing for i in range(3)])
        reports = made.perturb(values, key.draw(users, round=round))
        assert reports[row].tobytes().hex() == vector["report"]
        assert not made.malformed(reports).any()


def test_the_committed_answers_are_what_the_separate_script_prints_without_any_installed_package() -> None:
    alone = subprocess.run([sys.executable, "-I", "-S", SCRIPT], capture_output=True, check=True)
    assert alone.stdout == FILE.read_bytes()


def test_there_are_a_hundred_of_each_lists_and_maps_by_short_words_and_by_long_ones() -> None:
    specs = [vector["spec"] for vector in ANSWERS]
    for name in ("exsub", "exsub_majority", "set_subset"):
        made = [made_of(json.dumps(spec)) for spec in specs if spec["name"] == name]
        assert len(made) == 100
        assert {(of.rows.listed, of.leaves_out) for of in made} >= {(True, False), (False, False), (False, True)}
        assert {of.draws.bits for of in made} == {16, 32}
