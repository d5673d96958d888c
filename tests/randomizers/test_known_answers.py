# SPDX-License-Identifier: Apache-2.0
"""The library gives byte for byte what a second implementation (known_answers.py) got from the written description."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmurate.randomizers import Key, mechanism

FOLDER = Path(__file__).resolve().parent.parent / "data" / "known_answers"
SCRIPT = Path(__file__).with_name("known_answers.py")
NAMES = ["grr", "oue"]  # a second implementation of each of the others stands beside its own tests


def vectors(name: str) -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = json.loads((FOLDER / f"{name}.json").read_text(encoding="ascii"))
    return loaded


def key(vector: dict[str, Any]) -> Key:
    return Key(bytes.fromhex(vector["secret"]), deployment=vector["deployment"])


def test_every_mechanism_has_a_hundred_known_answers() -> None:
    assert {name: len(vectors(name)) >= 100 for name in NAMES} == dict.fromkeys(NAMES, True)


@pytest.mark.parametrize("name", NAMES)
def test_a_spec_has_the_known_digest(name: str) -> None:
    for vector in vectors(name):
        built = mechanism({"name": name, "d": vector["d"], "epsilon_micro": vector["epsilon_micro"]})
        assert built.digest.hex() == vector["digest"]


@pytest.mark.parametrize("name", NAMES)
def test_one_device_gives_the_known_reports(name: str) -> None:
    for vector in vectors(name):
        built = mechanism({"name": name, "d": vector["d"], "epsilon_micro": vector["epsilon_micro"]})
        draw = key(vector).draw_one(bytes.fromhex(vector["user"]), round=bytes.fromhex(vector["round"]))
        assert built.perturb_one(vector["value"], draw).hex() == vector["report"]


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_gives_the_known_reports_wherever_in_it_the_user_stands(name: str) -> None:
    for number, vector in enumerate(vectors(name)):
        built = mechanism({"name": name, "d": vector["d"], "epsilon_micro": vector["epsilon_micro"]})
        row = number % 5
        users = np.arange(5 * 16, dtype=np.uint8).reshape(5, 16)
        users[row] = np.frombuffer(bytes.fromhex(vector["user"]), np.uint8)
        values = np.full(5, vector["d"] // 2)
        values[row] = vector["value"]
        reports = built.perturb(values, key(vector).draw(users, round=bytes.fromhex(vector["round"])))
        assert reports[row].tobytes().hex() == vector["report"]


@pytest.mark.parametrize("name", NAMES)
def test_the_committed_answers_are_what_the_separate_script_prints_without_any_installed_package(name: str) -> None:
    alone = subprocess.run([sys.executable, "-I", "-S", SCRIPT, name], capture_output=True, check=True)
    assert alone.stdout == (FOLDER / f"{name}.json").read_bytes()


def test_the_answers_hold_true_reports_and_false_ones_of_every_width() -> None:
    grr = vectors("grr")
    told_truth = [int.from_bytes(bytes.fromhex(vector["report"]), "little") == vector["value"] for vector in grr]
    assert 20 <= sum(told_truth) <= 80
    assert {len(vector["report"]) // 2 for vector in grr} == {1, 2, 3}


def test_the_answers_hold_unary_reports_of_32_and_64_bit_words_and_of_domains_that_fill_no_byte() -> None:
    oue = vectors("oue")
    above_11_nats = [vector for vector in oue if vector["epsilon_micro"] > 11_090_354]
    assert 10 <= len(above_11_nats) <= 50
    assert sum(vector["d"] % 8 != 0 for vector in oue) >= 20
