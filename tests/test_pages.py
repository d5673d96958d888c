# SPDX-License-Identifier: Apache-2.0
"""Every command and code block of the documentation is run: here, in order, in an empty folder for each page, or by the
test that a comment in front of it names; or it says that it is output, or what it takes to run it (page_blocks.py).
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
import tomllib
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from murmurate.config.loader import build
from murmurate.config.planning import plan
from tests.agents.commands import CLEAN, murmurate
from tests.config.deployments import small
from tests.page_blocks import PAGES, ROOT, SHOWN, Block, everything

RUN = ("console", "python", "pycon", "toml")
"""What this file can run."""
ALL = everything()
TYPED = [
    block for block in ALL if block.ours and block.kind in ("console", "python") and not block.text.startswith(">>> ")
]
OURS = sorted({block.page for block in TYPED})
DOCTESTED = [page for page in PAGES if ">>> " in (ROOT / page).read_text(encoding="utf-8")]


def where(block: Block) -> str:
    return f"{block.page}:{block.line}"


def test_every_block_says_what_becomes_of_it() -> None:
    unmarked = [where(block) for block in ALL if block.ours and block.kind not in RUN]
    assert unmarked == [], "neither run, nor marked as output: see tests/page_blocks.py"
    assert len(ALL) > 150


def test_the_test_that_a_block_names_reads_that_page() -> None:
    for block in ALL:
        if block.run_by:
            path = ROOT / block.run_by
            assert path.is_file(), where(block)
            assert Path(block.page).name in path.read_text(encoding="utf-8"), where(block)


def test_only_what_needs_another_program_or_network_is_not_run() -> None:
    assert {block.kind for block in ALL if block.needs} <= {"sh"}
    assert all(block.needs is None or len(block.needs) > 10 for block in ALL)


def test_a_command_of_a_long_run_still_exists() -> None:
    for block in ALL:
        if block.measured:
            assert block.commands, where(block)
            for line in block.commands:
                if found := re.match(r"python -m (benchmarks\.\w+)", line):
                    assert (ROOT / found[1].replace(".", "/")).with_suffix(".py").is_file(), where(block)


@pytest.mark.parametrize("page", DOCTESTED)
def test_the_examples_at_a_prompt_are_true(page: str) -> None:
    found = doctest.testfile(str(ROOT / page), module_relative=False, report=True)
    assert found.attempted
    assert found.failed == 0


@pytest.mark.parametrize("block", [one for one in ALL if one.kind == "toml" and one.ours], ids=where)
def test_every_part_of_a_deployment_file_is_one(block: Block) -> None:
    """Added to a small deployment; a stream that it changes in part is the small one's."""
    said = tomllib.loads(block.text)
    changes: dict[str, Any] = {key: value for key, value in said.items() if key != "streams"}
    if "streams" in said:
        own = small()["streams"]["screen"] | {"values": ["home", "search", "basket", "checkout", "help"]}
        changes["streams"] = {
            name: stream if "every" in stream else own | stream for name, stream in said["streams"].items()
        }
    if "privacy" in said:
        changes["privacy"] = small()["privacy"] | said["privacy"]
    plan(build(small(**changes)))


class Reader:
    """Somebody who types what a page says, in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.said = ""
        """What everything so far has printed."""

    def read(self, block: Block) -> None:
        if block.kind == "console":
            for line in block.commands:
                self.type(line)
        else:
            with chdir(self.folder), redirect_stdout(StringIO()) as out:
                exec(compile(block.text, where(block), "exec"), self.names)  # noqa: S102 - our own page
            self.said += out.getvalue()

    def type(self, line: str) -> None:
        """A line: our own verbs in this process, which saves starting one each time, everything else in a shell."""
        line = re.sub(r"\s+# .*", "", line) if "\n" not in line else line
        if plain := re.fullmatch(r"cd (\S+)", line):
            self.folder = self.folder / plain[1]
        elif re.fullmatch(r"murmurate [^|<>&;]*", line):
            done = murmurate(*shlex.split(line)[1:], cwd=self.folder)
            assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
            self.said += done.stdout
        else:
            self.shell(line)

    def shell(self, line: str) -> None:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        done = subprocess.run(
            ["/bin/sh", "-c", line], cwd=self.folder, env=CLEAN | {"PATH": path}, capture_output=True, text=True,
            check=False, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        self.said += done.stdout


@pytest.mark.parametrize("page", OURS)
def test_what_a_page_says_can_be_typed_in_its_order(page: str, tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    for block in TYPED:
        if block.page == page:
            reader.read(block)


@pytest.mark.audit
def test_the_hour_of_the_readme_is_typed_into_one_shell(tmp_path: Path) -> None:
    """As a stranger does it: an empty folder, `murmurate` and `python` on the path, one shell."""
    typed = ["set -e"]
    for block in TYPED:
        if block.page == "README.md":
            program = [f"python - <<'END_OF_BLOCK'\n{block.text}END_OF_BLOCK"]
            typed += block.commands if block.kind == "console" else program
    Reader(tmp_path).shell("\n".join(typed))


def test_a_block_that_nobody_marked_is_seen() -> None:
    bare = Block("README.md", 1, "", (), "murmurate fly\n", None, None)
    assert bare.ours
    assert bare.kind not in (*RUN, *SHOWN)
    typed = Block("README.md", 1, "console", (), "$ cat > a <<'END'\n$ b\nEND\n$ murmurate check\nok\n", None, None)
    assert typed.commands == ["cat > a <<'END'\n$ b\nEND", "murmurate check"]


def test_no_command_hides_in_an_indented_block() -> None:
    for page in PAGES:
        prose = re.sub(
            r"^ *```.*?^ *```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
        )
        assert re.findall(r"^    (?:\$|make|murmurate|python|pip) .*", prose, re.MULTILINE) == [], page
