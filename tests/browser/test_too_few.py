# SPDX-License-Identifier: Apache-2.0
"""Streams with too few reports on the page: no line where nothing is known, and what is lacking in words."""

import pytest

from murmurate.agents.web.feed import Feed
from murmurate.agents.web.server import RunningServer
from tests.agents.web.frames import hello, releases, unmeasured
from tests.agents.web.numbers import too_few, without_truth
from tests.browser.conftest import Opened
from tests.browser.test_page import SETTLED, WIDE, opened, painted, put, rows, text

FEW = "fewer than the 1\u202f000 reports that a release needs"
LACKS = f"nothing yet: {FEW}"
SHORT = "[...document.querySelectorAll('.short')].map((node) => (node.checkVisibility() ? node.innerText : ''))"


def test_shares_of_nothing_measured_are_no_line_at_zero(feed: Feed, site: RunningServer, tab: Opened) -> None:
    frames = without_truth(list(releases(periods=9)))
    put(feed, [hello(periods=None), *map(unmeasured, frames[:2])])
    page = opened(tab, site)
    assert text(page, ".empty") == LACKS
    assert text(page, "caption").endswith(LACKS)
    assert painted(page, 1) == 0
    assert {cell for cells in rows(page).values() for cell in cells} == {""}
    assert page.run(SHORT) == [""]
    put(feed, [unmeasured(frames[2])])
    page.until(f"{SETTLED} && panels.get('screen').periods.length === 3")
    assert page.run(SHORT)[0].startswith(f"3 rounds in a row had {FEW}. ")
    put(feed, frames[3:])
    page.until(f"{SETTLED} && panels.get('screen').periods.length === 9")
    assert page.run("document.querySelector('.empty').checkVisibility()") is False
    assert page.run(SHORT) == [""]
    assert painted(page, 1) > 100
    first = "[...panels.get('screen').periods.categories.values()].map((c) => c.estimate.filter(Number.isNaN).length)"
    assert set(page.run(first)) == {3}


@pytest.mark.parametrize("width", [pytest.param(1280, marks=pytest.mark.audit), 400])
def test_a_stream_that_never_reaches_min_batch_says_so_and_what_it_takes(
    feed: Feed, site: RunningServer, tab: Opened, width: int
) -> None:
    frames = list(too_few())
    put(feed, frames[:1])
    page = tab(width)
    page.open(site.url)
    page.until("panels.size === 2")
    warning = frames[0]["streams"][0]["warning"]
    assert page.run(SHORT) == [warning, ""]  # before the first release: a replay's source knows its users
    put(feed, frames[1:])
    page.until(f"{SETTLED} && finished")
    fare, distance = page.run(SHORT)
    assert fare == f"40 rounds in a row had {FEW}. {warning}"
    assert distance.startswith(f"34 rounds in a row had {FEW}. ")
    assert page.run("document.querySelectorAll('caption')[1].innerText").endswith(
        f"approximated, measured at 00:15, {FEW}"
    )
    assert "42" in text(page, "#figures")
    assert page.run("document.documentElement.scrollWidth") <= width
    assert page.run(WIDE.replace("{0}", "e.getBoundingClientRect().right > innerWidth + 0.5")) == []
