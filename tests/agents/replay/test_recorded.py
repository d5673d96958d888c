# SPDX-License-Identifier: Apache-2.0
"""The record of replays: the same code releases the same bytes; what changes them writes the record anew."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from murmurate.aggregators.methods.registry import METHODS
from murmurate.config.measures.registry import TABLES as MEASURES
from tests.agents.replay.recorded import CASES, RECORD, digest, replayed, sources


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("recorded")
    sources(made)
    return made


LONG = (
    "rescuedp and fast, the other division", "rescuedp and dsat, split by users", "distribution of everybody",
    "lpd, as in the paper", "lbu, subsets, other", "items of everybody, by olh", "lba, a value that stands",
    "vector of everybody", "mean by sr, from a number on", "strings of everybody, by digits",
)  # fmt: skip
"""Those whose methods and measures others of the record have, too."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.audit) if name in LONG else name for name in CASES]
)
def test_a_recorded_replay_releases_the_bytes_of_the_record(name: str, folder: Path) -> None:
    assert digest(replayed(name, folder)) == orjson.loads(RECORD.read_bytes())[name]


def test_every_method_and_measure_is_in_the_recorded_replays() -> None:
    streams = "".join(streams for _, streams, _ in CASES.values())
    assert [name for name in METHODS if f'"{name}"' not in streams] == []
    local = [
        name.partition(".") for name in MEASURES if not name.endswith(".central")
    ]  # which ask nobody by any method
    assert [name for name, _, _ in local if f'measure = "{name}"' not in streams] == []
    assert [name for name, _, found in local if found and f'find = "{name}"' not in streams] == []
