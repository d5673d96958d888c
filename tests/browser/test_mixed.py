# SPDX-License-Identifier: Apache-2.0
"""What the mixing is worth stands beside the promise: against whom, and on demand with how many reports."""

import json
from pathlib import Path
from typing import Any

import pytest

from murmurate.agents.mixed_claims import REASONS, claim_words, known_words, mixed_words, together_words
from murmurate.agents.web.feed import Feed
from murmurate.agents.web.report import report_html
from murmurate.agents.web.server import RunningServer
from tests.agents.web.frames import MIXED, hello, releases, whole_run
from tests.browser.chromium import Page
from tests.browser.conftest import Opened
from tests.browser.test_page import SETTLED, opened, put

FRAMES = list(releases(periods=12))
FACTS = """Object.fromEntries([...document.querySelectorAll('.privacy dt')]
    .map((dt) => [dt.innerText, dt.nextElementSibling.innerText]))"""
NAMED = "[...document.querySelectorAll('.privacy dt')].map((dt) => dt.innerText)"
LARGER = MIXED | {"epsilon": 0.3, "n": 300}
ALONE = {"epsilon": 0.211, "delta": 1e-8}
FAKED = MIXED | {"bound": "fakes", "fakes": 1000, "against_users": ALONE}


def claiming(frame: dict[str, Any], shuffled: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    privacy = frame["release"]["privacy"] | {"shuffled": shuffled, **more}
    return frame | {"release": frame["release"] | {"privacy": privacy}}


def fact(page: Page, name: str = "After mixing") -> str:
    return str(page.run(FACTS)[name])


@pytest.mark.parametrize("width", [pytest.param(1280, marks=pytest.mark.audit), 400])
def test_beside_the_promise_stands_what_mixing_is_worth_against_whom_and_on_demand_why(
    feed: Feed, site: RunningServer, tab: Opened, width: int
) -> None:
    put(feed, [hello(mode="live", periods=None), *({**frame, "truth": None} for frame in FRAMES[:6])])
    page = opened(tab, site, width)
    assert page.run(NAMED)[:2] == ["Promise", "After mixing"]
    assert fact(page) == claim_words(MIXED)
    page.run("document.querySelector('.privacy summary').focus()")
    page.press("Enter")
    page.until("document.querySelector('.privacy details').open")
    told = "In the smallest round that counts, 3\u202f870 honest reports hide each other, if at most 10\u202f% of"
    assert told in fact(page)
    assert "\u201cblanket\u201d" in fact(page)
    assert page.run("document.documentElement.scrollWidth") <= width
    put(feed, [{**claiming(FRAMES[6], LARGER), "truth": None}])
    page.until(f"{SETTLED} && document.querySelector('.privacy summary').innerText.includes('0.3 ')")
    assert "300 honest reports" in fact(page)  # it stays open, and the keyboard where it was
    assert page.run("document.activeElement.tagName") == "SUMMARY"


def with_fakes(frame: dict[str, Any]) -> dict[str, Any]:
    """The frame as if the mixing zone had added fakes to the round."""
    named = {"name": "faked", "fakes": 1000, "mechanism": "olh", "epsilon": 1.0, "digest": "0d6b1f2a55c3e790"}
    claims = claiming(frame, FAKED)
    return claims | {"release": claims["release"] | {"mechanism": named}}


@pytest.mark.parametrize("width", [1280, 400])
def test_with_fakes_the_mechanism_has_its_own_name_and_both_claims_stand_side_by_side(
    feed: Feed, site: RunningServer, tab: Opened, width: int
) -> None:
    put(feed, [hello(), *(with_fakes(frame) for frame in FRAMES[:6])])
    page = opened(tab, site, width)
    assert fact(page, "Mechanism") == "olh, epsilon = 1, 1\u202f000 fake reports a round"
    assert page.run(NAMED)[:3] == ["Promise", "After mixing", "Others known"]
    assert (fact(page), fact(page, "Others known")) == (claim_words(FAKED), known_words(ALONE))
    page.run("document.querySelectorAll('.privacy details').forEach((more) => { more.open = true; })")
    assert "3\u202f870 honest reports and 1\u202f000 fake ones hide each other" in fact(page)
    assert "The mixing zone adds 1\u202f000 fake reports to each round" in fact(page, "Others known")
    assert page.run("document.documentElement.scrollWidth") <= width
    few = {"epsilon": 1.0, "delta": 0.0}
    put(feed, [claiming(with_fakes(FRAMES[6]), FAKED | {"against_users": few})])
    page.until(f"{SETTLED} && document.querySelector('.privacy').innerText.includes('too few')")
    assert fact(page, "Others known") == known_words(few)


@pytest.mark.parametrize("reason", REASONS)
def test_where_nothing_is_claimed_the_page_says_why_in_the_words_of_the_commands(
    feed: Feed, site: RunningServer, tab: Opened, reason: str
) -> None:
    last = claiming(FRAMES[1], None, unshuffled=reason)
    put(feed, [hello(), FRAMES[0], last])
    page = opened(tab, site)
    assert fact(page) == mixed_words(last["release"])
    assert page.run("document.querySelector('.privacy details')") is None
    put(feed, [FRAMES[2]])
    page.until(f"{SETTLED} && document.querySelector('.privacy summary')")
    assert fact(page) == claim_words(MIXED)


def test_numbers_are_shown_as_the_commands_show_them_and_never_smaller_than_they_are(
    feed: Feed, site: RunningServer, tab: Opened
) -> None:
    put(feed, [hello(), FRAMES[0]])
    page = opened(tab, site)
    for epsilon, delta in ((0.30000000000000004, 5e-4), (7.59e-5, 1e-12), (1.18, 1e-4), (0.0999951, 2.5e-7), (2, 1e-8)):
        claim = MIXED | {"epsilon": epsilon, "delta": delta}
        assert page.run(f"claimed({json.dumps(claim)})[0]") == claim_words(claim)


def test_where_mixing_adds_nothing_or_a_release_says_nothing_of_it_that_is_said(
    feed: Feed, site: RunningServer, tab: Opened
) -> None:
    local = MIXED | {"epsilon": 1.0, "delta": 0.0, "n": 1, "bound": "local"}
    put(feed, [hello(), claiming(FRAMES[0], local)])
    page = opened(tab, site)
    assert fact(page) == claim_words(local)
    put(feed, [claiming(FRAMES[1], None)])
    page.until(f"{SETTLED} && panels.get('screen').periods.length === 2")
    page.until("document.querySelector('.privacy').innerText.includes('nothing is claimed')")
    assert fact(page) == "nothing is claimed"


def test_a_report_says_the_largest_claim_of_its_run(tmp_path: Path, tab: Opened) -> None:
    report = tmp_path / "report.html"
    frames = list(whole_run(periods=12))
    report.write_text(report_html(frames), encoding="utf-8")
    page = tab(400)
    page.offline()
    page.open(report.as_uri())
    page.until(SETTLED)
    largest = frames[-1]["summary"]["mixed"]["screen"]["shuffled"]
    assert fact(page, "Whole run") == f"after mixing at most {claim_words(largest)}"
    assert page.run("document.documentElement.scrollWidth") <= 400
    largest["against_users"] = ALONE
    report.write_text(report_html([with_fakes(one) if one["type"] == "release" else one for one in frames]), "utf-8")
    page.open(report.as_uri())
    page.until(SETTLED)
    assert fact(page, "Whole run") == f"after mixing at most {claim_words(largest)}; at most {known_words(ALONE)}"


def test_where_every_user_answers_for_all_streams_the_head_says_what_their_newest_claims_add_up_to(
    feed: Feed, site: RunningServer, tab: Opened
) -> None:
    (screen,) = hello()["streams"]
    streams = [screen, screen | {"name": "other"}]

    def other(at: int, claim: dict[str, Any] | None) -> dict[str, Any]:
        frame = claiming(FRAMES[at], claim)
        return frame | {"release": frame["release"] | {"stream": "other"}}

    put(feed, [hello(serve_all=True, streams=streams), FRAMES[0], other(0, None)])
    page = opened(tab, site, 400)
    assert page.run("$('together').hidden")  # one stream claims something
    small = MIXED | {"epsilon": 0.0201}
    for frame, claims in (
        (other(1, LARGER), (MIXED, LARGER)),
        (claiming(FRAMES[1], small), (small, LARGER)),
        (other(2, MIXED), (small, MIXED)),
    ):
        put(feed, [frame])
        words = f"2 streams together, for a user who answers for each: {together_words(claims)}."
        page.until(f"$('together').innerText.endsWith({json.dumps(words)})")
    assert page.run("document.documentElement.scrollWidth") <= 400
    assert page.run(f"together({json.dumps([LARGER, MIXED | {'epsilon': 0.1}, small])})") == together_words(
        [LARGER, MIXED | {"epsilon": 0.1}, small]
    )


def test_where_users_are_divided_claims_of_streams_are_not_added_up(
    feed: Feed, site: RunningServer, tab: Opened
) -> None:
    (screen,) = hello()["streams"]
    put(feed, [hello(streams=[screen, screen | {"name": "other"}]), FRAMES[0]])
    put(feed, [FRAMES[0] | {"release": FRAMES[0]["release"] | {"stream": "other"}}])
    page = opened(tab, site)
    assert page.run("$('together').hidden")
