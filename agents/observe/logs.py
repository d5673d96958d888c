# SPDX-License-Identifier: Apache-2.0
"""Log lines: one JSON object a line, or plain text where a person looks on.

Contract: time, level, message, then the extra fields of our own loggers; a traceback is a field, never more lines.  A
line that says what another said less than a second before, numbers aside where a library says it, is counted and left
out; the next one of its kind says how many were.
Extra fields of anybody else are left out: what a library hangs on a record may be a message.  Source: ARCHITECTURE rule
11; what is logged says nothing of users, which is up to whoever logs.  Not here: where the lines go (stderr).
"""

from __future__ import annotations

import logging
import math
import re
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final, TextIO

from pythonjsonlogger.core import RESERVED_ATTRS
from pythonjsonlogger.orjson import OrjsonFormatter

OURS: Final = "murmurate"
NOISY: Final = ("faust", "mode", "aiokafka", "kafka", "asyncio", "aiohttp")
"""Loggers that say too much below WARNING."""
EACH_S: Final = 1.0
"""The least time between two lines that say the same."""
TRACEBACK_S: Final = 60.0
"""The least time between two tracebacks of the same line."""
MOST_KINDS: Final = 1_000
_NUMBERS = re.compile(r"0x[0-9a-fA-F]+|\d+")
_FIELDS: Final = ("time", "level", "message")


class _Said:
    """What is known of one kind of line."""

    __slots__ = ("at", "left_out", "traced")

    def __init__(self) -> None:
        self.at = self.traced = -math.inf
        self.left_out = 0


class OncePerSecond(logging.Filter):
    """Lets one line a second and kind through, with the number of those left out since. `clock`: in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock, self._kinds = clock, dict[object, _Said]()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether this one is written."""
        now, said = self._clock(), record.getMessage()
        words = said if is_ours(record) else _NUMBERS.sub("#", said)
        fields = {name: value for name, value in own_fields(record).items() if isinstance(value, str | int)}
        kind = record.name, record.levelno, words, tuple(fields.items())
        known = self._kinds.pop(kind, None) or _Said()
        self._kinds[kind] = known  # the newest stand last
        if len(self._kinds) > MOST_KINDS:
            del self._kinds[next(iter(self._kinds))]
        if now - known.at < EACH_S:
            known.left_out += 1
            return False
        if known.left_out:
            record.__dict__["repeated"] = known.left_out
        if record.exc_info and now - known.traced < TRACEBACK_S:
            record.exc_info = record.exc_text = None
        elif record.exc_info:
            known.traced = now
        known.at, known.left_out = now, 0
        return True


class JsonLines(OrjsonFormatter):
    """A record as one line of JSON."""

    def __init__(self) -> None:
        super().__init__(_FIELDS)

    def add_fields(self, log_data: dict[str, Any], record: logging.LogRecord, message_dict: dict[str, Any]) -> None:
        """Time, level and message first."""
        log_data |= {"time": moment(record), "level": record.levelname, "message": record.message}
        if not is_ours(record):
            log_data["logger"] = record.name
        log_data |= {key: value for key, value in own_fields(record).items() if key not in _FIELDS}
        if (repeated := getattr(record, "repeated", 0)) and not is_ours(record):
            log_data["repeated"] = repeated
        log_data |= {key: value for key, value in message_dict.items() if key in ("exc_info", "stack_info")}


class PlainLines(logging.Formatter):
    """A record for a person: time, level where it matters, message, fields as name=value."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, and the traceback below it."""
        level = "" if record.levelno == logging.INFO else f"{record.levelname}: "
        who = "" if is_ours(record) else f"{record.name}: "
        fields = "".join(f"  {key}={_short(value)}" for key, value in own_fields(record).items())
        line = f"{moment(record)[11:19]}  {level}{who}{record.getMessage()}{fields}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def configure(stream: TextIO | None = None, level: int = logging.INFO) -> None:
    """All log lines of this process go to a stream (stderr unless named), as JSON unless it is a terminal."""
    into = sys.stderr if stream is None else stream
    handler = logging.StreamHandler(into)
    handler.addFilter(OncePerSecond())
    handler.setFormatter(PlainLines() if into.isatty() else JsonLines())
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level)
    for name in NOISY:
        logging.getLogger(name).setLevel(max(level, logging.WARNING))


def moment(record: logging.LogRecord) -> str:
    """When it was logged: RFC 3339, UTC, with milliseconds."""
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def is_ours(record: logging.LogRecord) -> bool:
    """Whether the record comes from one of our own loggers."""
    return record.name == OURS or record.name.startswith(f"{OURS}.")


def own_fields(record: logging.LogRecord) -> dict[str, Any]:
    """The extra fields of our own loggers; none of anybody else's."""
    if not is_ours(record):
        return {}
    return {key: value for key, value in vars(record).items() if key not in RESERVED_ATTRS and key[:1] != "_"}


def _short(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
