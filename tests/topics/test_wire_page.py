# SPDX-License-Identifier: Apache-2.0
"""docs/WIRE.md, the golden file, the second implementation and the library say the same bytes."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from murmurate.agents.stages.summing import added_up
from murmurate.agents.stages.tallies import tally_records
from murmurate.randomizers.frequency.appended import AUE, LEVELS
from murmurate.randomizers.frequency.hashing import first_seed, hash_one
from murmurate.topics import Config, Curated, Release, Round, Slots, Tally, TallyInBlocks, decode, encode, schema
from murmurate.topics.block import (
    BatchBlock,
    RawBlock,
    ReportBlock,
    SumsBlock,
    TallyBlock,
    encode_batch,
    encode_raw,
    encode_reports,
    encode_sums,
    encode_tally,
)
from murmurate.topics.block import decode as decode_block
from murmurate.topics.codec import MESSAGES
from murmurate.topics.errors import UnknownError
from murmurate.topics.events import Reason
from murmurate.topics.latest import latest_rows
from murmurate.topics.messages import Tallied
from murmurate.topics.names import DAY_MS, TOPICS, Retention, stream_hash, stream_id
from murmurate.topics.release_parts import Named, Tables
from murmurate.topics.schemas import NAMES
from tests.randomizers.hashing import slow_hash
from tests.topics import second_wire
from tools import schemas

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / "docs" / "WIRE.md").read_text(encoding="utf-8")
GOLDEN: dict[str, str] = json.loads(second_wire.GOLDEN.read_text(encoding="utf-8"))
USERS = np.array([list(user) for user, _, _ in second_wire.RAW_ROWS], np.uint8)
TIMES = np.array([time for _, time, _ in second_wire.RAW_ROWS], np.int64)
VALUES = np.array([value[0] for _, _, value in second_wire.RAW_ROWS], np.uint32)
WIDE = np.array([value for _, _, value in second_wire.WIDE_ROWS], np.uint32)
REPORTS = np.array([list(row) for row in second_wire.REPORT_ROWS], np.uint8)


def golden_round() -> Round:
    message = decode(GOLDEN["round"].encode())
    assert isinstance(message, Round)
    return message


def test_the_second_implementation_gives_the_golden_bytes() -> None:
    assert second_wire.golden() == GOLDEN


def test_the_second_implementation_shares_no_code_with_the_library() -> None:
    script = (
        "import sys, runpy; runpy.run_path(sys.argv[1]); print({'murmurate', 'numpy', 'orjson'} & set(sys.modules))"
    )
    told = subprocess.run(
        [sys.executable, "-S", "-c", script, second_wire.__file__], check=True, capture_output=True, text=True
    )
    assert told.stdout.strip() == "set()"


def test_the_page_shows_the_golden_bytes() -> None:
    shown = {
        name: re.sub(r"\s", "", text)
        for name, text in re.findall(r"```(?:hex|json) ([a-z ]+)\n(.*?)```", PAGE, re.DOTALL)
    }
    assert shown == {name: re.sub(r"\s", "", GOLDEN[name]) for name in shown}
    named = {name for name in GOLDEN if "block" in name or "release" in name} | {
        "round",
        "tally",
        "announced tally",
        "config",
        "config of a change",
        "curated",
        "latest",
    }
    assert named == set(shown)
    for name in ("round digest", "stream id", "stream hash"):
        assert f"{name}  {GOLDEN[name]}" in PAGE.replace("stream id    ", "stream id  ")
    assert f"`{GOLDEN['bitmap']}`" in PAGE
    assert f"latest key  {GOLDEN['latest key']}" in PAGE


def test_the_page_shows_the_hash_functions_of_its_round() -> None:
    first = first_seed(golden_round().digest)
    assert f"first seed  {first}\n" in PAGE
    seven, seventh = ([hash_one(seed, value, 4) for value in range(8)] for seed in (7, first + 7))
    told = " ".join(PAGE.split())
    assert f"Seed 7 puts the values 0 to 7 into cells {', '.join(map(str, seven))} of 4" in told
    assert f"number 7 of the pool puts them into {', '.join(map(str, seventh))}." in told
    assert (slow_hash.first_seed(golden_round().digest), slow_hash.cell(7, 5, 4)) == (first, seven[5])


def test_the_library_writes_the_golden_blocks() -> None:
    digest = golden_round().digest
    assert next(encode_raw(stream_id("screen"), USERS, TIMES, VALUES)).hex() == GOLDEN["raw block"]
    assert next(encode_raw(stream_id("basket"), USERS, TIMES, WIDE)).hex() == GOLDEN["wide raw block"]
    assert next(encode_reports(digest, 5, REPORTS)).hex() == GOLDEN["reports block"]
    assert next(encode_reports(digest, 5, REPORTS[:0])).hex() == GOLDEN["empty reports block"]
    alone = decode_block(next(encode_batch(digest, 1, REPORTS)))
    third = decode_block(bytes.fromhex(GOLDEN["batch block"]))
    assert isinstance(alone, BatchBlock)
    assert isinstance(third, BatchBlock)
    assert (third.round, third.q, third.sequence) == (alone.round, alone.q, 2)
    assert np.array_equal(third.reports, alone.reports)
    counts = np.array(second_wire.COUNTS, np.int64)
    (first,) = encode_tally(digest, 1, counts)
    rows = np.array([list(row) for row in second_wire.ADDED_ROWS], np.uint8)
    assert (
        next(added_up(golden_round(), 0, AUE(d=5, ones=LEVELS // 2, batch=3, central=1, delta=0.9), rows)).hex()
        == (GOLDEN["added block"])
    )
    sums = encode_sums(stream_id("revenue"), 5, 29_916_540, np.array(second_wire.SUMS, np.int64))
    assert sums.hex() == GOLDEN["sums block"]
    assert second_wire.sealed(first[:20] + b"\2\0\0\0" + first[24:]).hex() == GOLDEN["tally block"]  # block 0, not 2


def test_the_library_reads_the_golden_blocks() -> None:
    raw = decode_block(bytes.fromhex(GOLDEN["raw block"]))
    assert isinstance(raw, RawBlock)
    assert (raw.stream, raw.sequence) == (stream_id("screen"), 0)
    assert np.array_equal(raw.users, USERS)
    assert raw.times.tolist() == TIMES.tolist()
    assert raw.values.tolist() == VALUES.tolist()
    wide = decode_block(bytes.fromhex(GOLDEN["wide raw block"]))
    assert isinstance(wide, RawBlock)
    assert (wide.words, wide.values.tolist(), wide.times.tolist()) == (3, WIDE.tolist(), TIMES.tolist())
    assert np.array_equal(wide.users, USERS)
    reports = decode_block(bytes.fromhex(GOLDEN["reports block"]))
    assert isinstance(reports, ReportBlock)
    assert (reports.round, reports.contributor) == (golden_round().digest, 5)
    assert np.array_equal(reports.reports, REPORTS)
    tally = decode_block(bytes.fromhex(GOLDEN["tally block"]))
    assert isinstance(tally, TallyBlock)
    assert (tally.round, tally.q, tally.sequence) == (golden_round().digest, 1, 2)
    assert tally.counts.tolist() == second_wire.COUNTS
    sums = decode_block(bytes.fromhex(GOLDEN["sums block"]))
    assert isinstance(sums, SumsBlock)
    assert (sums.stream, sums.contributor, sums.t) == (stream_id("revenue"), 5, 29_916_540)
    assert sums.sums.tolist() == second_wire.SUMS


def test_the_library_writes_and_names_the_golden_round() -> None:
    message = golden_round()
    assert encode(message).decode() == GOLDEN["round"]
    assert message.digest.hex() == GOLDEN["round digest"]
    assert np.flatnonzero(message.slots.mask()).tolist() == second_wire.SLOTS
    assert Slots.chosen(np.isin(np.arange(20), second_wire.SLOTS)).asked == GOLDEN["bitmap"]
    tally = decode(GOLDEN["tally"].encode())
    assert isinstance(tally, Tally)
    assert encode(tally).decode() == GOLDEN["tally"]
    announced = decode(GOLDEN["announced tally"].encode())
    assert isinstance(announced, TallyInBlocks)
    assert encode(announced).decode() == GOLDEN["announced tally"]
    said = {name: getattr(announced, name) for name in Tallied.model_fields}
    record, block = tally_records(said, np.array(second_wire.MANY, np.int64))
    assert record.decode() == GOLDEN["announced tally"]
    assert block == second_wire.counts(message.digest, 1, second_wire.MANY)
    curated = decode(GOLDEN["curated"].encode())
    assert isinstance(curated, Curated)
    assert encode(curated).decode() == GOLDEN["curated"]
    config = decode(GOLDEN["config"].encode())
    assert isinstance(config, Config)
    assert encode(config).decode() == GOLDEN["config"]


@pytest.mark.parametrize("name", [name for name in GOLDEN if "release" in name])
def test_the_library_writes_and_reads_the_golden_releases(name: str) -> None:
    found = decode(GOLDEN[name].encode())
    assert isinstance(found, Release)
    assert encode(found).decode() == GOLDEN[name]
    if found.measure == "mean":
        assert found.estimate["mean"] is found.stderr["mean"] is found.unbiased["mean"] is None
    assert isinstance(found.result, Tables if found.tables else Named)


@pytest.mark.parametrize("name", [name for name in GOLDEN if "release" in name])
def test_the_library_writes_the_rows_of_the_golden_releases(name: str) -> None:
    found = decode(GOLDEN[name].encode())
    assert isinstance(found, Release)
    wanted = second_wire.rows(json.loads(GOLDEN[name]))
    assert {row.key: encode(row) for row in latest_rows(found)} == wanted
    assert [decode(encode(row)) for row in latest_rows(found)] == latest_rows(found)
    if name == "release of sums":
        assert wanted[GOLDEN["latest key"].encode()] == GOLDEN["latest"].encode()


def test_the_library_hashes_the_golden_stream() -> None:
    assert stream_id("screen").hex() == GOLDEN["stream id"]
    assert str(stream_hash("screen")) == GOLDEN["stream hash"]


def kept_for(retention: Retention) -> str:
    if retention.forever:
        return "for ever" if "state" in retention.why else "theirs"
    named = [("window", retention.windows), ("replay horizon", retention.horizons)]
    return " + ".join(
        [name for name, times in named if times] + [f"{retention.fixed_ms // DAY_MS} d"] * (retention.fixed_ms > 0)
    )


def test_the_page_has_the_topic_table() -> None:
    for row in TOPICS.values():
        cells = (
            f"`{row.name}`", row.carries, row.key or "none", row.partitions, row.cleanup, kept_for(row.retention),
            row.zone, ", ".join(row.writers), ", ".join(row.readers),
        )  # fmt: skip
        assert f"| {' | '.join(cells)} |" in PAGE


def test_the_page_has_every_reason_and_every_message() -> None:
    for reason in Reason:
        assert f"| `{reason}` |" in PAGE
    for kind in MESSAGES:
        assert f"| `{kind.tag.removeprefix('murmurate/')}` |" in PAGE


@pytest.mark.parametrize("name", NAMES)
def test_the_committed_schema_is_the_one_of_the_class(name: str) -> None:
    committed = (ROOT / "topics" / "schema" / f"{name}.schema.json").read_text(encoding="utf-8")
    assert committed == schemas.text(name), "run: python tools/schemas.py"
    assert schema(name)["type"] == "object"


def test_no_other_schema_is_committed() -> None:
    assert {path.name for path in (ROOT / "topics" / "schema").iterdir()} == {f"{name}.schema.json" for name in NAMES}
    with pytest.raises(UnknownError, match="allowed: event, start, config, round"):
        schema("nothing")
