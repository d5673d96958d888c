"""Where a stream stands, as the stage that releases it sees it: what it asked, what came back, what is still to come.

Contract: plain state; a round and its tallies as a part of a state and back.  Not here: what is done next (publish.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from murmurate.agents.stages.errors import StateError
from murmurate.agents.stages.tallies import RoundTallies
from murmurate.aggregators.methods.method import Decision, Method
from murmurate.config.plan import StreamPlan
from murmurate.topics.codec import decode, encode
from murmurate.topics.errors import WireError
from murmurate.topics.messages import Round, Tally, TallyInBlocks
from murmurate.topics.release import Release


@dataclass(eq=False)
class Asked:
    """A round, and its tallies so far."""

    round: Round
    tallies: RoundTallies = field(default_factory=RoundTallies)

    @property
    def complete(self) -> bool:
        """Whether all sub-batches are counted."""
        return self.tallies.whole == self.round.targets

    def kept(self) -> dict[str, Any]:
        """As a part of a state."""
        return {"round": encode(self.round).decode(), **self.tallies.kept()}

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> Asked:
        """From that part."""
        asked = decode(kept["round"].encode())
        assert isinstance(asked, Round)  # noqa: S101 - what `kept` wrote
        return cls(asked, RoundTallies.of(kept))


@dataclass(eq=False)
class Course:
    """Where one stream stands."""

    plan: StreamPlan
    method: Method
    first_t: int
    t: int
    open: Asked | None = None
    """The open round."""
    ahead: dict[int, Asked] = field(default_factory=dict)
    """The first rounds of the next periods, where they were known and asked before their turn."""
    slots: int = 0
    """Slots asked in all rounds of this period,"""
    tallies: list[Tally | TallyInBlocks] = field(default_factory=list)
    """and what came back in those that are complete."""
    decided: Decision | None = None
    """What the method said of this period unasked: released when the period is over."""
    past: dict[int, Release] = field(default_factory=dict)
    """Releases that are still to be revised."""
    since: int | None = None
    """When the open round's patience began, by the ticks; None before the first tick after its turn came."""

    @property
    def waiting(self) -> list[Asked]:
        """The rounds that wait for their tallies."""
        return [one for one in (self.open, *self.ahead.values()) if one is not None]

    def asked(self, digest: str) -> Asked | None:
        """The round of this digest that waits for its tallies, if there is one."""
        return next((one for one in self.waiting if one.round.digest.hex() == digest), None)


def release_of(text: str) -> Release:
    """A release that was kept. StateError if it was written by a version with another form."""
    try:
        record = decode(text.encode())
    except WireError as error:
        raise StateError(
            f"publish: the state holds a release of another form ({error}): go on with the version that wrote it, or "
            "begin a deployment of another name"
        ) from None
    assert isinstance(record, Release)  # noqa: S101 - what `small` wrote
    return record
