# SPDX-License-Identifier: Apache-2.0
"""Releases from a file of JSON lines, such as a replay's releases.jsonl, which may still grow.

Contract: a line counts when its end is there, so that one which is being written is neither lost nor taken for a
mistake; at the end of a file that nobody follows a last line without an end counts if it is whole.  A file that was
written anew is read from its beginning.  A line that is no release is an error that names it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import BinaryIO, Final

from murmurate.agents.queries import RELEASES
from murmurate.aggregators.queries.errors import ReleaseFormatError
from murmurate.errors import UsageError
from murmurate.topics.codec import decode
from murmurate.topics.errors import WireError
from murmurate.topics.release import Release

LOOK_S: Final = 0.2
"""Between two looks at a file that grows."""
CHUNK: Final = 1 << 20


async def from_file(path: Path, *, follow: bool) -> AsyncIterator[Release | None]:
    """The releases of a file; None whenever all that is there has come."""
    path = path / RELEASES if path.is_dir() else path
    while True:
        try:
            file = path.open("rb")
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror or 'cannot be read'}; allowed: a file of releases") from None
        with file:
            async for found in _lines(file, path, follow=follow):
                yield found
        if not follow:
            return


async def _lines(file: BinaryIO, path: Path, *, follow: bool) -> AsyncIterator[Release | None]:
    """The releases of an open file, until another one stands in its place."""
    rest, number = b"", 0
    while True:
        chunk = file.read(CHUNK)
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            number += 1
            if line:
                yield _release(line, f"{path.name}, line {number}")
        if chunk:
            await asyncio.sleep(0)  # others have their turn while a large file is read
            continue
        if not follow:
            if rest and (found := _whole(rest)) is not None:
                yield found
            yield None
            return
        yield None
        await asyncio.sleep(LOOK_S)
        if _is_another(path, file):
            return


def _is_another(path: Path, file: BinaryIO) -> bool:
    """Whether the file was replaced, or cut off before where we are."""
    try:
        there = path.stat()
    except OSError:
        return False  # it may come again
    here = os.fstat(file.fileno())
    return (there.st_ino, there.st_dev) != (here.st_ino, here.st_dev) or there.st_size < file.tell()


def _release(line: bytes, where: str) -> Release:
    try:
        found = decode(line)
    except WireError as error:
        raise ReleaseFormatError(f"{where}: {error}") from None
    if not isinstance(found, Release):
        raise ReleaseFormatError(f"{where}: found {found.tag}; allowed: {Release.tag}")
    return found


def _whole(line: bytes) -> Release | None:
    """A last line without an end: a release, or what somebody was cut off in."""
    try:
        return _release(line, "")
    except ReleaseFormatError:
        return None
