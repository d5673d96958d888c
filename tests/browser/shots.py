# SPDX-License-Identifier: Apache-2.0
"""Take pictures of the page in every state: `python -m tests.browser.shots FOLDER [STATE ...]`, or FOLDER URL.

Each state at 1280 and 400 pixels, light and dark, as STATE-WIDTH-COLOURS.png.  With a URL, the page there once its run
is done (within 50 s; say, that of `murmurate demo`, whose wide pictures are docs/images/page.png and page-dark.png).
"""

import sys
from collections.abc import Callable
from pathlib import Path

from murmurate.agents.web.feed import Feed
from murmurate.agents.web.server import RunningServer, serve
from tests.browser.chromium import Chromium, Page
from tests.browser.states import DRAWN, STATES, State

TALLEST = 6000
"""Pixels of a page that one looks at; two hundred streams are longer."""


def main() -> None:
    folder, *rest = sys.argv[1:]
    Path(folder).mkdir(parents=True, exist_ok=True)
    browser = Chromium()
    try:
        if rest and "://" in rest[0]:
            for width, dark in SIZES:
                path = Path(folder) / f"done-{width}-{'dark' if dark else 'light'}.png"
                take(browser, rest[0], width, dark, lambda page: page.until(f"{DRAWN} && finished", 50), path)
            return
        for name in rest or STATES:
            shoot(browser, name, STATES[name], Path(folder))
    finally:
        browser.close()


SIZES = ((1280, False), (1280, True), (400, False), (400, True))


def shoot(browser: Chromium, name: str, state: State, folder: Path) -> None:
    """Four pictures of a state."""
    frames = state.frames()
    for width, dark in SIZES:
        feed = Feed()
        running = browser.wait(serve(feed, "127.0.0.1", 0))
        for frame in frames:
            feed.put(frame)

        def then(page: Page, running: RunningServer = running) -> None:
            state.then(page)
            if state.ends:
                browser.wait(running.stop())
                page.until("document.body.dataset.link === 'lost'")

        take(browser, running.url, width, dark, then, folder / f"{name}-{width}-{'dark' if dark else 'light'}.png")
        if not state.ends:
            browser.wait(running.stop())


def take(browser: Chromium, url: str, width: int, dark: bool, then: Callable[[Page], None], path: Path) -> None:
    """One picture, of the whole page up to a height."""
    page = browser.page(width, 900, dark=dark)
    page.open(url)
    then(page)
    if page.run("document.getElementById('note').hidden"):  # a note is where the window was
        page.resize(width, min(TALLEST, page.run("document.documentElement.scrollHeight")))
        if page.run("panels.size"):
            page.until(DRAWN)
    page.picture(path, whole=False)
    print(path, path.stat().st_size // 1024, "kB", *page.complaints)
    page.close()


if __name__ == "__main__":
    main()
