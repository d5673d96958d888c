# SPDX-License-Identifier: Apache-2.0
"""Fingerprints of a deployment's secrets, from the secrets that can be read here and from lists made elsewhere.

Contract: a list is what `murmurate keys fingerprint` prints, or the file that `murmurate keys new` writes: a line a
secret, its name and 16 hexadecimal digits, and whatever else stands behind them.  Two that contradict each other are a
mistake, and none is guessed.  Not here: reading secrets (config/secrets.py).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from murmurate.agents.cli.deployment import MISTAKES
from murmurate.config.errors import ConfigError
from murmurate.config.secrets import NAMES, fingerprints, readable
from murmurate.config.settings import Deployment
from murmurate.errors import UsageError

FORM = re.compile(r"([a-z]+)\s+([0-9a-f]{16})(\s.*)?")
STDIN = "-"


def known_fingerprints(deployment: Deployment, lists: Sequence[str]) -> dict[str, str]:
    """All that are known here. `lists`: paths, or "-". Exit 2 with a line for each secret that cannot be used."""
    try:
        found = fingerprints(readable(deployment), deployment.name)
    except ConfigError as error:
        click.echo(str(error), err=True)
        sys.exit(MISTAKES)
    for path in lists:
        try:
            text = sys.stdin.read() if path == STDIN else Path(path).read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise UsageError(f"--fingerprints: {path}: {error.strerror}; allowed: a file, or - for stdin") from None
        for name, shown in listed(text).items():
            if found.setdefault(name, shown) != shown:
                raise UsageError(
                    f"--fingerprints: secrets.{name}: found {shown}, and {found[name]} elsewhere; allowed: one"
                )
    return found


def listed(text: str) -> Mapping[str, str]:
    """The fingerprints in a list."""
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        match = FORM.fullmatch(line.strip())
        if match is not None and match[1] in NAMES:
            found[match[1]] = match[2]
        elif line.strip():
            raise UsageError(
                f"--fingerprints: line {number}: found no secret with its fingerprint; allowed: lines such as "
                '"pepper 0123456789abcdef"'
            )
    return found
