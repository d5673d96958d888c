# SPDX-License-Identifier: Apache-2.0
"""What a release says of its promise: to users who randomize their own reports, or of a central stream.

Contract: the two are never in one release, and never added.  Not here: the release around them (release.py).
"""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from murmurate.topics.message import Part, Positive, Whole, Word

Nats = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(ge=0, lt=1)]
Duration = Annotated[str, Field(pattern=r"^[1-9][0-9]{0,14}(ms|s|m|h|d)$")]


class AgainstUsers(Part):
    """What fake reports add, per window, against whoever knows all other users' reports."""

    epsilon: Nats
    delta: Annotated[float, Field(ge=0, lt=1)]
    """The chance with which the claim may fail; 0 where fakes add nothing, and epsilon is what reports have alone."""


class Shuffled(Part):
    """What the mixing adds: (epsilon, delta) per window, with the bound it comes from."""

    epsilon: Nats
    delta: Annotated[float, Field(ge=0, lt=1)]
    """The chance with which the claim may fail; 0 where mixing adds nothing, and epsilon is what reports have alone."""
    per: Literal["window"]
    n: Positive
    """Reports that hide each other, in the smallest round that the claim is of: floor((1 - assumed_corrupt) * counted),
    of three digits, rounded down.
    """
    assumed_corrupt: Share
    bound: Word
    fakes: Whole = 0
    """Fake reports of the mixing zone that hide users too, in the round that the claim is of: of three digits, rounded
    down. Not written where the claim is of none.
    """
    against_users: AgainstUsers | None = None
    """What holds against an analyst who knows what all other users reported. Not written without fakes."""


class Periods(Part):
    """A window given as a number of periods, as in the papers."""

    periods: Positive


NoClaim = Literal["nothing was counted", "public measure", "lasting reports", "too few reports"]


class Privacy(Part):
    """The promise this release keeps."""

    unit: Literal["user"]
    epsilon: Nats | None
    """What holds against everybody but who sees raw events, for a user's reports by themselves; null where reports show
    their values (`unprotected_locally`).
    """
    window: Duration | Periods
    w: Positive
    """The window in periods of this stream."""
    shuffled: Shuffled | None
    """What holds against everybody but the mixing zone, or null where nothing is claimed, for the reason in
    `unshuffled`.
    """
    unshuffled: NoClaim | None = None
    """Why nothing is claimed: no round of the window had enough reports; they carry a public number; they outlive their
    round; or only their sum protects them, and too few were counted. Written where `shuffled` is null, but by earlier
    versions.
    """
    carry: Literal["always"] | None = None
    """Values stand until the next one, so the promise is over the sequence of values: one event that stands for longer
    than a window is answered about in each. Not written where values expire.
    """
    unprotected_locally: Literal[True] | None = None
    """Reports show their values to the mixing zone, and to whoever runs the brokers: only their sums are protected,
    against everybody else. Written where `epsilon` is null, and nowhere else.
    """

    @model_validator(mode="after")
    def _claims_or_says_why_not(self) -> "Privacy":
        if self.shuffled is not None and self.unshuffled is not None:
            raise ValueError("found shuffled and unshuffled; allowed: one of them")
        if (self.epsilon is None) != (self.unprotected_locally is not None):
            raise ValueError("found epsilon and unprotected_locally, or neither; allowed: one of them")
        return self


class CentralPromise(Part):
    """The promise of a central stream: who sees its releases learns at most epsilon about whether one event, or one
    user's events of any one window, are in the sums. It is not the promise to users of other streams, and never added
    to it.
    """

    unit: Literal["event", "user"]
    """What is added or removed; replacing it by another costs twice epsilon."""
    epsilon: Nats
    events: Positive | None = None
    """How many events of a user count in any window, where the unit is a user."""
    window: Duration | None = None
    """The length of the window in which they count."""

    @model_validator(mode="after")
    def _of_its_unit(self) -> "CentralPromise":
        if (self.unit == "user") != (self.events is not None) or (self.unit == "user") != (self.window is not None):
            raise ValueError("found events or window without a unit of users; allowed: both, only then")
        return self
