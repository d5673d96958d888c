# SPDX-License-Identifier: Apache-2.0
"""The page of a live deployment: releases as their topic has them, and nothing that only the edge may know."""

import asyncio
from typing import cast

import pytest

from murmurate.agents.kafka.release_reader import ReleaseReader
from murmurate.agents.page_header import page_header
from murmurate.agents.web.feed import Feed
from murmurate.agents.web.server import RunningServer
from murmurate.agents.web.serving import show
from murmurate.topics.release import Release
from tests.agents.web.test_serving import PLAN, Scripted, released
from tests.browser.chromium import Chromium
from tests.browser.conftest import Opened
from tests.browser.test_page import SETTLED, WIDE, text

DRAWN = "[...panels.values()].reduce((sum, panel) => sum + panel.periods.length, 0)"


@pytest.mark.parametrize("width", [pytest.param(1280, marks=pytest.mark.audit), 400])
def test_releases_are_drawn_as_the_topic_gets_them(
    chromium: Chromium, feed: Feed, site: RunningServer, tab: Opened, width: int
) -> None:
    found = released()
    first, rest = found[:5], found[5:]
    page = tab(width)
    feed.put(page_header(PLAN, "live"))
    page.open(site.url)
    page.until("panels.size === 2")
    assert text(page, "#mode").lower() == "live"
    assert "first release" in text(page, ".empty")

    def follow(releases: list[Release]) -> None:
        async def some() -> None:
            before = feed.last
            task = asyncio.create_task(show(cast(ReleaseReader, Scripted(releases)), PLAN, feed))
            while feed.last < before + len(releases):
                await asyncio.sleep(0)
            task.cancel()

        chromium.wait(some())

    follow(first)
    page.until(f"{DRAWN} === {len(first)}")
    follow(rest)
    page.until(f"{SETTLED} && {DRAWN} === {len(found)}")
    figures = text(page, "#figures")
    assert str(len(found)) in figures
    assert "event" not in figures
    assert f"{found[-1].end[11:19]} UTC" in figures
    assert page.run("[...document.querySelectorAll('.truth')].every((node) => !node.checkVisibility())")
    assert text(page, "#status") == "Following"
    assert page.run("document.documentElement.scrollWidth") <= width
    assert page.run(WIDE.replace("{0}", "e.getBoundingClientRect().right > innerWidth + 0.5")) == []
    assert "epsilon 2.0" in text(page, "#promise")
