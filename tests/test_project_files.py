# SPDX-License-Identifier: Apache-2.0
"""CITATION.cff, CHANGELOG, SECURITY and the page about stability say what is so, and what they link to is there."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from murmurate.agents.cli import ending

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PAGES = ("CHANGELOG.md", "SECURITY.md", "docs/COMMANDS.md", "docs/STABILITY.md")
REQUIRED = {"cff-version", "message", "title", "authors"}
ALLOWED = REQUIRED | {
    "abstract", "commit", "contact", "date-released", "doi", "identifiers", "keywords", "license", "license-url",
    "preferred-citation", "references", "repository", "repository-artifact", "repository-code", "type", "url",
    "version",
}  # fmt: skip
"""The keys of the schema of citation files, version 1.2.0."""
PERSON, ENTITY = {"given-names", "family-names"}, {"name"}


def text(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def citation() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(text("CITATION.cff"))
    return found


def mistakes(cited: dict[str, Any]) -> list[str]:
    """What the schema of citation files would refuse."""
    found = [f"{key} is missing" for key in sorted(REQUIRED - cited.keys())]
    found += [f"{key} is no key" for key in sorted(cited.keys() - ALLOWED)]
    found += [
        f"{key} is no text" for key in ("message", "title", "abstract") if not isinstance(cited.get(key, ""), str)
    ]
    authors = cited.get("authors")
    if not isinstance(authors, list) or not authors:
        return [*found, "authors is no list"]
    return found + [f"{one} is no author" for one in authors if not (one.keys() >= PERSON or one.keys() >= ENTITY)]


def test_the_citation_file_has_the_keys_of_its_schema_and_the_projects_version() -> None:
    cited = citation()
    assert mistakes(cited) == []
    assert (cited["cff-version"], cited["type"]) == ("1.2.0", "software")
    assert (cited["version"], cited["license"]) == (PROJECT["version"], PROJECT["license"])
    assert [one["name"] for one in cited["authors"]] == [one["name"] for one in PROJECT["authors"]]
    assert PROJECT["urls"].get("Source") == cited.get("repository-code")


@pytest.mark.parametrize("wrong", [{"title": None}, {"titel": "x"}, {"authors": []}, {"authors": [{"nick": "x"}]},
                                   {"message": 3}])  # fmt: skip
def test_a_citation_file_that_is_wrong_would_be_seen(wrong: dict[str, Any]) -> None:
    cited = citation() | wrong
    assert mistakes({key: value for key, value in cited.items() if value is not None})


def test_the_newest_entry_of_the_changelog_is_the_projects_version() -> None:
    versions = re.findall(r"^## (?:Unreleased \()?([0-9]+\.[0-9]+\.[0-9]+)\)?", text("CHANGELOG.md"), re.MULTILINE)
    assert versions
    assert versions[0] == PROJECT["version"]
    order = [tuple(map(int, version.split("."))) for version in versions]
    assert order == sorted(order, reverse=True)
    headings = set(re.findall(r"^### (.+)$", text("CHANGELOG.md"), re.MULTILINE))
    assert headings <= {"Added", "Changed", "Removed", "Repaired"}


@pytest.mark.parametrize("page", PAGES)
def test_what_the_pages_link_to_is_there(page: str) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", text(page)):
        path, _, anchor = target.partition("#")
        file = (ROOT / page).parent / path if path else ROOT / page
        assert file.is_file(), target
        headings = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
        known = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
        assert not anchor or anchor in known, target


@pytest.mark.parametrize("page", ["docs/COMMANDS.md", "docs/STABILITY.md"])
def test_the_exit_codes_of_the_pages_are_those_of_the_command_line(page: str) -> None:
    (table,) = re.findall(r"^\| code \| means \|\n(.*?)\n\n", text(page), re.DOTALL | re.MULTILINE)
    told = {int(code) for cell in re.findall(r"^\| ([0-9, ]+) \|", table, re.MULTILINE) for code in cell.split(",")}
    ours = {ending.FAILED, ending.USAGE, ending.BROKER, ending.INTERRUPTED, ending.TERMINATED, ending.UNREAD}
    assert told == ours | {0, 4}


def test_the_page_about_stability_names_everything_that_others_build_on() -> None:
    page = text("docs/STABILITY.md")
    for name in ("WIRE.md", "schema = 1", "MURMURATE__", "metrics", "/v1/", "--json", "murmurate.randomizers"):
        assert name in page


def test_security_says_what_to_write_and_promises_no_address_that_nobody_reads() -> None:
    page = text("SECURITY.md")
    assert "murmurate --version" in page
    assert not re.search(r"[\w.]+@[\w.]+|https?://", page)
