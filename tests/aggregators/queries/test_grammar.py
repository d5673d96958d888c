# SPDX-License-Identifier: Apache-2.0
"""The language of queries: what is printed is read as the same question, and junk is refused in one line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmurate.aggregators.queries import ParsedQuery, QueryRefusedError, parse
from murmurate.aggregators.queries.grammar import MAX_CHARACTERS, Between, Condition, Newest, WholeTime
from murmurate.topics.message import MAX_TIME_MS
from tests.cases import drawn

NAMES = st.text(min_size=1, max_size=12)
LENGTHS = st.integers(1, MAX_TIME_MS)
TIMES = st.tuples(st.integers(0, MAX_TIME_MS), st.integers(0, MAX_TIME_MS)).filter(lambda ends: ends[0] != ends[1])
STRETCHES = TIMES.map(lambda ends: Between(min(ends), max(ends))) | LENGTHS.map(Newest) | st.just(WholeTime())
CONDITIONS = st.builds(Condition, NAMES, st.lists(NAMES, min_size=1, max_size=3).map(tuple))
WORDS, STREAMS = (
    st.sampled_from(["sum", "mean", "share", "count"]),
    st.from_regex(r"[a-z][a-z0-9_-]{0,31}", fullmatch=True),
)
QUERIES = st.builds(
    ParsedQuery, WORDS, STREAMS,
    STRETCHES, st.none() | NAMES, st.lists(CONDITIONS, max_size=2).map(tuple), st.none() | LENGTHS,
)  # fmt: skip
BITS = [
    "sum",
    " of ",
    "mean",
    "x",
    ".",
    '"',
    '"a b"',
    "over",
    " last",
    "3h",
    "all",
    "..",
    "2026-11-18T09:00Z",
    "12:00Z",
]
BITS += [
    "where ",
    " in ",
    "[",
    "]",
    "=",
    ",",
    " and ",
    "every",
    "\\",
    "-",
    "\u0660",
    "9" * 16 + "d",
    " ",
    "\n",
    "1970-01-01",
]
JUNK = st.text() | st.lists(st.sampled_from(BITS), max_size=14).map("".join) | QUERIES.map(str).flatmap(
    lambda text: st.integers(0, len(text)).map(lambda at: text[:at] + "\u00a7" + text[at + 1 :])
)  # fmt: skip


@drawn(30, long=1000, query=QUERIES)
def test_a_question_that_is_printed_is_read_as_the_same_question(query: ParsedQuery) -> None:
    assert parse(str(query)) == query


@given(JUNK)
def test_junk_is_refused_in_one_line_and_by_nothing_else(text: str) -> None:
    refused = ""
    try:
        parse(text)
    except QueryRefusedError as error:
        refused = str(error)
    if refused:
        assert refused.startswith("query: found ")
        assert "; allowed: " in refused
        assert len(refused.splitlines()) == 1
    else:
        assert parse(str(parse(text))) == parse(text)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("sum of revenue over 2026-11-18T09:00Z .. 12:00Z every 1h",
         "sum of revenue over 2026-11-18T09:00:00Z .. 2026-11-18T12:00:00Z every 1h"),
        ("  mean\tof fare over 2026-11-18..2026-11-19T00:00:00.5+02:00 ",
         "mean of fare over 2026-11-18T00:00:00Z .. 2026-11-18T22:00:00.500Z"),
        ("share of screen.home over last 90m", "share of screen.home over last 90m"),
        ('share of trips."os=ios | screen=home" over all', 'share of trips."os=ios | screen=home" over all'),
        ("count of events.buy where os = ios and screen in [home, \"a b\"] over all every 24h",
         'count of events.buy where os = ios and screen in [home, "a b"] over all every 1d'),
        ("sum of x over 2026-11-18T23:00+05:00 .. 23:30+05:00",
         "sum of x over 2026-11-18T18:00:00Z .. 2026-11-18T18:30:00Z"),
    ],
)  # fmt: skip
def test_questions_as_people_write_them(text: str, same: str) -> None:
    assert str(parse(text)) == same


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "query: found its end at character 1; allowed: sum, mean, share, count"),
        ("median of x over all", "query: found 'median' at character 1; allowed: sum, mean, share, count"),
        ("sum of Revenue over all", "query: found 'Revenue' at character 8; allowed: a stream's name"),
        ("sum of x over yesterday", "at character 15; allowed: a time such as 2026-11-18T09:00Z, last 3h, all"),
        ("sum of x over 12:00Z .. 13:00Z", "found '12:00Z' at character 15; allowed: a time such as 2026-11-18"),
        ("sum of x over 2026-11-18T09:00 .. 12:00Z", "at character 15; allowed: a time such as 2026-11-18T09:00Z"),
        ("sum of x over 2026-11-18T12:00Z .. 09:00Z", "'09:00Z' at character 36; allowed: a time after 2026-11-18T12"),
        ("sum of x over 2026-02-30 .. 2026-03-01", "'2026-02-30' at character 15; allowed: a time such as"),
        ("sum of x over last 3 hours", "found '3' at character 20; allowed: a length such as 90s"),
        ("sum of x over all every 0s", "found '0s' at character 25; allowed: a length"),
        ("sum of x over all please", "found 'please' at character 19; allowed: every"),
        ('sum of x."a over all', "at character 10; allowed: a closing double quote"),
        ("sum of x where a in [b over all", "found 'over' at character 24; allowed: , or ]"),
        ("x" * 5000, f"query: found 5000 characters; allowed: up to {MAX_CHARACTERS}"),
    ],
)
def test_a_refusal_says_what_was_found_where_and_what_is_allowed(text: str, said: str) -> None:
    with pytest.raises(QueryRefusedError) as refused:
        parse(text)
    assert said in str(refused.value)
