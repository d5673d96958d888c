# SPDX-License-Identifier: Apache-2.0
"""CSV and JSON lines: what is good is read, what is bad is counted and named, and a file of another kind is refused."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from murmurate.agents.replay.source import TIMES, Batch, Source
from murmurate.agents.replay.sources import SourceError, open_source
from murmurate.errors import UsageError
from murmurate.topics.block import REFUSED
from murmurate.topics.events import MAX_EVENT, Fields
from tests.agents.replay.plans import MINUTE, START, plan, stream


def write(folder: Path, name: str, text: str | bytes) -> str:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def event(user: object, time: object, value: str = "home", **more: str) -> str:
    extra = "".join(f', "{key}": "{found}"' for key, found in more.items())
    return f'{{"user": "{user}", "time": {time}, "value": "{value}"{extra}}}\n'


def taken(source: Source) -> tuple[list[bytes], list[int], list[int]]:
    batches = list(source.batches())
    names = [name for batch in batches for name in batch.names or []]
    times = [time for batch in batches for time in batch.times.tolist()]
    return names, times, [code for batch in batches for code in batch.codes.tolist()]


def refused(batches: list[Batch]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for batch in batches:
        for reason, count in batch.refused.items():
            counts[reason] = counts.get(reason, 0) + count
    return counts


def test_a_table_and_its_json_lines_give_the_same_events(tmp_path: Path) -> None:
    table = write(tmp_path, "a.csv", f'user,time,value\nu-1,{START},home\n"u,2",2026-11-18T09:00:01Z,help\n')
    lines = write(tmp_path, "a.jsonl", event("u-1", START) + event("u,2", START + 1_000, "help"))
    want = ([b"u-1", b"u,2"], [START, START + 1_000], [0, 2])
    assert taken(open_source(table, plan())) == taken(open_source(lines, plan())) == want


def test_a_column_is_a_pointer_without_its_first_slash(tmp_path: Path) -> None:
    fields = Fields("/session/user_id", "/screen", "/at")
    path = write(tmp_path, "a.csv", f"at;screen;session.user_id\n{START};search;u-1\n")
    assert taken(open_source(path, plan(stream(fields=fields)))) == ([b"u-1"], [START], [1])


def test_a_missing_column_is_named_with_those_present(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", f"who,time,value\nu-1,{START},home\n")
    with pytest.raises(SourceError, match=r"no column 'user' for the user; the columns are: who, time, value"):
        open_source(path, plan())


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", "an empty file"),
        (b"\n \n", "an empty file"),
        (gzip.compress(b"user,time,value\n", mtime=0), "gzip data"),
        (b"PK\x03\x04 and so on", "a zip file"),
        ("user,time,value\n".encode("utf-16"), "UTF-16"),
    ],
)
def test_what_is_no_text_is_called_by_its_name(tmp_path: Path, name: str, content: bytes, found: str) -> None:
    with pytest.raises(SourceError, match=found):
        open_source(write(tmp_path, name, content), plan())


def test_a_table_without_rows_has_no_good_event(tmp_path: Path) -> None:
    source = open_source(write(tmp_path, "a.csv", "user,time,value\n"), plan())
    with pytest.raises(SourceError, match="no good event"):
        list(source.batches())
    with pytest.raises(SourceError, match="no good event"):
        source.first_t("screen")


def test_a_json_array_is_told_from_json_lines(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="one JSON object a line"):
        open_source(write(tmp_path, "a.json", "[" + event("u", START).strip() + "]"), plan())


def test_a_file_cut_off_mid_line_loses_that_line_only(tmp_path: Path) -> None:
    whole = "".join(event(f"u-{i}", START + i) for i in range(20))
    source = open_source(write(tmp_path, "a.jsonl", whole[:-20]), plan())
    batches = list(source.batches())
    assert sum(map(len, batches)) == 19
    assert refused(batches) == {"json": 1}
    assert source.complaint_lines() == ["json: 1 line (line 20; the last one has no end: it may have been cut off)"]


def test_a_last_line_without_an_end_is_an_event_all_the_same(tmp_path: Path) -> None:
    source = open_source(write(tmp_path, "a.jsonl", event("u", START).strip()), plan())
    assert taken(source)[0] == [b"u"]
    assert source.complaint_lines() == []


def test_one_bad_line_among_many_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    lines = [event(f"u-{i % 100}", START + i) for i in range(30_000)]
    lines[23_456] = "{oops\n"
    source = open_source(write(tmp_path, "a.jsonl", "".join(lines)), plan())
    batches = list(source.batches())
    assert sum(map(len, batches)) == 29_999
    assert sum(batch.lines for batch in batches) == 30_000
    assert source.complaint_lines() == ["json: 1 line (line 23 457)"]


def test_each_kind_of_bad_row_has_its_reason(tmp_path: Path) -> None:
    rows = [
        f"u-1,{START},home".encode(),
        f"u-2,{START},home,more".encode(),
        f'"u-3,{START},home'.encode(),
        b"u-4,\xff\xfe,home",
        b"u-5,yesterday,home",
        f",{START},home".encode(),
        f"u-7,{START},cellar".encode(),
        b"u" * (MAX_EVENT + 10) + f",{START},home".encode(),
        f"u-9,{START},help".encode(),
    ]
    source = open_source(write(tmp_path, "a.csv", b"\n".join([b"user,time,value", *rows, b""])), plan())
    batches = list(source.batches())
    assert refused(batches) == {"csv": 1, "utf8": 1, "time": 1, "field": 1, "size": 1}
    assert (source.counts["value"], source.counts["csv"]) == (1, 2)
    names, _, codes = taken(source)
    assert names == [b"u-1", b"u-2", b"u-7", b"u-9"]  # u-2 is shown: what is wrong stands in the value
    assert codes == [0, REFUSED, REFUSED, 2]
    said = " ".join(source.complaint_lines())
    assert "csv: 2 lines (line 3, 4)" in said
    assert "u-" not in said


def test_a_line_longer_than_any_block_is_one_refusal(tmp_path: Path) -> None:
    text = event("u-1", START).encode() + b"x" * (9 << 20) + b"\n" + event("u-2", START).encode()
    source = open_source(write(tmp_path, "a.jsonl", text), plan())
    assert taken(source)[0] == [b"u-1", b"u-2"]
    assert source.complaint_lines() == ["size: 1 line (line 2)"]


def test_a_file_of_nothing_but_bad_lines_is_an_error_that_counts_them(tmp_path: Path) -> None:
    source = open_source(write(tmp_path, "a.jsonl", "{oops\n" * 7 + event("u", START, "cellar")), plan())
    with pytest.raises(SourceError, match=r"no good event \(json 7, value 1\)"):
        list(source.batches())


def test_seconds_that_were_taken_for_milliseconds_are_asked_about(tmp_path: Path) -> None:
    seconds = "".join(event(f"u-{i}", START // 1000 + i) for i in range(9))
    source = open_source(write(tmp_path, "a.jsonl", seconds), plan())
    list(source.batches())
    (said,) = source.complaint_lines()
    assert said.startswith("a.jsonl: all times lie in 1970: are they seconds? a time is RFC 3339 with a zone, like ")
    source = open_source(write(tmp_path, "b.jsonl", event("u", START)), plan())
    list(source.batches())
    assert source.complaint_lines() == []


def test_a_fault_that_newcomers_meet_is_named_with_what_is_allowed(tmp_path: Path) -> None:
    lines = event("u", START) + event("u", '"2026-11-18 09:00:00"') + event("u", START, "cellar")
    source = open_source(write(tmp_path, "a.jsonl", lines), plan())
    list(source.batches())
    assert source.complaint_lines() == [
        f"time: 1 line (line 2; {TIMES})",
        "value: 1 line (line 3; it is none that the file declares)",
    ]


def test_refusals_after_the_last_good_line_are_counted_too(tmp_path: Path) -> None:
    good = "".join(event(f"u-{i}", START + i) for i in range(60_000))
    source = open_source(write(tmp_path, "a.jsonl", good + "{oops\n" * 80_000), plan())
    batches = list(source.batches())
    assert refused(batches) == {"json": 80_000}
    assert sum(batch.lines for batch in batches) == 140_000


def test_several_streams_of_one_topic_share_a_clock(tmp_path: Path) -> None:
    fields = Fields(stream="/stream")
    two = plan(stream("fare", ("low", "high"), fields=fields), stream(fields=fields))
    text = event("u", START, stream="screen") + event("u", START + 5, "high", stream="fare")
    path = write(tmp_path, "a.jsonl", text + event("u", START, stream="tides"))
    source = open_source(path, two)
    batches = list(source.batches())
    assert sorted((batch.stream, batch.clock, batch.codes.tolist()) for batch in batches) == [
        ("fare", START, [1]), ("screen", START, [0])
    ]  # fmt: skip
    assert refused(batches) == {"stream": 1}
    assert [batch.stream for batch in open_source(path, two, "fare").batches()] == ["fare"]


def test_batches_can_be_read_again_and_are_the_same(tmp_path: Path) -> None:
    text = "".join(event(f"u-{i % 7}", START + 997 * i, "help") for i in range(3_000))
    source = open_source(write(tmp_path, "a.jsonl", text), plan())
    first, second = list(source.batches()), list(source.batches())
    assert [(b.clock, b.names, b.times.tolist()) for b in first] == [
        (b.clock, b.names, b.times.tolist()) for b in second
    ]
    assert source.fraction() == 1


def test_the_last_clock_closes_the_period_of_the_last_believable_event(tmp_path: Path) -> None:
    text = "".join(event(f"u-{i}", START + 100 * i) for i in range(2_000)) + event("forger", START + 10**9)
    source = open_source(write(tmp_path, "a.jsonl", text), plan())
    list(source.batches())
    last = START + 100 * 1_999
    assert source.end_clock == (last // MINUTE + 1) * MINUTE + 10_000
    assert source.first_t("screen") == START // MINUTE


def test_no_event_of_a_sparse_sorted_source_is_late_or_from_the_future(tmp_path: Path) -> None:
    """Ten users, one line each in every period of a thousand: 100 lines would span ten periods."""
    text = "".join(event(f"u-{i % 10}", START + i // 10 * MINUTE + i % 10) for i in range(10_000))
    source = open_source(write(tmp_path, "a.jsonl", text), plan())
    for batch in source.batches():
        closed = (batch.clock - 10_000) // MINUTE * MINUTE
        assert (batch.times >= closed).all()
        assert (batch.times <= batch.clock + 300_000).all()
        assert np.all(np.diff(batch.times) >= 0)


@pytest.mark.parametrize("text", ["clicks.xlsx", "synthetic:cos", "synthetic:lns,n=-1", "synthetic:lns,n=0"])
def test_a_source_of_no_known_kind_says_which_there_are(text: str) -> None:
    with pytest.raises(UsageError, match="allowed: "):
        open_source(text, plan())


def test_a_stream_that_is_not_in_the_plan_is_refused_with_those_that_are() -> None:
    with pytest.raises(UsageError, match="allowed: screen"):
        open_source("synthetic:lns", plan(), "tides")


def test_a_file_that_is_not_there_is_an_error_without_a_directory(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"^none\.csv: found no such file"):
        open_source(str(tmp_path / "none.csv"), plan())
