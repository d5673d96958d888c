# SPDX-License-Identifier: Apache-2.0
"""Exact laws of whole transcripts, node by node from `law_begin` and `law_tell`, and what they must keep."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import chain, combinations, product
from typing import NamedTuple

import numpy as np

from murmurate.randomizers.sessions.level import LevelProtocol
from murmurate.randomizers.sessions.protocol import Protocol
from murmurate.randomizers.thresholds import exp_floor

State = tuple[int, ...]
Course = tuple[tuple[int, ...], ...]
"""The changes of each node that is asked."""
Transcript = tuple[bytes, ...]
Number = int | Fraction
_ENTRY = 65  # bits of the units of a coordinate: a word's and a coin's


class Laws:
    """The laws of a protocol, each computed once. redrawn: the node before which the counters are drawn anew.

    Inside, probabilities are whole numbers of units, which are as small as those of the words drawn so far.
    """

    def __init__(self, protocol: LevelProtocol, redrawn: int | None = None) -> None:
        self.protocol, self.redrawn = protocol, redrawn
        self.first, self.each = 1 << 64 * protocol.begin_words, 1 << _ENTRY * protocol.d
        self.begin = dict(protocol.law_begin())
        self._begin = [(state, in_units(part, self.first)) for state, part in self.begin.items()]
        self._entries: dict[tuple[State, int], list[tuple[int, State, Number]]] = {}
        self._known: dict[tuple[State, tuple[int, ...]], list[tuple[bytes, State, Number]]] = {}

    def node(self, state: State, changes: tuple[int, ...]) -> list[tuple[bytes, State, Number]]:
        key = state, changes
        if key not in self._known:
            law = self.protocol.law_tell(state, changes)
            self._known[key] = [(*told, in_units(part, self.each)) for told, part in law.items()]
        return self._known[key]

    def units(self, course: Course) -> tuple[dict[Transcript, Number], int]:
        """Every transcript of a course of changes with its probability, and how many of its units are 1."""
        law: dict[tuple[Transcript, State], Number] = {((), state): part for state, part in self._begin}
        whole = self.first
        for q, changes in enumerate(course):
            after: dict[tuple[Transcript, State], Number] = {}
            for (told, state), chance in law.items():
                for fresh, drawn in self._begin if q == self.redrawn else [(state, 1)]:
                    for report, then, part in self.node(fresh, changes):
                        key = (*told, report), then
                        after[key] = after.get(key, 0) + chance * drawn * part
            law = after
            whole *= self.each * (self.first if q == self.redrawn else 1)
        found: dict[Transcript, Number] = {}
        for (told, _), chance in law.items():
            found[told] = found.get(told, 0) + chance
        return found, whole

    def transcripts(self, course: Course) -> dict[Transcript, Fraction]:
        """Every transcript of a course of changes, with its probability."""
        found, whole = self.units(course)
        return {transcript: Fraction(part) / whole for transcript, part in found.items()}

    def chance(self, course: Course, transcript: Transcript) -> Fraction:
        """The probability of one transcript."""
        law, told = dict(self._begin), list[int]()
        for report in transcript:
            support = self.protocol.support(np.frombuffer(report, np.uint8)[np.newaxis])
            told += (support[: self.protocol.d] - support[self.protocol.d :]).tolist()
        for change, wanted in zip(chain(*course), told, strict=True):
            law = self._entry(law, change, wanted)
        return Fraction(sum(law.values())) / (self.first << _ENTRY * len(told))

    def marginals(self, course: Course) -> Iterator[tuple[int, Fraction, Fraction]]:
        """For each coordinate of each node its change, and the probabilities that +1 and that -1 are told."""
        law, whole = dict(self._begin), self.first
        for change in chain(*course):
            plus, minus = (sum(self._entry(law, change, sign).values()) for sign in (1, -1))
            law, whole = self._entry(law, change, None), whole << _ENTRY
            yield change, Fraction(plus) / whole, Fraction(minus) / whole

    def _entry(self, law: Mapping[State, Number], change: int, wanted: int | None) -> dict[State, Number]:
        """What the states before a coordinate become where this is told; None: whatever is told."""
        after: dict[State, Number] = {}
        for state, chance in law.items():
            key = state, change
            if key not in self._entries:
                of = self.protocol.entry_law(state, change)
                self._entries[key] = [(sign, then, in_units(part, 1 << _ENTRY)) for sign, then, part in of]
            for sign, then, part in self._entries[key]:
                if wanted in (sign, None):
                    after[then] = after.get(then, 0) + chance * part
        return after


def in_units(part: Fraction, units: int) -> Number:
    """A probability as a number of units: a whole one, if it is."""
    found = part * units
    return found.numerator if found.denominator == 1 else found


def courses(d: int, nodes: int, most: int) -> Iterator[Course]:
    """All courses of at most so many changes."""
    for size in range(most + 1):
        for places in combinations(range(d * nodes), size):
            for signs in product((1, -1), repeat=size):
                row = [0] * (d * nodes)
                for place, sign in zip(places, signs, strict=True):
                    row[place] = sign
                yield tuple(tuple(row[q * d : (q + 1) * d]) for q in range(nodes))


class Audit(NamedTuple):
    """What a comparison of laws found."""

    ratio: Fraction | None
    """The largest ratio of probabilities; None where one course gives what another cannot."""

    def holds(self, protocol: Protocol) -> bool:
        """Whether the promise is kept."""
        return self.ratio is not None and self.ratio <= protocol.realised <= exp_floor(protocol.epsilon_micro)


def audit(laws: Laws, of: Iterable[Course]) -> Audit:
    """Compare the transcripts of all these courses, of as many nodes each."""
    high: dict[Transcript, Number] = {}
    low: dict[Transcript, Number] = {}
    for course in of:
        law, whole = laws.units(course)
        assert sum(law.values()) == whole
        if not high:
            high, low = dict(law), dict(law)
        if law.keys() != high.keys():
            return Audit(None)
        for transcript, chance in law.items():
            if chance > high[transcript]:
                high[transcript] = chance
            elif chance < low[transcript]:
                low[transcript] = chance
    return Audit(max(Fraction(high[transcript]) / low[transcript] for transcript in high))


def check_marginals(laws: Laws, course: Course, within: Fraction) -> None:
    """Every node's report supports what the protocol says, whatever came before."""
    own, opposite, absent = laws.protocol.supports
    for change, plus, minus in laws.marginals(course):
        wanted = (own, opposite) if change > 0 else (opposite, own) if change < 0 else (absent, absent)
        assert abs(plus - wanted[0]) <= within
        assert abs(minus - wanted[1]) <= within
