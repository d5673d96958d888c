# SPDX-License-Identifier: Apache-2.0
"""Whatever code and pages cite stands in this repository: rules, sections, errata, pages, headings and files.

Contract: a citation of docs/ARCHITECTURE.md is "ARCHITECTURE rule 9", "ARCHITECTURE sections 5.3 and 5.4" or
"ARCHITECTURE erratum E2"; more may follow ("ARCHITECTURE section 5.3, erratum E3").  Not here: what a page says of
functions, topics and commands (test_docs.py).
"""

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = "docs/ARCHITECTURE.md"
NUMBERS = {"rule": r"\d+", "section": r"\d(?:\.\d+)?", "erratum": r"[EC]\d+"}
WORDS = {"rules": "rule", "sections": "section", "errata": "erratum"}
ONE = "|".join(
    rf"(?:{word}s?|errata) (?:{number}|ARCHITECTURE)(?:(?:, and |, | to | and )(?:{number})(?!\w))*"
    for word, number in NUMBERS.items()
)
CITATION = re.compile(rf"ARCHITECTURE (?:{ONE})(?:(?:, and |, |; | and )(?:{ONE}))*")
FILE = re.compile(r"(?<![\w./-])[\w-]+(?:/[\w.-]+)*\.(?:py|md|js|html|css|sh)\b(?!\.)")
WRITTEN = {"report.html"}
"""What the product writes by that name."""
STALE = re.compile(r"\bDESIGN\b|\b(?:streams|streaming|dissertation|filter|trust|vectors|shape|rounds_loop)\.md\b")
"""Papers of whoever wrote this, which no reader has."""


@cache
def tracked() -> tuple[str, ...]:
    git = shutil.which("git")
    assert git
    listed = subprocess.run([git, "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return tuple(name for name in listed.split("\0") if (ROOT / name).is_file())


def sources(*endings: str) -> list[str]:
    return [name for name in tracked() if name.endswith(endings) and not name.startswith("tests/foreign/")]


@cache
def said(name: str) -> str:
    """Of a page all of it, of code its docstrings and comments; in one line."""
    text = (ROOT / name).read_text(encoding="utf-8")
    if not name.endswith(".py"):
        return " ".join(text.split())
    parts = re.findall(r'"""(.*?)"""', text, re.DOTALL) + re.findall(r"(?:^\s*|  )# (.*)$", text, re.MULTILINE)
    return " ".join(" ".join(parts).split())


@cache
def known() -> dict[str, frozenset[str]]:
    """What the page has: rules and sections by their headings, errata by the first cell of their rows."""
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    return {
        "rule": frozenset(re.findall(r"^#+ Rule (\d+) ", text, re.M)),
        "section": frozenset(re.findall(r"^#+ (\d(?:\.\d+)?) ", text, re.M)),
        "erratum": frozenset(re.findall(r"^\| ([EC]\d+) \|", text, re.M)),
    }


def cited(text: str) -> set[tuple[str, str]]:
    """(rule | section | erratum, number) of every citation; "4 to 8" are all of them."""
    found = set()
    for whole in CITATION.findall(text):
        word = ""
        for part in re.findall(r"[a-z]+|[EC]?\d+(?:\.\d+)?", whole.replace("ARCHITECTURE", "")):
            if part in NUMBERS or part in WORDS:
                word = WORDS.get(part, part)
            elif part not in ("to", "and"):
                found.add((word, part))
        for first, last in re.findall(r"(\d+) to (\d+)", whole):
            found |= {("rule", str(number)) for number in range(int(first), int(last) + 1)}
    return found


def missing(text: str) -> set[tuple[str, str]]:
    """What a text cites and the page does not have; and a citation that cannot be read."""
    lost = {(word, number) for word, number in cited(text) if number not in known()[word]}
    read = len(CITATION.findall(text))
    named = len(re.findall(r"(?<!docs/)\bARCHITECTURE\b(?!\.md)", text))
    return lost | ({("citation", f"{named - read} that nobody can read")} if named != read else set())


def test_every_rule_section_and_erratum_that_code_cites_stands_on_the_page() -> None:
    own = "tests/test_citations.py"
    wrong = {name: lost for name in sources(".py", ".toml") if name != own and (lost := missing(said(name)))}
    assert not wrong
    assert sum(bool(cited(said(name))) for name in sources(".py")) > 90


def test_the_page_points_only_to_itself() -> None:
    text = said(PAGE)
    lost = {("erratum", number) for number in re.findall(r"errat(?:um|a) ([EC]\d+)", text)}
    lost |= {("rule", number) for number in re.findall(r"rules? (\d+)", text)}
    lost |= {("section", number) for number in re.findall(r"\(section (\d\.\d+)\)", text)}
    assert {(word, number) for word, number in lost if number not in known()[word]} == set()


def test_the_rules_are_numbered_without_a_gap_and_errata_are_cited() -> None:
    rules = re.findall(r"^#### Rule (\d+) ", (ROOT / PAGE).read_text(encoding="utf-8"), re.M)
    assert [int(number) for number in rules] == list(range(1, len(rules) + 1))
    used = {number for name in sources(".py") for word, number in cited(said(name)) if word == "erratum"}
    assert known()["erratum"] == used


def test_a_citation_of_what_is_not_there_is_seen() -> None:
    assert missing("ARCHITECTURE rules 1, 2 and 99") == {("rule", "99")}
    assert missing("(ARCHITECTURE section 5.99, erratum E2)") == {("section", "5.99")}
    assert missing("ARCHITECTURE rules 4 to 8 and 14; sections 5.3 and 5.4. ARCHITECTURE errata E7 and E88") == {
        ("erratum", "E88")
    }
    assert ("rule", "6") in cited("ARCHITECTURE rules 4 to 8")
    assert missing("ARCHITECTURE, second part") == {("citation", "1 that nobody can read")}


def test_nothing_cites_a_paper_of_ours_that_no_reader_has() -> None:
    names = set(sources(".py", ".toml", ".md", ".js", "Makefile")) - {"tests/test_citations.py"}
    text = {name: (ROOT / name).read_text(encoding="utf-8") for name in names}
    assert {name: found for name, whole in text.items() if (found := STALE.findall(whole))} == {}


@cache
def endings() -> frozenset[str]:
    """Every tracked file under each way of naming it: its path, and its path without some folders in front."""
    parts = [Path(name).parts for name in tracked()]
    return frozenset("/".join(each[at:]) for each in parts for at in range(len(each)))


def test_every_file_that_code_speaks_of_exists() -> None:
    here = endings() | WRITTEN
    wrong = {name: lost for name in sources(".py") if (lost := set(FILE.findall(said(name))) - here)}
    assert not wrong


def slug(heading: str) -> str:
    """How a heading is linked to, as GitHub and most readers do it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower().replace("`", "")).replace(" ", "-")


def headings(name: str) -> list[str]:
    text = re.sub(r"^```.*?^```", "", (ROOT / name).read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"^#+ (.+)$", text, re.M)


@pytest.mark.parametrize("name", sources(".md"))
def test_every_link_of_a_page_leads_to_a_file_and_a_heading(name: str) -> None:
    text = re.sub(r"^```.*?^```", "", (ROOT / name).read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    lost = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        page, _, anchor = target.partition("#")
        if "://" in target:
            continue
        path = (ROOT / name).parent / page if page else ROOT / name
        if not path.exists() or (anchor and anchor not in map(slug, headings(str(path.resolve().relative_to(ROOT))))):
            lost.append(target)
    assert lost == []


def test_every_heading_that_a_page_or_code_quotes_exists() -> None:
    quoted = re.compile(r"([A-Z_]+\.md)(?:\]\([^)]*\))?,? \(?\"([A-Z][^\"]+)\"")
    found = [(name, *pair) for name in sources(".py", ".md") for pair in quoted.findall(said(name))]
    here = {Path(name).name: headings(name) for name in sources(".md")}
    assert [(name, page, title) for name, page, title in found if title not in here.get(page, [])] == []
    assert found
