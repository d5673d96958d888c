# SPDX-License-Identifier: Apache-2.0
"""A state machine whose table says which state may follow which: for tasks, periods, rounds and hold-outs.

Contract: whoever asks for a step that the table does not name gets a TransitionError, and nothing has changed.  Steps
are taken by names of an enumeration, so that a stored state is one of them or is refused.  The tables are drawn in
docs/DATA_MODEL.md.  Not here: what a step does.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Generic, TypeVar

from murmurate.errors import MurmurateError

S = TypeVar("S", bound=Enum)


class TransitionError(MurmurateError):
    """A step that cannot follow from where something stands: two parts of the program contradict each other."""


class State(Generic[S]):
    """Where one thing stands."""

    def __init__(self, of: str, begin: S, allowed: Mapping[S, tuple[S, ...]]) -> None:
        """of: what stands there, for errors. allowed: of each state those that may follow."""
        self.now: S = begin
        self._of, self._allowed = of, allowed

    def to(self, state: S) -> None:
        """Step on."""
        follow = self._allowed[self.now]
        if state not in follow:
            names = ", ".join(one.value for one in follow) or "nothing, it is over"
            raise TransitionError(f"{self._of}: found {state.value} after {self.now.value}; allowed: {names}")
        self.now = state

    def load(self, value: object) -> None:
        """Take over a stored state."""
        known: dict[str, S] = {str(one.value): one for one in self._allowed}
        if not isinstance(value, str) or value not in known:
            raise TransitionError(f"{self._of}: found {str(value)[:40]!r} in a state; allowed: {', '.join(known)}")
        self.now = known[value]
