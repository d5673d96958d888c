# SPDX-License-Identifier: Apache-2.0
"""`murmurate audit mechanism` prints claimed, realised and measured, and its exit code says whether they agree."""

import json

import pytest

from murmurate.randomizers import GRR, MECHANISMS
from murmurate.randomizers.audit import audit_exact
from tests.agents.commands import murmurate


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_claimed_realised_and_measured_are_printed_in_80_columns(name: str) -> None:
    done = murmurate("audit", "mechanism", name, "--d", "6", "--epsilon", "1")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert all(len(line) <= 80 for line in lines)
    words = {line.split()[0]: line.split()[1] for line in lines if len(line.split()) > 1}
    assert float(words["measured"]) < float(words["realised"]) <= float(words["claimed"]) == 1
    assert lines[-1].strip() == "holds"


def test_json_says_the_same() -> None:
    done = murmurate("audit", "mechanism", "grr", "--d", "16", "--epsilon", "1", "--trials", "50000", "--json")
    found = json.loads(done.stdout)
    assert found["mechanism"] == {"name": "grr", "d": 16, "epsilon_micro": 1_000_000}
    assert found["digest"] == GRR(d=16, epsilon=1).digest.hex()
    assert found["trials"] == 50_000
    assert found["measured_at_least"] < found["realised"] <= found["claimed"] == 1.0
    assert found["exact"] is True
    assert found["violations"] == []
    assert audit_exact(GRR(d=16, epsilon=1)).realised == pytest.approx(found["realised"])


@pytest.mark.parametrize(
    ("words", "allowed"),
    [
        (("grrr", "--d", "2", "--epsilon", "1"), "allowed: blh, grr, hm"),
        (("grr", "--d", "1", "--epsilon", "1"), "allowed: a whole number from 2"),
        (("oue", "--d", "4", "--epsilon", "0"), "to 20"),
        (("oue", "--d", "4", "--epsilon", "nan"), "to 20"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_is_allowed(words: tuple[str, ...], allowed: str) -> None:
    done = murmurate("audit", "mechanism", *words)
    assert done.returncode == 2
    assert allowed in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
