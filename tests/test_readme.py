# SPDX-License-Identifier: Apache-2.0
"""The README's commands are there: its targets and verbs exist (what it shows is run by test_pages.py)."""

import re
from pathlib import Path

import click

from murmurate.agents.cli.main import command

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_make_target_in_the_readme_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(re.findall(r"`make ([a-z]+)", README))
    assert named
    assert named <= targets


def test_every_verb_in_the_readme_exists() -> None:
    verbs = set(command.list_commands(click.Context(command)))
    named = set(re.findall(r"\$ murmurate ([a-z]+)", README))
    assert named
    assert named <= verbs
