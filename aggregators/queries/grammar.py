# SPDX-License-Identifier: Apache-2.0
"""The language of queries: from a line of text to its parts, and back to the one text that says the same.

    sum|mean|share|count of X [where A in [u, v] and B = w] over STRETCH [every D]

    X        a stream, or stream.name for one statistic of it; a name of more than letters, digits and _ - : / stands in
             double quotes, as in JSON:  share of trips."os=ios | screen=home" over all
    STRETCH  T1 .. T2 (RFC 3339; seconds may be left out, in T2 the date too; a date is its first instant, in UTC),
             last 3h, or all
    D        a length such as 90s, 15m, 3h, 1d

Contract: any text gives a ParsedQuery or a QueryRefusedError of one line, and nothing else; `parse(str(query))` is the
query.  Conditions are read here and answered by nobody yet.  Not here: which streams and names there are (answers.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, Literal, NoReturn, cast, get_args

import orjson

from murmurate.aggregators.queries.errors import QueryRefusedError
from murmurate.topics.message import MAX_TIME_MS
from murmurate.topics.times import InstantReader, duration, instant

What = Literal["sum", "mean", "share", "count"]
MAX_CHARACTERS: Final = 4096
SIZES: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_STREAM = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_:/-]*")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_LENGTH = re.compile(r"([1-9][0-9]{0,14})(ms|s|m|h|d)(?![A-Za-z0-9])")
_TIME = re.compile(r"(?:[0-9A-Za-z:+-]|\.(?=[0-9]))+", re.ASCII)
_CLOCK = re.compile(
    r"(?:(\d{4}-\d{2}-\d{2})(?:[Tt]|$))?(?:(\d{2}:\d{2})(:\d{2})?(\.\d+)?([Zz]|[+-]\d{2}:\d{2}))?", re.ASCII
)
_WORD = re.compile(r'\.\.|[^\s"\[\],=.]+|\S')


@dataclass(frozen=True)
class Condition:
    """The values that an attribute may have."""

    attribute: str
    values: tuple[str, ...]

    def __str__(self) -> str:
        of = ", ".join(map(_written, self.values))
        return f"{_written(self.attribute)} {f'= {of}' if len(self.values) == 1 else f'in [{of}]'}"


@dataclass(frozen=True)
class Between:
    """From an instant to before another one, in milliseconds since 1970."""

    start_ms: int
    end_ms: int

    def __str__(self) -> str:
        return f"{instant(self.start_ms)} .. {instant(self.end_ms)}"


@dataclass(frozen=True)
class Newest:
    """A length of time that ends with the newest release."""

    length_ms: int

    def __str__(self) -> str:
        return f"last {duration(self.length_ms)}"


@dataclass(frozen=True)
class WholeTime:
    """From the first release to the newest."""

    def __str__(self) -> str:
        return "all"


Stretch = Between | Newest | WholeTime


@dataclass(frozen=True)
class ParsedQuery:
    """One question.

    >>> str(parse("sum of revenue over 2026-11-18T09:00Z .. 12:00Z every 60m"))
    'sum of revenue over 2026-11-18T09:00:00Z .. 2026-11-18T12:00:00Z every 1h'
    """

    what: What
    stream: str
    stretch: Stretch
    name: str | None = None
    """One statistic of the stream; None for what the stream is about."""
    conditions: tuple[Condition, ...] = field(default=())
    every_ms: int | None = None
    """The length of the pieces that are answered each by itself; None for one answer."""

    def __str__(self) -> str:
        of = self.stream if self.name is None else f"{self.stream}.{_written(self.name)}"
        where = f" where {' and '.join(map(str, self.conditions))}" if self.conditions else ""
        every = "" if self.every_ms is None else f" every {duration(self.every_ms)}"
        return f"{self.what} of {of}{where} over {self.stretch}{every}"


def parse(text: str) -> ParsedQuery:
    """The question that a text asks; QueryRefusedError if it asks none."""
    return _QueryReader(text).query()


def _written(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else orjson.dumps(name).decode()


class _QueryReader:
    """Reads a text from left to right. Every step takes what it expects, or refuses."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0
        if len(text) > MAX_CHARACTERS:
            raise QueryRefusedError(f"query: found {len(text)} characters; allowed: up to {MAX_CHARACTERS}")

    def query(self) -> ParsedQuery:
        """The whole of it."""
        what = cast(What, self._one_of(*get_args(What)))
        self._one_of("of")
        stream = self._take(_STREAM, "a stream's name").group()
        name = self._name("a statistic's name") if self._next(".", spaced=False) else None
        conditions: list[Condition] = []
        if self._one_of("where", "over") == "where":
            conditions.append(self._condition())
            while self._one_of("and", "over") == "and":
                conditions.append(self._condition())
        stretch = self._stretch()
        every = None if self._ended() else self._every()
        if not self._ended():
            self._refuse("the end")
        return ParsedQuery(what, stream, stretch, name, tuple(conditions), every)

    def _condition(self) -> Condition:
        attribute = self._name("an attribute")
        if self._next("="):
            return Condition(attribute, (self._name("a value"),))
        self._one_of("in", "=")
        if not self._next("["):
            self._refuse("[")
        values = [self._name("a value")]
        while self._next(","):
            values.append(self._name("a value"))
        if not self._next("]"):
            self._refuse(", or ]")
        return Condition(attribute, tuple(values))

    def _stretch(self) -> Stretch:
        if self._next("all", word=True):
            return WholeTime()
        if self._next("last", word=True):
            return Newest(self._length())
        start, date = self._time(None)
        if not self._next(".."):
            self._refuse("..")
        before = self._at
        end, _ = self._time(date)
        if end <= start:
            self._at = before
            self._refuse(f"a time after {instant(start)}")
        return Between(start, end)

    def _every(self) -> int:
        self._one_of("every")
        return self._length()

    def _length(self) -> int:
        before = self._at
        found = self._take(_LENGTH, "a length such as 90s, 15m, 3h, 1d")
        length = int(found[1]) * SIZES[found[2]]
        if length > MAX_TIME_MS:
            self._at = before
            self._refuse("a length below 8000 years")
        return length

    def _time(self, date: str | None) -> tuple[int, str]:
        """An instant, and the date that was written for it. date: what is meant where none is written."""
        before, wanted = self._at, "a time such as 2026-11-18T09:00Z"
        wanted += "" if date is None else " or 12:00Z"
        if date is None:
            wanted += ", last 3h, all"
        text = self._take(_TIME, wanted).group()
        found = _CLOCK.fullmatch(text)
        on = (found[1] or date) if found is not None else None
        if found is not None and on is not None and text:
            zone = (found[5] or "Z").upper()
            try:
                clock = f"{on}T{found[2] or '00:00'}{found[3] or ':00'}{found[4] or ''}{zone}"
                return InstantReader().milliseconds(clock), on
            except ValueError:
                pass
        self._at = before
        self._refuse(wanted)

    def _name(self, wanted: str) -> str:
        """A plain name, or any text in double quotes."""
        if not self._text[self._at :].lstrip().startswith('"'):
            return self._take(_PLAIN, f"{wanted}, in double quotes where it has other signs than letters").group()
        before = self._at
        quoted = self._take(_QUOTED, "a closing double quote").group()
        try:
            found = orjson.loads(quoted)
        except orjson.JSONDecodeError:
            found = ""
        if not found:
            self._at = before
            self._refuse(f"{wanted}, quoted as in JSON")
        return str(found)

    # ---- steps ----

    def _skip(self) -> None:
        while self._at < len(self._text) and self._text[self._at].isspace():
            self._at += 1

    def _ended(self) -> bool:
        self._skip()
        return self._at == len(self._text)

    def _next(self, sign: str, *, word: bool = False, spaced: bool = True) -> bool:
        """Take a sign if it comes next; a word only where nothing goes on behind it."""
        if spaced:
            self._skip()
        end = self._at + len(sign)
        if not self._text.startswith(sign, self._at) or (word and self._text[end : end + 1].isalnum()):
            return False
        self._at = end
        return True

    def _one_of(self, *words: str) -> str:
        for word in words:
            if self._next(word, word=True):
                return word
        self._refuse(", ".join(words))

    def _take(self, pattern: re.Pattern[str], wanted: str) -> re.Match[str]:
        self._skip()
        found = pattern.match(self._text, self._at)
        if found is None:
            self._refuse(wanted)
        self._at = found.end()
        return found

    def _refuse(self, wanted: str) -> NoReturn:
        if self._ended():
            raise QueryRefusedError(f"query: found its end at character {self._at + 1}; allowed: {wanted}")
        word = _WORD.match(self._text, self._at)
        found = repr(word.group()[:40] if word else self._text[self._at])
        raise QueryRefusedError(f"query: found {found} at character {self._at + 1}; allowed: {wanted}")
