# SPDX-License-Identifier: Apache-2.0
"""Questions over several words give byte for byte what a second implementation got from the written description."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from murmurate.randomizers import Key, question
from murmurate.randomizers.layouts import layout
from tests.cases import every

DATA = Path(__file__).resolve().parent.parent / "data" / "known_answers"
FILES = {
    name: (DATA / f"{name}.json", Path(__file__).with_name(f"known_{name}.py"))
    for name in ("questions", "searches", "samples")
}
QUESTIONS, SEARCHES, SAMPLES = (json.loads(file.read_text(encoding="ascii")) for file, _ in FILES.values())
VECTORS: list[dict[str, Any]] = [*QUESTIONS, *SEARCHES, *SAMPLES]


def told(vector: dict[str, Any]) -> Any:
    words = vector["value"]
    return words[0] if len(words) == 1 else tuple(words)


def test_a_spec_has_the_known_digest_and_reads_back() -> None:
    for vector in VECTORS:
        made = question(vector["spec"])
        assert made.digest.hex() == vector["digest"]
        assert question(made.spec()) == made


def test_one_device_and_a_batch_give_the_known_reports() -> None:
    for number, vector in enumerate(VECTORS):
        made, user, round = question(vector["spec"]), bytes.fromhex(vector["user"]), bytes.fromhex(vector["round"])
        key = Key(bytes.fromhex(vector["secret"]), deployment="shop")
        assert made.perturb_one(told(vector), key.draw_one(user, round=round)).hex() == vector["report"]
        users, row = np.arange(5 * 16, dtype=np.uint8).reshape(5, 16), number % 5
        users[row] = np.frombuffer(user, np.uint8)
        other = layout(made.layout).nothing
        values = layout(made.layout).array([told(vector) if i == row else other for i in range(5)])
        assert made.perturb(values, key.draw(users, round=round))[row].tobytes().hex() == vector["report"]


@every("name", sorted(FILES))
def test_the_committed_answers_are_what_the_separate_script_prints_without_any_installed_package(name: str) -> None:
    file, script = FILES[name]
    alone = subprocess.run([sys.executable, "-I", "-S", script], capture_output=True, check=True)
    assert alone.stdout == file.read_bytes()


def test_the_answers_hold_values_of_one_block_and_of_many_of_none_and_of_more_items_than_are_padded() -> None:
    assert {-(-len(vector["value"]) // 4) for vector in QUESTIONS} >= {1, 2, 3, 16}
    assert sum(vector["value"][0] == 0xFFFFFFFE for vector in QUESTIONS) >= 8
    named = {vector["spec"].get("view", vector["spec"])["name"] for vector in QUESTIONS}
    assert named == {"prefix", "padded", "branches"}
    assert {vector["report"][:2] for vector in QUESTIONS if "of" in vector["spec"]} >= {"00", "01", "02"}


def test_the_answers_hold_prefixes_that_are_told_and_folded_and_strings_that_no_parent_begins() -> None:
    views = [vector["spec"]["view"] for vector in SEARCHES if "view" in vector["spec"]]
    assert {view["name"] for view in views} == {"long_prefix", "extensions", "trie_leaf"}
    assert {min(max(view.get("bits", 0), 52), 53) for view in views if "bits" in view} == {52, 53}
    assert {"" in view["parents"] for view in views if "parents" in view} == {False, True}
    assert sum(vector["value"][0] == 0xFFFFFFFE for vector in SEARCHES) >= 6
    assert len({vector["report"][:2] for vector in SEARCHES if "of" in vector["spec"]}) >= 4


def test_the_answers_hold_samples_of_small_and_huge_domains_of_no_item_and_of_more_than_are_padded() -> None:
    views = [vector["spec"]["view"] for vector in SAMPLES]
    assert {view["layout"][1] for view in views} >= {1, 2, 2**31 - 1}
    own = [sum(word < 0x7FFFFFFF for word in vector["value"]) for vector in SAMPLES]
    assert {0, 1} < set(own)
    assert any(c > view["length"] for c, view in zip(own, views, strict=True))
    assert sum(vector["value"][0] == 0xFFFFFFFE for vector in SAMPLES) >= 4
