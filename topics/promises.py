"""What a release says of its promise: to users who randomize their own reports, or of a central stream.

Contract: the two are never in one release, and never added.  Not here: the release around them (release.py).
"""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from murmurate.topics.message import Part, Positive, Word

Nats = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(ge=0, lt=1)]
Duration = Annotated[str, Field(pattern=r"^[1-9][0-9]{0,14}(ms|s|m|h|d)$")]


class Shuffled(Part):
    """What the mixing adds: (epsilon, delta) per window, with the bound it comes from."""

    epsilon: Nats
    delta: Annotated[float, Field(gt=0, lt=1)]
    per: Literal["window"]
    n: Positive
    """Reports that hide each other: floor((1 - assumed_corrupt) * counted)."""
    assumed_corrupt: Share
    bound: Word


class Periods(Part):
    """A window given as a number of periods, as in the papers."""

    periods: Positive


class Privacy(Part):
    """The promise this release keeps."""

    unit: Literal["user"]
    epsilon: Nats
    window: Duration | Periods
    w: Positive
    """The window in periods of this stream."""
    shuffled: Shuffled | None
    """The amplified claim, or null where it was not computed, as in every release of this version."""
    carry: Literal["always"] | None = None
    """Values stand until the next one, so the promise is over the sequence of values: one event that stands for longer
    than a window is answered about in each. Not written where values expire.
    """


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
