# SPDX-License-Identifier: Apache-2.0
"""A distribution on the page: a bar for each stretch, in the order of the range, beside the lines of the largest."""

import pytest

from murmurate.agents.web.feed import Feed
from murmurate.agents.web.server import RunningServer
from tests.agents.web.frames import whole_run
from tests.agents.web.numbers import LENGTHS, UNMEASURED, changed, distances, rides, without_truth
from tests.browser.conftest import Opened
from tests.browser.test_means import PERCENT, view
from tests.browser.test_page import SETTLED, opened, pressed, put, rows, text

DISTANCE = distances()
SPOKEN = "document.querySelector('.bars').getAttribute('aria-valuetext')"
COLUMNS = """(({view, stretches}, canvas) => {
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    return stretches.map((_, k) => {
        const x = Math.floor(view.left + (k + 0.5) / stretches.length * view.width);
        const { data } = copy.getImageData(x, view.top, 1, view.height);
        let dark = 0;
        for (let i = 3; i < data.length; i += 4) dark += data[i] > 0;
        return dark;
    });
})(panels.get('distance').spread.bars, document.querySelector('.bars canvas'))"""


def test_stretches_stay_in_the_order_of_the_range_and_none_is_apart(
    feed: Feed, site: RunningServer, tab: Opened
) -> None:
    put(feed, [rides("distance"), *DISTANCE])
    page = opened(tab, site)
    assert text(page, ".about") == "distribution of numbers from 0 to 30 km in 16 stretches every 5m, lpa"
    sums = {name: sum(f["release"]["estimate"][name] for f in DISTANCE[UNMEASURED:]) for name in LENGTHS[:-1]}
    largest = sorted(sums, key=lambda name: -sums[name])[:6]
    assert pressed(page) == [name for name in LENGTHS if name in largest]
    assert list(rows(page)) == [*(name for name in LENGTHS if name in largest), "none"]
    assert text(page, "thead th") == "Stretch in km"
    page.run("document.querySelector('[data-more]').click()")
    listed = page.run("[...document.querySelectorAll('.legend button')].map((button) => button.dataset.name)")
    assert listed == list(LENGTHS)
    page.run("document.querySelector('[data-show=\"64\"]').click()")
    page.until(f"{SETTLED} && document.querySelectorAll('tbody tr').length === {len(LENGTHS)}")
    assert list(rows(page)) == list(LENGTHS)
    assert "none" not in pressed(page)


def test_a_bar_is_as_high_as_its_share(feed: Feed, site: RunningServer, tab: Opened) -> None:
    exact = dict.fromkeys(LENGTHS, 0.0)
    frames = [changed(frame, stderr=exact) for frame in without_truth(DISTANCE)]
    put(feed, [rides("distance", mode="live"), *frames])
    page = opened(tab, site)
    axis, release = view(page, "distance", "spread.bars"), frames[-1]["release"]
    assert axis["low"] == 0  # a bar that does not begin at 0 lies
    lines = 2 + (axis["high"] - axis["low"]) / axis["step"]  # of the grid, and the bar's own
    for name, high in zip(LENGTHS[:-1], page.run(COLUMNS), strict=True):
        wanted = release["estimate"][name] / axis["high"] * axis["height"]
        assert wanted - 2 <= high <= wanted + lines + 2, name


def test_bars_show_the_period_that_is_chosen(feed: Feed, site: RunningServer, tab: Opened) -> None:
    put(feed, [rides("distance"), *DISTANCE])
    page = opened(tab, site)
    newest = page.run(COLUMNS)
    assert "07:55 to 08:00 UTC; none: " in text(page, "figcaption")
    page.run("document.querySelector('.plot').focus()")
    page.press("ArrowLeft", shift=True)
    page.until(f"{SETTLED} && document.querySelector('figcaption').innerText.includes('07:05 to 07:10')")
    assert page.run(COLUMNS) != newest
    page.press("Home")
    nothing = "nothing yet: fewer than the 1\u202f000 reports"
    page.until(f"{SETTLED} && document.querySelector('figcaption').innerText.includes('{nothing}')")
    page.press("Escape")
    page.until(f"{SETTLED} && document.querySelector('figcaption').innerText.includes('07:55')")
    assert page.run(COLUMNS) == newest


def test_the_arrow_keys_and_the_mouse_read_out_a_stretch(feed: Feed, site: RunningServer, tab: Opened) -> None:
    put(feed, [rides("distance"), *DISTANCE])
    page = opened(tab, site)
    assert page.run(SPOKEN) == "No stretch chosen"
    page.run("document.querySelector('.bars').focus()")
    page.press("Home")
    page.press("ArrowRight")
    page.until(f"{SETTLED} && {SPOKEN}.startsWith('[1.875, 3.75) km: ')")
    release, truth, name = DISTANCE[-1]["release"], DISTANCE[-1]["truth"], LENGTHS[1]
    wanted = [release["estimate"][name], 2 * release["stderr"][name], truth[name]]
    told = page.run(SPOKEN).split(": ")[1].replace(",", "").replace("truth", "").replace("±", "").split(PERCENT)
    assert [float(part) / 100 for part in told[:3]] == pytest.approx(wanted, abs=0.00051)
    assert text(page, ".said") == page.run(SPOKEN)
    assert page.run("panels.get('distance').chart.focus.name") == name
    page.press("End")
    page.until(f"{SETTLED} && {SPOKEN}.startsWith('{LENGTHS[-2]} km: ')")
    page.press("Escape")
    page.until(f"{SETTLED} && {SPOKEN} === 'No stretch chosen'")
    page.run("document.querySelector('.bars').scrollIntoView()")
    left, top, width = page.run("(b => [b.x, b.y, b.width])(document.querySelector('.bars').getBoundingClientRect())")
    page.point(left + 46 + (width - 60) * 2.5 / 16, top + 60)
    page.until(f"{SETTLED} && document.querySelector('.said').innerText.startsWith('{LENGTHS[2]} km: ')")


def test_new_releases_are_not_read_out_to_who_has_chosen_a_stretch(
    feed: Feed, site: RunningServer, tab: Opened
) -> None:
    put(feed, [rides("distance"), *DISTANCE[:10]])
    page = opened(tab, site)
    page.run("document.querySelector('.bars').focus()")
    page.press("End")
    page.until(f"{SETTLED} && {SPOKEN}.startsWith('{LENGTHS[-2]}')")
    said = page.run(SPOKEN)
    put(feed, DISTANCE[10:30])
    page.until(f"{SETTLED} && document.querySelector('figcaption').innerText.includes('02:25 to 02:30')")
    assert page.run(SPOKEN) == said


def test_a_frequency_has_no_bars(feed: Feed, site: RunningServer, tab: Opened) -> None:
    put(feed, list(whole_run(periods=9)))
    assert opened(tab, site).run("document.querySelectorAll('.bars, figure').length") == 0
