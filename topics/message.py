# SPDX-License-Identifier: Apache-2.0
"""What every JSON message shares: strict frozen fields, a schema tag, and one canonical form in bytes.

Contract: equal messages have equal canonical bytes: UTF-8 JSON, keys sorted by code point, no white space, no key
whose value is its default. So a digest over them is the message's identity. Building a message with a field that does
not fit raises pydantic's ValidationError, which shows no input. Not here: reading bytes (codec.py), which messages
there are (messages.py, release.py).
"""

from collections.abc import Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Self

import orjson
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainSerializer

from murmurate.topics.errors import MessageError
from murmurate.topics.names import STREAM_PATTERN

SAFE_INTEGER = (1 << 53) - 1
"""The largest whole number that every JSON reader keeps exactly."""
MAX_TIME_MS = 253_402_300_799_999
"""9999-12-31T23:59:59.999Z, the last instant RFC 3339 can write."""
MAX_PARTITIONS = 1 << 16


class Part(BaseModel):
    """A strict, frozen piece of a message."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, hide_input_in_errors=True, allow_inf_nan=False)


class Message(Part):
    """A JSON message with a schema tag: `murmurate/NAME/VERSION`."""

    tag: ClassVar[str]

    def __init_subclass__(cls, **options: Any) -> None:
        """A message names its schema in its class line, `class Done(Message, tag=...)`, and is complete with it."""
        cls.tag = options.pop("tag")
        super().__init_subclass__(**options)

    def canonical(self) -> bytes:
        """The one form in bytes."""
        fields = self.model_dump(exclude_defaults=True)
        try:
            return orjson.dumps({"schema": self.tag, **fields}, option=orjson.OPT_SORT_KEYS)
        except TypeError:
            raise MessageError(f"{self.tag}: found text with half a surrogate pair; allowed: Unicode") from None

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy, in which nothing is remembered that was derived from the fields."""
        copied = super().model_copy(update=update, deep=deep)
        for name in copied.__dict__.keys() - type(self).model_fields.keys():
            del vars(copied)[name]
        return copied

    def __hash__(self) -> int:
        return hash(self.canonical())


def _rising(items: tuple[int, ...]) -> tuple[int, ...]:
    if any(a >= b for a, b in pairwise(items)):
        raise ValueError("found numbers out of order or twice; allowed: rising numbers")
    return items


def _frozen(table: Mapping[str, Any]) -> Mapping[str, Any]:
    return MappingProxyType(dict(table))


def _plain(table: Mapping[str, Any]) -> dict[str, Any]:
    return dict(table)


Whole = Annotated[int, Field(ge=0, le=SAFE_INTEGER)]
Positive = Annotated[int, Field(ge=1, le=SAFE_INTEGER)]
Millis = Annotated[int, Field(ge=0, le=MAX_TIME_MS)]
Partition = Annotated[int, Field(ge=0, lt=MAX_PARTITIONS)]
Partitions = Annotated[int, Field(ge=1, le=MAX_PARTITIONS)]
Contributors = Annotated[tuple[Partition, ...], Field(max_length=MAX_PARTITIONS), AfterValidator(_rising)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
ShortDigest = Annotated[str, Field(pattern=r"^[0-9a-f]{16,64}$")]
Stream = Annotated[str, Field(pattern=STREAM_PATTERN)]
Word = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,31}$")]
TopicName = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,249}$")]  # what Kafka allows
Freeze = AfterValidator(_frozen), PlainSerializer(_plain, return_type=dict[str, Any])
"""Annotations that make a mapping unchangeable here and an object in JSON."""
