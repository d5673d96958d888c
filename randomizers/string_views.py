# SPDX-License-Identifier: Apache-2.0
"""Views of strings for whoever searches them: prefixes of any length, and the extensions of prefixes that are named.

Contract: that of views.py.  A prefix of up to 52 bits is told as itself, for `olh_counts`, whose domain it fits; the
next bits behind a named parent (a prefix found before, from reports alone) with a code small enough for any oracle.  A
server asks by `codes_of`, which draws nothing.  Source: Wang 2021, section 4.2; ARCHITECTURE rule 23.  Not here: which
prefixes are worth extending (aggregators/hitters/).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from murmurate.randomizers.candidates import MOST_BYTES
from murmurate.randomizers.errors import ParameterError, shown
from murmurate.randomizers.frequency.olh import OLH
from murmurate.randomizers.layouts import NONE, BitsLayout, Row
from murmurate.randomizers.mechanism import Mechanism, whole
from murmurate.randomizers.question import Value, Values
from murmurate.randomizers.randomness import Draw
from murmurate.randomizers.thresholds import MICRO
from murmurate.randomizers.views import Codes, Prefix, View, of_kind, one_or_more, words_of

LONGEST_TOLD: Final = 52
"""The longest prefix, in bits, that is told as itself; of a longer one a hash of so many bits is told, in which two
prefixes collide for one pair in 2^52. With none it makes 2^52 + 1 codes, a number that every JSON reader keeps: in a
round that is the limit of all numbers.
"""
MOST_CODES: Final = 1 << 24
"""The most codes of extensions, which are as many values as local hashing takes."""
_DIGITS: Final = re.compile(r"[0-9a-f]*\Z")


class LongPrefix(Prefix):
    """The view of a string's first bits, of which up to 52 are told as they are."""

    name = "long_prefix"
    longest: ClassVar = LONGEST_TOLD


class Extensions(View):
    """The view of the bits that follow a named prefix, for strings that begin with one.

    Parents are prefixes of `bits_from` bits as lower-case hexadecimal digits, no more than these bits need.  Sorted,
    each has a place, counted from 0; a string that begins with it has the code place * 2^(bits_to - bits_from) + the
    bits up to `bits_to`.  The next code stands for all other strings, also where there is none (the one parent of 0
    bits, or all of a few), and the last one for *none*.
    """

    name = "extensions"

    def __init__(self, layout: Any, parents: Sequence[str], bits_from: int, bits_to: int) -> None:
        self.of = self._strings = of_kind(self.name, layout, BitsLayout)
        self.bits_to = whole(self.name, "bits_to", bits_to, 1, self._strings.m)
        self.bits_from = whole(self.name, "bits_from", bits_from, 0, bits_to - 1)
        self.parents = _checked_parents(parents, bits_from)
        """The prefixes that are extended, in the order of their places."""
        self.extensions = len(self.parents) << min(self._more, 64)
        """The number of candidates, which have the first codes."""
        self.d = self.extensions + 1 + self.of.none
        if self.d > MOST_CODES:
            found = f"{len(self.parents)} of them and {self._more} more bits"
            raise ParameterError(f"{self.name}: parents: found {found}; allowed: {MOST_CODES} codes")

    @staticmethod
    def named(prefixes: Iterable[int], bits: int) -> tuple[str, ...]:
        """The parents that stand for prefixes of so many bits, each given as a number.

        >>> Extensions.named([5, 2], 6)
        ('02', '05')
        """
        return tuple(sorted(f"{prefix:0{-(-bits // 4)}x}" if bits else "" for prefix in prefixes))

    def parameters(self) -> dict[str, Any]:
        """The parents, and how many bits they have and are extended to."""
        return {"parents": self.parents, "bits_from": self.bits_from, "bits_to": self.bits_to}

    def alike(self, inner: Mechanism) -> tuple[View, Mechanism] | None:
        """The first bit alone stands for all parents and lengths, where codes are hashed by OLH: how much its reports
        tell is a matter of epsilon and of the number of cells, however many codes there are.
        """
        if not isinstance(inner, OLH):
            return None
        view = Extensions(self.of.spec(), ("",), 0, 1)
        epsilon = Fraction(inner.epsilon_micro, MICRO)
        return view, OLH(d=view.d, epsilon=epsilon, pool=inner.pool, g=inner.g)

    @property
    def _more(self) -> int:
        return self.bits_to - self.bits_from

    def codes(self, values: Values, draw: Draw) -> Codes:
        """The code of each string: int64[n]."""
        return self.codes_of(self.of.rows(values))

    def codes_of(self, rows: Row) -> Codes:
        """The code of each of uint32[n, words], also for a server that names strings: int64[n].

        1. Word by word, the place of a row's first words among those of the parents. 2. The bits behind them. 3. The
        rows of no parent, and those that are *none*.
        """
        place, known = np.zeros(len(rows), np.int64), np.ones(len(rows), np.bool_)
        for word, (mask, firsts) in enumerate(self._firsts):
            wanted = place << 32 | (rows[:, word] & np.uint32(mask))
            place = np.minimum(np.searchsorted(firsts, wanted), len(firsts) - 1)
            known &= firsts[place] == wanted
        start, shift = divmod(self.bits_from + 1, 32)
        both = rows[:, start].astype(np.uint64) << np.uint64(32)
        if start + 1 < rows.shape[1]:
            both |= rows[:, start + 1]
        both <<= np.uint64(shift)
        codes = (place << self._more) + (both >> np.uint64(64 - self._more)).view(np.int64)
        codes[~known] = self.extensions
        if self.of.none:
            codes[self.of.silent(rows)] = self.d - 1
        return codes

    @cached_property
    def _firsts(self) -> list[tuple[int, NDArray[np.int64]]]:
        """For each word that holds some of a parent, a mask of its bits, and the different beginnings of the parents
        up to this word: place of the beginning up to the word before, times 2^32, plus the word. Sorted.
        """
        words = self.bits_from // 32 + 1
        shift = 32 * words - 1 - self.bits_from
        lines, mask = [_number(parent) << shift for parent in self.parents], (1 << self.bits_from) - 1 << shift
        places, found = np.zeros(len(lines), np.int64), []
        for word in range(words):
            down = 32 * (words - 1 - word)
            mine = np.array([line >> down & 0xFFFFFFFF for line in lines], np.int64)
            firsts, places = np.unique(places << 32 | mine, return_inverse=True)
            found.append((mask >> down & 0xFFFFFFFF, firsts))
        return found

    def code(self, value: Value) -> int:
        """The code of one string, in plain Python."""
        words = words_of(value)
        if words[0] == NONE:
            return self.d - 1
        line = 0
        for word in words:
            line = line << 32 | word
        string = line >> (32 * len(words) - 1 - self._strings.m)
        prefix = string >> (self._strings.m - self.bits_to)
        place = self._places.get(prefix >> self._more)
        return self.extensions if place is None else place << self._more | prefix & (1 << self._more) - 1

    @cached_property
    def _places(self) -> dict[int, int]:
        return {_number(parent): place for place, parent in enumerate(self.parents)}

    @property
    def extremes(self) -> tuple[Value, Value]:
        """The first and the last candidate, with zeros behind it."""
        ends, m = (0, self.extensions - 1), self._strings.m
        numbers = (
            _number(self.parents[code >> self._more]) << self._more | code & (1 << self._more) - 1 for code in ends
        )
        one, other = (self._words(number << (m - self.bits_to)) for number in numbers)
        return one_or_more(one), one_or_more(other)

    def _words(self, string: int) -> list[int]:
        words = self.of.words
        line = string << (32 * words - 1 - self._strings.m)
        return [line >> 32 * (words - 1 - i) & 0xFFFFFFFF for i in range(words)]


def _checked_parents(found: object, bits: int) -> tuple[str, ...]:
    """The parents in the order of their places, if each is a prefix of so many bits, once, and all fit a round."""
    called = Extensions.name
    if not isinstance(found, (list, tuple)) or not found or not all(isinstance(one, str) for one in found):
        raise ParameterError(f"{called}: parents: found {shown(found)}; allowed: one or more, in hexadecimal digits")
    digits = -(-bits // 4)
    for one in found:
        if len(one) != digits or not _DIGITS.match(one) or _number(one) >> bits:
            raise ParameterError(
                f"{called}: parents: found {shown(one)}; allowed: {bits} bits in {digits} lower-case hexadecimal digits"
            )
    if len(set(found)) < len(found):
        raise ParameterError(f"{called}: parents: found one twice; allowed: each once")
    if len(orjson.dumps(found)) > MOST_BYTES:
        raise ParameterError(f"{called}: parents: found more than {MOST_BYTES} bytes; allowed: a shorter list")
    return tuple(sorted(found))


def _number(digits: str) -> int:
    return int(digits or "0", 16)
