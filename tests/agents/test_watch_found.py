# SPDX-License-Identifier: Apache-2.0
"""What `murmurate watch` says of names that are searched for: leaders, marks, who is gone, and nothing at all."""

from typing import Any

import orjson
import pytest

from murmurate.agents.cli import watch
from murmurate.topics.codec import decode
from murmurate.topics.release import Release
from tests.agents.web.searches import TREND, searches
from tests.agents.world import stream

SEARCHES = stream("searches", every_ms=300_000)
FRAMES = list(searches(96, quiet=range(80, 90)))


def line(record: dict[str, Any]) -> str:
    release = decode(orjson.dumps(record))
    assert isinstance(release, Release)
    return watch.line(release, SEARCHES, 1000)


def test_a_line_has_the_leader_who_is_new_who_moved_and_who_is_gone() -> None:
    lines = [line(frame["release"]) for frame in FRAMES]
    assert all(len(found) == 80 for found in lines)
    came = next(i for i, frame in enumerate(FRAMES) if TREND in frame["release"]["estimate"])
    assert f"  published    weather 17.1%  *{TREND} 7.1%  +" in lines[came]
    assert any(f"▲{TREND} " in found for found in lines[came + 1 : came + 8])
    assert "*" not in lines[0]  # everything is new
    gone = next(frame["release"] for frame in searches() if len(frame["release"]["discovery"].get("gone", ())) == 1)
    assert f" -{gone['discovery']['gone'][0][:7]}" in line(gone)


def test_a_period_without_a_name_says_above_which_share_nothing_was_found() -> None:
    asked = next(f["release"] for f in FRAMES[81:] if f["release"]["discovery"]["threshold"] is not None)
    assert "  published    nothing found above 1.98%  " in line(asked)
    declared = asked | {"discovery": asked["discovery"] | {"least": 0.05}}
    assert " nothing found above 5%  " in line(declared)
    went = line(FRAMES[80]["release"])
    assert "nothing is listed  -" in went
    assert " and 2" in went


@pytest.mark.parametrize("longer", [0, 30, 200])
@pytest.mark.parametrize("monitored", [0, 1, 5])
def test_long_names_are_cut_and_what_is_monitored_is_shown(longer: int, monitored: int) -> None:
    text = orjson.dumps(FRAMES[27]["release"]).decode()
    names = {name: (name + "x" * longer)[:256] for name in FRAMES[27]["release"]["estimate"]}
    for name, long in names.items():
        text = text.replace(f'"{name}"', f'"{long}"')
    record = orjson.loads(text)
    sides = {name: {"threshold": 0.123, "side": "below", "confidence": 0.98} for name in list(names.values())[-3:]}
    record |= {"thresholds": dict(list(sides.items())[:monitored])} if monitored else {}
    found = line(record)
    assert len(found) == 80
    assert "%" in found
    assert ("< 12.3% (98% sure)" in found) == bool(monitored)


def test_a_search_for_a_word_that_is_a_measure_is_a_share() -> None:
    from murmurate.aggregators.measures.figure_kinds import figure_kind

    assert figure_kind("strings", "strings", central=False) == "share"
    assert figure_kind("mean", "mean", central=False) == "mean"
