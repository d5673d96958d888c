# SPDX-License-Identifier: Apache-2.0
"""The sources that `murmurate replay SOURCE`, `feed` and `plan --like` can name, or Python can hand over.

    clicks.csv  clicks.tsv          a table; the first line names the columns
    clicks.jsonl  .ndjson  .json    one JSON object a line; of these and of tables also .gz and .zst
    clicks.parquet                  columns, as are .arrow, .feather and .arrows (Arrow's IPC files and streams)
    -                               standard input, of any of these kinds
    an object of Python             anything with __arrow_c_stream__: tables of pyarrow, frames of pandas and polars
    screens.npy                     integers [periods, users]: positions of categories
    demo.npz                        a recording by tools/make_recording.py
    synthetic:lns,n=200000,periods=800,seed=1      lns | sin | log; commas, since ? and & mean something to a shell
    synthetic:sets,n=1000,periods=20               sets | vectors | rows | strings | measured

Contract: a Source, or an error with what was found and what is allowed.  Not here: reading them.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final, TextIO

from murmurate.agents.replay.arrays import NpySource, Recording
from murmurate.agents.replay.input_file import STANDARD_INPUT, InputFile, SpooledInput
from murmurate.agents.replay.packed_text import ENDINGS, Packing, TextFile, packing_of
from murmurate.agents.replay.source import Batch, Source, SourceError
from murmurate.agents.replay.synthetic import BINARY, WIDE, Synthetic, parse
from murmurate.agents.replay.synthetic_rows import MadeUp
from murmurate.agents.replay.tables import CsvSource, TextSource
from murmurate.agents.replay.wide_arrays import WideNpy
from murmurate.config.plan import Plan
from murmurate.errors import UsageError

__all__ = ["FORMATS", "Batch", "Source", "SourceError", "open_source"]

FORMATS: Final = ("jsonl", "csv", "tsv", "parquet", "arrow")
"""The formats that can be named where a name does not say it."""
_TEXT: Final = {".csv": "csv", ".tsv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl"}
_COLUMNS: Final = {".parquet": "parquet", ".pq": "parquet"} | dict.fromkeys((".arrow", ".arrows", ".feather"), "arrow")
_ALLOWED: Final = (
    "a .jsonl, .ndjson, .json, .csv or .tsv file (also .gz or .zst), a .parquet, .arrow or .feather file, a .npy or "
    f".npz file, - for standard input, or synthetic:{'|'.join((*BINARY, *WIDE))}"
)


def open_source(source: object, plan: Plan, stream_name: str | None = None, form: str | None = None) -> Source:
    """The source that this is, for one stream of the plan or, where none is named, for all that read its records. form:
    one of FORMATS, where the name does not say it.
    """
    if form is not None and form not in FORMATS:
        raise UsageError(f"--format: found {form!r}; allowed: {', '.join(FORMATS)}")
    streams = _streams(plan, stream_name)
    if not isinstance(source, str | Path):
        return _table(source, plan, streams)
    text = str(source)
    if text.startswith("synthetic:"):
        model, _ = parse(text)
        return (Synthetic if model in BINARY else MadeUp)(text, plan, _one(text, streams))
    if text == STANDARD_INPUT:
        return _opened(_standard_input(sys.stdin), form, None, plan, streams)
    path = Path(text)
    packing = ENDINGS.get(path.suffix.lower()) if form is None else None
    kind = (path.with_suffix("") if packing is not None else path).suffix.lower()
    known = kind in _TEXT or (packing is None and (kind in _COLUMNS or kind in (".npy", ".npz")))
    if form is None and not known:
        raise UsageError(f"source: found {path.name!r}; allowed: {_ALLOWED}")
    if form is not None and path.exists() and not path.is_file() and not path.is_dir():  # a pipe can be read once
        with path.open("rb") as pipe:
            return _opened(SpooledInput(pipe), form, None, plan, streams)
    file = InputFile(path)
    if form is None and kind == ".npy":
        stream = _one(text, streams)
        return (NpySource if plan.any_stream(stream).domain.coded else WideNpy)(path, plan, stream)
    if form is None and kind == ".npz":
        return Recording(path, plan, _one(text, streams))
    if form is None:
        return _read(file, (_TEXT | _COLUMNS)[kind], packing, plan, streams)
    return _opened(file, form, packing, plan, streams)


@lru_cache(maxsize=1)
def _standard_input(stream: TextIO) -> SpooledInput:
    """Standard input, which `plan` opens once for each stream. It is kept until the process ends."""
    return SpooledInput(stream.buffer)


def _opened(file: InputFile, form: str | None, packing: Packing | None, plan: Plan, streams: tuple[str, ...]) -> Source:
    """A file whose name says nothing: what is not said is found by its first bytes."""
    packing = packing_of(file) if packing is None else packing
    return _read(file, _found(file, packing) if form is None else form, packing, plan, streams)


def _found(file: InputFile, packing: Packing | None) -> str:
    """What a file is, by its first bytes: an object or an array begins JSON, and anything else is a table."""
    start = TextFile(file, packing).start()
    if start.startswith(b"PAR1"):
        return "parquet"
    if start.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return "arrow"
    return "jsonl" if start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")) else "csv"


def _read(file: InputFile, form: str, packing: Packing | None, plan: Plan, streams: tuple[str, ...]) -> Source:
    if form in ("jsonl", "csv", "tsv"):
        return (TextSource if form == "jsonl" else CsvSource)(TextFile(file, packing), plan, streams)
    if packing is not None:
        raise SourceError(
            f"{file.name}: found {packing} data of {form}; allowed: the file itself, which is packed inside"
        )
    _need_pyarrow()
    from murmurate.agents.replay.arrow_files import ArrowFile, ParquetFile
    from murmurate.agents.replay.columns import ColumnSource

    return ColumnSource((ParquetFile if form == "parquet" else ArrowFile)(file), plan, streams)


def _table(source: object, plan: Plan, streams: tuple[str, ...]) -> Source:
    """An object of Python that gives Arrow's columns."""
    if not hasattr(source, "__arrow_c_stream__"):
        raise UsageError(
            f"source: found a {type(source).__name__}; allowed: a path, or a table with __arrow_c_stream__ (of "
            "pyarrow, pandas, polars)"
        )
    _need_pyarrow()
    from murmurate.agents.replay.arrow_files import ArrowTable
    from murmurate.agents.replay.columns import ColumnSource

    return ColumnSource(ArrowTable(source), plan, streams)


def _need_pyarrow() -> None:
    if find_spec("pyarrow") is None:
        raise UsageError("source: Parquet and Arrow need pyarrow: pip install 'murmurate[parquet]'")


def _streams(plan: Plan, name: str | None) -> tuple[str, ...]:
    """The streams that read the same records, as the door does: all of a topic, or the one that is named."""
    present = ", ".join(stream.name for stream in plan.everything)
    if name is not None:
        if all(stream.name != name for stream in plan.everything):
            raise UsageError(f"--stream: found {name!r}; allowed: {present}")
        return (name,)
    if len({stream.topic for stream in plan.everything}) > 1:
        raise UsageError(f"--stream: found none, and the streams have different topics; allowed: one of {present}")
    return tuple(stream.name for stream in plan.everything)


def _one(text: str, streams: tuple[str, ...]) -> str:
    if len(streams) != 1:
        raise UsageError(f"--stream: found none, and {text} holds one stream; allowed: one of {', '.join(streams)}")
    return streams[0]
