# SPDX-License-Identifier: Apache-2.0
"""What all protocols of a level have in common: their measures, and the checks of what is handed in.

Contract: a protocol tells `entries` = d nodes numbers of -1, 0 and +1, of which at most s are not 0.  Whoever builds
one of other measures, or hands over rows of another shape, gets an error of one line.  The law of a node follows from
that of a coordinate.  Not here: any chance.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.errors import ReportError, ValueRefusedError
from murmurate.randomizers.lanes import Words
from murmurate.randomizers.mechanism import whole
from murmurate.randomizers.question import Reports, checked_reports
from murmurate.randomizers.residue_tree import MAX_PERIODS
from murmurate.randomizers.sessions.ones import MAX_COORDINATES, Changes
from murmurate.randomizers.sessions.protocol import Counters, Protocol
from murmurate.randomizers.thresholds import MICRO, Epsilon, micro_nats

MAX_CHANGES = 256
"""The most changes that a protocol tells."""
State = tuple[int, ...]
BITS = 64
TOP = 1 << BITS


class LevelProtocol(Protocol):
    """A protocol of so many coordinates, nodes and changes."""

    counter: type[np.unsignedinteger[Any]] = np.uint16
    """The type of a secret counter."""

    def __init__(self, d: int, nodes: int, s: int, epsilon: Epsilon) -> None:
        self.d = whole(self.name, "d", d, 1, MAX_COORDINATES)
        self.nodes = whole(self.name, "nodes", nodes, 1, MAX_PERIODS)
        self.s = whole(self.name, "s", s, 1, min(MAX_CHANGES, self.entries))
        self.epsilon_micro = micro_nats(epsilon)

    @property
    def entries(self) -> int:
        """The number of coordinates of all nodes."""
        return self.d * self.nodes

    @property
    def coins(self) -> int:
        """The number of words that have a bit for each coordinate."""
        return -(-self.d // BITS)

    def parameters(self) -> dict[str, Any]:
        """The number of changes."""
        return {"s": self.s}

    def __repr__(self) -> str:
        own = "".join(f", {key}={value!r}" for key, value in self.parameters().items())
        return f"{type(self).__name__}({self.d}, {self.nodes}, epsilon={self.epsilon_micro / MICRO}{own})"

    def _drawn_from(self, words: Words, each: int) -> Words:
        """The words, if every user has as many as are taken."""
        return self._rows("words", words, np.uint64, each)

    def _to_tell(self, counters: Counters, changes: Changes, words: Words) -> int:
        """The number of users, if all rows fit."""
        self._rows("counters", counters, self.counter, self.counters)
        self._rows("changes", changes, np.int8, self.d)
        self._drawn_from(words, self.tell_words)
        if not len(counters) == len(changes) == len(words):
            found = f"{len(counters)} counters, {len(changes)} changes and {len(words)} words"
            raise ValueRefusedError(f"{self.name}: found {found}; allowed: as many of each")
        if len(changes) and (changes.min() < -1 or changes.max() > 1):
            raise ValueRefusedError(f"{self.name}: changes: found one that is not -1, 0 or 1; allowed: these")
        return len(counters)

    def _rows(self, what: str, found: NDArray[Any], kind: type[np.generic], width: int) -> NDArray[Any]:
        if not isinstance(found, np.ndarray) or found.dtype != kind or found.ndim != 2 or found.shape[1] != width:
            shape = f"{found.dtype}{list(found.shape)}" if isinstance(found, np.ndarray) else type(found).__name__
            raise ValueRefusedError(f"{self.name}: {what}: found {shape}; allowed: {np.dtype(kind)}[n, {width}]")
        return found

    def _reports(self, reports: Reports) -> Reports:
        """The reports, if they have the right length."""
        return checked_reports(self.name, reports, self.wire_size)

    def _well_formed(self, reports: Reports) -> Reports:
        """The reports, if somebody could have given each of them."""
        wrong = int(self.malformed(reports).sum())
        if wrong:
            raise ReportError(f"{self.name}: reports: found {wrong} that nobody could give; allowed: none")
        return reports

    # ---- laws, coordinate by coordinate ----

    @abstractmethod
    def entry_law(self, state: State, change: int) -> Iterable[tuple[int, State, Fraction]]:
        """What may be told of a coordinate, +1, -1 or nothing, with the state after it and the probability, not 0."""

    @abstractmethod
    def packed(self, symbols: Sequence[int]) -> bytes:
        """The report of these symbols, 2 j for +1 at coordinate j and 2 j + 1 for -1."""

    def law_tell(self, counters: State, changes: tuple[int, ...]) -> Mapping[tuple[bytes, State], Fraction]:
        """Every report of a node and state after it, with its exact probability given the state before."""
        law: dict[tuple[State, State], Fraction] = {((), tuple(counters)): Fraction(1)}
        for j, change in enumerate(changes):
            after: dict[tuple[State, State], Fraction] = {}
            for (symbols, state), chance in law.items():
                for sign, then, part in self.entry_law(state, change):
                    told = (*symbols, 2 * j + (sign < 0)) if sign else symbols
                    after[told, then] = chance * part
            law = after
        return {(self.packed(symbols), state): chance for (symbols, state), chance in law.items()}
