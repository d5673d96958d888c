# SPDX-License-Identifier: Apache-2.0
"""The answer to a question, from releases alone: values, exact standard errors, what they are of, and what to know.

Contract: a function of the question and of the releases in the stretch (and, for `last` and `all`, of which release is
the newest and the oldest): the same bytes wherever it is asked.  A period belongs to the stretch in which it begins.
What is missing is named and left out, never made up.  Numbers are rounded to nine places.
Source: docs/METHODS.md, "Answers over time".  Not here: where releases come from (agents/queries.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

import orjson

from murmurate.aggregators.queries.central import thresholds
from murmurate.aggregators.queries.errors import QueryRefusedError
from murmurate.aggregators.queries.figures import EVENTS, AnsweredFigure, figures
from murmurate.aggregators.queries.grammar import Between, Newest, ParsedQuery, parse
from murmurate.aggregators.queries.index import RecordedStream, ReleaseIndex
from murmurate.aggregators.queries.local import sampling_factor
from murmurate.topics.message import MAX_TIME_MS
from murmurate.topics.times import duration, instant

SCHEMA: Final = "murmurate/answer/1"
PLACES: Final = 9
MAX_ROWS: Final = 10_000
MAX_USERS: Final = 1_000_000_000


@dataclass(frozen=True)
class AnswerRow:
    """One figure over one stretch."""

    start: str
    """The beginning of the first period that was asked about."""
    end: str
    """The end of the last one."""
    name: str
    value: float | None
    """None where nothing is known."""
    stderr: float | None
    """The standard error; None where releases do not say it."""
    periods: int
    """How many periods the value is of."""
    asked: int
    """How many periods begin in the stretch."""
    covered: tuple[str, str] | None
    """From when to when the value is, periods in between that are missing aside."""
    missing: Mapping[str, int] = field(default_factory=dict)
    """Why periods are missing, and how many."""
    interpolated: int = 0
    """How many periods are parts of a leaf, or of none yet, for which their estimates stand."""
    carried: int = 0
    """How many periods repeat what an earlier one measured."""
    bounded_horizons: int = 0
    """For how many horizons `stderr` is a bound, since some of their releases are not there."""
    stderr_at_most: float | None = None
    """A bound of the standard error, whatever users do over time; None where `stderr` is exact."""

    @property
    def complete(self) -> bool:
        """Whether all that was asked about has been released."""
        return self.periods == self.asked

    def document(self) -> dict[str, Any]:
        """The row as JSON has it."""
        more = {
            "missing": dict(self.missing), "interpolated": self.interpolated, "carried": self.carried,
            "bounded_horizons": self.bounded_horizons, "stderr_at_most": self.stderr_at_most,
        }  # fmt: skip
        return {
            "from": self.start, "to": self.end, "name": self.name, "value": self.value, "stderr": self.stderr,
            "periods": self.periods, "asked": self.asked, "complete": self.complete,
            "covered": None if self.covered is None else list(self.covered), **{k: v for k, v in more.items() if v},
        }  # fmt: skip


@dataclass(frozen=True)
class QueryAnswer:
    """All that is said to one question."""

    query: str
    stream: str
    unit: str | None
    rows: tuple[AnswerRow, ...]
    notes: tuple[str, ...]
    """What a reader has to know of these figures, a sentence each."""
    users: int | None = None
    """What sums and counts were multiplied by; None where they are per user, or of events."""

    @property
    def value(self) -> float | None:
        """The value of an answer of one row."""
        return self._only.value

    @property
    def stderr(self) -> float | None:
        """The standard error of an answer of one row."""
        return self._only.stderr

    @property
    def _only(self) -> AnswerRow:
        if len(self.rows) != 1:
            raise ValueError(f"answer: found {len(self.rows)} rows; allowed: one, or ask for `rows`")
        return self.rows[0]

    def document(self) -> dict[str, Any]:
        """The answer as JSON has it."""
        return {
            "schema": SCHEMA, "query": self.query, "stream": self.stream, "unit": self.unit, "users": self.users,
            "rows": [row.document() for row in self.rows], "notes": list(self.notes),
        }  # fmt: skip

    def canonical(self) -> bytes:
        """The one form in bytes."""
        return orjson.dumps(self.document(), option=orjson.OPT_SORT_KEYS)


def answer(
    index: ReleaseIndex, question: str | ParsedQuery, *, users: int | None = None, running: bool = False
) -> QueryAnswer:
    """The answer. QueryRefusedError if the question is none, or none about these releases.

    users: what sums and counts of a local stream are multiplied by.  running: pieces of `every` all begin where the
    stretch does, so that each is the total up to its end.
    """
    query = question if isinstance(question, ParsedQuery) else parse(question)
    if query.conditions:
        raise QueryRefusedError(
            "query: found where; allowed: a question without it: conditions come with tables of several attributes"
        )
    if query.stream not in index.streams:
        there = ", ".join(index.streams) or "none, since there are no releases yet"
        raise QueryRefusedError(f"query: found stream {query.stream!r}; allowed: {there}")
    recorded = index.stream(query.stream)
    asked = figures(query, recorded)
    if users is not None and (recorded.form.central or query.what in ("mean", "share")):
        found = "a central stream, whose sums are of all events" if recorded.form.central else query.what
        raise QueryRefusedError(f"query: users: found {found}; allowed: with sum or count of a local stream")
    if users is not None and not 1 <= users <= MAX_USERS:
        raise QueryRefusedError(f"query: users: found {users}; allowed: 1 to {MAX_USERS}")
    pieces = _pieces(query, recorded, running=running)
    if len(pieces) * len(asked) > MAX_ROWS:
        raise QueryRefusedError(f"query: found {len(pieces) * len(asked)} rows; allowed: up to {MAX_ROWS}")
    rows = [_row(figure, recorded, low, high, users) for low, high in pieces for figure in asked]
    clipped = None if asked[0].unit == EVENTS else (pieces[0][0], pieces[-1][1])
    notes = _notes(query, recorded, rows, clipped, users)
    return QueryAnswer(str(query), query.stream, asked[0].unit, tuple(rows), notes, users)


def _pieces(query: ParsedQuery, recorded: RecordedStream, *, running: bool) -> list[tuple[int, int]]:
    """The stretches that are answered each by itself: the first period, and the period after the last."""
    every, stretch, length = recorded.form.every_ms, query.stretch, query.every_ms
    newest = recorded.end_t * every
    if isinstance(stretch, Between):
        start, end = stretch.start_ms, stretch.end_ms
        edge = start
    else:
        start = max(0, newest - stretch.length_ms) if isinstance(stretch, Newest) else recorded.begin_t * every
        end, edge = newest, 0
    if length is None:
        return [_periods(start, end, every)]
    if length < every:
        raise QueryRefusedError(
            f"query: every: found {duration(length)}; allowed: from {duration(every)}, the period of {query.stream}"
        )
    first, last = (start - edge) // length, -((edge - end) // length)
    if last - first > MAX_ROWS:
        raise QueryRefusedError(f"query: found {last - first} rows; allowed: up to {MAX_ROWS}")
    cuts = [max(start, min(end, edge + at * length)) for at in range(first, last + 1)]
    return [_periods(start if running else low, high, every) for low, high in pairwise(cuts)]


def _periods(start_ms: int, end_ms: int, every_ms: int) -> tuple[int, int]:
    """The periods that begin in a stretch of time."""
    return -(-start_ms // every_ms), -(-end_ms // every_ms)


def _row(figure: AnsweredFigure, recorded: RecordedStream, low: int, high: int, users: int | None) -> AnswerRow:
    value, error, of = figure.of(recorded, low, high)
    every, covered, times = recorded.form.every_ms, of.coverage, users or 1
    most = None
    if error is not None and not recorded.form.central:
        factor = sampling_factor(recorded, of)
        most = _rounded(error * factor * times) if factor > 1 else None
    return AnswerRow(
        start=_instant(low * every), end=_instant(high * every), name=figure.shown,
        value=None if value is None else _rounded(value * times),
        stderr=None if error is None else _rounded(error * times),
        periods=covered.periods, asked=covered.asked,
        covered=(_instant(covered.first_t * every), _instant(covered.end_t * every)) if covered.periods else None,
        missing=covered.missing, interpolated=of.interpolated, carried=of.carried, bounded_horizons=of.bounded,
        stderr_at_most=most,
    )  # fmt: skip


def _notes(
    query: ParsedQuery,
    recorded: RecordedStream,
    rows: Sequence[AnswerRow],
    clipped: tuple[int, int] | None,
    users: int | None,
) -> tuple[str, ...]:
    """`clipped`: the periods of whose numbers it is told where they were clipped."""
    notes = _of_central(recorded, rows, clipped) if recorded.form.central else _of_local(query, recorded, rows, users)
    if query.what == "mean" and recorded.form.central:
        notes.append("A mean is the sum divided by the number of events, both noisy; its error is that of first order.")
    if not all(row.complete for row in rows):
        notes.append("Missing periods are left out of the value, not estimated.")
    return tuple(notes)


def _of_central(recorded: RecordedStream, rows: Sequence[AnswerRow], clipped: tuple[int, int] | None) -> list[str]:
    notes = []
    if recorded.range is not None and clipped is not None:
        unit = f" {recorded.form.unit}" if recorded.form.unit else ""
        tops = " or ".join(f"{top:.12g}" for top in thresholds(recorded, *clipped)) or f"{recorded.range[1]:.12g}"
        notes.append(f"Numbers below {recorded.range[0]:.12g} or above {tops}{unit} count as these.")
    if any(row.interpolated for row in rows):
        notes.append(
            "Interpolated periods are predicted from the blocks of their tree; errors of theirs go together, so their "
            "standard errors are added: the one that is told is a bound."
        )
    return notes


def _of_local(query: ParsedQuery, recorded: RecordedStream, rows: Sequence[AnswerRow], users: int | None) -> list[str]:
    notes = []
    if query.what in ("sum", "count"):
        many = "per user of the population" if users is None else f"of {users} users, as said in the question"
        notes.append(f"Sums of a local stream are {many}.")
    else:
        notes.append("It is the average over the periods, each counted once.")
    if any(row.value is not None and row.stderr is None for row in rows):
        notes.append(
            "Without a standard error: some releases lack it; [releases] queries = true in the file writes it."
        )
    elif any(row.bounded_horizons for row in rows):
        notes.append(
            "Errors of a horizon's periods have much in common; where some of its releases are not in these records it "
            "is not known how much, and the standard error is a bound."
        )
    elif recorded.horizons and any(row.value is not None for row in rows):
        notes.append("Errors of a horizon's periods have much in common, which the standard error counts exactly.")
    elif any(row.value is not None for row in rows) and not recorded.found:
        notes.append("The error of the mechanism is exact.")
    if recorded.found and any(row.value is not None for row in rows):
        notes.append(
            "A name counts from the period in which its measurement was large enough to be found: values with that "
            "period are too large on average, and their standard errors do not hold it."
        )
    if any(row.stderr_at_most is not None for row in rows):
        each = "horizons" if recorded.horizons else "periods"
        notes.append(
            f"Which users are drawn counts as independent between {each}; where their values stay, the standard error "
            "is at most the bound."
        )
    if any(row.carried for row in rows):
        notes.append("Carried periods repeat what an earlier one measured; how far values moved since is in no error.")
    return notes


def _instant(time_ms: int) -> str:
    return instant(min(time_ms, MAX_TIME_MS))


def _rounded(number: float) -> float:
    return round(number, PLACES) + 0.0
