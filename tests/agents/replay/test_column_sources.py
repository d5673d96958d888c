# SPDX-License-Identifier: Apache-2.0
"""Parquet, Arrow and tables in memory: the same events give the same releases as JSON lines and CSV do, to the byte."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pandas
import polars
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from murmurate.agents.cli.replay import known_secrets
from murmurate.agents.replay.run import Outcome, Replay, keys
from murmurate.agents.replay.source import Source
from murmurate.agents.replay.sources import SourceError, open_source
from murmurate.config.plan import Plan
from murmurate.errors import UsageError
from murmurate.topics.block import REFUSED
from murmurate.topics.events import Fields
from tests.agents.replay.plans import MINUTE, START, plan, stream

Event = tuple[str | None, int | None, str | None]


def replayed(of: Plan, source: object) -> tuple[Outcome, Source]:
    opened = open_source(source, of)
    return Replay(of, opened, keys(known_secrets(of.name), of.name)).run(), opened


def columns(events: Sequence[Event]) -> pa.Table:
    users, times, values = (list(column) for column in zip(*events, strict=True))
    return pa.table({
        "user": pa.array(users, pa.string()),
        "time": pa.array(times, pa.timestamp("ms", "Europe/Berlin")),
        "value": pa.array(values, pa.string()),
    })  # fmt: skip


def write_all(folder: Path, events: Sequence[Event]) -> dict[str, str]:
    """The events in every kind of file, by its ending."""
    paths = {kind: str(folder / f"events.{kind}") for kind in ("jsonl", "csv", "parquet", "arrow", "arrows")}
    with Path(paths["jsonl"]).open("wb") as file:
        for user, time, value in events:
            fields = {"user": user, "time": time, "value": value}
            file.write(orjson.dumps({name: held for name, held in fields.items() if held is not None}) + b"\n")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([("user", "time", "value"), *events])
    Path(paths["csv"]).write_text(text.getvalue(), encoding="utf-8")
    table = columns(events)
    pyarrow.parquet.write_table(table, paths["parquet"], row_group_size=13)
    with pyarrow.ipc.new_file(paths["arrow"], table.schema) as sink:
        sink.write_table(table, max_chunksize=7)
    with pyarrow.ipc.new_stream(paths["arrows"], table.schema) as sink:
        sink.write_table(table, max_chunksize=11)
    return paths


events = st.lists(
    st.tuples(
        st.sampled_from(["u-1", "u-2", "ü,3", 'u"4', "u" * 256, "u" * 257, None, "7"]),
        st.one_of(st.none(), st.integers(-2, 2), st.integers(START, START + 6 * MINUTE)),
        st.sampled_from(["home", "search", "help", "cellar", "ho|me", None]),
    ),
    min_size=1, max_size=40,
)  # fmt: skip


@settings(max_examples=15, deadline=None)
@given(events)
def test_the_same_events_give_the_same_releases_from_every_kind_of_file(
    tmp_path_factory: pytest.TempPathFactory, events: list[Event]
) -> None:
    good = [("u-9", START, "home"), ("u-8", START + 2 * MINUTE, "help")]
    paths = write_all(tmp_path_factory.mktemp("same"), [*good, *sorted(events, key=lambda event: event[1] or 0)])
    of = plan()
    expected, lines = replayed(of, paths.pop("jsonl"))
    for kind, path in paths.items():
        found, source = replayed(of, path)
        assert found.releases == expected.releases, kind
        assert (found.users, found.events, found.refused) == (expected.users, expected.events, expected.refused), kind
        if kind != "csv":  # which counts its header as a line
            assert [text.replace("row", "line") for text in source.complaint_lines()] == lines.complaint_lines()


EVENTS: list[Event] = [
    (f"u-{i % 9}", START + i * 3_000, ("home", "search", "help", "cellar")[i % 4]) for i in range(100)
]


@pytest.mark.parametrize("kind", ["pyarrow", "pandas", "polars", "categories", "reader"])
def test_a_table_in_memory_is_a_source_as_its_file_is(tmp_path: Path, kind: str) -> None:
    table = columns(EVENTS)
    source: Any = {
        "pyarrow": lambda: table,
        "pandas": table.to_pandas,
        "polars": lambda: polars.from_arrow(table),
        "categories": lambda: table.to_pandas().astype({"user": "category", "value": "category"}),
        "reader": table.to_reader,
    }[kind]()
    assert not isinstance(source, pandas.Series | polars.Series)
    expected, _ = replayed(plan(), write_all(tmp_path, EVENTS)["jsonl"])
    assert replayed(plan(), source)[0].releases == expected.releases


@pytest.mark.parametrize(
    ("times", "told"),
    [
        (pa.array([START // 1_000], pa.timestamp("s", "UTC")), START),
        (pa.array([START * 1_000 + 999], pa.timestamp("us")), START),
        (pa.array([START * 1_000_000 + 999_999], pa.timestamp("ns", "Asia/Tokyo")), START),
        (pa.array([START], pa.uint64()), START),
        (pa.array(["2026-11-18T10:00:00.0009+01:00"]), START),
    ],
)
def test_times_of_every_unit_and_zone_are_milliseconds(times: pa.Array, told: int) -> None:
    source = open_source(pa.table({"user": ["u"], "time": times, "value": ["home"]}), plan())
    assert [batch.times.tolist() for batch in source.batches()] == [[told]]
    naive = pa.types.is_timestamp(times.type) and times.type.tz is None
    assert source.complaint_lines() == ["table: column 'time' names no zone: its times were read as UTC"] * naive


@pytest.mark.parametrize(
    ("name", "column", "found"),
    [
        ("user", pa.array([1.5]), "found double in column 'user' for the user; allowed: texts or whole numbers"),
        ("user", pa.array([{"id": "u"}]), "found struct<id: string> in column 'user' for the user"),
        ("time", pa.array([1.5]), "found double in column 'time' for the time; allowed: timestamps"),
        ("time", pa.array([20_000], pa.date32()), r"found date32\[day\] in column 'time'"),
        ("value", pa.array([7]), r"no good event \(type 1\); allowed: at least one; column 'value' holds int64"),
        ("value", pa.array([["home"]]), r"no good event \(type 1\).*holds list<"),
        ("value", pa.array([True]), r"no good event \(type 1\).*holds bool"),
        ("value", pa.array([None]), r"no good event \(field 1\).*holds null"),
        ("user", pa.array([None]), r"no good event \(field 1\)"),
        ("value", pa.array([b"home"]), r"no good event \(type 1\).*holds binary"),
    ],
)
def test_a_column_of_another_type_is_one_line(name: str, column: pa.Array, found: str) -> None:
    held = {"user": pa.array(["u"]), "time": pa.array([START]), "value": pa.array(["home"])} | {name: column}
    with pytest.raises(SourceError, match=found):
        list(open_source(pa.table(held), plan()).batches())


def test_a_missing_column_names_those_that_are_there_and_one_that_is_there_twice_is_no_guess() -> None:
    table = pa.table({"who": ["u"], "session": [{"id": 1}], "time": [START], "value": ["home"]})
    with pytest.raises(SourceError, match=r"no column 'user' for the user; the columns are: who, session\.id, time, v"):
        open_source(table, plan())
    twice = pa.Table.from_arrays([pa.array(["u"]), pa.array(["v"])], names=["user", "user"])
    with pytest.raises(SourceError, match="found 2 columns 'user' for the user; allowed: one"):
        open_source(twice.append_column("time", pa.array([START])).append_column("value", pa.array(["home"])), plan())


@pytest.mark.parametrize("shape", ["nested", "flat.", "flat/"])
def test_a_pointer_leads_into_structs_or_to_a_flat_name(tmp_path: Path, shape: str) -> None:
    user = {"nested": ("session", [{"user_id": "u-1"}, None]), "flat.": ("session.user_id", ["u-1", None])}
    name, held = user.get(shape, ("session/user_id", ["u-1", None]))
    table = pa.table({name: held, "time": [START, START], "value": ["help", "help"], "more": [1, 2]})
    pyarrow.parquet.write_table(table, tmp_path / "it.parquet")
    source = open_source(str(tmp_path / "it.parquet"), plan(stream(fields=Fields("/session/user_id"))))
    (batch,) = source.batches()
    assert batch.ids is not None
    assert (source.names(batch.ids), batch.codes.tolist()) == ([b"u-1"], [2])
    assert source.complaint_lines() == ["field: 1 row (row 2)"]


def test_a_text_that_is_no_utf8_is_refused_as_json_refuses_it() -> None:
    raw = pa.array([b"home", b"\xff\xfe", b"help"]).view(pa.string())
    table = pa.table({"user": ["a", "b", "c"], "time": [START] * 3, "value": raw})
    source = open_source(table, plan())
    (batch,) = source.batches()
    assert batch.codes.tolist() == [0, REFUSED, 2]
    turned = table.rename_columns(["value", "time", "user"])
    users = open_source(turned, plan(stream(other=True)))
    assert [len(batch) for batch in users.batches()] == [2]
    assert users.complaint_lines() == ["json: 1 row (row 2)"]


def test_files_that_are_cut_or_of_another_kind_are_one_line_without_their_content(tmp_path: Path) -> None:
    paths = write_all(tmp_path, EVENTS)
    for kind in ("parquet", "arrow"):
        whole = Path(paths[kind]).read_bytes()
        for content in (whole[: len(whole) // 2], b"u-1,home\n", b""):
            (tmp_path / f"cut.{kind}").write_bytes(content)
            with pytest.raises(SourceError, match=rf"^cut\.{kind}: found no [A-Z]"):
                open_source(str(tmp_path / f"cut.{kind}"), plan())
    holed = bytearray(Path(paths["parquet"]).read_bytes())
    holed[40:400] = bytes(360)
    (tmp_path / "bad.parquet").write_bytes(holed)
    with pytest.raises(SourceError, match="found damaged Parquet data behind row 0"):
        list(open_source(str(tmp_path / "bad.parquet"), plan()).batches())


def test_without_pyarrow_one_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_all(tmp_path, EVENTS)["parquet"]
    monkeypatch.setattr("murmurate.agents.replay.sources.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install 'murmurate\[parquet\]'"):
        open_source(path, plan())


def test_what_is_no_table_is_called_by_its_type() -> None:
    with pytest.raises(UsageError, match="found a list; allowed: a path, or a table with __arrow_c_stream__"):
        open_source([1], plan())
