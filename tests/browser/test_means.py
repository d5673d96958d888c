# SPDX-License-Identifier: Apache-2.0
"""A mean on the page: a line on an axis in its own unit, and presence in percent on another one."""

import pytest

from murmurate.agents.web.feed import Feed
from murmurate.agents.web.server import RunningServer
from tests.agents.web.numbers import FARES, UNMEASURED, changed, fares, rides, without_truth
from tests.browser.chromium import Page
from tests.browser.conftest import Opened
from tests.browser.test_page import SETTLED, opened, painted, pressed, put, rows, text

FARE = fares()
PERCENT = "\u202f%"
VIEW = "(({low, high, step, top, height}) => ({low, high, step, top, height}))(panels.get('NAME').VIEWER.view)"


def view(page: Page, name: str, viewer: str = "chart") -> dict[str, float]:
    found: dict[str, float] = page.run(VIEW.replace("NAME", name).replace("VIEWER", viewer))
    return found


def test_a_mean_has_an_axis_in_its_unit_that_holds_its_lines_and_nine_of_ten_bands(
    feed: Feed, site: RunningServer, tab: Opened
) -> None:
    put(feed, [rides("fare"), *FARE])
    page = opened(tab, site)
    assert text(page, ".about") == "mean of numbers from 0 to 120 EUR every 5m, lpa"
    axis = view(page, "fare")
    assert 5 < axis["low"] < axis["high"] < 40  # of a range from 0 to 120: fares are about 15
    measured = [frame["release"] for frame in FARE if frame["release"]["measured_t"] is not None]
    for values in ([r["estimate"]["mean"] for r in measured], [frame["truth"]["mean"] for frame in FARE]):
        assert axis["low"] <= min(values)
        assert max(values) <= axis["high"]
    for sign in (-1, 1):
        ends = [r["estimate"]["mean"] + sign * 2 * r["stderr"]["mean"] for r in measured]
        assert sum(axis["low"] <= end <= axis["high"] for end in ends) >= 0.9 * len(ends)
    assert painted(page, 0) > 5000  # bands and axis
    assert painted(page, 1) > 200


def test_an_axis_ends_where_the_range_does(feed: Feed, site: RunningServer, tab: Opened) -> None:
    frames = [changed(f, estimate={"mean": 119.0}, stderr={"mean": 30.0}) for f in without_truth(FARE[UNMEASURED:])]
    put(feed, [rides("fare"), *frames])
    axis = view(opened(tab, site), "fare")
    assert axis["low"] <= 59
    assert axis["high"] == FARES[1]


def test_the_table_says_a_mean_in_its_unit_and_presence_in_percent(
    feed: Feed, site: RunningServer, tab: Opened
) -> None:
    put(feed, [rides("fare"), *FARE])
    page = opened(tab, site)
    found, release, truth = rows(page), FARE[-1]["release"], FARE[-1]["truth"]
    assert list(found) == ["mean, EUR", "present"]
    for name, cells, scale, near in (
        ("mean", found["mean, EUR"], 1, 0.0051),
        ("present", found["present"], 100, 0.051),
    ):
        estimate, error = release["estimate"][name], release["stderr"][name]
        wanted = [estimate, 2 * error, truth[name], abs(estimate - truth[name])]
        told = [float(cell.removesuffix(PERCENT)) for cell in cells]
        assert told == pytest.approx([scale * value for value in wanted], abs=near), name
    assert all(cell.endswith(PERCENT) for cell in found["present"])
    assert text(page, "thead th") == "Statistic"
    mean, present = found["mean, EUR"][0], found["present"][0]
    legend = page.run("[...document.querySelectorAll('.legend button')].map((button) => button.innerText)")
    assert legend == [f"mean {mean} EUR", f"present {present}"]


def test_presence_is_hidden_at_first_and_has_the_chart_and_a_percent_axis_to_itself(
    feed: Feed, site: RunningServer, tab: Opened
) -> None:
    put(feed, [rides("fare"), *FARE])
    page = opened(tab, site)
    assert pressed(page) == ["mean"]
    numbers = view(page, "fare")
    page.run("document.querySelector('.legend button').focus()")
    page.press("ArrowRight")
    page.press("Enter")
    page.until(f"{SETTLED} && panels.get('fare').chart.view.high <= 1")
    assert pressed(page) == ["present"]
    assert view(page, "fare")["low"] == 0
    assert page.run("panels.get('fare').chart.shown().length") == 1
    assert list(rows(page)) == ["mean, EUR", "present"]
    assert page.run("document.activeElement.dataset.name") == "present"
    page.press("ArrowLeft")
    page.press(" ")
    page.until(f"{SETTLED} && panels.get('fare').chart.view.high > 1")
    assert (pressed(page), view(page, "fare")) == (["mean"], numbers)
    page.press(" ")  # one of them is always there
    page.until(SETTLED)
    assert pressed(page) == ["mean"]


def test_what_was_not_measured_and_the_mean_of_nobody_are_no_figures(
    feed: Feed, site: RunningServer, tab: Opened
) -> None:
    nobody = changed(FARE[20], estimate={"mean": None, "present": 0.0}, stderr={"mean": None, "present": 0.01})
    put(feed, [rides("fare"), *FARE[:20], nobody])
    page = opened(tab, site)
    assert view(page, "fare")["high"] < 40
    found = rows(page)
    assert found["mean, EUR"][0] == ""
    assert found["present"][:2] == [f"0.0{PERCENT}", f"2.0{PERCENT}"]
    page.run("document.querySelector('.plot').focus()")
    page.press("Home")
    page.until(
        f"{SETTLED} && document.querySelector('caption').innerText.includes('nothing yet: fewer than the 1\u202f000')"
    )
    estimate, error, truth, off = rows(page)["present"]
    assert (estimate, error, off) == ("", "", "")
    assert truth != ""
    spoken = page.run("document.querySelector('.plot').getAttribute('aria-valuetext')")
    assert spoken.endswith("UTC, nothing yet: fewer than the 1\u202f000 reports that a release needs")


def test_a_mean_of_those_who_always_have_a_value_is_alone(feed: Feed, site: RunningServer, tab: Opened) -> None:
    alone = [
        changed(f, **{key: {"mean": f["release"][key]["mean"]} for key in ("estimate", "stderr")})
        for f in without_truth(FARE[:9])
    ]
    for frame in alone:
        for key in ("estimate", "stderr"):
            del frame["release"][key]["present"]
    put(feed, [rides("fare", names=["mean"], unit=None), *alone])
    page = opened(tab, site)
    assert text(page, ".about") == "mean of numbers from 0 to 120 every 5m, lpa"
    assert list(rows(page)) == ["mean"]
    assert text(page, ".hint") == ""
