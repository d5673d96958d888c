# SPDX-License-Identifier: Apache-2.0
"""What a search found, in a notebook and as attributes of a release."""

from __future__ import annotations

import orjson
import pytest

import murmurate
from murmurate.agents.library.leaders import leaders
from murmurate.topics.codec import decode
from murmurate.topics.release import Release
from tests.agents.web.searches import TREND, searches
from tests.page_blocks import blocks
from tests.topics.samples import RELEASES

FRAMES = [frame["release"] for frame in searches(96, quiet=range(90, 96))]


def release(i: int, **changes: object) -> Release:
    found = decode(orjson.dumps(FRAMES[i] | changes))
    assert isinstance(found, Release)
    return found


def test_the_newest_release_of_a_search_is_a_table_of_leaders() -> None:
    came = next(i for i, record in enumerate(FRAMES) if TREND in record["estimate"])
    html = leaders(release(came))
    assert "<caption" in html
    assert "searches, 2026-11-18 03:00 UTC: 18 names, nothing new below 1.98%" in html
    assert html.count("<tr>") == 1 + 10
    assert f">{TREND}</th>" in html
    assert ">new</td>" in html
    assert "8 more names" in html
    assert ">2026-11-18 00:00</td>" in html  # since the first period


def test_a_period_without_a_name_and_names_that_look_like_markup() -> None:
    assert "nothing found above 1.98%" in leaders(release(93))
    assert "Gone: " in leaders(release(90))
    text = orjson.dumps(FRAMES[12]).replace(b'"weather"', b'"<script>weather"')
    found = decode(text)
    assert isinstance(found, Release)
    assert "<script>" not in leaders(found)
    assert "&lt;script&gt;weather" in leaders(found)


def test_a_release_of_declared_names_has_no_leaders() -> None:
    found = decode(RELEASES[0])
    assert isinstance(found, Release)
    assert leaders(found) == ""


def test_discovery_is_an_attribute_of_a_release_and_the_columns_of_tables_stay() -> None:
    one = release(40)
    assert one.discovery is not None
    assert one.discovery.since.keys() == one.discovery.seen.keys() == one.estimate.keys()
    table = murmurate.table([one, release(93)])
    assert table.count == [len(one.estimate), 0]
    assert table.to_arrow().column_names == [
        "stream", "t", "start", "name", "estimate", "stderr", "unbiased", "revision", "decision",
    ]  # fmt: skip


def test_the_block_of_the_subscribers_page_says_who_came_and_went(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = (block for block in blocks("docs/SUBSCRIBING.md") if "discovery" in block.text)
    assert block.run_by == "tests/agents/library/test_leaders.py"
    releases = [decode(RELEASES[0]), *(release(i) for i in range(len(FRAMES)))]
    exec(compile(block.text, block.page, "exec"), {"releases": releases})  # noqa: S102 - our own page
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(FRAMES)
    came = next(i for i, record in enumerate(FRAMES) if TREND in record["estimate"])
    assert lines[came].startswith(f"2026-11-18T03:00:00Z new: ['{TREND}'")
