# SPDX-License-Identifier: Apache-2.0
"""The blocks of the documentation's pages, and how each says what becomes of it.

Contract: a block's first word says what it is: `console` holds commands after "$ " and what they print, `python` and
`pycon` programs, `toml` parts of a deployment file, `text` and `mermaid` output and drawings.  A second word `measured`
marks commands of long runs with what they printed then.  A file's name after `python` is the one that a reader saves.
A comment `run by PATH` in front of a block, or `blocks run by PATH` for all that follow on the page, names the test
that runs it; `not run: REASON` says what it takes.  Not here: running them (test_pages.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("README.md", "CONTRIBUTING.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md"))))
SHOWN = ("text", "mermaid")
"""What is looked at, and never run."""


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    page: str
    line: int
    kind: str
    words: tuple[str, ...]
    """What follows the kind."""
    text: str
    run_by: str | None
    """The file of tests that a comment names."""
    needs: str | None
    """Why nothing runs it, in the words of a comment."""

    @property
    def measured(self) -> bool:
        return "measured" in self.words

    @property
    def ours(self) -> bool:
        """Whether test_pages.py has to run it."""
        return not (self.kind in SHOWN or self.measured or self.run_by or self.needs)

    @property
    def commands(self) -> list[str]:
        """What follows each "$ ", with the lines that a here-document or a backslash adds."""
        found: list[str] = []
        ending: str | None = None
        for line in self.text.splitlines():
            if ending is not None:
                found[-1] += "\n" + line
                ending = None if line == ending else ending
            elif line.startswith("$ "):
                found.append(line.removeprefix("$ "))
                said = re.search(r"<<'?(\w+)'?", line)
                ending = said[1] if said else None
        return found


def blocks(page: str) -> Iterator[Block]:
    """Every fenced block of a page, in order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    everywhere: str | None = None
    pattern = re.compile(
        r"^<!-- (?P<comment>(?:blocks )?run by [^>]+|not run: [^>]+) -->$"
        r"|^ *```(?P<info>[^\n`]*)\n(?P<body>.*?)^ *```$",
        re.MULTILINE | re.DOTALL,
    )
    pending, end = "", 0
    for found in pattern.finditer(text):
        if pending and text[end : found.start()].strip():
            pending = ""  # prose between a comment and a block
        end = found.end()
        if (comment := found["comment"]) is not None:
            if comment.startswith("blocks run by "):
                everywhere = comment.removeprefix("blocks run by ")
            else:
                pending = comment
            continue
        kind, *words = found["info"].split() or [""]
        run_by = pending.removeprefix("run by ") if pending.startswith("run by ") else everywhere
        needs = pending.removeprefix("not run: ") if pending.startswith("not run: ") else None
        line = text[: found.start()].count("\n") + 1
        yield Block(page, line, kind, tuple(words), found["body"], None if needs else run_by, needs)
        pending = ""


def everything() -> list[Block]:
    """All blocks of all pages."""
    return [block for page in PAGES for block in blocks(page)]
