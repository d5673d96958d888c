# SPDX-License-Identifier: Apache-2.0
"""Reads the cells beside the value in a CSV row that is malformed, whatever the value contains.

Contract: the columns before the value's are read from the left, those behind it from the right, so that separators,
quotes and bytes in the value change nothing about them.  What cannot be read is empty.  Not here: whole rows
(tables.py).
"""

from __future__ import annotations

import re

_CELL = rb'(?:[ ]*+"(?P<quoted>(?:[^"]++|"")*+)"[ ]*+|(?P<plain>[^"%b]*+))(?:(?P<more>%b)|\Z)'
_CELLS = {separator: re.compile(_CELL.replace(b"%b", separator.encode())) for separator in ",;\t"}


def beside(raw: bytes, separator: str, width: int, value: int, *, cut: bool) -> list[str]:
    """The cells of a row of so many columns, of which that number holds the value. cut: whether the end of the row may
    be missing, so that a cell which only that ends does not count.
    """
    before, behind = value, width - value - 1
    cells = _read(raw, separator, before, whole=not cut)
    mirrored = _read(raw[::-1], separator, behind, mirrored=True) if not cut else [b""] * behind
    return [_text(cell) for cell in (*cells, b"", *mirrored[::-1])]


def _read(raw: bytes, separator: str, count: int, *, whole: bool = True, mirrored: bool = False) -> list[bytes]:
    """The first cells, empty from the first malformed one on. whole: whether the last one may end with the row."""
    cells, at = [b""] * count, 0
    for i in range(count):
        found = _CELLS[separator].match(raw, at)
        if found is None or (found["more"] is None and not whole):
            break
        cell = found["plain"] if found["quoted"] is None else found["quoted"].replace(b'""', b'"')
        cells[i] = cell[::-1] if mirrored else cell
        if found["more"] is None:
            break
        at = found.end()
    return cells


def _text(cell: bytes) -> str:
    try:
        return cell.decode()
    except UnicodeDecodeError:
        return ""
