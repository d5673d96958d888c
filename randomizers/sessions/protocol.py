# SPDX-License-Identifier: Apache-2.0
"""The contract of what the users of one level do through a horizon: secret counters, and a report at each node.

Contract: a user has secret counters, drawn once (`begin`), and at each node, in order, gives a report of the changes
since the node began (`tell`), which moves the counters.  For any two courses of changes of at most s in all, however
they lie, and whichever nodes are asked, the transcript of all reports has probabilities P[y|x] <= e^epsilon P[y|x'] in
exact arithmetic (`law_begin`, `law_tell`), and what one course can give the other can too.  Changes over s are not
here: sessions.py clamps.  Every decision that separates inputs is drawn entry by entry from 64-bit words.  A report
supports the sign of a change with probability `own`, its opposite with `opposite`, and either sign of a coordinate
without change with `absent`, the same at every node and whatever came before: so (C+ - C-) / (n (own - opposite)) is
unbiased.  Source: Wang et al. 2023 (SaO2), ARCHITECTURE section 5.18.  Not here: values, levels and time (horizon.py).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.lanes import Words
from murmurate.randomizers.question import Blanket, Counts, Reports
from murmurate.randomizers.sessions.ones import Changes

Counters = NDArray[np.unsignedinteger[Any]]
"""The secret counters of n users: uint16[n, counters], or uint32 where numbers are larger."""


class NodeSupports(NamedTuple):
    """The probabilities that a node's report supports signs of a coordinate; realised, exact."""

    own: Fraction
    """The probability of supporting the sign of a change."""
    opposite: Fraction
    """The probability of supporting the opposite of a change."""
    absent: Fraction
    """The probability of supporting one certain sign of a coordinate that has not changed."""


class Protocol(ABC):
    """What the users of a level do; `d` coordinates, at most `s` changes in `nodes` nodes, one epsilon for all."""

    name: ClassVar[str]
    d: int
    """The number of coordinates."""
    s: int
    """The most changes that a user tells, over all nodes."""
    nodes: int
    """The number of nodes that the level tells."""
    epsilon_micro: int
    counters: int
    """The number of secret counters of a user."""
    supports: NodeSupports
    realised: Fraction
    """The largest ratio of probabilities of a transcript; at most e^epsilon."""

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """What the horizon's spec says of the protocol besides its name: words and whole numbers."""

    # ---- the device's half ----

    begin_words: int
    """The number of 64-bit words that `begin` takes of each user."""

    @abstractmethod
    def begin(self, words: Words) -> Counters:
        """The secret counters from uint64[n, begin_words]: [n, counters]. They depend on no value."""

    @abstractmethod
    def tell(self, counters: Counters, changes: Changes, words: Words) -> Reports:
        """The reports of a node, uint8[n, wire_size], from uint64[n, tell_words]; the counters are moved in place."""

    tell_words: int
    """The number of 64-bit words that `tell` takes of each user."""

    @abstractmethod
    def begin_one(self, words: list[int]) -> list[int]:
        """What `begin` gives, for one user in plain Python."""

    @abstractmethod
    def tell_one(self, counters: list[int], changes: list[int], words: list[int]) -> bytes:
        """What `tell` gives, for one user in plain Python; the counters are moved in place."""

    # ---- the server's ----

    wire_size: int
    """The number of bytes of a report, whatever has changed."""

    @abstractmethod
    def malformed(self, reports: Reports) -> NDArray[np.bool_]:
        """Which of uint8[n, wire_size] are reports that nobody could have given at any node: bool[n]."""

    @abstractmethod
    def support(self, reports: Reports) -> Counts:
        """The number of reports that support +1 at each coordinate, then those that support -1: int64[2 d]."""

    # ---- the auditor's ----

    @abstractmethod
    def law_begin(self) -> Mapping[tuple[int, ...], Fraction]:
        """Every state of the secret counters at the beginning, with its exact probability."""

    @abstractmethod
    def law_tell(
        self, counters: tuple[int, ...], changes: tuple[int, ...]
    ) -> Mapping[tuple[bytes, tuple[int, ...]], Fraction]:
        """Every report of a node and state after it, with its exact probability given the state before."""

    @abstractmethod
    def blanket(self) -> Blanket | None:
        """The blanket of the whole transcript under the worst pair of courses; None where none is known."""
