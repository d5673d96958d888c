# SPDX-License-Identifier: Apache-2.0
"""Long tables: the columns are as promised, instants in UTC, and null stays null, in each of the three libraries."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

import murmurate as mm
from murmurate.agents.library.errors import MissingExtraError
from murmurate.aggregators import ReleaseFormatError
from tests.agents.library.made import ids, release, replayed, topic, write

COLUMNS = ["stream", "t", "start", "name", "estimate", "stderr", "unbiased", "revision", "decision"]
ALL = topic()
NULLS: dict[str, Any] = {key: {"home": None, "search": 0.25} for key in ("estimate", "stderr", "unbiased")}


def rows(releases: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """What a table of them has to hold."""
    return [
        (one["stream"], one["t"], datetime.fromisoformat(one["start"]), name, value, one["stderr"][name],
         one["unbiased"][name], one["revision"], one["decision"])
        for one in releases
        for name, value in one["estimate"].items()
    ]  # fmt: skip


def of_arrow(table: mm.ReleaseTable) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in table.to_arrow().to_pylist()]


def of_polars(table: mm.ReleaseTable) -> list[tuple[Any, ...]]:
    return table.to_polars().rows()


def of_pandas(table: mm.ReleaseTable) -> list[tuple[Any, ...]]:
    import pandas

    found = table.to_pandas().itertuples(index=False, name=None)
    return [tuple(None if value is pandas.NA else value for value in row) for row in found]


@pytest.mark.parametrize("read", [of_arrow, of_polars, of_pandas])
def test_each_library_gets_the_same_rows_and_null_stays_null(
    read: Callable[[mm.ReleaseTable], list[tuple[Any, ...]]],
) -> None:
    said = [*ALL, release(300, decision="approximated", **NULLS)]
    assert read(mm.table(said)) == rows(said)
    assert read(mm.table([])) == []


def test_columns_have_their_types() -> None:
    import pyarrow as pa

    table = mm.table(ALL)
    assert (
        table.to_arrow().column_names == list(table.to_polars().columns) == list(table.to_pandas().columns) == COLUMNS
    )
    assert table.to_arrow().schema.field("start").type == pa.timestamp("ms", tz="UTC")
    assert str(table.to_pandas()["start"].dtype) == "datetime64[ms, UTC]"
    assert len(table) == sum(len(one["estimate"]) for one in ALL)
    import polars

    assert polars.DataFrame(table).equals(table.to_polars())  # whatever takes Arrow takes the table itself


def test_a_table_is_of_records_lines_releases_a_file_or_a_replay(tmp_path: Path) -> None:
    lines = [orjson.dumps(one) for one in ALL]
    path = write(tmp_path / "releases.jsonl", ALL)
    for given in (lines, [line.decode() for line in lines], path, tmp_path, str(path)):
        assert of_arrow(mm.table(given)) == rows(ALL)
    result = replayed()
    assert of_arrow(mm.table(result)) == of_arrow(mm.table(result.records)) == of_arrow(result.table())


def test_of_a_revised_period_only_what_counts_is_in_the_table_where_that_is_asked_for() -> None:
    found = mm.table(ALL, newest_only=True)
    assert len(found.t) == len({(one["stream"], one["t"]) for one in ALL})
    assert found.revision.count(2) == len([one for one in ids(ALL) if one.endswith("/2")])


def test_one_release_is_a_table_of_its_own() -> None:
    made = mm.Release.model_validate(replayed().releases[0].model_dump())
    assert [tuple(row) for row in made.table()] == of_arrow(mm.table([made]))
    assert list(made.table()[0]._fields) == COLUMNS
    assert made.start_time.tzinfo is UTC
    assert made.end_time > made.start_time


def test_what_is_no_release_is_named(tmp_path: Path) -> None:
    for bad, said in (
        (b"{", "record 2: found no JSON"),
        (b"[]", "record 2: found list"),
        ({"stream": "x"}, "record 2: t: found NoneType"),
        (ALL[0] | {"stderr": {}}, "record 2: found figures of different names"),
    ):
        with pytest.raises(ReleaseFormatError, match=said):
            mm.table([ALL[0], bad])
    (tmp_path / "a.jsonl").write_bytes(orjson.dumps(ALL[0]) + b"\n{")
    with pytest.raises(ReleaseFormatError, match=r"a\.jsonl, line 2: found no JSON"):
        mm.table(tmp_path / "a.jsonl")
    with pytest.raises(mm.UsageError, match="No such file"):
        mm.table(tmp_path / "nothing.jsonl")


@pytest.mark.parametrize(
    ("package", "extra", "call"),
    [("pyarrow", "parquet", "to_arrow"), ("polars", "notebook", "to_polars"), ("pandas", "notebook", "to_pandas")],
)
def test_a_missing_extra_is_one_line_that_says_what_to_install(
    package: str, extra: str, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError) as raised:
        getattr(mm.table(ALL), call)()
    assert str(raised.value) == f"found no {package}; allowed: after pip install 'murmurate[{extra}]'"
    assert isinstance(raised.value, ImportError)
