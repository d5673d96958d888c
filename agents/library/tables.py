# SPDX-License-Identifier: Apache-2.0
"""Releases as long tables: a row for each name of each release, for Arrow, polars and pandas.

Contract: the columns are those of `COLUMNS`, and `truth` after them where a replay knows it; `start` is a timestamp in
UTC, to the millisecond; what a release says null of is null here, in each of the three.  Rows stand in the order of the
releases, and of the names in them.  Not here: rows of a single release (topics/release_rows.py).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from murmurate.agents.library.errors import MissingExtraError
from murmurate.agents.queries import RELEASES
from murmurate.aggregators.queries.errors import ReleaseFormatError
from murmurate.errors import UsageError
from murmurate.topics.release import Release
from murmurate.topics.release_rows import ReleaseRow
from murmurate.topics.times import InstantReader

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

COLUMNS: Final = ReleaseRow._fields
Records = str | os.PathLike[str] | Iterable[bytes | str | Mapping[str, Any] | Release]
"""Where releases are: the path of a file or of a folder that a replay wrote, or the records themselves."""
Truths = Mapping[tuple[str, int], Mapping[str, float | None]]
"""The true figures by stream and period."""
_FIGURES: Final = ("estimate", "stderr", "unbiased")
_MEANT: Final = ("stream", "t", "start", "revision", "decision", *_FIGURES)


def table(releases: Records, *, newest_only: bool = False) -> ReleaseTable:
    """The long table of releases. newest_only: of a period that was revised only what counts.

    ReleaseFormatError names what is no release by its line or its place.
    """
    return ReleaseTable.of(releases, newest_only=newest_only)


@dataclass
class ReleaseTable:
    """The columns of a long table, as lists; `to_arrow`, `to_polars` and `to_pandas` give what one works with."""

    stream: list[str] = field(default_factory=list, repr=False)
    """One entry for each release, as those of `t`, `start_ms`, `revision` and `decision`."""
    t: list[int] = field(default_factory=list, repr=False)
    start_ms: list[int] = field(default_factory=list, repr=False)
    revision: list[int] = field(default_factory=list, repr=False)
    decision: list[str] = field(default_factory=list, repr=False)
    count: list[int] = field(default_factory=list, repr=False)
    """The number of rows of each release."""
    name: list[str] = field(default_factory=list, repr=False)
    """One entry for each row, as those of the three figures."""
    estimate: list[float | None] = field(default_factory=list, repr=False)
    stderr: list[float | None] = field(default_factory=list, repr=False)
    unbiased: list[float | None] = field(default_factory=list, repr=False)
    truth: list[float | None] | None = field(default=None, repr=False)
    """One entry for each row, where the truth is known."""

    @classmethod
    def of(cls, releases: Records, *, newest_only: bool = False, truth: Truths | None = None) -> ReleaseTable:
        """The table of these releases."""
        made = cls(truth=None if truth is None else [])
        instants, found = InstantReader(), _said(releases)
        for said in _newest(found) if newest_only else found:
            made._add(said, instants, truth)
        return made

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.name)

    def __repr__(self) -> str:
        """How much there is, in a line."""
        return f"<ReleaseTable: {len(self)} rows of {len(self.t)} releases; to_arrow(), to_polars(), to_pandas()>"

    def to_arrow(self) -> pyarrow.Table:
        """A `pyarrow.Table`. MissingExtraError without pyarrow."""
        pa, compute = needed("pyarrow", "parquet"), needed("pyarrow.compute", "parquet")
        import numpy as np

        place = pa.array(np.repeat(np.arange(len(self.count)), self.count))

        def spread(values: list[Any], kind: Any) -> Any:
            return compute.take(pa.array(values, kind), place)

        text, number = pa.string(), pa.float64()
        columns = {
            "stream": spread(self.stream, text),
            "t": spread(self.t, pa.int64()),
            "start": spread(self.start_ms, pa.timestamp("ms", tz="UTC")),
            "name": pa.array(self.name, text),
            **{figure: pa.array(getattr(self, figure), number) for figure in _FIGURES},
            "revision": spread(self.revision, pa.int64()),
            "decision": spread(self.decision, text),
        }
        if self.truth is not None:
            columns["truth"] = pa.array(self.truth, number)
        made: pyarrow.Table = pa.table(columns)
        return made

    def to_polars(self) -> polars.DataFrame:
        """A `polars.DataFrame`. MissingExtraError without polars or pyarrow."""
        frames = needed("polars", "notebook")
        made: polars.DataFrame = frames.from_arrow(self.to_arrow())
        return made

    def to_pandas(self) -> pandas.DataFrame:
        """A `pandas.DataFrame`, whose figures are `Float64` so that null is `<NA>`. MissingExtraError without pandas or
        pyarrow.
        """
        frames = needed("pandas", "notebook")
        kinds = {needed("pyarrow", "parquet").float64(): frames.Float64Dtype()}
        made: pandas.DataFrame = self.to_arrow().to_pandas(types_mapper=kinds.get)
        return made

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The table for whatever takes Arrow: polars.DataFrame(table), DuckDB."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def _add(self, said: Mapping[str, Any], instants: InstantReader, truth: Truths | None) -> None:
        stream, t, start, revision, decision, estimate, stderr, unbiased = (said[key] for key in _MEANT)
        start_ms = instants.milliseconds(start)
        errors, raw = [stderr[name] for name in estimate], [unbiased[name] for name in estimate]
        self.stream.append(stream)
        self.t.append(t)
        self.start_ms.append(start_ms)
        self.revision.append(revision)
        self.decision.append(decision)
        self.count.append(len(estimate))
        self.name.extend(estimate)
        self.estimate.extend(estimate.values())
        self.stderr.extend(errors)
        self.unbiased.extend(raw)
        if truth is not None and self.truth is not None:
            true = truth.get((stream, t), {})
            self.truth.extend(true.get(name) for name in estimate)


def needed(package: str, extra: str) -> Any:
    """A package that an extra brings. MissingExtraError says which, in a line."""
    try:
        return import_module(package)
    except ImportError:
        root = package.partition(".")[0]
        raise MissingExtraError(f"found no {root}; allowed: after pip install 'murmurate[{extra}]'") from None


def _said(releases: Records) -> Iterator[Mapping[str, Any]]:
    """Each release as a mapping with what a table needs."""
    if not isinstance(releases, str | os.PathLike):
        for number, record in enumerate(releases, 1):
            yield _one(record, f"releases, record {number}")
        return
    path = Path(releases)
    path = path / RELEASES if path.is_dir() else path
    try:
        with path.open("rb", buffering=1 << 20) as file:
            for number, line in enumerate(file, 1):
                if line != b"\n":
                    yield _one(line, f"{path.name}, line {number}")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or 'cannot be read'}; allowed: a file of releases") from None


def _one(record: object, where: str) -> Mapping[str, Any]:
    if isinstance(record, Release):
        return {key: getattr(record, key) for key in _MEANT}
    try:
        said = orjson.loads(record) if isinstance(record, bytes | str) else record
    except orjson.JSONDecodeError:
        raise ReleaseFormatError(f"{where}: found no JSON; allowed: a release") from None
    if not isinstance(said, Mapping):
        raise ReleaseFormatError(f"{where}: found {type(said).__name__}; allowed: a release")
    for key, kind in zip(_MEANT, (str, int, str, int, str, Mapping, Mapping, Mapping), strict=True):
        if not isinstance(said.get(key), kind):
            raise ReleaseFormatError(f"{where}: {key}: found {type(said.get(key)).__name__}; allowed: a release")
    if not said["estimate"].keys() == said["stderr"].keys() == said["unbiased"].keys():
        raise ReleaseFormatError(f"{where}: found figures of different names; allowed: the same names")
    return said


def _newest(found: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """What the highest revision of each period says, in the order in which the periods came."""
    best = dict[tuple[str, int], Mapping[str, Any]]()
    for said in found:
        key = said["stream"], said["t"]
        if key not in best or said["revision"] >= best[key]["revision"]:
            best[key] = said
    return list(best.values())
