# SPDX-License-Identifier: Apache-2.0
"""Tables of attributes on the page: a heading for each, its cells by values in their order, no window too narrow."""

import pytest

from murmurate.agents.web.feed import Feed
from murmurate.agents.web.server import RunningServer
from tests.agents.web.frames import hello, releases
from tests.browser.chromium import Page
from tests.browser.conftest import Opened
from tests.browser.test_page import WIDE, opened, pressed, put, text
from tests.config.deployments import planned
from tests.config.test_marginals import of

ROWS = "[...document.querySelectorAll('tbody tr')].map((row) => [row.className, row.firstElementChild.textContent])"
STREAM = planned(**of(tables=[["plan", "sex"], ["age"]])).stream("screen")


@pytest.fixture(name="tables")
def shown_tables(feed: Feed, site: RunningServer) -> RunningServer:
    spec = hello(STREAM.names)["streams"][0] | STREAM.measure.page() | {"measure": "marginals"}
    put(feed, [hello(streams=[spec])])
    shapes = [{"of": ["plan", "sex"]}, {"of": ["age"]}]
    for frame in releases(STREAM.names, periods=4):
        put(feed, [frame | {"release": frame["release"] | {"measure": "marginals", "tables": shapes}}])
    return site


def shown(page: Page) -> list[tuple[str, str]]:
    return [(kind, said.strip()) for kind, said in page.run(ROWS)]


@pytest.mark.parametrize(
    ("width", "dark"),
    [
        (1280, False), (400, True),
        pytest.param(1280, True, marks=pytest.mark.audit), pytest.param(400, False, marks=pytest.mark.audit),
    ],
)  # fmt: skip
def test_each_table_has_a_heading_and_all_its_cells_whatever_lines_show(
    tables: RunningServer, tab: Opened, width: int, dark: bool
) -> None:
    page = opened(tab, tables, width, dark=dark)
    assert text(page, ".about").startswith("marginals of 2 tables (plan by sex; age) with 16 cells")
    assert len(pressed(page)) == 6
    pairs = [f"{plan} | {sex}" for plan in ("free", "pro", "other") for sex in ("f", "m")]
    ages = [f"{10 * k}-{10 * k + 9}" for k in range(10)]
    assert shown(page) == [
        ("heading", "plan | sex"), *(("", cell) for cell in pairs), ("heading", "age"), *(("", cell) for cell in ages)
    ]  # fmt: skip
    cut = "[...document.querySelectorAll('tbody th')].filter((e) => e.scrollWidth > e.clientWidth + 1).length"
    assert page.run(cut) == 0
    assert all(" | " in name or name.startswith("age=") for name in pressed(page))
    wide = WIDE.format("e.getBoundingClientRect().right > innerWidth + 0.5 && !e.closest('.skip, .legend, .values')")
    assert page.run(wide) == []
