"""Without a chromium the tests fail, and say what to install."""

import pytest

from tests.browser.chromium import ChromiumError, executable


def test_a_missing_chromium_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MURMURATE_CHROMIUM", "no-such-browser")
    with pytest.raises(ChromiumError, match=r"^no chromium: apt-get install chromium, or set MURMURATE_CHROMIUM"):
        executable()
