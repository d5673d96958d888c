# SPDX-License-Identifier: Apache-2.0
"""The page in a real browser: it draws what the feed says, live, in any size and light, for keyboard and mouse."""

import contextlib
from typing import Any

import pytest

from murmurate.agents.web.feed import Feed
from murmurate.agents.web.server import RunningServer
from tests.agents.web.frames import done, hello, progress, releases, whole_run
from tests.browser.chromium import ChromiumError, Page
from tests.browser.conftest import Opened

RUN = list(whole_run())
RELEASES = [frame for frame in RUN if frame["type"] == "release"]
SETTLED = "panels.size && [...panels.values()].every((panel) => !panel.dirty && panel.periods.length)"
PAINTED = """(canvas => {
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    return copy.getImageData(0, 0, canvas.width, canvas.height).data
        .reduce((sum, alpha, i) => sum + (i % 4 === 3 && alpha > 0), 0);
})(document.querySelectorAll('.plot canvas')[LAYER])"""
CELLS = """[...document.querySelectorAll('tbody tr')].map((row) =>
    [...row.children].filter((cell) => !cell.hidden).map((cell) => cell.innerText))"""
PLOT = (
    "(b => [b.x, b.y, panels.get('screen').chart.view.width])(document.querySelector('.plot').getBoundingClientRect())"
)
WIDE = "[document.documentElement, ...document.querySelectorAll('body *')].filter((e) => {0}).map((e) => e.className)"


def put(feed: Feed, frames: list[dict[str, Any]]) -> None:
    for frame in frames:
        feed.put(frame)


def painted(page: Page, layer: int) -> int:
    """Pixels that are not empty: of the bands (0), the lines (1), the cursor and names (2)."""
    return int(page.run(PAINTED.replace("LAYER", str(layer))))


def text(page: Page, selector: str) -> str:
    return str(page.run(f"document.querySelector({selector!r}).innerText"))


def rows(page: Page) -> dict[str, list[str]]:
    return {name.strip(): cells for name, *cells in page.run(CELLS)}


def pressed(page: Page) -> list[str]:
    return list(page.run("[...document.querySelectorAll('.legend [aria-pressed=true]')].map(b => b.dataset.name)"))


def opened(tab: Opened, site: RunningServer, width: int = 1280, *, dark: bool = False) -> Page:
    page = tab(width, dark=dark)
    page.open(site.url)
    page.until(SETTLED)
    return page


def test_frames_are_drawn_as_they_come(feed: Feed, site: RunningServer, tab: Opened) -> None:
    put(feed, RUN[:1])
    page = tab()
    page.open(site.url)
    page.until("panels.size === 1")
    assert "first release" in text(page, ".empty")
    put(feed, RUN[1:101])
    page.until(f"{SETTLED} && panels.get('screen').periods.length === 50")
    some = painted(page, 1)
    assert some > 200
    put(feed, RUN[101:])
    page.until(f"{SETTLED} && panels.get('screen').periods.length === 288")
    assert painted(page, 1) > 2 * some
    assert painted(page, 0) > 5000
    assert "Finished" in text(page, "#status")
    assert "epsilon 1.0" in text(page, "#promise")
    figures = text(page, "#figures")
    for shown in ("12.0 M", "2.13 M", "288", "0.0612", "0.000094", "0.081"):
        assert shown in figures
    facts = text(page, ".privacy")
    for shown in (
        "epsilon 0.0561 but for a chance of 1e-08, against everybody but the mixing zone",
        "13 periods",
        "grr, d = 8",
        "lpa, variance sampling",
        "epsilon 1 for one user in any 1h",
    ):
        assert shown in facts


def test_the_table_says_the_numbers_of_the_release(feed: Feed, site: RunningServer, tab: Opened) -> None:
    put(feed, RUN)
    page = opened(tab, site)
    release, truth = RELEASES[-1]["release"], RELEASES[-1]["truth"]
    for name, (estimate, band, real, off) in rows(page).items():
        told = [float(cell.removesuffix("\u202f%")) / 100 for cell in (estimate, band, real, off)]
        value = release["estimate"][name]
        wanted = [value, 2 * release["stderr"][name], truth[name], abs(value - truth[name])]
        assert told == pytest.approx(wanted, abs=0.00051), name
    assert "23:55 to 00:00 UTC" in text(page, "caption")


def test_an_incremental_picture_is_the_whole_one(feed: Feed, site: RunningServer, tab: Opened) -> None:
    put(feed, RUN[:1])
    page = tab()
    page.open(site.url)
    page.until("panels.size === 1")
    for begin in range(1, 241, 24):
        put(feed, RUN[begin : begin + 24])
        page.until(f"{SETTLED} && panels.get('screen').periods.length === {(begin + 23) // 2}")
    grown = painted(page, 1)
    drawn = page.run("panels.get('screen').chart.fullDraws")
    page.run("panels.get('screen').redraw()")
    page.until(f"panels.get('screen').chart.fullDraws > {drawn} && {SETTLED}")
    assert painted(page, 1) == pytest.approx(grown, rel=0.03)


@pytest.mark.parametrize("dark", [False, pytest.param(True, marks=pytest.mark.audit)], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_is_wider_than_the_window(feed: Feed, site: RunningServer, tab: Opened, width: int, dark: bool) -> None:
    put(feed, RUN)
    page = opened(tab, site, width, dark=dark)
    assert page.run("document.documentElement.scrollWidth") <= width
    assert page.run(WIDE.replace("{0}", "e.getBoundingClientRect().right > innerWidth + 0.5")) == []
    assert painted(page, 1) > 1000
    ground = page.run("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
    assert max(ground) < 64 if dark else min(ground) > 192


def test_long_names_and_many_of_them_fit_a_narrow_window(feed: Feed, site: RunningServer, tab: Opened) -> None:
    names = ("w" * 256, *(f"category number {i}" for i in range(200)))
    put(feed, [hello(names, None, deployment="d" * 60, promise=["p" * 300])])
    put(feed, list(releases(names, 6)))
    page = opened(tab, site, 400)
    assert page.run("document.documentElement.scrollWidth") <= 400
    assert len(pressed(page)) == 6
    assert page.run("document.querySelectorAll('.legend button').length") == 24
    page.run("document.querySelector('[data-more]').click()")
    assert page.run("document.querySelectorAll('.legend button').length") == 201


def test_colours_follow_the_system_until_the_reader_chooses(feed: Feed, site: RunningServer, tab: Opened) -> None:
    put(feed, RUN)
    page = opened(tab, site)
    ground = "getComputedStyle(document.body).backgroundColor"
    light, lines = page.run(ground), "panels.get('screen').chart.ink.lines[0]"
    blue = page.run(lines)
    page.colours(dark=True)
    page.until(f"{ground} !== '{light}' && {lines} !== '{blue}'")
    page.run("document.getElementById('theme').click()")
    page.until(f"{ground} === '{light}' && {lines} === '{blue}'")
    page.open(site.url)
    page.until(SETTLED)
    assert page.run(ground) == light


def test_the_arrow_keys_read_out_periods(feed: Feed, site: RunningServer, tab: Opened) -> None:
    put(feed, RUN)
    page = opened(tab, site)
    page.run("document.querySelector('.plot').focus()")
    spoken = "document.querySelector('.plot').getAttribute('aria-valuetext')"
    assert page.run(spoken) == "The newest period"
    page.press("ArrowLeft")
    page.until(f"{SETTLED} && document.querySelector('caption').innerText.includes('23:50 to 23:55')")
    assert "home" in page.run(spoken)
    page.press("ArrowLeft", shift=True)
    page.until(f"{SETTLED} && document.querySelector('caption').innerText.includes('23:00 to 23:05')")
    page.press("Home")
    page.until(f"{SETTLED} && document.querySelector('caption').innerText.includes('00:00 to 00:05')")
    assert painted(page, 2) > 100
    assert page.run("document.querySelector('.plot').getAttribute('aria-valuenow')") == "0"
    page.press("Escape")
    page.until(f"{SETTLED} && document.querySelector('caption').innerText.includes('23:55')")
    assert page.run(spoken) == "The newest period"


def test_the_legend_is_worked_by_keyboard(feed: Feed, site: RunningServer, tab: Opened) -> None:
    put(feed, RUN)
    page = opened(tab, site)
    before = pressed(page)
    assert len(before) == 6
    assert "none" not in before
    page.run("document.querySelector('.legend button').focus()")
    page.press("ArrowRight")
    page.press(" ")
    page.until(f"{SETTLED} && document.querySelectorAll('tbody tr').length === 5")
    assert pressed(page) == [before[0], *before[2:]]
    assert page.run("document.activeElement.dataset.name") == before[1]
    page.press("End")
    page.press("Enter")
    page.until(f"{SETTLED} && document.querySelectorAll('tbody tr').length === 6")
    assert "none" in pressed(page)
    page = opened(tab, site)
    order: list[str] = []
    while len(order) < 40 and "plot" not in order:
        page.press("Tab")
        order.append(page.run("document.activeElement.className || document.activeElement.tagName"))
    assert order[:3] == ["skip", "SELECT", "BUTTON"]
    assert set(order[3:-1]) == {
        "term",
        "BUTTON",
        "SELECT",
    }  # words that explain themselves, then what chooses a picture


def test_the_mouse_reads_out_the_period_it_is_over(feed: Feed, site: RunningServer, tab: Opened) -> None:
    put(feed, RUN)
    page = opened(tab, site)
    page.run("document.querySelector('.plot').scrollIntoView()")
    x, y, width = page.run(PLOT)
    page.point(x + 46 + width / 2, y + 100)
    page.until(f"{SETTLED} && document.querySelector('caption').innerText.includes('12:00 to 12:05')")
    page.point(5, 5)
    page.until(f"{SETTLED} && document.querySelector('caption').innerText.includes('23:55')")


def test_hostile_names_are_shown_and_never_run(feed: Feed, site: RunningServer, tab: Opened) -> None:
    hostile = '<img src=x onerror="window.hit=1"><script>window.hit=1</script>'
    names = (hostile, "b", "c")
    put(
        feed,
        [hello(names, 20, deployment=hostile, promise=[hostile]), *releases(names, 20), progress(20, 20), done(20)],
    )
    page = opened(tab, site)
    page.run("document.querySelector('.plot').focus()")
    page.press("ArrowLeft")
    page.until(SETTLED)
    assert page.run("window.hit === undefined && document.querySelectorAll('img').length === 0")
    assert hostile in text(page, "#promise")
    assert hostile in rows(page)
    assert all(address.startswith(site.url) for address in page.asked)


def test_the_policy_lets_no_foreign_script_run(feed: Feed, site: RunningServer, tab: Opened) -> None:
    put(feed, RUN)
    page = opened(tab, site)
    page.run("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.hit=1\">')")
    page.until("document.images[0].complete")
    assert page.run("window.hit === undefined")
    assert any("Content Security Policy" in complaint for complaint in page.complaints)
    page.complaints.clear()


def test_a_reader_who_loses_the_connection_misses_nothing(feed: Feed, site: RunningServer, tab: Opened) -> None:
    put(feed, RUN[:200])
    page = opened(tab, site)
    for connection in list(site.runner.server.connections if site.runner.server else []):
        if connection.transport:
            connection.transport.abort()
    page.until("document.getElementById('status').textContent.includes('lost')")
    put(feed, RUN[200:])
    page.until(f"{SETTLED} && panels.get('screen').periods.length === 288")
    page.complaints.clear()  # the browser reports the lost connection


def test_a_live_deployment_shows_no_truth(feed: Feed, site: RunningServer, tab: Opened) -> None:
    put(feed, [hello(mode="live", periods=None), *({**frame, "truth": None} for frame in RELEASES[:50])])
    page = opened(tab, site)
    assert {len(cells) for cells in rows(page).values()} == {2}
    assert page.run("[...document.querySelectorAll('.truth')].every((node) => !node.checkVisibility())")


NAMES = tuple(f"category-{i:02}" for i in range(64))


def test_of_64_lines_a_release_draws_its_own_piece_and_nothing_again(
    feed: Feed, site: RunningServer, tab: Opened
) -> None:
    # How many releases and pictures a second that allows is measured by `python -m benchmarks.page`.
    begun, more = 400, 60
    frames = list(releases(NAMES, begun + more))
    put(feed, [hello(NAMES, begun + more), *frames[:begun]])
    page = opened(tab, site)
    page.run("document.querySelector('[data-show=\"64\"]').click()")
    page.until(f"{SETTLED} && panels.get('screen').chart.shown().length === 64")
    before = page.run("panels.get('screen').chart.fullDraws")
    for at in range(begun, begun + more, 10):
        put(feed, frames[at : at + 10])
        page.until(f"{SETTLED} && panels.get('screen').chart.drawn === {at + 10}")
    assert page.run("panels.get('screen').chart.fullDraws") - before <= 2


def test_estimates_can_be_read_for_a_question_and_the_page_says_how(
    feed: Feed, site: RunningServer, tab: Opened
) -> None:
    put(feed, RUN)
    page = opened(tab, site)
    assert not page.run("document.getElementById('reading').hidden")
    as_released = rows(page)
    page.run("(s => { s.value = 'point'; s.dispatchEvent(new Event('change')) })(document.getElementById('for'))")
    for _ in range(50):
        with contextlib.suppress(ChromiumError):  # the page is on its way to the other address
            page.until("location.search === '?for=point' && typeof panels !== 'undefined'")
            page.until(SETTLED)
            break
    assert page.run("document.getElementById('for').value") == "point"
    assert "base-cut" in text(page, "#figures")
    assert rows(page).keys() == as_released.keys()
