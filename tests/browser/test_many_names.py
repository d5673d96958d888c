# SPDX-License-Identifier: Apache-2.0
"""Thousands of items on the page: the largest first, any of them found by its name, and no window too narrow."""

import pytest

from murmurate.agents.web.feed import Feed
from murmurate.agents.web.server import RunningServer
from murmurate.aggregators.measures.items import ItemShares
from murmurate.topics.domains import Items
from tests.agents.web.frames import hello, releases
from tests.browser.chromium import Page
from tests.browser.conftest import Opened
from tests.browser.test_page import WIDE, opened, pressed, put, rows, text

MANY = 4096
NAMES = (*(f"item {number}" for number in range(MANY - 1)), ("a long name of something " * 10)[:256].strip())
VIEW = {"name": "viewed", "view": "padded", "mechanism": "olh", "epsilon": 2.0, "digest": "5d1c0e7a92f3b864"}


@pytest.fixture(name="shown")
def shown_items(feed: Feed, site: RunningServer) -> RunningServer:
    spec = hello(NAMES)["streams"][0] | ItemShares(Items(NAMES, 8), pad=4).page() | {"measure": "items"}
    put(feed, [hello(streams=[spec])])
    for frame in releases(NAMES, periods=4):
        said = frame["release"]
        estimate = {name: 0.9 if name == "item 7" else share for name, share in said["estimate"].items()}
        held = {"item 17": {"threshold": 0.2, "side": "below", "confidence": 0.99}}
        more = {"estimate": estimate, "measure": "items", "mechanism": VIEW, "thresholds": held}
        put(feed, [frame | {"release": said | more}])
    return site


def find(page: Page, words: str) -> list[str]:
    page.run(
        f"(box => {{ box.value = {words!r}; box.dispatchEvent(new Event('input', {{ bubbles: true }})); }})"
        "(document.querySelector('.search input'))"
    )
    return list(page.run("[...document.querySelectorAll('.legend button')].map((b) => b.dataset.name)"))


@pytest.mark.parametrize(("width", "dark"), [pytest.param(1280, False, marks=pytest.mark.audit), (400, True)])
def test_the_largest_of_4096_items_come_first_and_every_one_is_found(
    shown: RunningServer, tab: Opened, width: int, dark: bool
) -> None:
    page = opened(tab, shown, width, dark=dark)
    assert text(page, ".about").startswith("items of each user's set (up to 8 of 4096 items)")
    assert pressed(page)[0] == "item 7"
    assert len(pressed(page)) == 6
    table = rows(page)
    assert next(iter(table)) == "item 7"
    assert any("below 20" in name for name in table)  # what is monitored stands there though it is none of the largest
    assert "olh behind the view padded, epsilon = 2" in text(page, ".privacy")
    assert "item 4000" in find(page, "ITEM 400")
    assert text(page, ".search [role=status]") == "11 of 4\u202f096 names"
    assert len(find(page, "item")) == 100
    assert "the 100 largest are listed" in text(page, ".search [role=status]")
    assert find(page, "nothing such") == []
    (long,) = find(page, "a long name")
    page.run("document.querySelector('.legend button').click()")
    assert long in pressed(page)
    assert len(find(page, "")) < 40
    assert long in pressed(page)
    page.run("document.querySelector('[data-more]').click()")
    assert page.run("document.querySelectorAll('.legend button').length") == MANY
    wide = WIDE.format("e.getBoundingClientRect().right > innerWidth + 0.5 && !e.closest('.skip, .legend, .values')")
    assert page.run(wide) == []
