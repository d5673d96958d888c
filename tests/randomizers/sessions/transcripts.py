"""Exact laws of whole transcripts, node by node from `law_begin` and `law_tell`, and what they must keep."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from murmurate.randomizers.sessions.protocol import Protocol
from murmurate.randomizers.thresholds import exp_floor

State = tuple[int, ...]
Course = tuple[tuple[int, ...], ...]
"""The changes of each node that is asked."""
Transcript = tuple[bytes, ...]
_LEAST = (1, -1)


class Laws:
    """The laws of a protocol, each computed once. redrawn: the node before which the counters are drawn anew."""

    def __init__(self, protocol: Protocol, redrawn: int | None = None) -> None:
        self.protocol, self.redrawn = protocol, redrawn
        self.begin = dict(protocol.law_begin())
        self._known: dict[tuple[State, tuple[int, ...]], list[tuple[bytes, State, Fraction]]] = {}

    def node(self, state: State, changes: tuple[int, ...]) -> list[tuple[bytes, State, Fraction]]:
        key = state, changes
        if key not in self._known:
            self._known[key] = [(*told, part) for told, part in self.protocol.law_tell(state, changes).items()]
        return self._known[key]

    def transcripts(self, course: Course) -> dict[Transcript, Fraction]:
        """Every transcript of a course of changes, with its probability."""
        law: dict[tuple[Transcript, State], Fraction] = {((), state): part for state, part in self.begin.items()}
        for q, changes in enumerate(course):
            after: dict[tuple[Transcript, State], Fraction] = {}
            for (told, state), chance in law.items():
                states = self.begin.items() if q == self.redrawn else [(state, Fraction(1))]
                for fresh, drawn in states:
                    for report, then, part in self.node(fresh, changes):
                        key = (*told, report), then
                        after[key] = after.get(key, Fraction(0)) + chance * drawn * part
            law = after
        found: dict[Transcript, Fraction] = {}
        for (told, _), chance in law.items():
            found[told] = found.get(told, Fraction(0)) + chance
        return found

    def chance(self, course: Course, transcript: Transcript) -> Fraction:
        """The probability of one transcript."""
        law = self.begin
        for changes, wanted in zip(course, transcript, strict=True):
            after: dict[State, Fraction] = {}
            for state, chance in law.items():
                for report, then, part in self.node(state, changes):
                    if report == wanted:
                        after[then] = after.get(then, Fraction(0)) + chance * part
            law = after
        return sum(law.values(), Fraction(0))

    def marginals(self, course: Course) -> Iterator[list[Fraction]]:
        """For each node the probabilities that its report supports +1 at each coordinate, and then -1."""
        law: Mapping[State, Fraction] = self.begin
        for changes in course:
            after: dict[State, Fraction] = {}
            reports: dict[bytes, Fraction] = {}
            for state, chance in law.items():
                for report, then, part in self.node(state, changes):
                    after[then] = after.get(then, Fraction(0)) + chance * part
                    reports[report] = reports.get(report, Fraction(0)) + chance * part
            yield supported(self.protocol, reports)
            law = after


def supported(protocol: Protocol, reports: Mapping[bytes, Fraction]) -> list[Fraction]:
    """The expected support of a report."""
    rows = np.frombuffer(b"".join(reports), np.uint8).reshape(len(reports), -1)
    each = [protocol.support(row[np.newaxis]) for row in rows]
    return [
        sum((part for part, found in zip(reports.values(), each, strict=True) if found[symbol]), Fraction(0))
        for symbol in range(2 * protocol.d)
    ]


def courses(d: int, nodes: int, most: int) -> Iterator[Course]:
    """All courses of at most so many changes."""
    for size in range(most + 1):
        for places in combinations(range(d * nodes), size):
            for signs in product(_LEAST, repeat=size):
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
    """Compare the transcripts of all these courses."""
    high: dict[Transcript, Fraction] = {}
    low: dict[Transcript, Fraction] = {}
    same = True
    for course in of:
        law = laws.transcripts(course)
        assert sum(law.values()) == 1
        if not high:
            high, low = dict(law), dict(law)
        same = same and law.keys() == high.keys()
        if not same:
            return Audit(None)
        for transcript, chance in law.items():
            high[transcript] = max(high[transcript], chance)
            low[transcript] = min(low[transcript], chance)
    return Audit(max(high[transcript] / low[transcript] for transcript in high))


def check_marginals(laws: Laws, course: Course, within: Fraction) -> None:
    """Every node's report supports what the protocol says, whatever came before."""
    own, opposite, absent = laws.protocol.supports
    for changes, found in zip(course, laws.marginals(course), strict=True):
        plus, minus = found[: len(changes)], found[len(changes) :]
        for change, up, down in zip(changes, plus, minus, strict=True):
            wanted = (own, opposite) if change > 0 else (opposite, own) if change < 0 else (absent, absent)
            assert abs(up - wanted[0]) <= within
            assert abs(down - wanted[1]) <= within
