# SPDX-License-Identifier: Apache-2.0
"""Releases as subscribers read them: keyed by their stream, and row by row where the file asks for a table.

Contract: the rows of a release are in the same transaction as the release itself, and a row whose name a stream's
newest release has found no more is deleted; a revision of an older period changes no row.  Source: docs/WIRE.md,
"Releases".  Not here: what a release says (release.py), whose turn it is (publish.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from murmurate.agents.stages.stage import Log, Out
from murmurate.topics.codec import encode
from murmurate.topics.latest import latest_key, latest_rows
from murmurate.topics.release import Release

LATEST: Final = "releases.latest"
"""The compacted topic with a row of each stream and name."""


class ReleasedRecords:
    """The records of releases of one partition. `latest`: whether there are rows too."""

    def __init__(self, partition: int, *, latest: bool) -> None:
        self._releases, self._rows, self._latest = Log("releases", partition), Log(LATEST, partition), latest
        self._found: dict[str, list[str]] = {}  # of streams whose names are found: those that have rows

    def records(self, release: Release, *, newest: bool = True) -> list[Out]:
        """The record of a release, and if it is its stream's newest one the rows that it changes."""
        out = [Out(self._releases, encode(release), release.stream.encode())]
        if not (self._latest and newest):
            return out
        gone = [name for name in self._found.pop(release.stream, ()) if name not in release.estimate]
        if release.names is not None:
            self._found[release.stream] = list(release.estimate)
        out += [Out(self._rows, b"", latest_key(release.stream, name)) for name in gone]
        return out + [Out(self._rows, encode(row), row.key) for row in latest_rows(release)]

    def kept(self) -> dict[str, list[str]]:
        """What a successor has to know."""
        return self._found

    def restore(self, kept: Mapping[str, list[str]]) -> None:
        """Take over from a predecessor."""
        self._found = {stream: list(names) for stream, names in kept.items()}
