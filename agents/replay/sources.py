# SPDX-License-Identifier: Apache-2.0
"""The sources that `murmurate replay SOURCE` can name: a file or a synthetic stream.

    clicks.csv  clicks.tsv          a table; the first line names the columns
    clicks.jsonl  .ndjson  .json    one JSON object a line
    screens.npy                     integers [periods, users]: positions of categories
    demo.npz                        a recording by tools/make_recording.py
    synthetic:lns,n=200000,periods=800,seed=1      lns | sin | log; commas, since ? and & mean something to a shell
    synthetic:sets,n=1000,periods=20               sets | vectors | rows | strings | measured

Contract: a Source, or an error with what was found and what is allowed.  Not here: reading them.
"""

from __future__ import annotations

from pathlib import Path

from murmurate.agents.replay.arrays import NpySource, Recording
from murmurate.agents.replay.source import Batch, Source, SourceError
from murmurate.agents.replay.synthetic import BINARY, WIDE, Synthetic, parse
from murmurate.agents.replay.synthetic_rows import MadeUp
from murmurate.agents.replay.tables import CsvSource, TextSource
from murmurate.agents.replay.wide_arrays import WideNpy
from murmurate.config.plan import Plan
from murmurate.errors import UsageError

__all__ = ["Batch", "Source", "SourceError", "open_source"]


def open_source(text: str, plan: Plan, stream_name: str | None = None) -> Source:
    """The source that `text` names, for one stream of the plan or, where records name streams, for all of a topic."""
    streams = _streams(plan, stream_name)
    if text.startswith("synthetic:"):
        model, _ = parse(text)
        return (Synthetic if model in BINARY else MadeUp)(text, plan, _one(text, streams))
    path = Path(text)
    kind = path.suffix.lower()
    if kind == ".gz":
        raise SourceError(f"{path.name}: found gzip data; allowed: the text itself (gunzip it first)")
    if kind not in (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".npy", ".npz"):
        raise UsageError(
            f"source: found {path.name!r}; allowed: a .csv, .tsv, .jsonl, .ndjson, .json, .npy or .npz file, or "
            f"synthetic:{'|'.join((*BINARY, *WIDE))}"
        )
    if not path.is_file():
        raise SourceError(f"{path.name}: found no such file; allowed: a readable file")
    if kind == ".npy":
        stream = _one(text, streams)
        return (NpySource if plan.any_stream(stream).domain.coded else WideNpy)(path, plan, stream)
    if kind == ".npz":
        return Recording(path, plan, _one(text, streams))
    return (CsvSource if kind in (".csv", ".tsv") else TextSource)(path, plan, streams)


def _streams(plan: Plan, name: str | None) -> tuple[str, ...]:
    present = ", ".join(stream.name for stream in plan.everything)
    if name is not None:
        if all(stream.name != name for stream in plan.everything):
            raise UsageError(f"--stream: found {name!r}; allowed: {present}")
        return (name,)
    if len({(stream.topic, stream.fields) for stream in plan.everything}) > 1:
        raise UsageError(f"--stream: found none, and the streams have different sources; allowed: one of {present}")
    return tuple(stream.name for stream in plan.everything)


def _one(text: str, streams: tuple[str, ...]) -> str:
    if len(streams) != 1:
        raise UsageError(f"--stream: found none, and {text} holds one stream; allowed: one of {', '.join(streams)}")
    return streams[0]
