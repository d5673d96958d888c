# SPDX-License-Identifier: Apache-2.0
"""The index: which releases an answer is of, wherever they begin, however often a period was released."""

import random
from typing import Any

import numpy as np
import orjson
import pytest

from murmurate.aggregators.queries import QueryRefusedError, ReleaseIndex, answer
from murmurate.aggregators.queries.columns import CHUNK
from murmurate.aggregators.queries.errors import ReleaseFormatError
from murmurate.aggregators.queries.exact_sums import ExactSums, millionths
from murmurate.topics.times import instant
from tests.aggregators.queries.made import EVERY_MS, START_T, MadeStream, local
from tests.cases import every


def index(records: list[dict[str, Any]], keep: int | None = None) -> ReleaseIndex:
    found = ReleaseIndex(keep=keep)
    for record in records:
        found.add(record)
    return found


def test_the_bytes_are_the_same_wherever_the_records_begin_and_in_whatever_order_they_come() -> None:
    made = MadeStream(levels=2, names=("count", "total")).run(np.arange(160).reshape(80, 2) * 977)
    made.hold_out(4).run(np.arange(80).reshape(40, 2))
    stretch = f"{instant((START_T + 37) * EVERY_MS)} .. {instant((START_T + 110) * EVERY_MS)}"
    mixed = list(made.records)
    random.Random(5).shuffle(mixed)
    for question in (f"sum of revenue over {stretch}", f"mean of revenue over {stretch} every 7m"):
        whole, late, other = (index(r) for r in (made.records, made.records[33:], mixed))
        assert answer(whole, question).canonical() == answer(late, question).canonical()
        assert answer(whole, question).canonical() == answer(other, question).canonical()


def test_pieces_add_up_and_running_totals_grow_to_the_whole() -> None:
    known = index(MadeStream(levels=2).run(np.arange(50) * 31).records)
    whole = answer(known, "sum of revenue over all").rows[0]
    pieces = answer(known, "sum of revenue over all every 7m").rows
    running = answer(known, "sum of revenue over all every 7m", running=True).rows
    assert sum(row.value or 0 for row in pieces) == pytest.approx(whole.value, abs=1e-6)
    assert [row.start for row in running] == [whole.start] * len(pieces)
    assert (running[-1].value, running[-1].stderr) == (whole.value, whole.stderr)
    assert [row.end for row in running] == [row.end for row in pieces]


def test_of_one_period_the_highest_revision_counts_and_of_equal_ones_the_last() -> None:
    first, again = local(START_T, {"home": 0.25}, None), local(START_T, {"home": 0.5}, None, revision=2)
    after = local(START_T + 1, {"home": 0.25}, None)
    for records in ([first, after, again], [again, first, after], [first, again, after, first]):
        assert answer(index(records), "count of screen.home over all").value == 0.75


def test_a_stream_that_was_changed_is_answered_in_its_newest_form_alone() -> None:
    old = [local(START_T + t, {"home": 0.25}, None) for t in range(3)]
    new = [local(START_T + t, {"mean": 3.0}, None, measure="mean", revision=2) for t in range(3, 5)]
    found = answer(index(old + new), "mean of screen over all")
    assert (found.value, found.rows[0].periods) == (3.0, 2)


def test_names_that_are_found_count_only_where_they_were_found() -> None:
    said = [{"a": 0.5}, {"a": 0.25, "b": 0.125}, {"b": 0.5}, {}]
    records = [local(START_T + t, dict(names), None) | {"names": "found"} for t, names in enumerate(said)]
    told = answer(index(records), "share of screen.b over all")
    (row,) = told.rows
    assert (row.value, row.periods, row.missing) == (0.3125, 2, {"not found": 2})
    assert any("too large on average" in note for note in told.notes)


def test_no_error_of_a_name_that_was_found_is_called_exact() -> None:
    found = local(START_T, {"b": 0.125}, {"b": 0.01}) | {"names": "found"}
    notes = answer(index([found]), "share of screen.b over all").notes
    assert any("too large on average" in note for note in notes)
    assert not any("exact" in note for note in notes)


def test_the_oldest_figures_are_let_go_where_only_so_many_are_kept() -> None:
    many = 3 * CHUNK + 7
    known = index([local(START_T + t, {"home": 0.5}, None) for t in range(many)], keep=2 * CHUNK)
    (row,) = answer(known, "count of screen.home over all").rows
    assert CHUNK < row.periods == row.asked <= 2 * CHUNK
    assert row.value == row.periods / 2
    whole = f"{instant(START_T * EVERY_MS)} .. {instant((START_T + many) * EVERY_MS)}"
    assert answer(known, f"count of screen.home over {whole}").rows[0].missing == {
        "before the first release": many - row.periods
    }


@every("change", [{"t": "x"}, {"schema": "other"}, {"end": "2026-11-18"}, {"unbiased": None}, {"start": instant(0)},
                  {"noise": {"fanout": 1}, "central": {}}, {"stream": []}])  # fmt: skip
def test_what_is_no_release_is_refused_in_one_line(change: dict[str, Any]) -> None:
    for line in (orjson.dumps(local(START_T, {"home": 0.5}, None) | change), b"{", b"[]", b"7", b"null"):
        with pytest.raises(ReleaseFormatError, match="found a record that is no release; allowed: murmurate/release/2"):
            ReleaseIndex().add_line(line)


@every(("question", "said"), [
    ("sum of nothing over all", "found stream 'nothing'; allowed: events, revenue"),
    ("sum of revenue.fares over all", "revenue: found statistic 'fares'; allowed: total"),
    ("mean of revenue over all", "revenue: found no count of events to divide by; allowed: sum, or counts = true"),
    ("share of revenue over all", "revenue: found share of it; allowed: sum, mean"),
    ("mean of events over all", "events: found mean of it; allowed: sum, count, share"),
    ("sum of revenue over all every 30s", "every: found 30s; allowed: from 1m, the period of revenue"),
    ("sum of revenue over 1970-01-01 .. 2026-01-01 every 1m", "rows; allowed: up to 10000"),
    ("count of events where os = ios over all", "conditions come with tables"),
])  # fmt: skip
def test_unknown_names_and_words_list_what_there_is(question: str, said: str) -> None:
    made = MadeStream().run(np.arange(4)).records
    counts = MadeStream(names=("buy", "view"), measure="count", stream="events").run(np.zeros((4, 2), int)).records
    with pytest.raises(QueryRefusedError) as refused:
        answer(index(made + counts), question)
    assert said in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


def test_without_releases_there_is_nothing_to_ask_about() -> None:
    with pytest.raises(QueryRefusedError, match="allowed: none, since there are no releases yet"):
        answer(ReleaseIndex(), "sum of revenue over all")


def test_sums_are_exact_for_figures_of_any_size() -> None:
    rng = random.Random(3)
    for size in (1, 10**6, 10**15):
        values = np.array([rng.uniform(-size, size) for _ in range(300)])
        exact, sums = [round(value * 10**6) for value in values.tolist()], ExactSums(millionths(values))
        for _ in range(50):
            low, high = sorted((rng.randrange(301), rng.randrange(301)))
            assert sums.between(low, high) == sum(exact[low:high])


def test_a_stretch_to_the_end_of_time_is_not_released_yet() -> None:
    known = index(MadeStream().run(np.arange(4)).records)
    (row,) = answer(known, "sum of revenue over 1970-01-01 .. 9999-12-31T23:59:59.999Z").rows
    assert (row.periods, list(row.missing)) == (4, ["before the first release", "not yet released"])
