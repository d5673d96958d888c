"""The record of replays: the same code releases the same bytes; what changes them writes the record anew."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from tests.agents.replay.recorded import CASES, RECORD, digest, replayed, sources


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("recorded")
    sources(made)
    return made


@pytest.mark.parametrize("name", CASES)
def test_a_recorded_replay_releases_the_bytes_of_the_record(name: str, folder: Path) -> None:
    assert digest(replayed(name, folder)) == orjson.loads(RECORD.read_bytes())[name]
