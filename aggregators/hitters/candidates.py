# SPDX-License-Identifier: Apache-2.0
"""Prefixes of strings as candidates: how they are extended, shortened, numbered and called.

Contract: a prefix is a string whose further bits are 0, as a row uint32[words] of its BitsLayout (a leading 0, then
m bits); how long it is, is said beside it.  Extensions stand in numerical order behind their prefix, so that ascending
prefixes have ascending extensions.  Two different strings never have one name.  Not here: which candidates are kept
(search.py), codes of long prefixes on the device (randomizers/views.py and its siblings).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import ParameterError, shown
from murmurate.randomizers.layouts import BitsLayout

Rows = NDArray[np.uint32]

MOST_CANDIDATES: Final = 1 << 22
"""How many candidates are made at a time: of 48 bits they take 32 MB, of 256 bits 150 MB."""
NUMBERED: Final = 64
"""Prefixes of at most so many bits have a number."""
NOBODY: Final = "none"
"""The name of users without a string, which no string may have."""
DIGITS: Final = "0x"
"""What a name of hexadecimal digits begins with, and no text."""


def every_prefix(layout: BitsLayout, bits: int) -> Rows:
    """All prefixes of so many bits, in numerical order: uint32[2^bits, words]."""
    return extended(layout, np.zeros((1, layout.words), np.uint32), 0, bits)


def extended(layout: BitsLayout, rows: Rows, bits_from: int, bits_to: int) -> Rows:
    """All extensions of prefixes of bits_from bits to bits_to bits: uint32[k * 2^(bits_to - bits_from), words]."""
    if not 0 <= bits_from <= bits_to <= layout.m:
        raise ParameterError(f"candidates: bits: found {bits_from} to {bits_to}; allowed: 0 to {layout.m}, not falling")
    if len(rows) << bits_to - bits_from > MOST_CANDIDATES:
        raise ParameterError(
            f"candidates: found {len(rows)} prefixes to extend by {bits_to - bits_from} bits; "
            f"allowed: at most {MOST_CANDIDATES} candidates"
        )
    further = np.arange(1 << bits_to - bits_from, dtype=np.uint64)
    words = placed(layout, further, bits_to)
    return np.asarray((rows[:, np.newaxis] | words).reshape(-1, layout.words), np.uint32)


def placed(layout: BitsLayout, numbers: NDArray[np.uint64], bits: int) -> Rows:
    """Numbers as the bits of strings that end before bit `bits`, counted from 0: uint32[n, words]."""
    rows = np.zeros((len(numbers), layout.words), np.uint32)
    for word, left in enumerate(_shifts(layout, bits)):
        if 0 <= left < 32:
            rows[:, word] = numbers << np.uint64(left) & np.uint64(0xFFFFFFFF)
        elif -64 < left < 0:
            rows[:, word] = numbers >> np.uint64(-left) & np.uint64(0xFFFFFFFF)
    return rows


def shortened(layout: BitsLayout, rows: Rows, bits: int) -> Rows:
    """The first bits of strings, with zeros behind them: uint32[n, words]."""
    line = ((1 << bits) - 1) << 32 * layout.words - 1 - bits
    masks = [line >> 32 * (layout.words - 1 - word) & 0xFFFFFFFF for word in range(layout.words)]
    return np.asarray(rows & np.array(masks, np.uint32))


def numbered(layout: BitsLayout, rows: Rows, bits: int) -> NDArray[np.uint64]:
    """The first bits of strings as numbers, for at most 64 bits: uint64[n]."""
    if not 0 <= bits <= min(NUMBERED, layout.m):
        raise ParameterError(f"candidates: bits: found {bits} to number; allowed: 0 to {min(NUMBERED, layout.m)}")
    numbers = np.zeros(len(rows), np.uint64)
    words = shortened(layout, rows, bits).astype(np.uint64)
    for word, left in enumerate(_shifts(layout, bits)):
        if 0 <= left < 32:
            numbers |= words[:, word] >> np.uint64(left)
        elif -64 < left < 0:
            numbers |= words[:, word] << np.uint64(-left)
    return numbers


def texts(rows: Rows, m: int, form: Literal["text", "hex"] = "text") -> tuple[str, ...]:
    """The names of strings of m bits: a text as itself, in so far as it can be read; else "0x" and hexadecimal digits.

    A text that is empty or "none", that begins with "0x", or that is not printable UTF-8 has its digits, too.

    >>> texts(np.array([[0x30B10000]], np.uint32), 16), texts(np.array([[0x30B10000]], np.uint32), 16, "hex")
    (('ab',), ('0x6162',))
    """
    return tuple(_names(rows, m, form))


def _names(rows: Rows, m: int, form: str) -> Iterator[str]:
    if form not in ("text", "hex") or m % 4 or (form == "text" and m % 8):
        raise ParameterError(f"candidates: found {shown(m)} bits of {shown(form)}; allowed: 8 a letter, 4 a digit")
    spare = 32 * rows.shape[1] - 1 - m
    for row in np.ascontiguousarray(rows, ">u4"):
        number = int.from_bytes(row.tobytes(), "big") >> spare
        name = _text(number.to_bytes(m // 8, "big")) if form == "text" else None
        yield f"{DIGITS}{number:0{m // 4}x}" if name is None else name


def _text(written: bytes) -> str | None:
    """These bytes as a text that may be a name, or None."""
    try:
        text = written.rstrip(b"\0").decode()
    except UnicodeDecodeError:
        return None
    is_name = text and text.isprintable() and text != NOBODY and not text.startswith(DIGITS)
    return text if is_name else None


def _shifts(layout: BitsLayout, bits: int) -> range:
    """For each word, by how many bits to the left a number lies in it whose last bit is bit `bits` - 1."""
    return range(31 - bits, 31 - bits + 32 * layout.words, 32)
