# SPDX-License-Identifier: Apache-2.0
"""Names that are found, on the page: a line from the period on in which one came up, and gaps where it did not."""

from collections.abc import Sequence
from typing import Any

from murmurate.agents.web.feed import Feed
from murmurate.agents.web.server import RunningServer
from murmurate.topics.domains import Categories
from tests.agents.web.frames import hello, releases
from tests.browser.conftest import Opened
from tests.browser.test_page import opened, put, rows, text
from tests.toy import Common

NAMES = ("bread", "milk", "tea")


def found(frame: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """A frame in which only these names came up."""
    release, said = dict(frame["release"]), range(len(names))
    for what, figures in (("estimate", (0.4, 0.2, 0.1)), ("stderr", (0.02,) * 3), ("unbiased", (0.4, 0.2, 0.1))):
        release[what] = {names[k]: figures[k] for k in said}
    return frame | {"release": release | {"measure": "common", "names": "found"}, "truth": dict.fromkeys(NAMES, 0.3)}


def test_a_name_has_a_row_once_it_is_found_and_no_figure_where_not(
    feed: Feed, site: RunningServer, tab: Opened
) -> None:
    spec = hello(NAMES)["streams"][0] | Common(Categories(NAMES)).page() | {"measure": "common", "names": []}
    said = [(), ("milk",), ("milk", "bread"), NAMES, ("bread",)]
    frames = [found(frame, names) for frame, names in zip(releases(periods=len(said)), said, strict=True)]
    put(feed, [hello(streams=[spec]), *frames])
    page = opened(tab, site)
    assert text(page, ".about") == "common of the sure ones of 3 values every 5m, lpa"
    table = rows(page)
    assert set(table) == set(NAMES)
    assert table["bread"][0].startswith("40")
    assert table["milk"][0] == table["tea"][0] == ""
    lines = page.run("[...panels.get('screen').periods.categories.values()].map((c) => [c.name, c.estimate])")
    assert {name: [value is not None for value in values] for name, values in lines} == {
        "milk": [False, True, True, True, False],
        "bread": [False, False, True, True, True],
        "tea": [False, False, False, True, False],
    }
