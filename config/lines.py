# SPDX-License-Identifier: Apache-2.0
"""The line of a TOML file on which each of its keys stands, so that a mistake can be found in the file.

Contract: of text that tomllib reads; a key that is written nowhere (it lacks, or a table implies it) has the line of
the nearest table around it that is.  A statement over several lines has its first one.  Each statement is read by
tomllib itself, so nothing here decides what TOML is.  Not here: what a key may hold (allowed.py).
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

_ENDS: Final = ("]", "}", '"""', "'''")
"""What the last line of a statement over several lines has in it."""
_MOST_TRIED: Final = 100
"""Lines that might end one statement: each is tried."""


class KeyLines:
    """Where the keys of a file stand."""

    def __init__(self, text: str) -> None:
        self._lines: dict[tuple[str, ...], int] = {}
        table: tuple[str, ...] = ()
        for number, said, header in _statements(text):
            for path in _paths(said):
                self._lines.setdefault(path if header else table + path, number)
            if header:
                table = max(_paths(said), key=len)

    def of(self, steps: tuple[str, ...]) -> int | None:
        """The line of this key, or of the innermost table around it; None where neither is written."""
        return next((self._lines[steps[:n]] for n in range(len(steps), 0, -1) if steps[:n] in self._lines), None)


def unfinished(text: str) -> int | None:
    """The line of the last statement, where it has no end."""
    return next((number for number, said, _ in _statements(text, whole=False) if said is None), None)


def _statements(text: str, *, whole: bool = True) -> Iterator[tuple[int, Any, bool]]:
    """The first line of each statement, what it says by itself, and whether it begins a table.

    whole: leave out a last one that has no end; else it says None.
    """
    lines, at = text.replace("\r\n", "\n").split("\n"), 0
    while at < len(lines):
        said, end = _read(lines, at)
        if said is None and whole:
            return
        if said is None or said:
            yield at + 1, said, said is not None and lines[at].lstrip().startswith("[")
        at = end


def _read(lines: list[str], start: int) -> tuple[Mapping[str, Any] | None, int]:
    """The statement that begins on a line, and the first line after it; None where it never ends."""
    ends = (end for end in range(start, len(lines)) if end == start or any(sign in lines[end] for sign in _ENDS))
    for end in islice(ends, _MOST_TRIED):
        try:
            return tomllib.loads("\n".join(lines[start : end + 1])), end + 1
        except (tomllib.TOMLDecodeError, RecursionError, ValueError):
            continue
    return None, len(lines)


def _paths(said: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every key that a statement writes, the outer ones first; of a list of tables the name of the list."""
    for key, value in said.items():
        yield (*above, key)
        if isinstance(value, Mapping):
            yield from _paths(value, (*above, key))
