# SPDX-License-Identifier: Apache-2.0
"""Questions by hand: a drag over the chart is answered from the releases, and sums have a running total."""

from pathlib import Path
from typing import Any

import pytest

from murmurate.agents.queries import query
from murmurate.agents.web.feed import Feed
from murmurate.agents.web.report import report_html
from murmurate.agents.web.server import RunningServer
from tests.agents.web.frames import whole_run
from tests.agents.web.sums import made, whole_sums
from tests.browser.chromium import Page
from tests.browser.conftest import Opened
from tests.browser.test_page import SETTLED, opened, put, text

TOTALLED = "panels.get('revenue').stretch.totals.length > 0"
BOX = "(b => [b.x, b.y, b.width])(document.querySelector('.plot').getBoundingClientRect())"
AT = "(i => panels.get('NAME').chart.x(i))"


def dragged(page: Page, name: str, first: int, last: int) -> str:
    """Drag from one period to another one: what is answered."""
    x, y, _ = page.run(BOX)
    start, end = (x + page.run(f"{AT.replace('NAME', name)}({i})") for i in (first, last))
    page.drag(start, end, y + 120)
    page.until("/periods|server/.test(document.querySelector('.answer').innerText)")
    return text(page, ".answer").replace("\u202f", "")


def near(said: str, word: str) -> tuple[float, float]:
    """The value and the band that follow a word."""
    value, _, band = said.split(f"{word} ")[1].split(" EUR")[0].split(";")[0].partition(" \u00b1 ")
    return float(value.rstrip("%")), float(band.split(" ")[0].rstrip("%"))


def test_a_drag_over_sums_says_their_sum_and_mean_and_how_sure_that_is(
    feed: Feed, site: RunningServer, tab: Opened
) -> None:
    put(feed, whole_sums())
    page = opened(tab, site)
    said = dragged(page, "revenue", 20, 79)
    assert said.startswith("2025-11-17 17:40 to 2025-11-17 18:40 UTC, 60 periods: sum ")
    for word in ("sum", "mean"):
        of = query(made()[0].records, f"{word} of revenue over 2025-11-17T17:40Z .. 18:40Z")
        assert of.value is not None
        assert of.stderr is not None
        assert near(said, word) == pytest.approx((of.value, 2 * of.stderr), rel=0.1)
    assert "periods of 100, others missing" not in said
    page.press("Escape")
    page.run("document.querySelector('.plot').focus()")
    page.press("Escape")
    page.until("document.querySelector('.answer').hidden")


def test_a_stretch_is_chosen_by_keys_as_well(feed: Feed, site: RunningServer, tab: Opened) -> None:
    put(feed, list(whole_run()))
    page = opened(tab, site)
    page.run("document.querySelector('.plot').focus()")
    page.press("Home")
    page.press(" ")
    for _ in range(11):
        page.press("ArrowRight")
    page.press(" ")
    page.until("/12 periods/.test(document.querySelector('.answer').innerText)")
    said = text(page, ".answer")
    assert "00:00 to 2026-11-18 01:00 UTC, 12 periods: home " in said
    assert "error not in the releases" in said  # they lack stderr_unbiased


def test_a_running_total_is_what_the_releases_add_up_to_and_grows(feed: Feed, site: RunningServer, tab: Opened) -> None:
    frames = whole_sums()
    revenue = [f for f in frames if f["type"] == "release" and f["release"]["stream"] == "revenue"]
    put(feed, [frames[0], *revenue[:80]])
    page = tab()
    page.open(site.url)
    page.until(TOTALLED)
    for many in (80, len(revenue)):
        put(feed, revenue[80:many])
        page.until(f"panels.get('revenue').stretch.totals.t.at(-1) === {revenue[many - 1]['release']['t']}")
        line = page.run(
            "(c => [c.estimate.at(-1), c.error.at(-1)])(panels.get('revenue').stretch.totals.categories.get('total'))"
        )
        of = query([f["release"] for f in revenue[:many]], "sum of revenue over all")
        assert line == [of.value, of.stderr]
    assert "added by the trusted edge to sums" in text(page, "footer")
    page.until("/since 2025-11-17 17:26 UTC: /.test(document.querySelector('.running span').innerText)")  # no hold-out


@pytest.mark.parametrize("dark", [False, pytest.param(True, marks=pytest.mark.audit)], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_sums_fit_every_window(feed: Feed, site: RunningServer, tab: Opened, width: int, dark: bool) -> None:
    put(feed, whole_sums())
    page = opened(tab, site, width, dark=dark)
    page.until(TOTALLED)
    dragged(page, "revenue", 30, 60)
    assert page.run("document.documentElement.scrollWidth") <= width
    assert page.run("[...document.querySelectorAll('.total')].every((box) => box.clientHeight > 100)")


def test_a_report_asks_nobody_and_names_the_command_that_answers(tmp_path: Path, tab: Opened) -> None:
    frames: list[dict[str, Any]] = whole_sums(mode="replay")
    report = tmp_path / "report.html"
    report.write_text(report_html(frames), encoding="utf-8")
    page = tab()
    page.offline()
    page.open(report.as_uri())
    page.until(SETTLED)
    said = dragged(page, "revenue", 20, 79)
    assert 'murmurate query "sum of revenue over 2025-11-17T17:40:00Z .. 2025-11-17T18:40:00Z" --from' in said
    assert page.asked == [report.as_uri()]
    assert page.run("document.querySelectorAll('.running').length") == 0
