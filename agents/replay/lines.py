# SPDX-License-Identifier: Apache-2.0
"""Text files as lines, a few megabytes at a time, and what is wrong with a file as a whole.

Contract: the file is never held whole, whatever its lines are like: of a line that is longer than a record may be,
only its beginning and its end are kept (`abridged`).  A line ends with LF or CR LF.  Not here: the content of lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from murmurate.agents.replay.source import SourceError
from murmurate.topics.frames import abridged

BLOCK_BYTES: Final = 4 << 20
_UTF8_MARK = b"\xef\xbb\xbf"
_FORMATS = (
    (b"\x1f\x8b", "gzip data", "the text itself (gunzip it first)"),
    (b"PK\x03\x04", "a zip file", "the text itself (unzip it first)"),
    (b"\x28\xb5\x2f\xfd", "Zstandard data", "the text itself (unzstd it first)"),
    (b"\xff\xfe", "UTF-16", "UTF-8"),
    (b"\xfe\xff", "UTF-16", "UTF-8"),
    (b"\x93NUMPY", "a NumPy array", "text, or the name .npy"),
)


class Lines(NamedTuple):
    """Consecutive lines of a file, without their ends."""

    first: int
    """The number of the first line, counted from 1."""
    lines: list[bytes]
    read: int
    """The number of bytes of the file read so far."""
    cut: bool
    """Whether the last line is the file's last and has no line end, so that it may have been cut off."""


def check_text(path: Path) -> None:
    """Refuse a file that is missing, empty or not text."""
    try:
        with path.open("rb") as file:
            start = file.read(4096)
    except OSError as error:
        raise SourceError(f"{path.name}: {error.strerror or 'cannot be read'}; allowed: a readable file") from None
    if not start.removeprefix(_UTF8_MARK).strip():
        raise SourceError(f"{path.name}: found an empty file; allowed: one event a line")
    for magic, found, allowed in _FORMATS:
        if start.startswith(magic):
            raise SourceError(f"{path.name}: found {found}; allowed: {allowed}")


def blocks(path: Path) -> Iterator[Lines]:
    """The lines of a file, in blocks."""
    number, read, rest = 1, 0, b""
    with path.open("rb") as file:
        while block := file.read(BLOCK_BYTES):
            if not read:
                block = block.removeprefix(_UTF8_MARK)
            read = file.tell()
            lines = (rest + block).split(b"\n")
            rest = abridged(lines.pop())
            if lines:
                yield Lines(number, [line.removesuffix(b"\r") for line in lines], read, cut=False)
                number += len(lines)
    if rest:
        yield Lines(number, [rest.removesuffix(b"\r")], read, cut=True)
