# SPDX-License-Identifier: Apache-2.0
"""Single JSON events to columns: what the door does with an application's topic before it pseudonymises.

Contract: each record is parsed by itself (joined, one could swallow its neighbour), and gives one row, one refusal,
or, when only its value is wrong, both: such an event enrols its user and sets nothing, since who is in the population
may not depend on a value (ARCHITECTURE rule 7). So a record that is no JSON, or too long, still makes a row if stream,
user and time can be read from it. Nothing a record says raises an error. Not here: reading what is no JSON (frames.py),
what a value may be (domains/), pseudonyms, periods, lateness (agents/).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from murmurate.topics.block import REFUSED
from murmurate.topics.domains import Codes, Domain, Words
from murmurate.topics.errors import MappingError
from murmurate.topics.frames import FrameReader
from murmurate.topics.message import MAX_TIME_MS
from murmurate.topics.names import stream_name
from murmurate.topics.pointers import getter
from murmurate.topics.times import InstantReader

MAX_EVENT: Final = 64 * 1024
MAX_USER: Final = 256
MAX_STREAMS: Final = 1 << 16


class Reason(StrEnum):
    """Why an event or its value was refused: the first reason, of the fields in the order stream, user, time, value."""

    SIZE = "size"
    """More than MAX_EVENT bytes; its user is enrolled where they can be read all the same."""
    JSON = "json"
    """Not UTF-8, not JSON, NaN, a number beyond all doubles, too many levels, or no record at all; its user is enrolled
    where they can be read all the same."""
    FIELD = "field"
    """A pointer leads nowhere; in a row of attributes one is missing, or one is extra."""
    TYPE = "type"
    """A field of a wrong type."""
    STREAM = "stream"
    """A stream nobody declared."""
    USER = "user"
    """An empty user, or one of more than MAX_USER bytes."""
    TIME = "time"
    """Not RFC 3339 with a zone, or before 1970 or after year 9999."""
    VALUE = "value"
    """A category nobody declared, in a stream without "other"; an unknown item, or one twice; a vector's number outside
    -1 to 1; a string that is too long, holds NUL or is no hexadecimal of its length. Numbers outside a declared range
    are clipped instead."""


class Refused(Exception):  # noqa: N818 - never leaves this file
    """A reason on its way up."""


@dataclass(frozen=True)
class Fields:
    """Where events keep what matters, as JSON pointers. Without `time` the time counts that the
    reader is given: the door's clock at its first tick after the event.
    """

    user: str = "/user"
    value: str = "/value"
    time: str | None = "/time"
    stream: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class StreamEvents:
    """Events of one stream, in their order."""

    times: NDArray[np.int64] = field(repr=False)  # nothing of a row may reach a log
    values: NDArray[np.uint32] = field(repr=False)
    """uint32[n], or uint32[n, words]: the coded values."""
    long: Mapping[int, Words] = field(repr=False)
    """The rows whose lists have too many items, with the words of all items."""
    rows: NDArray[np.int64]
    """Which rows of the columns these values belong to."""


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Events as columns: row i stands for record `index[i]`."""

    stream: NDArray[np.uint16]
    """Position of the stream among those declared."""
    time: NDArray[np.int64] = field(repr=False)
    """Milliseconds since 1970."""
    code: NDArray[np.uint32] = field(repr=False)
    """The coded values: uint32[n], or uint32[n, words] where a stream has wider values, with as many words as the
    widest has (see `words_of`). REFUSED throughout where only the value was wrong, or the record as a whole.
    """
    users: list[bytes] = field(repr=False)  # nothing of a row may reach a log
    """The users' names as UTF-8; a number as its decimal digits."""
    index: NDArray[np.int64]
    """Which record each row came from."""
    refusals: tuple[tuple[int, Reason], ...]
    """(record, reason) of every refusal, in order. Where the record has a row, only its value was refused."""
    long: Mapping[int, Words] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    """Rows whose lists have too many items, with the words of all of them: whoever knows the users cuts them."""

    def words_of(self, rows: NDArray[Any], words: int) -> NDArray[np.uint32]:
        """The values of these rows of a stream whose values take so many words: uint32[m], or uint32[m, words]."""
        if self.code.ndim == 1:
            chosen: NDArray[np.uint32] = self.code[rows]
            return chosen
        return np.ascontiguousarray(self.code[rows, 0] if words == 1 else self.code[rows, :words])

    def of(self, position: int, words: int, part: slice = slice(None)) -> StreamEvents:
        """The events of the stream at this position, whose values take so many words, among these rows."""
        mine = np.flatnonzero(self.stream[part] == position) + (part.start or 0)
        long: Mapping[int, Words] = {}
        if self.long:
            long = {i: self.long[row] for i, row in enumerate(mine.tolist()) if row in self.long}
        return StreamEvents(self.time[mine], self.words_of(mine, words), long, mine)

    @property
    def counts(self) -> Mapping[Reason, int]:
        """Refusals by reason; reasons without any are left out."""
        counts: dict[Reason, int] = {}
        for _, reason in self.refusals:
            counts[reason] = counts.get(reason, 0) + 1
        return MappingProxyType(counts)


class EventReader:
    """Reads the events of one source: one stream, or several that a field tells apart. texts: numbers come as texts.

    >>> from murmurate.topics.domains import Categories
    >>> reader = EventReader({"screen": Categories(("home", "help"), other=True)})
    >>> columns = reader.read([b'{"user": "u-1", "time": "2026-11-18T09:00:12.480Z", "value": "help"}'])
    >>> columns.users, columns.time.tolist(), columns.code.tolist()
    ([b'u-1'], [1794992412480], [1])
    """

    def __init__(self, streams: Mapping[str, Domain], fields: Fields = Fields(), *, texts: bool = False) -> None:
        if not 1 <= len(streams) <= MAX_STREAMS or (fields.stream is None and len(streams) > 1):
            raise MappingError(
                f"events: found {len(streams)} streams; allowed: 1, or up to {MAX_STREAMS} with a pointer to the stream"
            )
        coded = [(position, domain.codes(texts=texts)) for position, domain in enumerate(streams.values())]
        self._widths = None if all(domain.coded for domain in streams.values()) else [d.words for d in streams.values()]
        names = [None] if fields.stream is None else [stream_name(name) for name in streams]
        self._streams: dict[Any, tuple[int, Codes]] = dict(zip(names, coded, strict=True))
        self._user, self._value = getter(fields.user), getter(fields.value)
        self._time = None if fields.time is None else getter(fields.time)
        self._stream = None if fields.stream is None else getter(fields.stream)
        self._fetch = self._fetch_all()
        places = [fields.user, *(place for place in (fields.time, fields.stream) if place is not None)]
        self._frame = FrameReader(places, fields.value)
        self._clock = InstantReader()

    def read(self, records: Sequence[bytes | None], times: Sequence[int] | NDArray[np.int64] | None = None) -> Columns:
        """The records' columns; `times` are times in milliseconds from elsewhere, needed where events carry none.

        1. A well-formed event takes the short way; any surprise is an exception. 2. `_careful` finds its reason, or a
        row all the same. 3. The columns become arrays, as wide as the widest value.
        """
        if self._time is None and (times is None or len(times) != len(records)):
            raise MappingError("events: found no time for each record; allowed: one each, since no field holds it")
        if isinstance(times, np.ndarray):
            times = times.tolist()
        loads, fetch, streams, milliseconds = orjson.loads, self._fetch, self._streams, self._clock.milliseconds
        stream_column: list[int] = []
        time_column: list[int] = []
        code_column: list[Any] = []
        users: list[bytes] = []
        index: list[int] = []
        refusals: list[tuple[int, Reason]] = []
        for row, record in enumerate(records):
            own = times[row] if times is not None else -1
            try:
                if len(record) > MAX_EVENT:  # type: ignore[arg-type]
                    raise Refused
                user, value, time, name = fetch(loads(record), own)  # type: ignore[arg-type]
                stream, codes = streams[name]
                code = codes[value]
                user = user.encode() if type(user) is str else _digits(user)
                if type(time) is str:
                    time = milliseconds(time)
                if not (0 < len(user) <= MAX_USER and type(time) is int and 0 <= time <= MAX_TIME_MS):
                    raise Refused
            except (Refused, ValueError, LookupError, TypeError):
                try:
                    stream, user, time, code, wrong = self._careful(record, own)
                except Refused as refused:
                    refusals.append((row, refused.args[0]))
                    continue
                if wrong is not None:
                    refusals.append((row, wrong))
            stream_column.append(stream)
            time_column.append(time)
            code_column.append(code)
            users.append(user)
            index.append(row)
        column = np.array(stream_column, np.uint16)
        long: dict[int, Words] = {}
        if self._widths is None:
            values = np.array(code_column, np.uint32)
        else:
            values, long = _widened(code_column, column, self._widths)
        return Columns(
            column, np.array(time_column, np.int64), values, users, np.array(index, np.int64), tuple(refusals), long
        )

    def _fetch_all(self) -> Callable[[Any, int], tuple[Any, Any, Any, Any]]:
        """(document, time from elsewhere) to (user, value, time, stream), as short as the pointers allow."""
        user, value, time, stream = self._user, self._value, self._time, self._stream
        if time is None:
            if stream is None:
                return lambda event, own: (user(event), value(event), own, None)
            return lambda event, own: (user(event), value(event), own, stream(event))
        if stream is None:
            return lambda event, own: (user(event), value(event), time(event), None)
        return lambda event, own: (user(event), value(event), time(event), stream(event))

    def _careful(self, record: bytes | None, own: int) -> tuple[int, bytes, int, int | Words, Reason | None]:
        """Stream, user, time, code, and what is wrong with the value; Refused if the event is dropped."""
        if record is None:
            raise Refused(Reason.JSON)
        if len(record) > MAX_EVENT:
            return self._broken(record, own, Reason.SIZE)
        try:
            event = orjson.loads(record)
        except ValueError:
            return self._broken(record, own, Reason.JSON)
        name = None if self._stream is None else _found(self._stream, event)
        stream, codes = self._stream_of(name)
        user = _user(_found(self._user, event))
        time = self._instant(own if self._time is None else _found(self._time, event))
        try:
            value = _found(self._value, event)
        except Refused as refused:
            return stream, user, time, REFUSED, refused.args[0]
        wrong = codes.wrong(value)
        if wrong is not None:
            return stream, user, time, REFUSED, Reason(wrong)
        return stream, user, time, codes[value], None

    def _broken(self, record: bytes, own: int, why: Reason) -> tuple[int, bytes, int, int, Reason]:
        """What can be read of a record that is no JSON or too long: whoever it shows is shown, and its value is
        refused.
        """
        found = iter(self._frame.read(record))
        try:
            user = _user(next(found))
            time = self._instant(own if self._time is None else next(found))
            stream, _ = self._stream_of(None if self._stream is None else next(found))
        except Refused:
            raise Refused(why) from None
        return stream, user, time, REFUSED, why

    def _stream_of(self, name: Any) -> tuple[int, Codes]:
        """A declared stream's position, and its codes."""
        if self._stream is not None and type(name) is not str:
            raise Refused(Reason.TYPE)
        if name not in self._streams:
            raise Refused(Reason.STREAM)
        return self._streams[name]

    def _instant(self, time: Any) -> int:
        if type(time) is str:
            try:
                return self._clock.milliseconds(time)
            except ValueError:
                raise Refused(Reason.TIME) from None
        if type(time) is not int:
            raise Refused(Reason.TYPE)
        if not 0 <= time <= MAX_TIME_MS:
            raise Refused(Reason.TIME)
        return time


def _widened(
    found: list[Any], streams: NDArray[np.uint16], widths: Sequence[int]
) -> tuple[NDArray[np.uint32], dict[int, Words]]:
    """Words as one array, as wide as the widest stream's; and the rows that have too many."""
    most = max(widths)
    rows = [(words,) if type(words) is int else words for words in found]
    long: dict[int, Words] = {}
    for place, row in enumerate(rows):
        width = widths[streams[place]] if len(widths) > 1 else most
        if len(row) != width:
            if len(row) > width:
                long[place] = row
            # a refused value has one word; a list that is to be cut has none of its own yet
            rows[place] = (REFUSED,) * most
        elif width < most:
            rows[place] = (*row, *(0,) * (most - width))
    values = np.fromiter(chain.from_iterable(rows), np.uint32, len(rows) * most).reshape(-1, most)
    return (values[:, 0] if most == 1 else values), long


def _found(get: Callable[[Any], Any], event: Any) -> Any:
    try:
        return get(event)
    except (LookupError, TypeError):
        raise Refused(Reason.FIELD) from None


def _digits(user: Any) -> bytes:
    if type(user) is not int:
        raise Refused(Reason.TYPE)
    return b"%d" % user


def _user(found: Any) -> bytes:
    user = found.encode() if type(found) is str else _digits(found)
    if not 0 < len(user) <= MAX_USER:
        raise Refused(Reason.USER)
    return user
