# SPDX-License-Identifier: Apache-2.0
"""Without a chromium the tests fail and say what to install; what it is asked too early it is asked again."""

import pytest

from tests.browser.chromium import ChromiumError, executable
from tests.browser.conftest import Opened


def test_a_missing_chromium_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MURMURATE_CHROMIUM", "no-such-browser")
    with pytest.raises(ChromiumError, match=r"^no chromium: apt-get install chromium, or set MURMURATE_CHROMIUM"):
        executable()


def test_what_cannot_be_asked_is_waited_for_and_said_if_it_stays_so(tab: Opened) -> None:
    page = tab()
    page.run("setTimeout(() => { window.later = { here: true }; }, 50)")
    page.until("later.here")
    with pytest.raises(ChromiumError, match=r"in vain for: nothing\.here: ReferenceError"):
        page.until("nothing.here", 0.1)
    with pytest.raises(ChromiumError, match="in vain for: 1 > 2: it was false"):
        page.until("1 > 2", 0.1)
