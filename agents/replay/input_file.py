# SPDX-License-Identifier: Apache-2.0
"""What a source reads its bytes from: a file by its path, or standard input, which is kept in a temporary file.

Contract: it can be opened as often as wanted, and each time gives the same bytes from the beginning, since a source is
read more than once.  Standard input is copied to a file without a name, which only this user can read and which is gone
with the process however it ends; no more than SPOOL_BYTES are taken.  Not here: what is in the bytes.
"""

from __future__ import annotations

import io
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, cast

from murmurate.agents.replay.source import SourceError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

STANDARD_INPUT: Final = "-"
"""How standard input is named where a source is."""
SPOOL_BYTES: Final = 64 << 30
"""The most bytes that are taken from standard input."""
_CHUNK: Final = 1 << 20


class InputFile:
    """A file on disk."""

    path: Path | None = None
    """Where it is, if it has a path."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name
        """What messages call it: without its directory."""
        try:
            if not path.is_file():
                raise SourceError(f"{self.name}: found no such file; allowed: a readable file")
            self.size = path.stat().st_size
            path.open("rb").close()
        except OSError as error:
            raise SourceError(f"{self.name}: {error.strerror or 'cannot be read'}; allowed: a readable file") from None

    def open(self) -> BinaryIO:
        """The bytes, from the beginning."""
        if self.path is None:
            raise TypeError("what has no path opens itself")
        return self.path.open("rb")


class SpooledInput(InputFile):
    """Standard input, or another stream that can be read once."""

    def __init__(self, stream: BinaryIO, most: int = SPOOL_BYTES) -> None:
        self.name, self.size = "stdin", 0
        try:
            self._file = tempfile.TemporaryFile(prefix="murmurate-")  # noqa: SIM115 - it is closed with the process
            while block := stream.read(_CHUNK):
                self.size += len(block)
                if self.size > most:
                    raise SourceError(f"stdin: found more than {most} bytes; allowed: a file of that size, by its name")
                self._file.write(block)
            self._file.flush()
        except OSError as error:
            where = tempfile.gettempdir()
            raise SourceError(
                f"stdin: {error.strerror}; allowed: what fits into {where} (TMPDIR names another)"
            ) from None

    def open(self) -> BinaryIO:
        """The bytes, from the beginning."""
        return cast(BinaryIO, io.BufferedReader(_FromStart(self._file.fileno())))


class _FromStart(io.RawIOBase):
    """A reader of an open file with a position of its own. It leaves the file open."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._at = os.dup(descriptor), 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def readinto(self, into: WriteableBuffer, /) -> int:
        view = memoryview(into).cast("B")
        found = os.pread(self._descriptor, len(view), self._at)
        view[: len(found)] = found
        self._at += len(found)
        return len(found)

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        begins = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: os.fstat(self._descriptor).st_size}
        self._at = begins[whence] + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def close(self) -> None:
        if not self.closed:
            os.close(self._descriptor)
        super().close()
