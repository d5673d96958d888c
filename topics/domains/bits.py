# SPDX-License-Identifier: Apache-2.0
"""Strings of bits: texts, or hexadecimal digits.

Contract: the first bit of the first word is 0, then come the m bits, then zeros to the end of the last word; bits of a
word are counted from its highest.  A text is its UTF-8, left-aligned and filled with zeros, and may not hold NUL;
hexadecimal digits are exactly as many as m bits have: so no two values share a row.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from typing import Any, Final, Literal

from murmurate.topics.domains.domain import Codes, Domain, Layout, Words, Wrong, checked_number
from murmurate.topics.errors import MappingError

MAX_BITS: Final = 256
_HEX = re.compile(r"[0-9A-Fa-f]+", re.ASCII)


@dataclass(frozen=True)
class Bits(Domain):
    """Strings of at most m bits.

    >>> Bits(16).codes()["ab"], Bits(16).value((0x30B10000,)), Bits(48, "hex").words
    ((816906240,), 'ab', 2)
    """

    m: int
    form: Literal["text", "hex"] = "text"

    def __post_init__(self) -> None:
        checked_number(self.m, "bits", 1, MAX_BITS)
        if self.form not in ("text", "hex"):
            raise MappingError(f"bits: found {self.form!r}; allowed: text, hex")
        step = 8 if self.form == "text" else 4
        if self.m % step:
            raise MappingError(f"bits: found {self.m} of {self.form}; allowed: a multiple of {step}")

    @property
    def words(self) -> int:
        """One bit of them is always 0."""
        return self.m // 32 + 1

    def layout(self, none: bool) -> Layout:
        """Bits."""
        return ("bits", self.m, int(none))

    @property
    def initial(self) -> Words:
        """The words of users who have had no valid value yet, in a stream whose values stand for ever: nothing but
        zeros.
        """
        return (0,) * self.words

    def codes(self, *, texts: bool = False) -> Codes:
        """Their codes: strings are texts everywhere."""
        return _Strings(self)

    def value(self, row: Words, /) -> str:
        """The value of an event with these words."""
        bits = int.from_bytes(struct.pack(f">{self.words}I", *map(int, row)), "big") >> self._spare
        if self.form == "hex":
            return f"{bits:0{self.m // 4}x}"
        return bits.to_bytes(self.m // 8, "big").rstrip(b"\0").decode(errors="replace")

    @property
    def _spare(self) -> int:
        """Zeros behind the bits."""
        return 32 * self.words - 1 - self.m


class _Strings(Codes):
    """The words of strings."""

    def __init__(self, bits: Bits) -> None:
        self._bytes, self._digits, self._hex = bits.m // 8, bits.m // 4, bits.form == "hex"
        self._spare, self._size = bits._spare, 4 * bits.words
        self._unpack = struct.Struct(f">{bits.words}I").unpack

    def __getitem__(self, value: Any, /) -> Words:
        """The words of a text."""
        if type(value) is not str:
            raise TypeError
        if self._hex:
            if len(value) != self._digits or not _HEX.fullmatch(value):
                raise ValueError
            number = int(value, 16)
        else:
            text = value.encode()
            if len(text) > self._bytes or b"\0" in text:
                raise ValueError
            number = int.from_bytes(text.ljust(self._bytes, b"\0"), "big")
        return self._unpack((number << self._spare).to_bytes(self._size, "big"))

    def wrong(self, value: Any) -> Wrong | None:
        """No text; or one that is too long, holds NUL, is half a character, or is no hexadecimal of this length."""
        try:
            self[value]
        except TypeError:
            return "type"
        except ValueError:
            return "value"
        return None
