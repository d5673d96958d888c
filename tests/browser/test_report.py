# SPDX-License-Identifier: Apache-2.0
"""`report.html` opens from disk without a network and shows what the page showed at its end."""

from pathlib import Path

import pytest

from murmurate.agents.web.report import report_html
from tests.agents.web.frames import hello, releases, whole_run
from tests.browser.conftest import Opened
from tests.browser.test_page import SETTLED, painted, rows, text


@pytest.mark.parametrize("width", [pytest.param(1280, marks=pytest.mark.audit), 400])
def test_a_report_opens_from_disk_without_a_network(tmp_path: Path, tab: Opened, width: int) -> None:
    report = tmp_path / "report.html"
    report.write_text(report_html(whole_run()), encoding="utf-8")
    page = tab(width)
    page.offline()
    page.open(report.as_uri())
    page.until(SETTLED)
    assert page.asked == [report.as_uri()]
    assert painted(page, 1) > 1000
    assert len(rows(page)) == 6
    assert "Finished" in text(page, "#status")
    assert page.run("document.documentElement.scrollWidth") <= width
    page.run("document.querySelector('.plot').focus()")
    page.press("Home")
    page.until(f"{SETTLED} && document.querySelector('caption').innerText.includes('00:00 to 00:05')")


def test_hostile_names_do_not_run_in_a_report(tmp_path: Path, tab: Opened) -> None:
    hostile = "</script><script>window.hit=1</script><img src=x onerror='window.hit=1'>"
    report = tmp_path / "report.html"
    frames = [hello((hostile, "b", "c"), 9, promise=[hostile]), *releases((hostile, "b", "c"), 9)]
    report.write_text(report_html(frames), encoding="utf-8")
    page = tab()
    page.open(report.as_uri())
    page.until(SETTLED)
    assert page.run("window.hit === undefined && document.images.length === 0")
    assert hostile in rows(page)
