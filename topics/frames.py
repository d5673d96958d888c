# SPDX-License-Identifier: Apache-2.0
"""The fields of an event that no JSON parser takes: who and when, whatever stands in the value.

Contract: of a frame that a strict parser reads, each pointer finds the same text or number as there.  Of any other, a
field counts if it is a whole JSON text or number at its place, so a value that is no JSON (NaN, half a surrogate pair,
bytes that are no UTF-8, a quote too many, a bracket too few, thousands of levels, a megabyte) changes nothing about the
fields beside it.  Time and memory grow with the frame, at most LIMIT from each end of it; nothing recurses.
1. The members of an object are told apart by commas, outside texts and inner brackets. Of a key that stands there twice
   the last counts, as in JSON.
2. Where the brackets or quotes of the whole do not close, or the frame is longer than LIMIT, what stands before the
   value is read from the beginning and what stands behind it from the end, unless both stand in one inner object.
3. A text that does not end and a number at the very end of what there is may have been cut, and are none.
Not here: what a user or a time may be (events.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import orjson

from murmurate.topics.pointers import tokens

LIMIT: Final = 1 << 20
"""How many bytes are read from each end of a frame: as many as brokers take in one record, unless told otherwise."""
UNREADABLE: Final = object()
"""No text and no number where a pointer leads, or nothing at all."""

_SPACE = b" \t\n\r"
_NEAR = re.compile(rb'["{}\[\]]|,(?:[ \t\n\r]*+,)*+')  # what tells the members of a container apart
_PLAIN = re.compile(  # a member that needs no more looking: the same as the signs one by one would give
    rb'[ \t\n\r]*+"[^"\\]*+"[ \t\n\r]*+:[ \t\n\r]*+(?:"[^"\\]*+"|[^][{}",]++)[ \t\n\r]*+(?=[,}])'
)
_DEEP = re.compile(rb'"|[{\[]++|[}\]]++')  # and what counts inside one of them
_TEXT = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)  # from behind the first quote of a text to its end
_MIRRORED_TEXT = re.compile(rb'(?:[^"]++|"(?=\\(?:\\\\)*+(?!\\)))*+"')  # the same, read backwards
_KEY = re.compile(rb'[ \t\n\r]*+"([^"\\]*+(?:\\.[^"\\]*+)*+)"[ \t\n\r]*+:', re.DOTALL)
_MIRROR = bytes.maketrans(b"{}[]", b"}{][")


class _Span(NamedTuple):
    """A part of a frame."""

    begin: int
    end: int
    closed: bool = True
    """Whether a comma or a bracket ends it, and not the end of what there is."""


@dataclass
class _Found:
    """What one pass over the top level has found of one key: its newest place up to the value, and behind it."""

    before: _Span | None = None
    behind: _Span | None = None


@dataclass
class _Pass:
    """One pass over the top level."""

    keys: dict[bytes, _Found] = field(default_factory=dict)
    value_at: int | None = None
    """Where the member begins that holds the value."""
    whole: bool = False
    """Whether everything closes, and nothing follows."""


class FrameReader:
    """Reads some pointers of frames. `value`: the pointer to what may be anything."""

    def __init__(self, pointers: Sequence[str], value: str) -> None:
        self._steps = [[step.encode() for step in tokens(pointer)] for pointer in pointers]
        self._wanted = {steps[0] for steps in self._steps}
        self._value = tokens(value)[0].encode()

    def read(self, frame: bytes) -> tuple[Any, ...]:
        """For each pointer a text or number, true, false or null; else UNREADABLE."""
        head = frame[:LIMIT]
        begins = len(head) - len(head.lstrip(_SPACE))
        if head[begins : begins + 1] not in (b"{", b"["):
            return (UNREADABLE,) * len(self._steps)
        seen = self._front(head, begins, whole=len(frame) <= LIMIT)
        certain = seen.whole and self._wanted <= seen.keys.keys()  # brackets and quotes may close by accident
        tail = b"" if certain or seen.value_at is None else frame[-LIMIT:]
        ends = self._back(tail, (seen.value_at or 0) + len(tail) - len(frame)) if tail else {}
        return tuple(self._one((head, tail), steps, seen, ends) for steps in self._steps)

    def _front(self, head: bytes, begins: int, *, whole: bool) -> _Pass:
        """From the beginning."""
        seen, last = _Pass(), _Span(begins, begins, closed=False)
        for number, span in enumerate(_members(head, begins, _TEXT)):
            last = span
            key, value = _named(head, span, number if head[begins : begins + 1] == b"[" else None)
            if key == self._value and seen.value_at is None:
                seen.value_at = span.begin
            if key in self._wanted:
                found = seen.keys.setdefault(key, _Found())
                if seen.value_at is None or span.begin == seen.value_at:
                    found.before = value
                else:
                    found.behind = value
        seen.whole = whole and last.closed and not head[last.end + 1 :].strip(_SPACE)
        return seen

    def _back(self, tail: bytes, value_at: int) -> dict[bytes, _Span]:
        """From the end: the members of the object that ends there, as far as they stand behind the value."""
        found = dict[bytes, _Span]()
        mirrored = tail[::-1].translate(_MIRROR)
        begins = len(mirrored) - len(mirrored.lstrip(_SPACE))
        if mirrored[begins : begins + 1] != b"{":
            return found
        for span in _members(mirrored, begins, _MIRRORED_TEXT):
            mine = _Span(len(tail) - span.end, len(tail) - span.begin)
            if not span.closed or mine.begin <= value_at:
                break
            key, value = _named(tail, mine, None)
            if key in self._wanted and key not in found:
                found[key] = value
        return found

    def _one(self, text: tuple[bytes, bytes], steps: Sequence[bytes], seen: _Pass, ends: dict[bytes, _Span]) -> Any:
        """What one pointer leads to. text: the frame's beginning and its end."""
        (head, tail), found = text, seen.keys.get(steps[0], _Found())
        if seen.whole and (found.behind or found.before):
            return _inside(head, found.behind or found.before, steps[1:])
        if found.before is None and steps[0] in ends:
            return _inside(tail, ends[steps[0]], steps[1:])
        return _inside(head, found.before or found.behind, steps[1:])


def abridged(frame: bytes) -> bytes:
    """A frame without what `FrameReader` never looks at: all that stands further than LIMIT from both of its ends."""
    return frame if len(frame) <= 2 * LIMIT + 1 else frame[:LIMIT] + frame[-LIMIT - 1 :]


def _members(text: bytes, at: int, to_end: re.Pattern[bytes]) -> Iterator[_Span]:
    """The members of the container whose bracket stands at `at`. to_end: what reads a text to its end."""
    begin = place = at + 1
    depth = 1
    while depth:
        if begin == place and (plain := _PLAIN.match(text, place)) is not None:
            place = plain.end()
        found = (_NEAR if depth == 1 else _DEEP).search(text, place)
        if found is None:
            break
        place, sign = found.end(), found[0]
        if sign == b'"':
            ended = to_end.match(text, place)
            if ended is None:
                break
            place = ended.end()
        elif sign[0] == 44:  # a comma, or several with nothing between them
            yield _Span(begin, found.start())
            begin = place
        elif sign[0] in b"{[":
            depth += len(sign)
        elif len(sign) < depth:
            depth -= len(sign)
        else:  # of several brackets the first so many are those of what is open
            place = found.start() + depth
            yield _Span(begin, place - 1)
            return
    yield _Span(begin, len(text), closed=False)


def _named(text: bytes, member: _Span, number: int | None) -> tuple[bytes | None, _Span]:
    """A member's key, or its number in an array; and where its value is."""
    if number is not None:
        return b"%d" % number, member
    found = _KEY.match(text, member.begin, member.end)
    if found is None:
        return None, member
    key = found[1]
    if b"\\" in key:
        try:
            key = orjson.loads(b'"%b"' % key).encode()
        except ValueError:
            return None, member
    return key, _Span(found.end(), member.end, member.closed)


def _inside(text: bytes, span: _Span | None, steps: Sequence[bytes]) -> Any:
    """What the rest of a pointer leads to, from a value on."""
    for step in steps:
        if span is None:
            return UNREADABLE
        begins = span.end - len(text[span.begin : span.end].lstrip(_SPACE))
        container = text[begins : begins + 1]
        if container not in (b"{", b"["):
            return UNREADABLE
        inner, span = span, None
        for number, member in enumerate(_members(text[: inner.end], begins, _TEXT)):
            key, value = _named(text, member, number if container == b"[" else None)
            if key == step:
                span = value
    return UNREADABLE if span is None else _scalar(text, span)


def _scalar(text: bytes, span: _Span) -> Any:
    found = text[span.begin : span.end].strip(_SPACE)
    if found[:1] in (b"{", b"[") or not (span.closed or found[:1] == b'"'):
        return UNREADABLE
    try:
        return orjson.loads(found)
    except ValueError:
        return UNREADABLE
