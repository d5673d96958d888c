# SPDX-License-Identifier: Apache-2.0
"""What the curator says of the periods of central streams: noisy sums, and which tree their noise belongs to.

Contract: whatever stands here may be known by everybody.  Not here: exact sums, which never leave the edge (block.py).
"""

from typing import Annotated

from pydantic import Field, model_validator

from murmurate.topics.message import SAFE_INTEGER, Message, Part, ShortDigest, Stream, Whole
from murmurate.topics.messages import MESSAGE_CELLS

Noisy = tuple[Annotated[int, Field(ge=-SAFE_INTEGER, le=SAFE_INTEGER)], Whole]
"""A noisy sum as a quotient and a remainder, of a denominator that the stream's tree gives."""


class Planted(Part):
    """The tree that the noise of a sum belongs to."""

    first_t: Whole
    """The first period of the tree."""
    threshold: int
    """The largest value that counts as itself, in the stream's steps."""
    digest: ShortDigest
    """The digest of all that shapes the noise; the key is not in it."""


class Curated(Message, tag="murmurate/curated/1"):
    """What the curator says of one period of a central stream. Every period has one, in order. Sums are exact sums with
    the noise of their node: what is in here may be known by everybody.
    """

    stream: Stream
    t: Whole
    config: ShortDigest
    """The digest of the stream's configuration."""
    tree: Planted | None = None
    """None in the hold-out, whose values are used for finding the threshold alone."""
    sums: Annotated[tuple[Noisy, ...], Field(min_length=1, max_length=MESSAGE_CELLS)] | None = None
    """The noisy sums of the block of periods that ends with this one, one of each cell; None where none ends."""

    @model_validator(mode="after")
    def _of_a_tree(self) -> "Curated":
        if self.sums is not None and self.tree is None:
            raise ValueError("found sums without a tree; allowed: with the tree of their noise")
        if self.tree is not None and self.tree.first_t > self.t:
            raise ValueError("found a tree that begins later; allowed: at t or before")
        return self
