# SPDX-License-Identifier: Apache-2.0
"""Every state of the page, as frames and as what a reader does then: for the pictures (shots.py) and for the tests.

Contract: `STATES` names each state once; `frames` are what the server sends, `then` brings the page there.  Not here:
what is right about a state (test_states.py), which server sends it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from murmurate.aggregators.measures.items import ItemShares
from murmurate.topics.domains import Items
from tests.agents.web.frames import MINUTES, done, hello, releases, whole_run
from tests.agents.web.numbers import distances, fares, rides, too_few, without_truth
from tests.agents.web.searches import TREND, header, searches, whole_search
from tests.agents.web.sums import whole_sums
from tests.browser.chromium import Page
from tests.config.deployments import planned
from tests.config.test_marginals import of

Frames = list[dict[str, Any]]
DRAWN = "panels.size && [...panels.values()].every((panel) => panel.periods.length && !panel.dirty)"
THIRTY = tuple(f"category {number}" for number in range(1, 31))
BASKET = ("bread", "milk", "eggs", "apples", "rice", "coffee", "tea", "salt")


@dataclass(frozen=True)
class State:
    """One state: what has come, and what is done then."""

    frames: Callable[[], Frames]
    then: Callable[[Page], None] = lambda page: page.until(DRAWN)
    ends: bool = False
    """Whether the server goes away."""


def live(count: int, *, minutes_ago: float = 1.0) -> Frames:
    """A deployment on the wall's clock whose newest period ended so long ago."""
    found = [{**frame, "truth": None} for frame in releases(periods=count)]
    end = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=minutes_ago)
    last = int(found[-1]["release"]["t"])
    for frame in found:
        release = frame["release"]
        begin = end - timedelta(minutes=MINUTES * (last - release["t"] + 1))
        times = {"start": begin, "end": begin + timedelta(minutes=MINUTES)}
        frame["release"] = release | {key: f"{at:%Y-%m-%dT%H:%M:%SZ}" for key, at in times.items()}
    return [hello(periods=None, mode="live", clock="wall", lateness_ms=1000), *found]


def items() -> Frames:
    spec = hello(BASKET)["streams"][0] | ItemShares(Items(BASKET, 3), pad=3).page() | {"name": "basket"}
    return [hello(streams=[spec | {"measure": "items"}]), *of_stream("basket", releases(BASKET, 96))]


def tables() -> Frames:
    stream = planned(**of(tables=[["plan", "sex"], ["age"]])).stream("screen")
    spec = hello(stream.names)["streams"][0] | stream.measure.page() | {"measure": "marginals", "name": "orders"}
    return [hello(streams=[spec]), *of_stream("orders", releases(stream.names, 96))]


def many_streams(count: int = 200, periods: int = 12) -> Frames:
    """So many streams of eight values each."""
    (spec,) = hello(periods=None)["streams"]
    names = [f"stream-{number:03}" for number in range(count)]
    said = list(releases(periods=periods))
    frames = [hello(periods=None, mode="live", streams=[spec | {"name": name} for name in names])]
    for frame in said:
        frames += [{**frame, "truth": None, "release": frame["release"] | {"stream": name}} for name in names]
    return frames


def of_stream(name: str, frames: Any) -> Frames:
    return [frame | {"release": frame["release"] | {"stream": name}} for frame in frames]


def showing(view: str) -> Callable[[Page], None]:
    """Choose a kind of picture in the first stream."""

    def then(page: Page) -> None:
        page.until(DRAWN)
        page.run(f"document.querySelector('[data-view={view}]').click()")
        page.until(f"{DRAWN} && [...panels.values()][0].chart.kind === '{view}'")

    return then


def logarithmic(page: Page) -> None:
    page.until(DRAWN)
    page.run("document.querySelector('[data-log]').click()")
    page.until(f"{DRAWN} && [...panels.values()][0].chart.view.log")


def chosen(page: Page) -> None:
    """Choose the search that trends."""
    page.until(DRAWN)
    page.run(
        f"(s => {{ s.value = '{TREND}'; s.dispatchEvent(new Event('change', {{ bubbles: true }})) }})"
        "(document.querySelector('.controls .focus select'))"
    )
    page.until(f"{DRAWN} && [...panels.values()][0].chart.focus?.name === '{TREND}'")


def explained(page: Page) -> None:
    page.until(DRAWN)
    page.run("(w => { w.scrollIntoView({ block: 'center' }); w.focus({ preventScroll: true }) })"
             "([...document.querySelectorAll('.privacy .term')][1])")  # fmt: skip
    page.until("!document.getElementById('note').hidden")


STATES: dict[str, State] = {
    "loading": State(list, lambda page: page.until("document.getElementById('status').innerText.includes('no run')")),
    "first": State(lambda: live(1)),
    "running": State(lambda: list(whole_run())[:340]),
    "stale": State(
        lambda: live(90, minutes_ago=24), lambda page: page.until("!document.getElementById('alarm').hidden")
    ),
    "lost": State(lambda: live(90), ends=True),
    "too-few": State(lambda: list(too_few())),
    "thirty": State(lambda: [*whole_run(THIRTY, 96)]),
    "thirty-multiples": State(lambda: [*whole_run(THIRTY, 96)], showing("multiples")),
    "thirty-ranking": State(lambda: [*whole_run(THIRTY, 96)], showing("ranking")),
    "log": State(lambda: list(whole_run()), logarithmic),
    "mean": State(lambda: [rides("fare"), *fares(), done(96)]),
    "distribution": State(lambda: [rides("distance"), *distances(), done(96)]),
    "distribution-live": State(lambda: [rides("distance", mode="live", periods=None), *without_truth(distances())]),
    "items": State(items),
    "tables": State(tables),
    "sums": State(
        whole_sums, lambda page: page.until(f"{DRAWN} && [...panels.values()].every((p) => p.stretch.totals.length)")
    ),
    "recorded": State(lambda: [hello(recorded=True), *releases(periods=96), done(96)]),
    "many-streams": State(many_streams),
    "leaderboard": State(lambda: whole_search()[:139]),
    "leaderboard-chosen": State(whole_search, chosen),
    "leaderboard-live": State(
        lambda: [header(None, mode="live"), *({**frame, "truth": None} for frame in searches(61))]
    ),
    "leaderboard-empty": State(lambda: whole_search(60, quiet=range(42, 60))),
    "leaderboard-lines": State(whole_search, showing("lines")),
    "explained": State(lambda: list(whole_run()), explained),
}
