# SPDX-License-Identifier: Apache-2.0
"""JSON Schemas of everything in JSON, from the classes that read it; `tools/schemas.py` writes them down."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import Field

from murmurate.topics.codec import MESSAGES
from murmurate.topics.errors import UnknownError
from murmurate.topics.events import MAX_USER
from murmurate.topics.message import Millis, Part, Stream

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


class Event(Part):
    """What an application sends to `{deployment}.events`. For its schema only: `events.EventReader` reads them."""

    stream: Stream
    user: Annotated[str, Field(min_length=1, max_length=MAX_USER)] | int
    time: str | Millis
    """RFC 3339 with a zone, or milliseconds since 1970."""
    value: str | int | float | list[str | int] | dict[str, Any]
    """A category or a string; a number; a list of items; an object of items with numbers, of attributes, or of a value
    with a public number."""


_KINDS: Final[Mapping[str, type[Part]]] = {"event": Event} | {kind.tag.split("/")[1]: kind for kind in MESSAGES}
NAMES: Final = tuple(_KINDS)
"""The names of everything that has a schema."""


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema of an event or a message: `schema("round")`.

    It says what types and ranges can say. What fields owe each other, such as received = counted + rejected, only the
    class checks.
    """
    if name not in _KINDS:
        raise UnknownError(f"schema: found a name of none; allowed: {', '.join(NAMES)}")
    kind = _KINDS[name]
    found = _closed(kind.model_json_schema())
    if kind is Event:
        return {"$schema": DIALECT, **found, "additionalProperties": True}  # an application's own fields are its own
    tag = {"const": next(message.tag for message in MESSAGES if message is kind)}
    found["properties"] = {"schema": tag, **found["properties"]}
    found["required"] = ["schema", *found["required"]]
    return {"$schema": DIALECT, **found}


def _closed(found: Any, named: bool = True) -> Any:
    """Without pydantic's invented titles, and with objects that take only the keys they describe."""
    if isinstance(found, list):
        return [_closed(item) for item in found]
    if not isinstance(found, dict):
        return found
    closed = {
        key: _closed(item, key not in ("properties", "$defs"))
        for key, item in found.items()
        if key != "title" or not named
    }
    return closed | {"additionalProperties": False} if "patternProperties" in closed else closed
