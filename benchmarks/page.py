# SPDX-License-Identifier: Apache-2.0
"""The page's speed in a real browser: the first picture, and pictures a second while releases come in.

Contract: `python -m benchmarks.page [--seconds S]` serves made-up frames to a headless chromium and prints, for each
kind of picture, how much CPU its main thread takes (thread time, so that a busy machine changes little), how many
refreshes of the screen that leaves room for, and how many there were.  Not here: what is drawn (tests/browser).
"""

import argparse
import time
from typing import Any

from murmurate.agents.web.feed import Feed
from murmurate.agents.web.server import serve
from tests.agents.web.frames import hello, releases, whole_run
from tests.agents.web.numbers import distances, rides
from tests.browser.chromium import Chromium, Page
from tests.browser.states import DRAWN, many_streams

NAMES = tuple(f"category-{number:02}" for number in range(64))
PACE = 50
"""Releases a second."""
BEGUN = 400
"""Periods of history before the measured ones."""
FRAME_MS = 1000 / 60
COUNT = """window.refreshes = 0; window.enough = false;
    (function look() { refreshes += 1; if (!enough) requestAnimationFrame(look); })()"""
PARTS = ("TaskDuration", "ScriptDuration", "LayoutDuration", "RecalcStyleDuration")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=4.0)
    seconds = options.parse_args().seconds
    browser = Chromium()
    try:
        print("first picture                                    wall      CPU of the main thread")
        first(browser, "a day of 288 periods, 8 categories", list(whole_run()))
        first(browser, "400 periods of 64 categories", [hello(NAMES, 400), *releases(NAMES, 400)])
        first(browser, "96 periods of 16 stretches", [rides("distance"), *distances()])
        first(browser, "200 streams of 12 periods", many_streams())
        print(f"\n{PACE} releases/s, 64 categories, {BEGUN} periods before: of the main thread's CPU a second")
        for view, all_lines in (("lines", False), ("lines", True), ("multiples", True), ("ranking", True)):
            follow(browser, view, all_lines, seconds)
    finally:
        browser.close()


def first(browser: Chromium, what: str, frames: list[dict[str, Any]]) -> None:
    """From the navigation to the first whole picture, of the best of three visits."""
    feed = Feed()
    running = browser.wait(serve(feed, "127.0.0.1", 0))
    for frame in frames:
        feed.put(frame)
    found = []
    for _ in range(3):
        page = opened(browser)
        page.open(running.url)
        page.until(DRAWN, 50)
        wall = page.run("performance.now()")
        found.append((wall, 1000 * spent(page)["TaskDuration"]))
        page.close()
    wall, cpu = min(found)
    print(f"  {what:<42} {wall:7.0f} ms  {min(cpu, min(each for _, each in found)):7.0f} ms")
    browser.wait(running.stop())


def follow(browser: Chromium, view: str, all_lines: bool, seconds: float) -> None:
    """The CPU of pictures that grow, and the refreshes that it left."""
    feed, count = Feed(), round(seconds * PACE)
    frames = list(releases(NAMES, BEGUN + count))
    running = browser.wait(serve(feed, "127.0.0.1", 0))
    for frame in [hello(NAMES, BEGUN + count), *frames[:BEGUN]]:
        feed.put(frame)
    page = opened(browser)
    page.open(running.url)
    page.until(DRAWN, 50)
    if all_lines:
        page.run("document.querySelector('[data-show=\"64\"]').click()")
    page.run(f"document.querySelector('[data-view={view}]').click()")
    page.until(f"{DRAWN} && panels.get('screen').chart.kind === '{view}'")
    page.run(COUNT)
    before, start = spent(page), time.perf_counter()
    for i, frame in enumerate(frames[BEGUN:]):
        time.sleep(max(0.0, start + i / PACE - time.perf_counter()))  # the pace is the point
        feed.put(frame)
    page.until(f"{DRAWN} && panels.get('screen').periods.length === {BEGUN + count}")
    wall, after = time.perf_counter() - start, spent(page)
    page.run("window.enough = true")
    ms = {part: 1000 * (after[part] - before[part]) / wall for part in PARTS}
    lines = page.run("panels.get('screen').chart.shown().length")
    frame_ms = ms["TaskDuration"] / 60
    parts = f"script {ms['ScriptDuration']:.0f}, layout {ms['LayoutDuration'] + ms['RecalcStyleDuration']:.0f}"
    refreshes = page.run("refreshes") / wall
    print(
        f"  {view:<10} {lines:>2} lines  {ms['TaskDuration']:6.0f} ms ({parts})  {frame_ms:5.1f} of {FRAME_MS:.1f} ms "
        f"a refresh  refreshes/s {refreshes:5.1f}"
    )
    page.close()
    browser.wait(running.stop())


def opened(browser: Chromium) -> Page:
    page = browser.page(1280)
    page.send("Performance.enable", timeDomain="threadTicks")
    return page


def spent(page: Page) -> dict[str, float]:
    """Seconds of thread time by kind, since the page began."""
    return {each["name"]: each["value"] for each in page.send("Performance.getMetrics")["metrics"]}


if __name__ == "__main__":
    main()
