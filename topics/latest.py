# SPDX-License-Identifier: Apache-2.0
"""The row of one name in a table of the newest releases: flat, for sinks that keep one row a key.

Contract: everything in a row stands in the release that it names by stream, t and revision; the key is the canonical
JSON of stream and name, and the row of a key that is gone is deleted by a record without a value.  Not here: which
releases are the newest (agents/stages/released.py).
"""

from typing import Annotated, Literal

import orjson
from pydantic import Field, model_validator

from murmurate.topics.message import Message, Positive, Stream, Whole, Word
from murmurate.topics.names import NAME_PATTERN
from murmurate.topics.release import Release
from murmurate.topics.release_parts import Instant, Name, Text


class Latest(Message, tag="murmurate/latest/1"):
    """What the newest release of a stream says of one name. Null where nothing is known of it."""

    deployment: Annotated[str, Field(pattern=NAME_PATTERN)]
    stream: Stream
    name: Name
    revision: Positive
    t: Whole
    start: Instant
    end: Instant
    measure: Word
    unit: Text | None = None
    decision: Literal["published", "approximated", "unmeasured"]
    measured_t: Whole | None
    """The period whose reports speak in `unbiased`."""
    estimate: float | None
    """The best current estimate."""
    stderr: float | None
    """The standard error of `estimate`; null where the estimate is."""
    unbiased: float | None
    """The raw estimate before any post-processing."""

    @model_validator(mode="after")
    def _fits_together(self) -> "Latest":
        if (self.estimate is None) != (self.stderr is None):
            raise ValueError("found an estimate or its stderr without the other; allowed: both, or null for both")
        if self.decision == "unmeasured" and (self.estimate, self.unbiased) != (None, None):
            raise ValueError("found figures of what is unmeasured; allowed: null for all")
        return self

    @property
    def key(self) -> bytes:
        """The key of its record."""
        return latest_key(self.stream, self.name)


def latest_key(stream: str, name: str) -> bytes:
    """The key of a row, which names its stream and its name.

    >>> latest_key("screen", "home")
    b'{"name":"home","stream":"screen"}'
    """
    return orjson.dumps({"name": name, "stream": stream}, option=orjson.OPT_SORT_KEYS)


def latest_rows(release: Release) -> list[Latest]:
    """The rows of a release, by name."""
    shared = ("deployment", "stream", "revision", "t", "start", "end", "measure", "unit", "decision", "measured_t")
    said = {key: getattr(release, key) for key in shared}
    return [
        Latest(**said, name=name, estimate=value, stderr=release.stderr[name], unbiased=release.unbiased[name])
        for name, value in sorted(release.estimate.items())
    ]
