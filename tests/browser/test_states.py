# SPDX-License-Identifier: Apache-2.0
"""Every state of the page: while it loads, first, late, lost, with too few users, with much of anything."""

from __future__ import annotations

import asyncio
import json
import re
from importlib import resources
from pathlib import Path

import orjson
import pytest
from aiohttp import web

from murmurate.agents.web.feed import Feed
from murmurate.agents.web.recorded import recorded_frames
from murmurate.agents.web.server import Pages, RunningServer, serve
from tests.agents.web.frames import done, hello, releases, unmeasured
from tests.browser.chromium import Chromium, Page
from tests.browser.conftest import Opened
from tests.browser.states import DRAWN, STATES, live, many_streams
from tests.browser.test_page import WIDE, painted, put, text

ALARM, STATUS = "document.getElementById('alarm').innerText", "document.getElementById('status').innerText"
NARROW = WIDE.format(
    "e.getBoundingClientRect().right > innerWidth + 0.5 && !e.closest('.skip, .legend, .values, .note')"
)
SHOWN = (
    "running", "thirty", "thirty-multiples", "thirty-ranking", "log", "mean", "distribution", "items", "tables",
    "leaderboard", "leaderboard-chosen", "leaderboard-lines",
)  # fmt: skip
OPEN = "document.body.dataset.link === 'open'"


def brought(feed: Feed, site: RunningServer, page: Page, name: str) -> None:
    """The page in a state."""
    put(feed, STATES[name].frames())
    page.open(site.url)
    STATES[name].then(page)


@pytest.mark.parametrize("name", SHOWN)
def test_a_state_is_drawn_and_fits_a_narrow_window_and_a_wide_one(
    feed: Feed, site: RunningServer, tab: Opened, name: str
) -> None:
    page = tab(400)
    brought(feed, site, page, name)
    assert painted(page, 1) > 300
    for width in (400, 1280):
        page.resize(width, 900)
        page.until(f"innerWidth === {width} && {DRAWN}")
        assert page.run(NARROW) == [], width
    assert page.run("document.querySelector('.empty').checkVisibility()") is False


def test_a_server_without_a_run_is_waited_for_and_the_first_period_is_drawn_with_its_error_and_no_line(
    feed: Feed, site: RunningServer, tab: Opened
) -> None:
    page = tab()
    brought(feed, site, page, "loading")
    assert page.run("document.getElementById('loading').checkVisibility()")
    assert not page.run("document.querySelector('.promise').checkVisibility()")
    frames = live(3)
    put(feed, frames[:2])
    page.until(f"{DRAWN} && {OPEN}")
    assert not page.run("document.getElementById('loading').checkVisibility()")
    chart = "panels.get('screen').chart"
    assert page.run(f"{chart}.view.alone")
    high = max(
        e + 2 * s for e, s in zip(*(frames[1]["release"][k].values() for k in ("estimate", "stderr")), strict=True)
    )
    assert page.run(f"{chart}.view.high") > min(high, 0.02)  # whiskers are inside, none of them shown is
    assert painted(page, 1) > 100
    put(feed, frames[2:])
    page.until(f"{DRAWN} && !{chart}.view.alone")
    assert "first period" in text(page, ".key")


def test_a_stream_without_releases_is_late_in_words_until_one_comes(
    feed: Feed, site: RunningServer, tab: Opened
) -> None:
    page = tab()
    brought(feed, site, page, "stale")
    assert re.match(r"No release for [34] periods \(2\d min\)\. The server answers", page.run(ALARM))
    assert "nothing new" in page.run(STATUS)
    assert text(page, ".late").startswith("No release for ")
    assert page.run("document.title").startswith("\u26a0 ")
    fresh = live(91)[-1]
    put(feed, [fresh | {"release": fresh["release"] | {"t": fresh["release"]["t"]}}])
    page.until(f"{OPEN} && document.getElementById('alarm').hidden")
    assert page.run(STATUS) == "Following"
    assert not page.run("document.title").startswith("\u26a0")


def test_a_server_that_ends_is_lost_within_seconds_and_found_again_without_gap_or_double(
    chromium: Chromium, feed: Feed, tab: Opened
) -> None:
    frames, page = live(20), tab()
    running = chromium.wait(serve(feed, "127.0.0.1", 0))
    put(feed, frames[:11])
    page.open(running.url)
    page.until(f"{DRAWN} && {OPEN}")
    chromium.wait(running.stop())
    page.until("document.body.dataset.link === 'lost'", 5)
    assert re.match(r"Connection lost at \d\d:\d\d:\d\d UTC: .* What you see ends with 20\d\d-", page.run(ALARM))
    again = Feed()  # another worker: it has the same releases, and newer ones
    put(again, frames)
    running = chromium.wait(serve(again, "127.0.0.1", int(running.url.rpartition(":")[2])))
    page.run("vigil.link.again()")
    page.until(f"{OPEN} && panels.get('screen').periods.length === 20")
    assert page.run("panels.get('screen').periods.t.every((t, i, all) => !i || t === all[i - 1] + 1)")
    assert page.run("panels.get('screen').periods.events.marks") == []
    assert page.run(ALARM).strip() == ""
    chromium.wait(running.stop())
    page.complaints.clear()  # the browser reports the refused connection


def test_a_server_that_only_hangs_is_lost_too(chromium: Chromium, feed: Feed, tab: Opened) -> None:
    page = tab()
    running = chromium.wait(serve(feed, "127.0.0.1", 0, heartbeat_s=3600))  # as a stopped process: no word, no end
    put(feed, live(5))
    page.open(running.url)
    page.until(f"{DRAWN} && {OPEN}")
    page.run("vigil.link.silentMs = 300")
    page.until("document.body.dataset.link === 'lost'", 5)
    chromium.wait(running.stop())
    page.complaints.clear()


def test_a_server_that_is_slow_to_answer_is_waited_for_in_words(
    chromium: Chromium, feed: Feed, tab: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(feed, live(3))
    answers, meant = asyncio.Event(), Pages._frames

    async def slow(self: Pages, request: web.Request) -> web.StreamResponse:
        await answers.wait()
        return await meant(self, request)

    monkeypatch.setattr(Pages, "_frames", slow)
    page, running = tab(), chromium.wait(serve(feed, "127.0.0.1", 0))
    page.open(running.url)
    page.until(f"/slow to answer: waiting for [0-9]+ s/.test({STATUS})")
    assert page.run("document.getElementById('loading').checkVisibility()")
    chromium.loop.call_soon_threadsafe(answers.set)
    page.until(f"{DRAWN} && {OPEN} && panels.get('screen').periods.length === 3")
    chromium.wait(running.stop())
    page.complaints.clear()


def test_too_few_users_are_a_sentence_and_no_picture(feed: Feed, site: RunningServer, tab: Opened) -> None:
    page = tab()
    brought(feed, site, page, "too-few")
    assert text(page, ".empty").startswith("nothing yet: fewer than the 1\u202f000 reports")
    assert "It takes 6 700 users." in text(page, ".short")
    hidden = "[...document.querySelectorAll('.stream')[0].querySelectorAll('canvas, .key, .views')]"
    assert not page.run(f"{hidden}.some((node) => node.checkVisibility())")


def test_figures_that_are_lost_in_noise_are_told(feed: Feed, site: RunningServer, tab: Opened) -> None:
    frames = list(releases(periods=5))
    for frame in frames:
        frame["release"]["stderr"] = dict.fromkeys(frame["release"]["stderr"], 0.9)
    put(feed, [hello(), *frames])
    page = tab()
    page.open(site.url)
    page.until(DRAWN)
    assert "none can be told from zero" in text(page, ".short")
    missing = frames[-1]["release"]["reports"] | {"missing": 2}
    later = list(releases(periods=9))[8]
    put(feed, [later | {"release": later["release"] | {"reports": missing, "revision": 2}}])
    page.until(f"{DRAWN} && panels.get('screen').periods.length === 6")
    told = page.run("panels.get('screen').periods.events.said(9).map(({ words }) => words)")
    assert told == [
        "patience ended: 2 contributors were given up, and those reports do not count",
        "another configuration was applied (revision 2)",
        "3 periods have no release",
    ]
    assert text(page, ".told summary").startswith("3 events, the newest: patience ended")


def test_a_recorded_run_is_shown_with_its_truth_and_a_file_of_releases_alone_without(
    feed: Feed, site: RunningServer, tab: Opened, tmp_path: Path
) -> None:
    frames, path = list(releases(periods=30)), tmp_path / "releases.jsonl"
    path.write_bytes(b"".join(orjson.dumps(frame["release"]) + b"\n" for frame in frames))
    truths = [{"stream": "screen", "t": frame["release"]["t"], "truth": frame["truth"]} for frame in frames]
    (tmp_path / "truth.jsonl").write_bytes(b"".join(orjson.dumps(truth) + b"\n" for truth in truths))
    alone = recorded_frames(path)
    assert [frame["truth"] for frame in alone[1:-1]] == [None] * 30
    put(feed, recorded_frames(tmp_path))
    page = tab()
    page.open(site.url)
    page.until(f"{DRAWN} && finished")
    assert (text(page, "#mode"), page.run(STATUS)) == ("recorded", "Recorded: all there is")
    assert page.run("panels.get('screen').periods.hasTruth")
    assert "events per second" not in text(page, "#figures")
    answer = page.run("ask('share of screen over all').then(({ rows }) => rows.length)")
    assert answer == 8


def test_one_line_is_in_focus_by_mouse_by_list_and_by_row(feed: Feed, site: RunningServer, tab: Opened) -> None:
    page, focus = tab(), "panels.get('screen').chart.focus.name"
    brought(feed, site, page, "running")
    assert page.run(focus) == "home"  # the largest
    assert page.run("panels.get('screen').chart.banded().length") == 1
    assert text(page, ".of") == " of home" or text(page, ".of") == "of home"
    page.run(
        "(s => { s.value = 'basket'; s.dispatchEvent(new Event('change')) })(document.querySelector('.focus select'))"
    )
    page.until(f"{DRAWN} && {focus} === 'basket'")
    page.run("document.querySelectorAll('tbody tr')[1].click()")
    page.until(f"{DRAWN} && {focus} === 'search' && document.querySelector('.focus select').value === 'search'")
    x, y, at = page.run("""(({ chart }, box) => [box.x + chart.x(150), box.y,
        chart.y(panels.get('screen').periods.categories.get('product').estimate[150])])
        (panels.get('screen'), document.querySelector('.plot').getBoundingClientRect())""")
    page.point(x, y + at)
    page.until(f"{DRAWN} && {focus} === 'product' && panels.get('screen').chart.pointed")
    page.point(5, 5)
    page.until(f"{DRAWN} && {focus} === 'search' && !panels.get('screen').chart.pointed")


def test_every_word_of_the_glossary_explains_itself_to_mouse_keys_and_finger(
    feed: Feed, site: RunningServer, tab: Opened
) -> None:
    page, note = tab(), "document.getElementById('note')"
    put(feed, [*STATES["thirty"].frames()])
    page.open(site.url)
    page.until(f"{DRAWN} && finished")
    words = page.run("[...document.querySelectorAll('.term')].filter((w) => !w.hidden).map((w) => w.dataset.word)")
    assert {"Estimate", "Digest", "Window (w)", "After mixing", "mean squared error", "two standard errors"} <= set(
        words
    )
    assert page.run(f"{json.dumps(words)}.filter((word) => !explained(word))") == []
    titles = "[...document.querySelectorAll('.privacy dt, .figures dt')]"
    assert page.run(f"{titles}.filter((title) => !title.querySelector('.term')).map((title) => title.innerText)") == []
    digest = "[...document.querySelectorAll('.term')].find((w) => w.dataset.word === 'Digest')"
    page.run(f"({digest}).focus()")
    page.until(f"!{note}.hidden && {note}.innerText.startsWith('A fingerprint')")
    assert page.run(f"({digest}).getAttribute('aria-describedby')") == "note"
    page.press("Escape")
    page.until(f"{note}.hidden")
    page.run("document.activeElement.blur(), scrollTo(0, 0)")
    x, y = page.run("(b => [b.x + 5, b.y + 5])(document.querySelector('.figures .term').getBoundingClientRect())")
    page.point(x, y)
    page.until(f"!{note}.hidden && {note}.innerText.startsWith('Raw events')")
    page.point(x + 400, 5)
    page.until(f"{note}.hidden")
    page.run(f"({digest}).click()")  # as a finger does
    page.until(f"!{note}.hidden")
    assert page.run(f"(b => b.left >= 0 && b.right <= innerWidth)({note}.getBoundingClientRect())")


def test_the_glossary_can_be_quoted() -> None:
    source = (resources.files("murmurate.agents.web") / "static" / "words.js").read_text(encoding="utf-8")
    found = re.search(r"const GLOSSARY = (\{.*?\n\});", source, re.DOTALL)
    assert found
    glossary: dict[str, str] = json.loads(found[1])
    assert list(glossary) == sorted(glossary)
    assert all(said.endswith(".") and len(said) < 300 for said in glossary.values())


def test_figures_never_run_into_each_other(feed: Feed, site: RunningServer, tab: Opened) -> None:
    end = done(30)
    end["summary"] |= {"mse": 0.0000412, "estimate_mse": 0.00000123, "mre": 123.456, "unmeasured": 12345678}
    put(feed, [hello(), *releases(periods=30), end])
    page = tab()
    page.open(site.url)
    page.until(f"{DRAWN} && finished")
    for width in (1280, 900, 400, 320):
        page.resize(width, 900)
        page.until(f"innerWidth === {width}")
        over = page.run("""[...document.querySelectorAll('.figures dd')].filter((d) => {
            const range = document.createRange(); range.selectNodeContents(d);
            const room = d.parentNode.getBoundingClientRect().right - 4;
            return range.getBoundingClientRect().right > room; }).map((d) => d.innerText)""")
        assert over == [], width


def test_two_hundred_streams_are_found_by_name_and_only_those_in_the_window_are_drawn(
    feed: Feed, site: RunningServer, tab: Opened
) -> None:
    put(feed, many_streams(200, periods=3))
    page = tab()
    page.open(site.url)
    page.until(f"panels.size === 200 && [...panels.values()].at(-1).periods.length === 3 && {DRAWN}", 40)
    held = "[...document.querySelectorAll('.plot')].filter((p) => p.firstElementChild.width > 300).length"
    page.until(f"{held} < 8")
    page.run(
        "(b => { b.value = 'STREAM-19'; b.dispatchEvent(new Event('input', { bubbles: true })) })"
        "(document.querySelector('#overview input'))"
    )
    page.until("document.querySelector('#overview [role=status]').innerText === '10 of 200 streams'")
    page.until(f"{DRAWN} && panels.get('stream-190').chart.drawn === 3")
    assert page.run("panels.get('stream-007').root.checkVisibility()") is False


def test_without_a_script_a_sentence_says_where_the_releases_are(feed: Feed, site: RunningServer, tab: Opened) -> None:
    page = tab(400)
    page.send("Emulation.setScriptExecutionDisabled", value=True)
    page.send("Page.navigate", url=site.url)
    while page.run("document.readyState !== 'complete' || !document.querySelector('noscript')"):
        pass  # nothing in such a page can wait for us
    said = page.run("document.body.innerText")
    assert "this browser runs none" in said
    assert "v1/streams/NAME/releases" in said
    assert "Connecting" not in said
    assert "The promise" not in said


def test_paper_has_the_pictures_and_no_buttons(feed: Feed, site: RunningServer, tab: Opened) -> None:
    page = tab(dark=True)
    brought(feed, site, page, "running")
    page.send("Emulation.setEmulatedMedia", media="print", features=[])
    page.run("dispatchEvent(new Event('beforeprint'))")
    shown = (
        "[...document.querySelectorAll('button:not(.term), select')].filter((node) => node.checkVisibility()).length"
    )
    assert page.run(shown) == 0
    assert (
        min(page.run("getComputedStyle(document.querySelector('.stream')).backgroundColor.match(/\\d+/g).map(Number)"))
        > 240
    )
    page.until(DRAWN)
    assert painted(page, 1) > 300
    page.run("dispatchEvent(new Event('afterprint'))")
    page.send("Emulation.setEmulatedMedia", media="screen", features=[])
    page.until(DRAWN)
    assert page.run(shown) > 3


def test_new_values_are_read_out_to_who_is_in_the_section_alone(feed: Feed, site: RunningServer, tab: Opened) -> None:
    page, frames = tab(), list(releases(periods=12))
    put(feed, [hello(), unmeasured(frames[0]), *frames[1:9]])
    page.open(site.url)
    page.until(DRAWN)
    spoken = "document.querySelector('.spoken').innerText"
    assert page.run(spoken) == ""
    page.run("document.querySelector('.legend button').focus()")
    put(feed, frames[9:])
    page.until(f"{DRAWN} && {spoken}.includes('home ')")
    said = page.run(spoken)
    put(feed, list(releases(periods=13))[12:])
    page.until(f"{DRAWN} && panels.get('screen').periods.length === 13")
    assert page.run(spoken) == said  # not so soon again
