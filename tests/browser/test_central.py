# SPDX-License-Identifier: Apache-2.0
"""Central streams on the page: a promise beside the users' one, sums in their unit, and how far a hold-out is."""

from pathlib import Path

import pytest

from murmurate.agents.replay.run import Frame
from murmurate.agents.web.feed import Feed
from murmurate.agents.web.server import RunningServer
from tests.agents.web.central import till
from tests.browser.conftest import Opened
from tests.browser.test_page import SETTLED, WIDE, opened, painted, put, text

FACTS = """Object.fromEntries([...panels.get('{0}').root.querySelectorAll('.privacy dt')]
    .map((node) => [node.innerText, node.nextSibling.innerText]))"""
CELLS = """[...panels.get('{0}').root.querySelectorAll('tbody tr')]
    .map((row) => [...row.children].map((cell) => cell.innerText))"""


@pytest.fixture(scope="module")
def frames(tmp_path_factory: pytest.TempPathFactory) -> list[Frame]:
    return till(tmp_path_factory.mktemp("till"))


def test_a_hold_out_says_how_far_it_is_and_draws_no_line(
    frames: list[Frame], feed: Feed, site: RunningServer, tab: Opened
) -> None:
    revenue = [frame for frame in frames if frame.get("release", {}).get("stream") == "revenue"]
    hello = frames[0] | {"streams": [spec for spec in frames[0]["streams"] if spec["name"] == "revenue"]}
    put(feed, [hello, *({**frame, "truth": None} for frame in revenue[:12])])
    page = opened(tab, site)
    assert text(page, ".empty") == "hold-out: period 12 of 60"
    assert text(page, "caption").endswith("hold-out: period 12 of 60")
    assert painted(page, 1) == 0
    facts = page.run(FACTS.format("revenue"))
    assert facts["Hold-out"] == "60 periods find the threshold, and their events are in no sum"
    assert not {"Threshold", "Tree", "Noise of a node"} & facts.keys()
    put(feed, [{**frame, "truth": None} for frame in revenue[12:70]])
    page.until(f"{SETTLED} && panels.get('revenue').periods.length === 70")
    assert page.run("document.querySelector('.empty').checkVisibility()") is False
    assert painted(page, 1) > 50


@pytest.mark.parametrize("width", [pytest.param(1280, marks=pytest.mark.audit), 400])
def test_the_curators_promise_stands_beside_the_users_one_and_sums_have_their_unit(
    frames: list[Frame], feed: Feed, site: RunningServer, tab: Opened, width: int
) -> None:
    put(feed, frames)
    page = opened(tab, site, width)
    page.until(f"{SETTLED} && finished")
    assert "edge sums events exactly" in text(page, "#central")
    assert "edge sums" not in text(page, "#promise")
    assert "added by the trusted edge to sums" in text(page, "footer")
    assert "before it left the edge" not in text(page, "footer")
    facts = page.run(FACTS.format("revenue"))
    threshold = _last(frames)["method"]["threshold"]
    assert facts["Threshold"] == f"numbers above {threshold:g} EUR count as {threshold:g} EUR"
    assert facts["Promise"] == "epsilon 2 for one event; replacing one by another costs twice that"
    assert facts["Tree"] == "4 levels of fan-out 4, a leaf each period"
    assert facts["Noise of a node"].endswith(" EUR")
    (total,) = page.run(CELLS.format("revenue"))
    assert total[0].strip() == "total, EUR"
    said = round(_last(frames)["estimate"]["total"])
    assert total[1].replace("\u202f", "") == str(said)
    orders = page.run(CELLS.format("orders"))
    assert {row[0].strip() for row in orders} == {"shop", "web", "app"}
    assert page.run("[...panels.values()].map((panel) => panel.chart.shown().length)") == [3, 1]
    assert page.run("document.documentElement.scrollWidth") <= width
    assert page.run(WIDE.replace("{0}", "e.getBoundingClientRect().right > innerWidth + 0.5")) == []


def test_figures_of_other_units_are_shown_one_at_a_time(
    feed: Feed, site: RunningServer, tab: Opened, tmp_path: Path
) -> None:
    put(feed, till(tmp_path, {"MURMURATE__STREAMS__REVENUE__COUNTS": "true"}))
    page = opened(tab, site)
    assert page.run("panels.get('revenue').chart.shown().map((c) => c.name)") == ["total"]
    assert page.run("panels.get('revenue').chart.scale.unit") == "EUR"
    page.run("document.querySelector('[data-name=count]').click()")
    page.until(f"{SETTLED} && panels.get('revenue').chart.shown()[0].name === 'count'")
    assert page.run("panels.get('revenue').chart.scale.unit") == ""
    assert [row[0].split()[0] for row in page.run(CELLS.format("revenue"))] == ["total,", "count"]


def _last(frames: list[Frame]) -> Frame:
    found: Frame = [frame["release"] for frame in frames if frame.get("release", {}).get("stream") == "revenue"][-1]
    return found
