# SPDX-License-Identifier: Apache-2.0
"""`murmurate config apply`: what it reads of --from, and the table that it puts into the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from murmurate.agents.cli.config import _time, _words, _write
from murmurate.agents.kafka.applying import Applied
from murmurate.config.agreement import Difference
from murmurate.config.switch import before
from murmurate.errors import UsageError
from tests.config.test_switch import NEXT, T

TABLE = '[until]\ntime = "2026-09-21T14:13:20Z"\n'


def test_an_instant_or_a_length_of_time_says_from_when() -> None:
    assert _time("2026-09-21T14:13:20Z", 5, fed=False) == T
    assert _time("30m", T - 999, fed=False) == T + 1_800_000  # whole seconds
    for text, fed in (("soon", False), ("30m", True)):  # nobody knows where a recording is
        with pytest.raises(UsageError, match='allowed: an instant such as "2026-11-18T09:00:00Z"'):
            _time(text, T, fed=fed)


def test_the_table_stands_at_the_end_replaces_an_earlier_one_and_can_be_taken_out(tmp_path: Path) -> None:
    file, rest = tmp_path / "murmurate.toml", 'name = "shop"\n\n[time]\npatience = "9s"\n'
    file.write_text(rest)
    _write(file, Applied(NEXT, []))
    once = file.read_text()
    assert once.startswith(f"{rest}\n{TABLE}min_batch = ")
    _write(file, Applied(NEXT, []))
    assert file.read_text() == once
    file.write_text("[until]\ntime = 1\n\n[web]\nx = 1\n")
    _write(file, Applied(before(NEXT), []))
    assert file.read_text() == "[web]\nx = 1\n"


def test_it_says_what_changes_and_from_when() -> None:
    changes = [Difference("privacy.min_batch", "7", "1000")]
    lines = list(_words(Applied(NEXT, changes), Path("murmurate.toml"), T - 600_000, fed=False, dry_run=True))
    assert lines[0] == "agreed   config 2 would be in force from 2026-09-21T14:13:20Z on, in 10 min"
    assert lines[1] == "changes  privacy.min_batch: 1000 until then, 7 from then on"
    assert max(map(len, lines)) <= 80
