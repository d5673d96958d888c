# SPDX-License-Identifier: Apache-2.0
"""Queries over releases that are in files or in memory: `murmurate.query`.

Contract: a file is read once, line by line, and never held whole; what is no release is named by its line.  The same
question over the same releases gives the same bytes as the verb `query` and the page's `/query` give.  Not here: the
answer itself (aggregators/queries), releases on Kafka (cli/query.py), the server (web/server.py).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from murmurate.aggregators.queries import ParsedQuery, QueryAnswer, ReleaseIndex
from murmurate.aggregators.queries import answer as answer_of
from murmurate.aggregators.queries.errors import ReleaseFormatError
from murmurate.errors import UsageError
from murmurate.topics.release import Release

RELEASES = "releases.jsonl"
Releases = ReleaseIndex | str | os.PathLike[str] | Iterable[bytes | str | Mapping[str, Any] | Release]
"""Where releases are: an index, the path of a file or of a folder that a replay wrote, or the records themselves."""


def query(
    releases: Releases, question: str | ParsedQuery, *, users: int | None = None, running: bool = False
) -> QueryAnswer:
    """The answer to a question over releases. QueryRefusedError where there is none.

    releases: for several questions an index, so that they are read once (`index_of`).  users: what sums and counts of
    a local stream are multiplied by, which are per user otherwise.  running: pieces of `every` all begin where the
    stretch does.
    """
    return answer_of(index_of(releases), question, users=users, running=running)


def index_of(releases: Releases) -> ReleaseIndex:
    """The index of releases, to ask several questions. ReleaseFormatError names what is no release."""
    if isinstance(releases, ReleaseIndex):
        return releases
    index = ReleaseIndex()
    if isinstance(releases, str | os.PathLike):
        path = Path(releases)
        _read(path / RELEASES if path.is_dir() else path, index)
        return index
    for number, record in enumerate(releases, 1):
        try:
            if isinstance(record, Release):
                index.add_line(record.canonical())
            elif isinstance(record, bytes | str):
                index.add_line(record)
            else:
                index.add(record)
        except ReleaseFormatError as error:
            raise ReleaseFormatError(f"releases, record {number}: {error}") from None
    return index


def _read(path: Path, index: ReleaseIndex) -> None:
    add, done = index.add_line, 0
    try:
        with path.open("rb", buffering=1 << 20) as file:
            for line in file:
                if line != b"\n":
                    add(line)
                done += 1
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or 'cannot be read'}; allowed: a file of releases") from None
    except ReleaseFormatError as error:
        raise ReleaseFormatError(f"{path.name}, line {done + 1}: {error}") from None
