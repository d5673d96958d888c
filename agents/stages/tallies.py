# SPDX-License-Identifier: Apache-2.0
"""A round's tallies: the records with the counts of its sub-batches, and which of them have come.

Contract: few counts are in one message; many are in blocks that a message before them announces by their SHA-256, all
in one transaction.  So a block that was announced counts once, wherever it comes after its announcement, and any other
block is left out.  A state holds the message and its offset, never the counts in blocks: an instance that recovers
folds the blocks again from that offset on.  Source: ARCHITECTURE rules 13, 16, 19 and 20.  Not here: which round is
awaited (open_period.py).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.stages.errors import StageError
from murmurate.topics.block import COUNTS_PER_BLOCK, TallyBlock, encode_tally
from murmurate.topics.codec import decode, encode
from murmurate.topics.messages import MESSAGE_CELLS, Tally, TallyInBlocks

Counts = NDArray[np.int64]
Fate = Literal["taken", "repeated", "foreign"]
"""What becomes of a block: "taken", announced and here for the first time; "repeated", here before; "foreign",
announced by nobody.
"""


def tally_records(fields: Mapping[str, Any], counts: Counts) -> Iterator[bytes]:
    """A tally as records, in their order. fields: all those of `Tallied`."""
    if len(counts) <= MESSAGE_CELLS:
        yield encode(Tally(**fields, counts=tuple(counts.tolist())))
        return
    blocks = list(encode_tally(bytes.fromhex(fields["round"]), fields["q"], counts))
    digests = tuple(hashlib.sha256(block).hexdigest() for block in blocks)
    yield encode(TallyInBlocks(**fields, cells=len(counts), blocks=digests))
    yield from blocks


@dataclass(eq=False)
class Announced:
    """The blocks of a tally: which are here, and where they were announced."""

    digests: tuple[str, ...]
    at: int
    """Offset of the announcement."""
    came: set[int] = field(default_factory=set)

    @property
    def whole(self) -> bool:
        """Whether every block is here."""
        return len(self.came) == len(self.digests)


@dataclass(eq=False)
class RoundTallies:
    """The tallies of a round so far, one of each sub-batch."""

    got: dict[int, Tally | TallyInBlocks] = field(default_factory=dict)
    """The tallies by sub-batch, those in blocks from their announcement on."""
    _counts: dict[int, Counts] = field(default_factory=dict)
    _announced: dict[int, Announced] = field(default_factory=dict)

    @property
    def whole(self) -> int:
        """The number of sub-batches whose counts are all here."""
        return len(self.got) - sum(not one.whole for one in self._announced.values())

    @property
    def counted(self) -> int:
        """The number of reports behind all counts, fakes among them."""
        return sum(tally.counted for tally in self.got.values())

    @property
    def received(self) -> int:
        """The number of reports that came in all sub-batches, malformed ones among them."""
        return sum(tally.received for tally in self.got.values())

    def add(self, tally: Tally | TallyInBlocks, at: int) -> None:
        """Take a tally, or the announcement of one, that was read at this offset."""
        self.got[tally.q] = tally
        if isinstance(tally, Tally):
            self._counts[tally.q] = np.array(tally.counts, np.int64)
        else:
            self._counts[tally.q] = np.zeros(tally.cells, np.int64)
            self._announced[tally.q] = Announced(tally.blocks, at)

    def take(self, block: TallyBlock, record: bytes, at: int) -> Fate:
        """Take a block of this round that was read at this offset. Only announcements before it count, so that a
        recovery, which knows later ones, finds the same.
        """
        announced, k = self._announced.get(block.q), block.sequence
        if announced is None or at <= announced.at or k >= len(announced.digests):
            return "foreign"
        if announced.digests[k] != hashlib.sha256(record).hexdigest():
            return "foreign"
        if k in announced.came:
            return "repeated"
        place = self._counts[block.q][k * COUNTS_PER_BLOCK : (k + 1) * COUNTS_PER_BLOCK]
        if len(block.counts) != len(place):
            tally = self.got[block.q]
            raise StageError(
                f"publish: stream {tally.stream!r}: block {k} of a tally has {len(block.counts)} counts (period "
                f"{tally.t}); allowed: {len(place)}"
            )
        place[:] = block.counts
        announced.came.add(k)
        return "taken"

    def counts(self, q: int) -> Counts | None:
        """The counts of a sub-batch, once they are all here."""
        return None if q in self._announced and not self._announced[q].whole else self._counts[q]

    def support(self) -> Counts:
        """The counts of all sub-batches together, once they are whole."""
        first, *others = self._counts.values()
        total = first.copy()
        for counts in others:
            total += counts
        return total

    def in_order(self) -> list[Tally | TallyInBlocks]:
        """The tallies, in the order of their sub-batches."""
        return [self.got[q] for q in sorted(self.got)]

    @property
    def first(self) -> int | None:
        """The offset from which a recovery must fold again, if any block counts that no state holds."""
        return min((one.at for one in self._announced.values()), default=None)

    def kept(self) -> dict[str, Any]:
        """The tallies as a part of a state, without the counts that are in blocks."""
        kept = {"got": [encode(tally).decode() for tally in self.got.values()]}
        at = {str(q): one.at for q, one in self._announced.items()}
        return kept | ({"at": at} if at else {})

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> RoundTallies:
        """The tallies from what `kept` gave; their blocks have to be folded again."""
        made = cls()
        for tally in tallies_of(kept["got"]):
            made.add(tally, kept.get("at", {}).get(str(tally.q), -1))
        return made


def tallies_of(texts: list[str]) -> Iterator[Tally | TallyInBlocks]:
    """The tallies that a state holds."""
    for text in texts:
        tally = decode(text.encode())
        assert isinstance(tally, Tally | TallyInBlocks)  # noqa: S101 - what `kept` wrote
        yield tally
