# SPDX-License-Identifier: Apache-2.0
"""Values of every measure as columns: each row has the words, and the faults, of its JSON."""

import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from murmurate.agents.replay.column_values import CodedValues
from murmurate.agents.replay.source import Source
from murmurate.agents.replay.sources import open_source
from murmurate.config.loader import load
from murmurate.config.plan import Plan
from murmurate.config.planning import plan as planned
from murmurate.topics.block import REFUSED
from murmurate.topics.domains import Grid
from tests.agents.replay.plans import START

SOURCE = 'source = { topic = "it", user = "/user", time = "/time", value = "/value" }\n'
MEASURES: dict[str, tuple[str, list[Any]]] = {
    "mean": ('measure = "mean"\nrange = [0, 100]', [0, 55, -3, 2**60, 77, None]),
    "of fractions": ('measure = "distribution"\nrange = [0, 1]\ncells = 8', [0.0, 0.999, 1.5, -0.25, 0.125, None]),
    "items": (
        'measure = "items"\nitems = 9\nmost = 3\npad = 2',
        [[3, 1], [], [9], [-1], [2, 2], [None], [0, 1, 2, 3, 4], None],
    ),
    "attributes": (
        'measure = "marginals"\nattributes = { plan = ["free", "pro"], age = { whole = [0, 99], cells = 4 } }\n'
        'tables = [["plan", "age"]]',
        [{"plan": "free", "age": 33}, {"plan": "gold", "age": 1}, {"plan": "pro"}, {"age": 7}, None],
    ),
    "vector": (
        'measure = "vector"\nitems = 3\nmost = 2',
        [{"0": 0.5}, {"0": -1.0, "1": 0.25, "2": 0.125}, {"1": 2.0}, None],
    ),
    "strings": ('measure = "strings"\nbits = 24\nprefix = 6', ["abc", "", "abcd", "ü", "a\0b", None]),
}


def deployment(folder: Path, stream: str) -> Plan:
    text = f'name = "it"\n[privacy]\nepsilon = 1.0\nwindow = "5m"\n[streams.it]\n{stream}\nevery = "1m"\n{SOURCE}'
    (folder / "murmurate.toml").write_text(text, encoding="utf-8")
    return planned(load(folder / "murmurate.toml", {}))


def told(source: Source) -> tuple[list[Any], dict[int, tuple[int, ...]], list[str]]:
    (batch,) = source.batches()
    faults = [text.replace("row", "line") for text in source.complaint_lines()]
    return batch.codes.tolist(), dict(batch.long), faults


@pytest.mark.parametrize("name", MEASURES)
def test_a_column_says_what_json_says(tmp_path: Path, name: str) -> None:
    stream, values = MEASURES[name]
    of = deployment(tmp_path, stream)
    events = [{"user": f"u-{i}", "time": START + i, "value": value} for i, value in enumerate(values)]
    lines = [{key: held for key, held in event.items() if held is not None} for event in events]
    (tmp_path / "it.jsonl").write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
    assert told(open_source(pa.Table.from_pylist(events), of)) == told(open_source(str(tmp_path / "it.jsonl"), of))


def test_decimals_are_numbers_and_what_is_no_number_in_json_is_of_a_wrong_type(tmp_path: Path) -> None:
    of = deployment(tmp_path, 'measure = "distribution"\nrange = [0, 10]\ncells = 10')
    for values, want in (
        (pa.array([Decimal("2.50"), None, Decimal("-1.00")], pa.decimal128(9, 2)), [2, REFUSED, 0]),
        (pa.array([7.5, math.nan, math.inf], pa.float32()), [7, REFUSED, REFUSED]),
        (pa.array([7, None, 200], pa.uint8()).dictionary_encode(), [7, REFUSED, 9]),
    ):
        table = pa.table({"user": ["a", "b", "c"], "time": [START] * 3, "value": values})
        assert told(open_source(table, of))[0] == want


@settings(max_examples=25)
@given(st.lists(st.floats(width=64), min_size=1), st.sampled_from(["points", "stretches"]), st.integers(2, 1_000))
def test_many_numbers_at_once_have_the_codes_of_each(numbers: list[float], form: Any, cells: int) -> None:
    grid = Grid(-3.5, 1_000.25, cells, form)
    codes, flags, _ = CodedValues(grid).read(pa.array(numbers, pa.float64()))
    want = [grid.code(number) if math.isfinite(number) else REFUSED for number in numbers]
    assert codes.tolist() == want
    assert np.array_equal(flags != 0, ~np.isfinite(numbers))


def test_an_object_of_a_map_is_one_of_a_struct(tmp_path: Path) -> None:
    of = deployment(tmp_path, MEASURES["vector"][0])
    held = [[("0", 0.5), ("1", 0.25)], None, [("z", 1.0)]]
    values = pa.array(held, pa.map_(pa.string(), pa.float64()))
    events = {"user": ["a", "b", "c"], "time": [START] * 3}
    objects = pa.array([{"0": 0.5, "1": 0.25}, None, {"z": 1.0}])
    first, second = (told(open_source(pa.table(events | {"value": value}), of)) for value in (values, objects))
    assert first == second
