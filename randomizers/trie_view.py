# SPDX-License-Identifier: Apache-2.0
"""The view of a trie's leaf: which of the prefixes that are open, of several lengths, begins a string.

Contract: that of views.py.  A round names the prefixes that have grown; open are all their extensions by one step that
have not grown themselves.  These exclude each other and cover every string, so that one report answers about all of
them.  A server asks by `codes_of`, which draws nothing.
Source: Wang et al. 2018 (PrivTrie); ARCHITECTURE rule 23.  Not here: which prefixes grow (aggregators/hitters/).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from murmurate.randomizers.candidates import MOST_BYTES
from murmurate.randomizers.errors import ParameterError, shown
from murmurate.randomizers.layouts import NONE, BitsLayout, Row
from murmurate.randomizers.mechanism import whole
from murmurate.randomizers.question import Value, Values
from murmurate.randomizers.randomness import Draw
from murmurate.randomizers.views import Codes, View, of_kind, one_or_more, words_of

DIGIT: Final = 4
"""The bits of a hexadecimal digit; a step is some of these."""
MOST_STEP: Final = 16
MOST_CELLS: Final = 1 << 22
"""The most extensions by one step, grown or open, of all that has grown."""
_DIGITS: Final = re.compile(r"[0-9a-f]*\Z")


class TrieLeaf(View):
    """The view of the open prefix that begins a string.

    `grown` are prefixes as lower-case hexadecimal digits, a multiple of `step` bits long: the empty one, and others
    behind one that has grown too.  They are ordered, the shorter first, then by their digits.  Their extensions by
    `step` bits (at the end of the string by fewer) that have not grown themselves are counted, one prefix after the
    other and in the order of their bits, from 0: a string has the code of the one that begins it.  The last code stands
    for *none*.
    """

    name = "trie_leaf"

    def __init__(self, layout: Any, grown: Sequence[str], step: int) -> None:
        self.of = self._strings = of_kind(self.name, layout, BitsLayout)
        self.step = whole(self.name, "step", step, DIGIT, MOST_STEP)
        if step % DIGIT:
            raise ParameterError(f"{self.name}: step: found {step}; allowed: a multiple of {DIGIT}")
        self.grown = self._checked(grown)
        """The prefixes that have grown, in their order."""
        self._next = self._table()
        """For each node and its next bits the code of the open prefix, or -1 - the next node: int64[nodes, 2^step]."""
        self.leaves = int(self._next.max()) + 1
        """The number of open prefixes, which have the first codes."""
        self.d = self.leaves + self.of.none

    @property
    def _depths(self) -> range:
        """Where each step begins, in bits."""
        return range(0, self._strings.m, self.step)

    def _checked(self, found: object) -> tuple[str, ...]:
        """The prefixes that have grown in their order, if each continues another one, once, and all fit a round."""
        if not isinstance(found, (list, tuple)) or not all(isinstance(one, str) for one in found) or "" not in found:
            allowed = "the empty prefix and others, in hexadecimal digits"
            raise ParameterError(f"{self.name}: grown: found {shown(found)}; allowed: {allowed}")
        lengths, known = [bits // DIGIT for bits in self._depths], set(found)
        for one in found:
            if len(one) not in lengths or not _DIGITS.match(one) or one[: -self.step // DIGIT] not in known:
                raise ParameterError(
                    f"{self.name}: grown: found {shown(one)}; allowed: lower-case hexadecimal digits of {self.step} "
                    "bits or a multiple, less than a string, behind others that have grown"
                )
        if len(known) < len(found):
            raise ParameterError(f"{self.name}: grown: found one twice; allowed: each once")
        if len(orjson.dumps(found)) > MOST_BYTES or len(known) << self.step > MOST_CELLS:
            allowed = f"{MOST_BYTES} bytes, and {MOST_CELLS} extensions"
            raise ParameterError(f"{self.name}: grown: found {len(found)} of them; allowed: {allowed}")
        return tuple(sorted(found, key=lambda one: (len(one), one)))

    def _table(self) -> NDArray[np.int64]:
        """1. The next nodes. 2. What is open. 3. Bits that no string has, behind the last whole step, lead nowhere: of
        a shorter last step only the first 2^bits are there.
        """
        places = {digits: place for place, digits in enumerate(self.grown)}
        table, size = np.zeros((len(places), 1 << self.step), np.int64), self.step // DIGIT
        for digits, place in list(places.items())[1:]:
            table[places[digits[:-size]], int(digits[-size:], 16)] = -1 - place
        bits = np.array([min(self.step, self._strings.m - DIGIT * len(digits)) for digits in places])
        there = np.arange(1 << self.step) < (1 << bits)[:, np.newaxis]
        is_open = there & (table == 0)
        table[is_open] = np.arange(is_open.sum())
        return table

    def parameters(self) -> dict[str, Any]:
        """What has grown, and by how many bits at a time."""
        return {"grown": self.grown, "step": self.step}

    def codes(self, values: Values, draw: Draw) -> Codes:
        """The code of each string: int64[n]."""
        return self.codes_of(self.of.rows(values))

    def codes_of(self, rows: Row) -> Codes:
        """The code of each of uint32[n, words], also for a server that names strings: int64[n].

        Step by step, those that are still at a node go on to the next one, or to a code.
        """
        codes = np.full(len(rows), -1, np.int64)  # the empty prefix
        for depth in self._depths:
            on = np.flatnonzero(codes < 0)
            if not len(on):
                break
            codes[on] = self._next[-1 - codes[on], self._bits(rows[on], depth)]
        if self.of.none:
            codes[self.of.silent(rows)] = self.d - 1
        return codes

    def _bits(self, rows: Row, depth: int) -> NDArray[np.int64]:
        """The bits of the step that begins there: int64[n]."""
        size = min(self.step, self._strings.m - depth)
        start, shift = divmod(depth + 1, 32)
        both = rows[:, start].astype(np.uint64) << np.uint64(32)
        if start + 1 < rows.shape[1]:
            both |= rows[:, start + 1]
        both <<= np.uint64(shift)
        return np.asarray((both >> np.uint64(64 - size)).view(np.int64))

    def code(self, value: Value) -> int:
        """The code of one string, in plain Python."""
        words = words_of(value)
        if words[0] == NONE:
            return self.d - 1
        line, code = 0, -1
        for word in words:
            line = line << 32 | word
        string, m = line >> (32 * len(words) - 1 - self._strings.m), self._strings.m
        for depth in self._depths:
            end = min(depth + self.step, m)
            code = int(self._next[-1 - code, string >> (m - end) & (1 << end - depth) - 1])
            if code >= 0:
                break
        return code

    @property
    def extremes(self) -> tuple[Value, Value]:
        """The string of zeros and the string of ones, which no open prefix begins together."""
        words, m = self.of.words, self._strings.m
        line = (1 << m) - 1 << (32 * words - 1 - m)
        return one_or_more([0] * words), one_or_more([line >> 32 * (words - 1 - i) & 0xFFFFFFFF for i in range(words)])
