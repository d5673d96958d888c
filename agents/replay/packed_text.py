# SPDX-License-Identifier: Apache-2.0
"""Text that may be packed (gzip, Zstandard), as bytes a few megabytes at a time.

Contract: what unpacks to a thousand times its size is never held whole: a block has at most BLOCK_BYTES.  Packed data
that end early give what is readable of them, as a text does whose last line is cut, and `remark` says so; so it does of
bytes behind their end that are no packed data.  Data that are damaged are an error, since nothing says which of the
text before is true.  Several members of gzip, or frames of Zstandard, are one text.  Not here: lines (lines.py).
"""

from __future__ import annotations

import contextlib
import io
import mmap
import os
import threading
import zlib
from collections.abc import Generator
from typing import BinaryIO, Final, Literal

from murmurate.agents.replay.input_file import InputFile
from murmurate.agents.replay.source import SourceError

BLOCK_BYTES: Final = 4 << 20
Packing = Literal["gzip", "zstd"]
MAGIC: Final[dict[Packing, bytes]] = {"gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd"}
ENDINGS: Final[dict[str, Packing]] = {".gz": "gzip", ".zst": "zstd"}
_CALLED: Final[dict[Packing, str]] = {"gzip": "gzip", "zstd": "Zstandard"}
GZIP: Final[Packing] = "gzip"
_GZIP: Final = 31
"""What zlib calls gzip with its largest window."""
_READ: Final = 1 << 18


def packing_of(file: InputFile) -> Packing | None:
    """How a file is packed, by its first bytes."""
    with file.open() as opened:
        start = opened.read(4)
    return next((packing for packing, magic in MAGIC.items() if start.startswith(magic)), None)


class TextFile:
    """The text of a file."""

    def __init__(self, file: InputFile, packing: Packing | None = None) -> None:
        self.file, self.name = file, file.name
        self.packing: Packing | None = packing
        self.remark: str | None = None
        """What was wrong with the packed data as a whole, once they have been read to their end."""
        if packing is not None and file.size and packing_of(file) != packing:
            raise SourceError(f"{self.name}: found no {_CALLED[packing]} data; allowed: what its name says")

    def start(self, size: int = 4096) -> bytes:
        """Its first bytes."""
        found = b""
        with contextlib.closing(self.blocks()) as blocks:
            while len(found) < size and (block := next(blocks, (b"", 0))[0]):
                found += block[:size]
        return found[:size]

    def blocks(self) -> Generator[tuple[bytes, int], None, None]:
        """The text, and with each block how many bytes of the file it took so far (0 where that is not known)."""
        self.remark = None
        if self.packing == "zstd":
            return self._zstd()
        return self._plain() if self.packing is None else self._gzip()

    def _plain(self) -> Generator[tuple[bytes, int], None, None]:
        with self.file.open() as opened:
            read = 0
            while block := opened.read(BLOCK_BYTES):
                read += len(block)
                yield block, read

    def _gzip(self) -> Generator[tuple[bytes, int], None, None]:
        """1. Unpack what was read, a block at a time. 2. Behind a member follow zeros, another one, or the end."""
        unpacker, data, full, begun = zlib.decompressobj(_GZIP), b"", False, False
        with self.file.open() as opened:
            while True:
                if not data and not full and not (data := opened.read(_READ)):
                    if begun:
                        self._ends_early()
                    return
                begun = True
                block = self._unpacked(unpacker, data)
                if block:
                    yield block, opened.tell() - len(unpacker.unconsumed_tail)
                data, full = unpacker.unconsumed_tail, len(block) == BLOCK_BYTES
                if unpacker.eof:
                    data, full, begun = _behind(unpacker.unused_data, opened), False, False
                    if data and not data.startswith(MAGIC["gzip"]):
                        more = self.file.size - opened.tell() + len(data)
                        self.remark = f"{self.name}: {more} bytes behind the end of the gzip data were left out"
                        return
                    unpacker = zlib.decompressobj(_GZIP)

    def _unpacked(self, unpacker: zlib._Decompress, data: bytes) -> bytes:
        try:
            return unpacker.decompress(data, BLOCK_BYTES)
        except zlib.error:
            raise self._damaged() from None

    def _zstd(self) -> Generator[tuple[bytes, int], None, None]:
        """A thread unpacks into a pipe, which holds it back. Whoever stops reading ends it."""
        import cramjam

        wrong: list[str] = []
        ending, pipe = os.pipe()

        def unpack(packed: mmap.mmap) -> None:
            try:
                to = cramjam.File(f"/dev/fd/{pipe}", read=False, write=True, truncate=False)
                cramjam.zstd.decompress_into(packed, to)  # a buffer as good as any
            except Exception as error:
                wrong.append(str(error))  # and not the error, which would keep the pipe open
            finally:
                os.close(pipe)

        with self.file.open() as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as packed:
            thread = threading.Thread(target=unpack, args=(packed,), daemon=True)
            thread.start()
            some = False
            try:
                with os.fdopen(ending, "rb", buffering=0) as reader:
                    while block := _filled(reader):
                        some = True
                        yield block, 0
            finally:
                thread.join()
        for error in wrong:
            if "incomplete frame" in error:
                self._ends_early()
            elif some and "Unknown frame descriptor" in error:
                self.remark = f"{self.name}: bytes behind the end of the Zstandard data were left out"
            else:
                raise self._damaged()

    def _ends_early(self) -> None:
        called = _CALLED[self.packing or GZIP]
        self.remark = f"{self.name}: the file ends early: its {called} data have no end, and what follows is missing"

    def _damaged(self) -> SourceError:
        return SourceError(f"{self.name}: found damaged {_CALLED[self.packing or GZIP]} data; allowed: whole ones")


def _behind(rest: bytes, opened: BinaryIO) -> bytes:
    """What follows the end of a member, without the zeros that may fill a tape's last block."""
    rest = rest.lstrip(b"\0")
    while len(rest) < 2 and (more := opened.read(_READ)):
        rest = (rest + more).lstrip(b"\0")
    return rest


def _filled(reader: io.FileIO) -> bytes:
    """A whole block from a pipe, or what is left."""
    parts, size = [], 0
    while size < BLOCK_BYTES and (part := reader.read(BLOCK_BYTES - size)):
        parts.append(part)
        size += len(part)
    return b"".join(parts)
