# SPDX-License-Identifier: Apache-2.0
"""One chromium for all tests here; where there is none they fail with the line that says what to install."""

from collections.abc import Callable, Iterator

import pytest

from murmurate.agents.web.feed import Feed
from murmurate.agents.web.server import RunningServer, serve
from tests.browser.chromium import Chromium, ChromiumError, Page

Opened = Callable[..., Page]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    found: Chromium | str
    try:
        found = Chromium()
    except ChromiumError as error:
        found = str(error)
    if isinstance(found, str):
        pytest.fail(found, pytrace=False)  # not inside the except: one line, no chain of causes
    yield found
    found.close()


@pytest.fixture
def feed() -> Feed:
    return Feed()


@pytest.fixture
def site(chromium: Chromium, feed: Feed) -> Iterator[RunningServer]:
    running = chromium.wait(serve(feed, "127.0.0.1", 0))
    yield running
    chromium.wait(running.stop())


@pytest.fixture
def tab(chromium: Chromium) -> Iterator[Opened]:
    """`tab(width, dark=...)` is a new tab; after the test none may have complained."""
    pages: list[Page] = []

    def open_tab(width: int = 1280, *, dark: bool = False) -> Page:
        pages.append(chromium.page(width, dark=dark))
        return pages[-1]

    yield open_tab
    complaints = [complaint for page in pages for complaint in page.complaints]
    for page in pages:
        page.close()
    assert complaints == []
