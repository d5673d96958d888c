# SPDX-License-Identifier: Apache-2.0
"""Every sentence that a user is told about mixing stands where the census says, and names tests that there are.

The census is the last table of docs/MIXING.md.  A file that speaks to users of what mixing is worth must be in it.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROW = re.compile(r"^\| (?P<said>[^|]+) \| (?P<where>[^|]+) \| (?P<tests>[^|]+) \|$", re.M)
PAGE = (ROOT / "docs/MIXING.md").read_text(encoding="utf-8").split("## What is said, and where it follows from")[1]
CENSUS = [row.groupdict() for row in ROW.finditer(PAGE) if not row["said"].startswith(("said", "---"))]
SPEAKING = (
    "README.md", "docs/THREATS.md", "agents/mixed_claims.py", "config/explain_mixed.py", "agents/web/static/values.js",
    "agents/cli/account.py", "agents/cli/remarks.py", "agents/cli/status.py", "agents/replay/score.py",
    "topics/promises.py",
)  # fmt: skip
"""The files whose words about mixing users read."""
CLAIMS = re.compile(
    r"mixing zone|hide (?:each|one an)other|after mixing|honest reports|mixing (?:makes|adds)|others' rep|claims add",
    re.I,
)
"""Words by which a sentence says what mixing is worth."""


def plain(text: str) -> str:
    """A text as one line without what marks up or joins it."""
    return re.sub(r"\s+", " ", re.sub(r"[\"`*]|\$\{[^}]*\}|(?<=\s)f(?=\")", " ", text)).strip()


def of_file(name: str) -> str:
    return plain((ROOT / name).read_text(encoding="utf-8"))


def test_the_census_has_rows() -> None:
    assert len(CENSUS) >= 10


@pytest.mark.parametrize("row", CENSUS, ids=lambda row: row["said"][:40])
def test_each_sentence_of_the_census_is_said_and_follows_from_tests(row: dict[str, str]) -> None:
    for place in row["where"].split(", "):
        assert plain(row["said"]) in of_file(place.strip("` ")), place
    for name in row["tests"].split(", "):
        file, _, test = name.strip("` ").partition("::")
        text = (ROOT / file).read_text(encoding="utf-8")
        assert not test or f"def {test}(" in text, name


@pytest.mark.parametrize("name", SPEAKING)
def test_no_file_that_speaks_to_users_says_more_of_mixing_than_the_census(name: str) -> None:
    if not CLAIMS.search((ROOT / name).read_text(encoding="utf-8")):
        return
    assert any(name in row["where"] for row in CENSUS), name
