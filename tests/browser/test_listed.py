# SPDX-License-Identifier: Apache-2.0
"""Very many items on the page: rows of what a period lists, how each came in, and no window too narrow."""

from __future__ import annotations

from typing import Any

import pytest

from murmurate.agents.web.feed import Feed
from murmurate.agents.web.server import RunningServer
from murmurate.aggregators.measures.largest import LargestNumbers, Listing
from murmurate.topics.domains import Signed
from tests.agents.web.frames import hello, releases
from tests.browser.conftest import Opened
from tests.browser.test_page import WIDE, opened, pressed, put, text

MANY = LargestNumbers(Signed(65_536, 8), listed=Listing((7,), 3))
ENDS = "", " present", " mean of holders"
ROWS = "[...document.querySelectorAll('tbody tr')].map((row) => [row.className, row.firstElementChild.textContent])"


def listed(frame: dict[str, Any], found: tuple[str, ...], means: tuple[float, ...]) -> dict[str, Any]:
    """A frame in which these items are listed besides the named one."""
    release, items = dict(frame["release"]), ("7", *found)
    release["estimate"] = {
        item + end: 0.5 if end else mean for item, mean in zip(items, means, strict=True) for end in ENDS
    }
    release["stderr"] = dict.fromkeys(release["estimate"], 0.02)
    release["unbiased"] = release["estimate"]
    selection = {"of": 65_536, "by": "mean", "named": ["7"], "found": list(found), "errors": 5.1, "threshold": 0.102}
    return frame | {"release": release | {"measure": "vector", "names": "found", "selection": selection}, "truth": None}


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (400, True)])
def test_a_period_has_rows_of_what_it_lists_and_says_how_each_came_in(
    feed: Feed, site: RunningServer, tab: Opened, width: int, dark: bool
) -> None:
    spec = hello()["streams"][0] | MANY.page() | {"measure": "vector", "names": [], "range": [-1, 1]}
    said = [("11", "65000", "3"), ("65000", "11", "4000")]
    means = (0.01, 0.3, -0.25, 0.08), (0.01, -0.6, 0.3, -0.05)
    each = zip(releases(periods=2), said, means, strict=True)
    frames = [listed(frame, found, figures) for frame, found, figures in each]
    put(feed, [hello(streams=[spec]), *frames])
    page = opened(tab, site, width, dark=dark)
    rows = [(kind, said.strip()) for kind, said in page.run(ROWS)]
    first = ["7 named", "65000 found", "11 found", "4000 may be chance"]
    plain = ["7 named", "65000", "11", "4000"]
    assert [said for _, said in rows] == [
        "Mean of all users", *first, "Share of holders", *plain, "Mean of holders", *plain,
    ]  # fmt: skip
    assert pressed(page)[:2] == ["65000", "11"]  # the largest movers, whichever way
    assert "largest of 65\u202f536 are found anew in each period" in text(page, "caption")
    wide = WIDE.format("e.getBoundingClientRect().right > innerWidth + 0.5 && !e.closest('.skip, .legend, .values')")
    assert page.run(wide) == []
    assert page.complaints == []
