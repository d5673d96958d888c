# SPDX-License-Identifier: Apache-2.0
"""Shares of the users whose strings begin alike: one for every prefix of so many bits, and one for no string.

Contract: every string has exactly one prefix, so that the shares and "none" sum to 1.  A prefix of 8 bits of a text is
called by its character where that is printable ASCII, in double quotes; every other one by its bits, as hexadecimal
digits ("0x61") or, where their number is no multiple of 4, as themselves ("0b01011").  Not here: strings that are found
among more than a release can name (the methods that find them), how a text becomes bits (topics/domains/bits.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.measures.result import Floats
from murmurate.aggregators.measures.rows import Rows
from murmurate.aggregators.measures.wide import WideMeasure
from murmurate.randomizers.layouts import layout
from murmurate.randomizers.views import Prefix
from murmurate.topics.domains import Bits

MAX_PREFIX: Final = 12
"""The largest length of a prefix in bits, since each of the 4 096 prefixes has a figure in every release."""
MOST_MADE_UP: Final = 256
"""The largest number of prefixes in a synthetic population."""
_BYTE: Final = 8
WORDS: Final = ("weather", "train", "news", "recipe", "map", "cinema", "bike", "guitar", "library", "storm")
"""The texts of synthetic users, the most popular one first; the last one becomes popular in the peak."""


@dataclass(frozen=True)
class Prefixes(WideMeasure):
    """Shares of users by the prefix of their string."""

    domain: Bits
    prefix: int = _BYTE
    """The length of a prefix in bits."""

    name = "strings"
    sums_to_one = True
    even_noise = True

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all prefixes in numerical order, and "none"."""
        return self._names

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return (*map(self._called, range(1 << self.prefix)), *(("none",) if self.says_none else ()))

    def _called(self, prefix: int) -> str:
        if self.domain.form == "text" and self.prefix == _BYTE and chr(prefix).isascii() and chr(prefix).isprintable():
            return f'"{chr(prefix)}"'
        if self.prefix % 4:
            return f"0b{prefix:0{self.prefix}b}"
        return f"0x{prefix:0{self.prefix // 4}x}"

    @property
    def views(self) -> tuple[Prefix, ...]:
        """The single view, which maps a string to its prefix."""
        return self._views

    @cached_property
    def _views(self) -> tuple[Prefix, ...]:
        return (Prefix(self.layout, self.prefix),)

    def true_of(self, rows: Rows) -> NDArray[np.bool_]:
        """For each user the prefix of the string, or *none*: bool[n, statistics]."""
        return np.asarray(self._prefixes(rows)[:, np.newaxis] == np.arange(self.statistics))

    def _prefixes(self, rows: Rows) -> NDArray[np.int64]:
        """The number of each string's prefix, and 2^prefix for no string: int64[n]."""
        found = (rows[:, 0] >> np.uint32(31 - self.prefix)).astype(np.int64)  # the first of the 32 bits is no string's
        if self.says_none:
            found[layout(self.layout).silent(rows)] = 1 << self.prefix
        return found

    def truth(self, counts: Rows) -> Floats:
        """The share of each prefix among the rows of all users."""
        if not len(counts):
            return np.full(self.statistics, np.nan)
        return np.asarray(np.bincount(self._prefixes(counts), minlength=self.statistics) / len(counts))

    def crowd(self) -> tuple[Rows, Floats]:
        """One string for each of several prefixes at equal distances; the k-th share is proportional to 1/k."""
        made = min(1 << self.prefix, MOST_MADE_UP)
        rows = np.zeros((made, self.domain.words), np.uint32)
        rows[:, 0] = np.arange(made) * ((1 << self.prefix) // made) << (31 - self.prefix)
        return rows, 1 / np.arange(1.0, made + 1)

    # ---- in words ----

    @property
    def what(self) -> str:
        """The length of the strings, and how many of their bits make a prefix."""
        bits, text = self.domain.m, self.domain.form == "text"
        length = f"up to {bits // 8} bytes" if text else f"{bits // 4} hexadecimal digits"
        first = f"{self.prefix} bits" if self.prefix > 1 else "bit"
        return f"{length} (grouped by their first {first})"

    def said(self, code: int) -> str:
        """The string of zeros, which is the empty text."""
        return f'"{self.domain.value(self.domain.initial)}"'

    @property
    def called(self) -> tuple[str, str]:
        """The words for prefixes on the page."""
        return "Prefix", "Prefixes"

    def example(self, mark: int, *, peak: bool) -> str:
        """One of the popular texts, each half as frequent as the one before; in the peak two fifths have the last one.
        Where strings are hexadecimal digits, those of the text's letters.
        """
        place = len(WORDS) - 1
        if not peak or mark % 5 > 1:
            place = 0
            while mark < 50 and place < len(WORDS) - 1:
                mark, place = mark * 2, place + 1
        letters = WORDS[place].encode()
        if self.domain.form == "text":
            return letters[: self.domain.m // 8].decode()
        return letters.hex().ljust(self.domain.m // 4, "0")[: self.domain.m // 4]
