# SPDX-License-Identifier: Apache-2.0
"""Packed text and standard input: the events of the text itself, in bounded memory, and what is wrong is said."""

import gzip
import io
import os
import sys
import threading
import zlib
from pathlib import Path

import cramjam
import pyarrow as pa
import pyarrow.parquet
import pytest
from click.testing import CliRunner

from murmurate.agents.cli.main import command
from murmurate.agents.replay import packed_text
from murmurate.agents.replay.input_file import InputFile, SpooledInput
from murmurate.agents.replay.packed_text import BLOCK_BYTES, TextFile
from murmurate.agents.replay.source import Source
from murmurate.agents.replay.sources import SourceError, open_source
from murmurate.errors import UsageError
from tests.agents.replay.plans import START, plan

LINES = b"".join(b'{"user":"u-%d","time":%d,"value":"home"}\n' % (i % 50, START + i) for i in range(3_000))
TABLE = b"user,time,value\n" + b"".join(b"u-%d,%d,home\n" % (i % 50, START + i) for i in range(3_000))


def zstd(text: bytes) -> bytes:
    return bytes(cramjam.zstd.compress(text))


def write(folder: Path, name: str, content: bytes) -> str:
    (folder / name).write_bytes(content)
    return str(folder / name)


def times(source: Source) -> list[int]:
    return [time for batch in source.batches() for time in batch.times.tolist()]


@pytest.mark.parametrize("text", ["a.jsonl", "a.csv"])
@pytest.mark.parametrize("packing", ["gz", "zst", "gz of two", "zst of two", "gz with zeros behind"])
def test_packed_text_is_read_as_the_text_is_and_again(tmp_path: Path, text: str, packing: str) -> None:
    content = LINES if text == "a.jsonl" else TABLE
    half = len(content) // 2
    packed = {
        "gz": gzip.compress(content, mtime=0),
        "zst": zstd(content),
        "gz of two": gzip.compress(content[:half], mtime=0) + gzip.compress(content[half:], mtime=0),
        "zst of two": zstd(content[:half]) + zstd(content[half:]),
        "gz with zeros behind": gzip.compress(content, mtime=0) + bytes(1024),
    }[packing]
    source = open_source(write(tmp_path, f"{text}.{packing[:3].strip()}", packed), plan())
    assert source.first_t("screen") == START // 60_000
    for _ in range(2):
        assert times(source) == list(range(START, START + 3_000))
    assert source.complaint_lines() == []


@pytest.mark.parametrize(("ending", "pack"), [("gz", lambda text: gzip.compress(text, mtime=0)), ("zst", zstd)])
def test_packed_data_that_end_early_give_what_is_readable_and_say_so(tmp_path: Path, ending: str, pack: object) -> None:
    names = (zlib.adler32(b"%d" % i) for i in range(60_000))  # half of what does not repeat is about half of the text
    text = b"".join(b'{"user":"u-%d","time":%d,"value":"home"}\n' % (name, START + i) for i, name in enumerate(names))
    packed = pack(text)  # type: ignore[operator]
    source = open_source(write(tmp_path, f"a.jsonl.{ending}", packed[: len(packed) // 2]), plan())
    assert 5_000 < len(times(source)) < 55_000
    assert "the file ends early" in source.complaint_lines()[-1]


@pytest.mark.parametrize(("ending", "packed"), [("gz", gzip.compress(LINES, mtime=0)), ("zst", zstd(LINES))])
def test_bytes_behind_the_end_are_named_and_damage_is_an_error(tmp_path: Path, ending: str, packed: bytes) -> None:
    source = open_source(write(tmp_path, f"a.jsonl.{ending}", packed + b"garbage"), plan())
    assert len(times(source)) == 3_000
    (said,) = source.complaint_lines()
    assert said.startswith(f"a.jsonl.{ending}: {'7 bytes' if ending == 'gz' else 'bytes'} behind the end of the ")
    broken = bytearray(packed)
    middle = slice(len(packed) // 2, len(packed) // 2 + 20)
    broken[middle] = bytes(20) if ending == "zst" else bytes(255 - byte for byte in broken[middle])
    with pytest.raises(SourceError, match=r"found damaged (gzip|Zstandard) data; allowed: whole ones"):
        times(open_source(write(tmp_path, f"b.jsonl.{ending}", bytes(broken)), plan()))
    with pytest.raises(SourceError, match=r"found no (gzip|Zstandard) data"):
        open_source(write(tmp_path, f"c.jsonl.{ending}", LINES), plan())


@pytest.mark.parametrize("ending", ["gz", "zst"])
def test_what_unpacks_to_a_thousand_times_its_size_is_never_held_whole(tmp_path: Path, ending: str) -> None:
    text = bytes(64 << 20)
    path = tmp_path / f"a.csv.{ending}"
    path.write_bytes(gzip.compress(text, 1, mtime=0) if ending == "gz" else zstd(text))
    sizes = [len(block) for block, _ in TextFile(InputFile(path), "gzip" if ending == "gz" else "zstd").blocks()]
    assert sum(sizes) == len(text)
    assert max(sizes) <= BLOCK_BYTES


def test_a_reader_that_stops_early_leaves_no_thread(tmp_path: Path) -> None:
    path = write(tmp_path, "a.jsonl.zst", zstd(LINES * 400))
    before = threading.active_count()
    open_source(path, plan()).first_t("screen")
    assert threading.active_count() == before


def parquet() -> bytes:
    table = pa.table({"user": ["u-1"], "time": [START], "value": ["home"]})
    sink = io.BytesIO()
    pyarrow.parquet.write_table(table, sink)
    return sink.getvalue()


@pytest.mark.parametrize(
    "content",
    [LINES, TABLE, gzip.compress(LINES, mtime=0), gzip.compress(TABLE, mtime=0), zstd(b"\n" + LINES), parquet()],
)
def test_standard_input_is_known_by_its_first_bytes_and_can_be_read_again(
    content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    source = open_source("-", plan())
    first = times(source)
    assert first in ([START], list(range(START, START + 3_000)))
    assert times(source) == times(open_source("-", plan())) == first


def test_what_was_taken_from_standard_input_is_bounded_private_and_has_no_name(tmp_path: Path) -> None:
    file = SpooledInput(io.BytesIO(LINES))
    held = file._file.fileno()
    assert os.fstat(held).st_nlink == 0
    assert os.fstat(held).st_mode & 0o077 == 0
    with file.open() as one, file.open() as other:
        one.read(100)
        assert other.read(10) == LINES[:10]
    with pytest.raises(SourceError, match="stdin: found more than 1000 bytes"):
        SpooledInput(io.BytesIO(LINES), most=1_000)


def test_a_format_is_taken_by_its_name_where_the_files_says_nothing(tmp_path: Path) -> None:
    path = write(tmp_path, "events.log", LINES)
    with pytest.raises(UsageError, match=r"found 'events\.log'"):
        open_source(path, plan())
    assert len(times(open_source(path, plan(), form="jsonl"))) == 3_000
    assert len(times(open_source(write(tmp_path, "packed", gzip.compress(TABLE)), plan(), form="csv"))) == 3_000
    with pytest.raises(UsageError, match="--format: found 'xml'; allowed: jsonl, csv, tsv, parquet, arrow"):
        open_source(path, plan(), form="xml")


def test_the_command_takes_what_is_piped_into_it(tmp_path: Path) -> None:
    runner = CliRunner()
    folder = str(tmp_path / "it")
    assert runner.invoke(command, ["init", folder]).exit_code == 0
    (sample,) = (path for path in Path(folder).iterdir() if "sample" in path.name)
    options = ["-c", f"{folder}/murmurate.toml", "--repeatable", "--json"]
    named = runner.invoke(command, ["replay", str(sample), *options])
    piped = runner.invoke(command, ["replay", "-", *options], input=sample.read_bytes())
    assert (named.exit_code, piped.exit_code) == (0, 0), piped.output
    assert named.stdout.split('"seconds"')[0] == piped.stdout.split('"seconds"')[0]


def test_a_block_that_fills_exactly_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_text, "BLOCK_BYTES", 64)
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(LINES, mtime=0))
    assert b"".join(block for block, _ in TextFile(InputFile(path), "gzip").blocks()) == LINES
