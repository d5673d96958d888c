# SPDX-License-Identifier: Apache-2.0
"""JSON pointers (RFC 6901), compiled once: where an event keeps its user, time, value and stream."""

import re
from collections.abc import Callable
from operator import itemgetter
from typing import Any

from murmurate.topics.errors import MappingError

_TOKEN = re.compile(r"(?:[^~]|~[01])*")
_INDEX = re.compile(r"0|[1-9][0-9]{0,9}", re.ASCII)


def tokens(pointer: str) -> tuple[str, ...]:
    """The steps of a pointer: `/session/user~1id` is ("session", "user/id")."""
    if not isinstance(pointer, str) or not pointer.startswith("/") or not _TOKEN.fullmatch(pointer):
        raise MappingError(f"pointer: found {pointer!r}; allowed: a JSON pointer such as /session/user_id (RFC 6901)")
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in pointer[1:].split("/"))


def getter(pointer: str) -> Callable[[Any], Any]:
    """A function from a document to what the pointer names; LookupError or TypeError where there is nothing."""
    steps = tokens(pointer)
    if len(steps) == 1 and not _INDEX.fullmatch(steps[0]):
        return itemgetter(steps[0])

    def get(document: Any) -> Any:
        for step in steps:
            if isinstance(document, list):
                if not _INDEX.fullmatch(step):
                    raise LookupError("no index of an array")
                document = document[int(step)]
            elif isinstance(document, dict):
                document = document[step]
            else:
                raise LookupError("nothing below")
        return document

    return get
