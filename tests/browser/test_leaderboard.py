# SPDX-License-Identifier: Apache-2.0
"""What a search finds, on the page: rows that move from release to release, who is new or gone, and a name's curve."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from murmurate.agents.web.feed import Feed
from murmurate.agents.web.server import RunningServer
from murmurate.topics.codec import decode
from murmurate.topics.release import Release
from tests.agents.web.searches import NAMES, TREND, header, searches, whole_search
from tests.browser.chromium import Page
from tests.browser.conftest import Opened
from tests.browser.states import DRAWN, STATES
from tests.browser.test_page import opened, painted, put, text

PANEL = "panels.get('searches')"
ROWS = f"{PANEL}.chart.rows.map((c) => c.name)"
TABLE = "[...document.querySelectorAll('tbody tr')].map((row) => row.firstElementChild.innerText.split(/\\s*\\n\\s*/))"
FATES = "Object.fromEntries([...document.querySelectorAll('.fates > div')].map((d) => [d.dataset.fate, d.lastElementChild.innerText]))"  # noqa: E501
SPOKEN = "document.querySelector('.plot').getAttribute('aria-valuetext')"
FRAMES = list(searches())


def found_in(frame: dict[str, Any]) -> list[str]:
    """The names of a release, the largest first."""
    shares = frame["release"]["estimate"]
    return sorted(shares, key=lambda name: (-shares[name], name))


def shown(page: Page, i: int) -> None:
    """Choose a period with the keys, as a reader does."""
    page.run("document.querySelector('.plot').focus()")
    page.press("Home")
    for _ in range(i // 10):
        page.press("ArrowRight", shift=True)
    for _ in range(i % 10):
        page.press("ArrowRight")
    page.until(f"{DRAWN} && {PANEL}.chart.cursor === {i}")


def test_frames_of_a_search_are_releases() -> None:
    for frame in searches(48, quiet=range(30, 40)):
        found = decode(orjson.dumps(frame["release"]))
        assert isinstance(found, Release)
        assert found.discovery is not None


def test_rows_are_the_names_of_the_newest_release_and_move_with_the_next_one(
    feed: Feed, site: RunningServer, tab: Opened
) -> None:
    put(feed, [header(), *FRAMES[:31]])
    page = opened(tab, site)
    assert page.run("[...document.querySelectorAll('.views button')].map((b) => b.textContent)") == [
        "Leaders", "Lines", "Small multiples",
    ]  # fmt: skip
    assert page.run(ROWS) == found_in(FRAMES[30])
    assert found_in(FRAMES[30]) != found_in(FRAMES[45])
    put(feed, FRAMES[31:46])
    page.until(f"{DRAWN} && {PANEL}.periods.length === 46 && !{PANEL}.chart.moving")
    assert page.run(ROWS) == found_in(FRAMES[45])
    places = f"{PANEL}.chart.rows.map((c) => {PANEL}.chart.places.get(c.name))"
    assert page.run(f"{places}.every((y, k, all) => !k || y - all[k - 1] === LEADERS.tall)")
    assert painted(page, 1) > 3000
    assert [name for name, _ in page.run(TABLE)] == found_in(FRAMES[45])


def test_a_period_says_in_words_who_is_new_who_moved_who_is_gone_and_both_limits(
    feed: Feed, site: RunningServer, tab: Opened
) -> None:
    put(feed, whole_search())
    page = opened(tab, site)
    came = next(i for i, frame in enumerate(FRAMES) if TREND in frame["release"]["estimate"])
    went = next(i for i, frame in enumerate(FRAMES) if TREND in frame["release"]["discovery"].get("gone", ()))
    rose = next(i for i, frame in enumerate(FRAMES) if TREND in frame["release"]["discovery"].get("rose", ()))
    shown(page, came)
    said = page.run(FATES)
    assert TREND in said["new"]
    assert (said["limit"], said["least"]) == ("1.98\u202f%", "0.5\u202f%")
    assert f"new: {TREND}" in page.run(SPOKEN)
    assert [TREND, "new"] in page.run(TABLE)
    shown(page, rose)
    assert TREND in page.run(FATES)["rose"]
    begun = FRAMES[came]["release"]["start"][11:16]
    assert any(name == TREND and f"rose, since {begun}" in said for name, said in page.run(TABLE))
    shown(page, went)
    assert TREND in page.run(FATES)["gone"]
    assert [TREND, "gone"] in page.run(TABLE)
    shown(page, 0)
    assert page.run(FATES)["new"] == "all: it is the first period"
    assert all(said == "since 00:00" for _, said in page.run(TABLE))
    page.run("document.querySelector('.fates .term').focus()")
    page.until("!document.getElementById('note').hidden")
    assert "the period before did not list" in text(page, "#note")


def test_a_row_or_the_list_chooses_a_name_and_its_curve_has_gaps_where_it_was_not_listed(
    feed: Feed, site: RunningServer, tab: Opened
) -> None:
    page = tab()
    put(feed, STATES["leaderboard-chosen"].frames())
    page.open(site.url)
    STATES["leaderboard-chosen"].then(page)
    page.resize(1280, 2000)
    page.until(f"innerHeight === 2000 && {DRAWN}")
    assert text(page, ".course b") == TREND
    assert text(page, ".course span") == "not listed in this period"
    known = page.run(f"{PANEL}.course.chart.shown().map((c) => c.estimate.map((share) => !Number.isNaN(share)))")
    assert known == [[TREND in frame["release"]["estimate"] for frame in FRAMES]]
    assert any(known[0])
    assert known[0][0] is known[0][-1] is False
    left, top = page.run("(b => [b.left, b.top])(document.querySelector('.plot').getBoundingClientRect())")
    page.point(left + 60, top + 30 + 27 * 2.5)
    page.until(f"{DRAWN} && {PANEL}.chart.focus.name === {PANEL}.chart.rows[2].name")
    page.drag(left + 60, left + 60, top + 30 + 27 * 2.5)
    page.point(0, 0)
    page.until(f"{DRAWN} && !{PANEL}.chart.pointed && {PANEL}.chart.focus === {PANEL}.chart.rows[2]")
    assert text(page, ".course b") == page.run(ROWS)[2]
    box = page.run("(b => [b.left, b.top, b.width])(document.querySelector('.course .curve').getBoundingClientRect())")
    page.point(box[0] + box[2] / 3, box[1] + 60)  # a point on the curve is a period
    page.until(f"{DRAWN} && {PANEL}.chart.cursor >= 0")
    at = page.run(f"{PANEL}.chart.cursor")
    assert page.run(ROWS) == found_in(FRAMES[at])


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (400, True)])
def test_a_period_in_which_nothing_is_found_says_above_which_share(
    feed: Feed, site: RunningServer, tab: Opened, width: int, dark: bool
) -> None:
    frames = STATES["leaderboard-empty"].frames()
    put(feed, frames)
    page = opened(tab, site, width, dark=dark)
    assert page.run(ROWS) == []
    shown(page, 59)
    assert "nothing found above 1.98\u202f%" in page.run(SPOKEN)
    assert painted(page, 1) > 300  # the same words in the picture
    assert page.run(FATES)["gone"] == "none"
    shown(page, 42)
    gone = page.run(FATES)["gone"]
    assert gone.endswith(" more")
    assert page.run("[...document.querySelectorAll('tbody tr')].length") == len(frames[83]["release"]["estimate"])


def test_names_that_a_script_has_words_for_are_names(feed: Feed, site: RunningServer, tab: Opened) -> None:
    hostile = ("constructor", "__proto__", "<img src=x onerror=alert(1)>", "toString")
    text_of = orjson.dumps(FRAMES[:4]).decode()
    for name, other in zip(NAMES, hostile, strict=False):
        text_of = text_of.replace(f'"{name}"', f'"{other}"')
    put(feed, [header(), *orjson.loads(text_of)])
    page = opened(tab, site)
    assert set(hostile) <= {name for name, _ in page.run(TABLE)}
    assert all("sure" not in said for _, said in page.run(TABLE))
    assert page.run("document.querySelectorAll('img').length") == 0
