# SPDX-License-Identifier: Apache-2.0
"""The control records that stages exchange besides blocks. Frozen, versioned; `codec` reads and writes them.

Contract: a round says everything a device needs and holds no instant, host or broker setting, so its digest is the
same wherever and whenever it is opened (ARCHITECTURE section 2). The others name their round by that digest. The class
is the schema.
Not here: quiet doors (quiet.py), what the curator says (curated.py), releases (release.py), blocks (block.py).

    rounds    Start, Config, Round, GiveUp, Close, Settled       raw      Progress, Quiet
    ticks     Tick, to the door                         feed     Progress, to publish: topics under the feed's clock
    reports   Done                                      batches  Seal
    tallies   Tally, TallyInBlocks                      dead.*   Dead
"""

import hashlib
import re
from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self

import orjson
from pydantic import AfterValidator, Field, PlainSerializer, model_validator

from murmurate.topics.block import COUNTS_PER_BLOCK
from murmurate.topics.config_parts import ConfigUntil, Setting, SettingValue
from murmurate.topics.message import (
    SAFE_INTEGER,
    Contributors,
    Digest,
    Freeze,
    Message,
    Millis,
    Part,
    Partition,
    Partitions,
    Positive,
    ShortDigest,
    Stream,
    TopicName,
    Whole,
    Word,
)
from murmurate.topics.slots import Slots

ROUND_PREFIX = b"murmurate/round/1\n"
MESSAGE_CELLS = 1 << 12
"""The most counts that a tally says in its own message; more of them travel in blocks, which a message announces."""
MAX_CELLS = 1 << 22
"""The most counts that a tally may have in all."""

_PARAMETER = re.compile(r"[a-z][a-z0-9_]{0,31}")
Parameter = Annotated[str, Field(pattern=f"^{_PARAMETER.pattern}$")]
MAX_WORD, MAX_KEYS = 64, 16
MAX_SPEC = 1 << 18
"""The most bytes of a spec as JSON."""
MAX_DEPTH = 8
"""How deep lists and tables in a spec may lie in each other, the question's own table included."""


def _question(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(spec.get("name"), str):
        raise ValueError("found no name; allowed: the canonical spec of a question")
    frozen: Mapping[str, Any] = _frozen(spec, MAX_DEPTH)
    try:
        size = len(orjson.dumps(_plain(frozen)))
    except TypeError:
        raise ValueError("found text with half a surrogate pair; allowed: Unicode") from None
    if size > MAX_SPEC:
        raise ValueError(f"found a longer spec; allowed: {MAX_SPEC} bytes")
    return frozen


def _frozen(found: Any, levels: int) -> Any:
    """A spec made unchangeable, of words, whole numbers, lists and tables alone: two machines may write a float
    differently.
    """
    if isinstance(found, str) and len(found) <= MAX_WORD:
        return found
    if isinstance(found, int) and not isinstance(found, bool) and abs(found) <= SAFE_INTEGER:
        return found
    if isinstance(found, (Mapping, list, tuple)) and not levels:
        raise ValueError(f"found more levels; allowed: {MAX_DEPTH}")
    if isinstance(found, (list, tuple)) and found:
        return tuple(_frozen(value, levels - 1) for value in found)
    if isinstance(found, Mapping) and 1 <= len(found) <= MAX_KEYS and all(map(_is_parameter, found)):
        return MappingProxyType({key: _frozen(value, levels - 1) for key, value in found.items()})
    raise ValueError(
        f"found {'a table' if isinstance(found, Mapping) else type(found).__name__} that is none of a spec; allowed: "
        f"words of at most {MAX_WORD} characters, whole numbers, lists of 1 or more, tables of 1 to {MAX_KEYS} of them"
    )


def _is_parameter(key: object) -> bool:
    return isinstance(key, str) and _PARAMETER.fullmatch(key) is not None


def _plain(found: Any) -> Any:
    """A frozen spec as JSON has it."""
    if isinstance(found, Mapping):
        return {key: _plain(value) for key, value in found.items()}
    return [_plain(value) for value in found] if isinstance(found, tuple) else found


Spec = Annotated[
    Mapping[Parameter, Any],
    Field(min_length=1, max_length=16),
    AfterValidator(_question),
    PlainSerializer(_plain, return_type=dict[str, Any]),
]


class Start(Message, tag="murmurate/start/1"):
    """The first period of a stream under this config and revision: `rounds` begins with one for each stream."""

    stream: Stream
    t: Whole
    config: ShortDigest
    revision: Positive


Fingerprint = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]


class Config(Message, tag="murmurate/config/1"):
    """What all zones compare with their own files and secrets before they join, and nobody obeys, but for the number of
    partitions that sources had at first. The newest record whose number follows holds: 1, 2, 3 ...; the same record may
    stand there again.
    """

    number: Positive
    values: Annotated[Mapping[Setting, SettingValue], Field(min_length=1, max_length=1 << 14), *Freeze]
    """Everything that shapes rounds, batches or time."""
    secrets: Annotated[Mapping[Word, Fingerprint], Field(max_length=32), *Freeze]
    """Fingerprints of 32 random bytes each, as `murmurate keys fingerprint` prints them."""
    until: ConfigUntil | None = None
    """What holds before the values do; none where they hold at once."""


class Round(Message, tag="murmurate/round/1"):
    """The one question-and-answer shape: who is asked what, for which period."""

    stream: Stream
    t: Whole
    slots: Slots
    mechanism: Spec
    """The canonical spec of the question: words, whole numbers, lists and tables. The spec of a mechanism is a flat
    table.
    """
    purpose: Literal["dissimilarity", "publication"]
    contributors: Partitions
    """P, the raw partitions: contributors are 0 to P - 1."""
    targets: Partitions
    """Q, the shuffle partitions: sub-batches are 0 to Q - 1."""
    patience_ms: Positive
    """How long publish waits before it gives up: a duration, by its own timer."""
    config: ShortDigest
    """The digest of the stream's configuration."""
    revision: Positive

    @cached_property
    def digest(self) -> bytes:
        """The round's identity, 32 bytes: SHA-256 of a prefix and the canonical bytes."""
        return hashlib.sha256(ROUND_PREFIX + self.canonical()).digest()

    def __hash__(self) -> int:
        return hash(self.digest)


class GiveUp(Message, tag="murmurate/give_up/1"):
    """Patience has ended: the round's first shuffle partition is to answer with a close, if anybody is there."""

    round: Digest


class Close(Message, tag="murmurate/close/1"):
    """Who counts in a round, by its first shuffle partition: everyone waits for these, seals, and drops the others."""

    round: Digest
    contributors: Contributors


class Settled(Message, tag="murmurate/settled/1"):
    """Nothing more will be asked about this period: the values frozen for it may go."""

    stream: Stream
    t: Whole


class Progress(Message, tag="murmurate/progress/1"):
    """The door's clock: everything that stood in this source partition when the clock said `time` is in `raw`."""

    topic: TopicName
    partition: Partition
    time: Millis


class Tick(Message, tag="murmurate/tick/1"):
    """What a source partition's clock says: at `time` its events ended before offset `end`. The door passes it on as
    progress, behind all those events.
    """

    topic: TopicName
    partition: Partition
    time: Millis
    end: Whole


class Done(Message, tag="murmurate/done/1"):
    """A contributor has answered: so many reports came here, so many went to all targets together."""

    round: Digest
    contributor: Partition
    sent: Whole
    total: Whole

    @model_validator(mode="after")
    def _part_of_the_whole(self) -> "Done":
        if self.sent > self.total:
            raise ValueError("found sent above total; allowed: at most the total")
        return self


class Rejected(Part):
    """Reports that came from those who count and do not count themselves, by reason. What a contributor that was
    closed out had sent is in neither number: how much of it has come is a matter of the moment.
    """

    malformed: Whole
    """Reports that no value could have given."""
    undersized: bool = False
    """Whether the round stayed below `min_batch`. Then nothing else is said of it: no count of its reports is above 0.
    Not written when false.
    """


class Counted(Part):
    """What a seal and a tally both say of their sub-batch."""

    round: Digest
    q: Partition
    received: Whole
    counted: Whole
    rejected: Rejected
    missing: Contributors
    """Contributors that were closed out."""

    @model_validator(mode="after")
    def _every_report_once(self) -> "Counted":
        if self.received != self.counted + self.rejected.malformed:
            raise ValueError("found received other than counted and rejected together; allowed: every report once")
        if self.rejected.undersized and self.received:
            raise ValueError("found reports in an undersized sub-batch; allowed: none, and no number of them")
        return self


class Seal(Counted, Message, tag="murmurate/seal/1"):
    """The end of a sub-batch: after `blocks` blocks with `counted` reports together. It brings the whole descriptor,
    so that who counts the reports needs no other log.
    """

    blocks: Whole
    descriptor: Round

    @model_validator(mode="after")
    def _of_this_round(self) -> "Seal":
        if self.descriptor.digest.hex() != self.round:
            raise ValueError("found the descriptor of another round; allowed: the one whose digest is named")
        return self


class Tallied(Counted):
    """What every tally says of its sub-batch, besides the counts."""

    stream: Stream
    t: Whole
    targets: Partitions
    """Q: publish waits for so many sub-batches."""

    @model_validator(mode="after")
    def _of_the_round(self) -> Self:
        if self.q >= self.targets:
            raise ValueError("found q at or above targets; allowed: 0 to targets - 1")
        return self


class Tally(Tallied, Message, tag="murmurate/tally/1"):
    """Additive counts of one sub-batch: the support of each cell, never an estimate. Which counts there can be
    depends on the question (`Question.check`).
    """

    counts: Annotated[tuple[Whole, ...], Field(min_length=1, max_length=MESSAGE_CELLS)]


class TallyInBlocks(Tallied, Message, tag="murmurate/tally_in_blocks/1"):
    """A tally of many counts. They follow in blocks, in the same transaction; a block that no such record has announced
    is nobody's.
    """

    cells: Annotated[int, Field(gt=MESSAGE_CELLS, le=MAX_CELLS)]
    """How many counts the blocks hold together."""
    blocks: Annotated[tuple[Digest, ...], Field(max_length=-(-MAX_CELLS // COUNTS_PER_BLOCK))]
    """The SHA-256 of each block, in the order of the counts."""

    @model_validator(mode="after")
    def _all_blocks(self) -> Self:
        if len(self.blocks) != (wanted := -(-self.cells // COUNTS_PER_BLOCK)):
            raise ValueError(f"found {len(self.blocks)} blocks; allowed: {wanted} for {self.cells} counts")
        if len(set(self.blocks)) < len(self.blocks):
            raise ValueError("found a block twice; allowed: each once")
        return self


class Dead(Message, tag="murmurate/dead/1"):
    """Where a record stands that nobody could read, and why. Never what it says or whose it is."""

    reason: Word
    topic: TopicName
    partition: Partition
    offset: Whole
