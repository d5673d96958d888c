"""Take the page's pictures: `python -m tests.browser.shots FOLDER`; docs/images has done-1280-* and running-400-dark."""

import sys
from pathlib import Path

from murmurate.agents.web.feed import Feed
from murmurate.agents.web.server import serve
from tests.agents.web.frames import whole_run
from tests.browser.chromium import Chromium


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    browser = Chromium()
    try:
        for stage, count in (("running", 340), ("done", None)):
            feed = Feed()
            running = browser.wait(serve(feed, "127.0.0.1", 0))
            for frame in list(whole_run())[:count]:
                feed.put(frame)
            for width in (1280, 400):
                for dark in (False, True):
                    page = browser.page(width, 900 if width > 500 else 860, dark=dark)
                    page.open(running.url)
                    page.until(f"document.querySelector('tbody tr') && panels.get('screen').periods.length > {100}")
                    page.until("![...panels.values()].some((panel) => panel.dirty)")
                    if stage == "running" and width > 500:
                        box = page.run("(b => [b.x, b.y])(document.querySelector('.plot').getBoundingClientRect())")
                        page.point(box[0] + 280, box[1] + 200)
                        page.until("panels.get('screen').filled < 150")
                    high = page.run("document.documentElement.scrollHeight")
                    page.resize(width, high)
                    page.until("![...panels.values()].some((panel) => panel.dirty)")
                    path = folder / f"{stage}-{width}-{'dark' if dark else 'light'}.png"
                    page.picture(path, whole=False)
                    print(path, path.stat().st_size // 1024, "kB", page.complaints)
                    page.close()
            browser.wait(running.stop())
    finally:
        browser.close()


if __name__ == "__main__":
    main()
