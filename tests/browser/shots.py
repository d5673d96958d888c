# SPDX-License-Identifier: Apache-2.0
"""Take the page's pictures: `python -m tests.browser.shots FOLDER [URL]`.

With a URL, the page there once its run is done (within 50 s; say, that of `murmurate demo`); without, made-up frames.
"""

import sys
from pathlib import Path

from murmurate.agents.web.feed import Feed
from murmurate.agents.web.server import serve
from tests.agents.web.frames import whole_run
from tests.agents.web.numbers import too_few, whole_ride
from tests.agents.web.sums import whole_sums
from tests.browser.chromium import Chromium

DRAWN = "panels.size && [...panels.values()].every((panel) => panel.periods.length && !panel.dirty)"
POINTED = 280
"""Where the mouse is in the pictures of a run under way, in pixels from the left of the chart."""


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    browser = Chromium()
    try:
        if len(sys.argv) > 2:
            take(browser, sys.argv[2], folder, "done")
            return
        runs = {"running": list(whole_run())[:340], "done": list(whole_run()), "numbers-done": list(whole_ride())}
        runs["too-few-done"], runs["sums-done"] = list(too_few()), whole_sums(mode="replay")
        for stage, frames in runs.items():
            feed = Feed()
            running = browser.wait(serve(feed, "127.0.0.1", 0))
            for frame in frames:
                feed.put(frame)
            take(browser, running.url, folder, stage)
            browser.wait(running.stop())
    finally:
        browser.close()


def take(browser: Chromium, url: str, folder: Path, stage: str) -> None:
    """Four pictures: wide and narrow, light and dark."""
    for width in (1280, 400):
        for dark in (False, True):
            page = browser.page(width, 900, dark=dark)
            page.open(url)
            page.until(f"{DRAWN} && finished" if stage.endswith("done") else DRAWN, 50)
            if stage == "running" and width > 500:
                x, y = page.run("(b => [b.x, b.y])(document.querySelector('.plot').getBoundingClientRect())")
                page.point(x + POINTED, y + 200)
                page.until(f"{DRAWN} && [...panels.values()][0].hovered >= 0")
            if stage.startswith("sums"):
                page.until("[...panels.values()].every((panel) => panel.stretch.totals.length)")
                x, y, end = page.run(
                    "(b => [b.x, b.y, b.right])(document.querySelector('.plot').getBoundingClientRect())"
                )
                page.drag(x + (end - x) * 0.3, x + (end - x) * 0.6, y + 150)
                page.until("/periods/.test(document.querySelector('.answer').innerText)")
            page.resize(width, page.run("document.documentElement.scrollHeight"))
            page.until(DRAWN)
            path = folder / f"{stage}-{width}-{'dark' if dark else 'light'}.png"
            page.picture(path, whole=False)
            print(path, path.stat().st_size // 1024, "kB", *page.complaints)
            page.close()


if __name__ == "__main__":
    main()
