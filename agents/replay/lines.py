# SPDX-License-Identifier: Apache-2.0
"""Text files as lines, a few megabytes at a time, and what is wrong with a file as a whole.

Contract: the file is never held whole, whatever its lines are like: of a line that is longer than a record may be,
only its beginning and its end are kept (`abridged`).  A line ends with LF or CR LF.  Not here: the content of lines,
what is packed (packed_text.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from murmurate.agents.replay.packed_text import TextFile
from murmurate.agents.replay.source import SourceError
from murmurate.topics.frames import abridged

_UTF8_MARK = b"\xef\xbb\xbf"
_FORMATS = (
    (b"\x1f\x8b", "gzip data", "the text itself, or a name that ends in .gz"),
    (b"PK\x03\x04", "a zip file", "the text itself (unzip it first)"),
    (b"\x28\xb5\x2f\xfd", "Zstandard data", "the text itself, or a name that ends in .zst"),
    (b"\xff\xfe", "UTF-16", "UTF-8"),
    (b"\xfe\xff", "UTF-16", "UTF-8"),
    (b"\x93NUMPY", "a NumPy array", "text, or the name .npy"),
    (b"PAR1", "a Parquet file", "text, or the name .parquet"),
    (b"ARROW1", "an Arrow file", "text, or the name .arrow"),
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


def check_text(text: TextFile) -> bytes:
    """The beginning of a text, without a byte order mark. A file that is empty or no text is refused."""
    start = text.start()
    if not start.removeprefix(_UTF8_MARK).strip():
        raise SourceError(f"{text.name}: found an empty file; allowed: one event a line")
    for magic, found, allowed in _FORMATS:
        if start.startswith(magic):
            raise SourceError(f"{text.name}: found {found}; allowed: {allowed}")
    return start.removeprefix(_UTF8_MARK)


def blocks(text: TextFile) -> Iterator[Lines]:
    """The lines of a text, in blocks."""
    number, read, rest, begun = 1, 0, b"", False
    for block, read in text.blocks():
        if not begun:
            block, begun = block.removeprefix(_UTF8_MARK), True
        lines = (rest + block).split(b"\n")
        rest = abridged(lines.pop())
        if lines:
            yield Lines(number, [line.removesuffix(b"\r") for line in lines], read, cut=False)
            number += len(lines)
    if rest:
        yield Lines(number, [rest.removesuffix(b"\r")], read, cut=True)
