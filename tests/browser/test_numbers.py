# SPDX-License-Identifier: Apache-2.0
"""Means and distributions on the page: in any size and light, without a truth where there is none, never as markup."""

from pathlib import Path

import pytest

from murmurate.agents.web.feed import Feed
from murmurate.agents.web.report import report_html
from murmurate.agents.web.server import RunningServer
from murmurate.aggregators.measures.distribution import stretches
from murmurate.topics.domains import Grid
from tests.agents.web.frames import done, hello
from tests.agents.web.numbers import (
    LENGTHS,
    UNMEASURED,
    changed,
    distances,
    fares,
    rides,
    spec,
    whole_ride,
    without_truth,
)
from tests.browser.conftest import Opened
from tests.browser.test_bars import COLUMNS, SPOKEN
from tests.browser.test_means import view
from tests.browser.test_page import SETTLED, WIDE, opened, put, rows, text

FARE, DISTANCE = fares(), distances()


def test_the_truth_about_nobody_is_no_line(feed: Feed, site: RunningServer, tab: Opened) -> None:
    nobody = [DISTANCE[0] | {"truth": dict.fromkeys(LENGTHS)}, FARE[0] | {"truth": {"mean": None, "present": 0.0}}]
    put(feed, [rides("fare", "distance"), *nobody, *DISTANCE[1:20], *FARE[1:20]])
    page = opened(tab, site)
    first = "[...panels.get('NAME').periods.categories.values()].map((c) => Number.isNaN(c.truth[0]))"
    assert page.run(first.replace("NAME", "distance")) == [True] * len(LENGTHS)
    assert page.run(first.replace("NAME", "fare")) == [True, False]
    assert view(page, "fare")["high"] < 40


def test_an_error_that_streams_have_not_in_common_is_not_shown(feed: Feed, site: RunningServer, tab: Opened) -> None:
    end = done(40)
    end["summary"]["mse"] = None
    put(feed, [rides("fare", "distance"), *FARE[:20], *DISTANCE[:20], end])
    page = opened(tab, site)
    page.until("finished")
    assert "mean relative error" in text(page, "#figures")
    assert "mean squared error" not in text(page, "#figures")


@pytest.mark.parametrize("dark", [False, pytest.param(True, marks=pytest.mark.audit)], ids=["light", "dark"])
@pytest.mark.parametrize("width", [pytest.param(1280, marks=pytest.mark.audit), 400])
def test_nothing_of_numbers_is_wider_than_the_window(
    feed: Feed, site: RunningServer, tab: Opened, width: int, dark: bool
) -> None:
    put(feed, list(whole_ride()))
    page = opened(tab, site, width, dark=dark)
    assert page.run("document.documentElement.scrollWidth") <= width
    assert page.run(WIDE.replace("{0}", "e.getBoundingClientRect().right > innerWidth + 0.5")) == []
    assert min(page.run(COLUMNS)[:6]) > 10


def test_large_numbers_and_long_units_fit_a_narrow_window(feed: Feed, site: RunningServer, tab: Opened) -> None:
    unit, most = "u" * 64, 4e9
    dear = [
        changed(f, estimate={"mean": most / 3 + i * 1e6}, stderr={"mean": 1e6})
        for i, f in enumerate(without_truth(FARE))
    ]
    many = stretches(Grid(0, most, 4095, "stretches"))
    share = dict.fromkeys(many, 1 / 4095)
    spread = [
        frame | {"release": frame["release"] | {"estimate": share, "stderr": share}}
        for frame in without_truth(DISTANCE[UNMEASURED : UNMEASURED + 2])
    ]
    streams = [
        spec("fare", unit=unit, range=[0, most]), spec("distance", unit=unit, range=[0, most], names=list(many))
    ]  # fmt: skip
    put(feed, [hello(streams=streams), *dear, *spread])
    page = opened(tab, site, 400)
    assert page.run(WIDE.replace("{0}", "e.getBoundingClientRect().right > innerWidth + 0.5")) == []
    assert page.run("document.documentElement.scrollWidth") <= 400
    assert rows(page)[f"mean, {unit}"][0].startswith("1\u202f4")
    assert min(page.run(COLUMNS)) > 0


def test_a_live_deployment_shows_no_truth_of_numbers(feed: Feed, site: RunningServer, tab: Opened) -> None:
    put(feed, [rides("fare", "distance", mode="live", periods=None)])
    put(feed, without_truth([*FARE[:20], *DISTANCE[:20]]))
    page = opened(tab, site)
    assert {len(cells) for cells in rows(page).values()} == {2}
    page.run("document.querySelector('.bars').focus()")
    page.press("Home")
    page.until(f"{SETTLED} && {SPOKEN}.startsWith('[0')")
    assert "truth" not in page.run("document.body.innerText").lower()
    assert "truth" not in page.run(SPOKEN)


def test_hostile_units_are_shown_and_never_run(feed: Feed, site: RunningServer, tab: Opened) -> None:
    hostile = '<img src=x onerror="window.hit=1">'
    put(feed, [rides("fare", "distance", unit=hostile), *FARE, *DISTANCE])
    page = opened(tab, site)
    page.run("document.querySelector('.bars').focus()")
    page.press("Home")
    page.until(f"{SETTLED} && {SPOKEN}.includes('km') === false && {SPOKEN}.startsWith('[0')")
    assert page.run("window.hit === undefined && document.images.length === 0")
    assert f"mean, {hostile}" in rows(page)


@pytest.mark.parametrize("width", [pytest.param(1280, marks=pytest.mark.audit), 400])
def test_a_report_of_numbers_opens_from_disk(tmp_path: Path, tab: Opened, width: int) -> None:
    report = tmp_path / "report.html"
    frames = [rides("fare", "distance"), *FARE, *DISTANCE, done(192)]
    report.write_text(report_html(frames), encoding="utf-8")
    page = tab(width)
    page.offline()
    page.open(report.as_uri())
    page.until(SETTLED)
    assert page.asked == [report.as_uri()]
    assert min(page.run(COLUMNS)[:6]) > 10
    assert page.run("document.documentElement.scrollWidth") <= width
