# SPDX-License-Identifier: Apache-2.0
"""A report is one file: it fetches nothing, runs nothing but its own script, and no text in it becomes markup."""

import base64
import hashlib
import json
import re

from murmurate.agents.web.report import report_html
from tests.agents.web.frames import hello, whole_run

HOSTILE = "</script><script>alert(1)</script><!--\u2028&amp;"


def data(page: str) -> object:
    found = re.search(r'<script type="application/json" id="frames">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])


def test_the_frames_come_back_as_they_went_in() -> None:
    frames = list(whole_run(periods=5))
    assert data(report_html(frames)) == frames


def test_hostile_text_stays_text() -> None:
    frames = [hello((HOSTILE, "a"), promise=[HOSTILE], deployment=HOSTILE)]
    page = report_html(frames)
    assert HOSTILE not in page
    assert "alert(1)" in page
    assert data(page) == frames
    assert page.count("<script") == report_html([hello()]).count("<script")


def test_nothing_is_fetched_and_only_its_own_script_may_run() -> None:
    page = report_html(whole_run(periods=5))
    assert not re.findall(r'\b(?:src|href)="(?!#)', page)
    assert not re.findall(r"@import|url\(", page)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy
    for kind, text in re.findall(r"<(script|style)>(.*?)</\1>", page, re.DOTALL):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy[1], kind


def test_the_same_frames_give_the_same_report() -> None:
    assert report_html(whole_run(periods=5)) == report_html(whole_run(periods=5))
