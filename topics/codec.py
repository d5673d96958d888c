# SPDX-License-Identifier: Apache-2.0
"""Messages to bytes and back, and which of the two kinds of record some bytes are.

Contract: `decode(encode(m)) == m`; whatever bytes arrive, `decode` gives a message or raises a WireError that says
where, by the path of the key, and shows nothing of what it found but its type. Reading is liberal in white space and
the order of keys only.
"""

import json
import re
from functools import lru_cache
from typing import Any, Final, Literal, Never

from pydantic import ValidationError

from murmurate.topics import block
from murmurate.topics.curated import Curated
from murmurate.topics.errors import MessageError, NewerError, TooLargeError, UnknownError
from murmurate.topics.latest import Latest
from murmurate.topics.message import Message, Part
from murmurate.topics.messages import (
    Close,
    Config,
    Dead,
    Done,
    GiveUp,
    Progress,
    Round,
    Seal,
    Settled,
    Start,
    Tally,
    TallyInBlocks,
    Tick,
)
from murmurate.topics.quiet import Quiet
from murmurate.topics.release import Release

MESSAGES: Final[tuple[type[Message], ...]] = (
    Start, Config, Round, GiveUp, Close, Settled, Progress, Quiet, Tick, Done, Seal, Tally, TallyInBlocks, Curated,
    Release, Latest, Dead,
)  # fmt: skip
"""Every class of message."""
MAX_MESSAGE: Final = 1_000_000
"""Bytes of a message: below `names.MAX_RECORD` with room for Kafka's framing."""
_REMEMBERED: Final = 1 << 14  # bytes up to which a decoded message is kept for the next reader

_BY_TAG = {kind.tag: kind for kind in MESSAGES}
_LATEST = {kind.tag.split("/")[1]: int(kind.tag.split("/")[2]) for kind in MESSAGES}
_TAG = re.compile(r"murmurate/([a-z_]{1,32})/([1-9][0-9]{0,8})")
_FIELDS = {"schema"}.union(*(part.model_fields for part in (*MESSAGES, *Part.__subclasses__())))
_TYPES = {
    dict: "an object",
    list: "an array",
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
}


def encode(message: Message) -> bytes:
    """The message's canonical bytes."""
    record = message.canonical()
    _fitting(record, message.tag)
    return record


def decode(record: bytes | memoryview) -> Message:
    """The message in these bytes."""
    _fitting(record, "message")
    return _decoded(bytes(record)) if len(record) <= _REMEMBERED else _decode(bytes(record))


def _decode(record: bytes) -> Message:
    table = _object(record)
    kind = _kind(table.pop("schema", None))
    try:
        return kind.model_validate_json(json.dumps(table))
    except ValidationError as error:
        raise MessageError(f"{kind.tag}: {_first(error)}") from None
    except RecursionError:
        raise MessageError(f"{kind.tag}: found too many levels; allowed: those of its schema") from None


# A record of `rounds` is read by every partition's stages: messages are frozen, so they may share one.
_decoded = lru_cache(maxsize=256)(_decode)


def kind_of(record: bytes | memoryview) -> Literal["block", "message"]:
    """Which of the two a record is, by its first bytes."""
    start = bytes(record[:4])
    if start == block.MAGIC:
        return "block"
    if start[:1] == b"{":
        return "message"
    raise UnknownError("record: found neither a block nor a message; allowed: magic 'MURM' or '{' at byte 0")


def decode_record(record: bytes | memoryview) -> block.Block | Message:
    """The block or message in these bytes."""
    return block.decode(record) if kind_of(record) == "block" else decode(record)


def _fitting(record: bytes | memoryview, what: str) -> None:
    if len(record) > MAX_MESSAGE:
        raise TooLargeError(f"{what}: found {len(record)} bytes; allowed: {MAX_MESSAGE}")


def _object(record: bytes) -> dict[str, Any]:
    """The JSON object in these bytes, by the standard reader: only it shows a key that stands there twice."""
    try:
        text = record.decode()
        table = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant, parse_float=_finite)
    except MessageError:
        raise
    except UnicodeDecodeError as error:
        raise MessageError(f"message: found a byte at {error.start} that is no UTF-8; allowed: UTF-8") from None
    except json.JSONDecodeError as error:
        raise MessageError(f"message: found no JSON at byte {error.pos}; allowed: one JSON object") from None
    except ValueError:  # a whole number of thousands of digits
        raise MessageError("message: found a number of too many digits; allowed: numbers of its schema") from None
    except RecursionError:
        raise MessageError("message: found too many levels; allowed: those of its schema") from None
    if not isinstance(table, dict):
        raise MessageError(f"message: found {_type(table)}; allowed: one JSON object")
    return table


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        seen = set[str]()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise MessageError(f"message: {_shown(twice)}: found twice in one object; allowed: once")
    return table


def _no_constant(name: str) -> Never:
    raise MessageError("message: found NaN or Infinity; allowed: finite numbers")


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise MessageError("message: found a number beyond all doubles; allowed: finite numbers")
    return number


def _kind(tag: object) -> type[Message]:
    if isinstance(tag, str) and tag in _BY_TAG:
        return _BY_TAG[tag]
    match = _TAG.fullmatch(tag) if isinstance(tag, str) else None
    latest = _LATEST.get(match[1]) if match else None
    if match and latest and int(match[2]) > latest:
        raise NewerError(f"message: schema: found version {match[2]} of {match[1]}; allowed: up to {latest}")
    if match and latest:
        raise UnknownError(f"message: schema: found version {match[2]} of {match[1]}; allowed: {latest}")
    found = "no schema" if tag is None else "a schema nobody has defined" if isinstance(tag, str) else _type(tag)
    raise UnknownError(f"message: schema: found {found}; allowed: {', '.join(_BY_TAG)}")


def _first(error: ValidationError) -> str:
    """The first thing that does not fit: path, found, allowed. Names that are not a schema's are not repeated."""
    detail = error.errors(include_url=False)[0]
    where = [_shown(step) for step in detail["loc"]]
    if detail["type"] == "extra_forbidden":
        where[-1] = "(another key)"
    if detail["type"] == "json_invalid":  # all that the standard reader lets through and pydantic's does not
        return "(all): found half a surrogate pair, or too many levels; allowed: its schema"
    path = ".".join(where) or "(all)"
    if detail["type"] == "value_error":
        return f"{path}: {detail.get('ctx', {}).get('error')}"
    found = "nothing" if detail["type"] == "missing" else _type(detail["input"])
    allowed = {"missing": "this key", "extra_forbidden": "keys of the schema"}.get(detail["type"]) or detail["msg"]
    return f"{path}: found {found}; allowed: {allowed.removeprefix('Input should be ')}"


def _shown(step: object) -> str:
    return str(step) if isinstance(step, int) or step in _FIELDS else "(a name)"


def _type(found: object) -> str:
    return _TYPES.get(type(found), "null")
