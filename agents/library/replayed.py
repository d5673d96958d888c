# SPDX-License-Identifier: Apache-2.0
"""`murmurate.replay(source, config)`: a recording through every stage, and what came of it as one object.

Contract: what the verb `replay` does, without a terminal: no broker, no file unless one is asked for; the same source,
plan and keys give the same releases, to the byte.  Truth and score are raw data, as the source is.  Not here: kinds of
source (agents/replay/sources.py), the figures of a score (agents/replay/score.py), the chart itself (chart.py).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from murmurate.agents.embedded.runtime import Keys
from murmurate.agents.library.chart import NamedSeries, chart, number
from murmurate.agents.library.given import GivenPlan, load_plan
from murmurate.agents.library.leaders import leaders
from murmurate.agents.library.run_folder import write
from murmurate.agents.library.tables import ReleaseTable
from murmurate.agents.replay.known_keys import known_secrets
from murmurate.agents.replay.run import Frame, Outcome, Replay
from murmurate.agents.replay.run import keys as zone_keys
from murmurate.agents.replay.score import Score
from murmurate.agents.replay.source import Source
from murmurate.agents.replay.sources import open_source
from murmurate.agents.replay.true_period import TruePeriod
from murmurate.config.plan import Plan
from murmurate.config.secrets import NAMES, generate
from murmurate.errors import UsageError
from murmurate.topics.codec import decode
from murmurate.topics.release import Release

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

CHARTS, CHARTED_STREAMS = 3, 4
"""The most charts of a stream in a notebook, and the most streams that have some."""
GivenKeys = Keys | Mapping[str, bytes]
"""The keys of all zones, or the secrets that they are made of: those of `murmurate keys new`, by name."""


class ReplayProgress(NamedTuple):
    """How far a replay is."""

    events: int
    releases: int
    fraction: float | None
    """The part of the source that was read, from 0 to 1; None where that is unknown."""


def replay(
    source: Any, config: GivenPlan, *, stream: str | None = None, repeatable: bool = False,
    keys: GivenKeys | None = None, progress: bool | Callable[[ReplayProgress], None] = False,
) -> ReplayResult:  # fmt: skip
    """Replay a source through a deployment's stages, in this process.

    source: a path or a name as `murmurate replay` takes it, or a table.  config: the path of a murmurate.toml or of its
    folder, a dict of its keys, or a plan.  stream: which one the source is of, where the deployment has several topics.
    repeatable: known keys instead of fresh ones, so that the same bytes come every time, and nobody is protected.
    keys: those of a deployment.  progress: True for a line on standard error, or what to call several times a second.
    """
    if repeatable and keys is not None:
        raise UsageError("replay: found repeatable and keys; allowed: one of them")
    plan = load_plan(config)
    named = os.fspath(source) if isinstance(source, os.PathLike) else source
    opened, frames = open_source(named, plan, stream), list[Frame]()
    tell = _teller(opened, progress)

    def take(frame: Frame) -> None:
        if frame["type"] == "progress":
            tell(frame)
        else:
            frames.append(frame)

    held = zone_keys(_secrets(plan.name, repeatable, keys), plan.name) if not isinstance(keys, Keys) else keys
    outcome = Replay(plan, opened, held, take).run()
    if progress is True:
        sys.stderr.write("\n")
    return ReplayResult(plan, outcome, frames, opened.complaint_lines())


class ReplayResult:
    """What a replay released, with the truth beside it. In a notebook it shows itself."""

    def __init__(self, plan: Plan, outcome: Outcome, frames: Sequence[Frame], complaints: Sequence[str]) -> None:
        self.plan: Final = plan
        self._outcome, self._frames, self._complaints = outcome, frames, tuple(complaints)

    @cached_property
    def releases(self) -> tuple[Release, ...]:
        """The releases, in the order in which they came."""
        found = [decode(record) for record in self.records]
        return tuple(release for release in found if isinstance(release, Release))

    @property
    def records(self) -> Sequence[bytes]:
        """The releases as they would stand on Kafka, a line of JSON each."""
        return tuple(self._outcome.releases)

    @cached_property
    def truth(self) -> tuple[TruePeriod, ...]:
        """What was true of each period that was released: raw data."""
        names = {one.name: one.measure.true_names for one in self.plan.everything}
        return tuple(replace(one, names=one.names or names[one.stream]) for one in self._outcome.truth)

    @cached_property
    def score(self) -> Score:
        """The errors and costs, of each stream and of all."""
        return self._outcome.score(self.plan)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Errors, costs and counts in one mapping, as summary.json has it."""
        return self._outcome.summary(self.plan)

    @cached_property
    def remarks(self) -> tuple[str, ...]:
        """What was wrong with the source, and which streams had too few reports: a line each."""
        return (*self._complaints, *self._outcome.shortfalls(self.plan))

    def table(self, *, newest_only: bool = False, truth: bool = False) -> ReleaseTable:
        """The releases as a long table. newest_only: of a revised period what counts; truth: in a column of its own."""
        return ReleaseTable.of(self.records, newest_only=newest_only, truth=self._true if truth else None)

    def to_arrow(self, *, newest_only: bool = False, truth: bool = False) -> pyarrow.Table:
        """The long table as a `pyarrow.Table`."""
        return self.table(newest_only=newest_only, truth=truth).to_arrow()

    def to_polars(self, *, newest_only: bool = False, truth: bool = False) -> polars.DataFrame:
        """The long table as a `polars.DataFrame`."""
        return self.table(newest_only=newest_only, truth=truth).to_polars()

    def to_pandas(self, *, newest_only: bool = False, truth: bool = False) -> pandas.DataFrame:
        """The long table as a `pandas.DataFrame`."""
        return self.table(newest_only=newest_only, truth=truth).to_pandas()

    def report(self, path: str | os.PathLike[str] = "report.html") -> Path:
        """Write the page of this replay as one file that needs no network, and say where it is."""
        from murmurate.agents.web.report import report_html

        written = Path(path)
        with _writing(written):
            written.write_text(report_html(self._frames), encoding="utf-8")
        return written

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write releases, truth, summary and report into a folder, as `murmurate replay --out` does."""
        out = Path(folder)
        with _writing(out):
            out.mkdir(parents=True, exist_ok=True)
            write(out, self.plan, self._outcome, list(self._frames))
        return out

    def __iter__(self) -> Iterator[Release]:
        """The releases, so that `murmurate.query` takes this object."""
        return iter(self.releases)

    def __len__(self) -> int:
        """The number of releases."""
        return len(self._outcome.releases)

    def __repr__(self) -> str:
        """What came of it, in a line."""
        said = self.summary
        return f"<ReplayResult of {self.plan.name}: {said['events']} events, {len(self)} releases, {self._errors}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: figures, charts of the largest statistics, and what to know about them."""
        said = f"{self.summary['events']:,} events, {len(self):,} releases; {self._errors}".replace(",", "\u2009")
        said = said.replace("\u2009 ", ", ")
        parts = [f"<p><strong>{escape(self.plan.name)}</strong>: {escape(said)}</p>"]
        table = self.table(newest_only=True, truth=True)
        streams = list(dict.fromkeys(table.stream))
        newest = {release.stream: release for release in sorted(self.releases, key=lambda one: (one.t, one.revision))}
        for stream in streams[:CHARTED_STREAMS]:
            every = _series(table, stream)
            parts.append(leaders(newest[stream]))
            parts += [chart(one) for one in every[:CHARTS]]
            if len(every) > CHARTS:
                parts.append(f"<p>{escape(stream)}: {len(every) - CHARTS} more names; to_pandas() has all.</p>")
        if len(streams) > CHARTED_STREAMS:
            parts.append(f"<p>{len(streams) - CHARTED_STREAMS} more streams; to_pandas() has all.</p>")
        parts.append("<p>Solid: the estimate, with two standard errors around it. Dashed: the truth.</p>")
        parts += [f"<p>{escape(line)}</p>" for line in self.remarks]
        return f'<div style="font-family:system-ui,sans-serif;font-size:13px">{"".join(parts)}</div>'

    @property
    def _errors(self) -> str:
        """The error and the coverage, as far as they are known."""
        score = self.score
        said = [] if score.estimate_mse is None else [f"root mean square error {number(score.estimate_mse**0.5)}"]
        said += [] if score.coverage is None else [f"{score.coverage:.0%} of truths within two standard errors"]
        return ", ".join(said) or "nothing to compare"

    @cached_property
    def _true(self) -> Mapping[tuple[str, int], Mapping[str, float | None]]:
        return {(one.stream, one.t): _figures(one) for one in self.truth}


def _figures(period: TruePeriod) -> Mapping[str, float | None]:
    said: Any = period.record(period.names or ())["truth"]
    found: Mapping[str, float | None] = said
    return found


def _series(table: ReleaseTable, stream: str) -> list[NamedSeries]:
    """Each statistic of a stream over its periods, the largest first."""
    starts, rows, at = list[int](), list[dict[str, int]](), 0
    for place, count in enumerate(table.count):
        if table.stream[place] == stream:
            starts.append(table.start_ms[place])
            rows.append(dict(zip(table.name[at : at + count], range(at, at + count), strict=True)))
        at += count
    order = sorted(range(len(starts)), key=starts.__getitem__)
    starts, rows = [starts[i] for i in order], [rows[i] for i in order]
    names = dict.fromkeys(name for row in rows for name in row)

    def part(values: Sequence[float | None] | None, name: str) -> list[float | None]:
        return [None if values is None or name not in row else values[row[name]] for row in rows]

    def size(one: NamedSeries) -> float:
        return -sum(abs(value) for value in one.estimate if value is not None)

    found = [
        NamedSeries(
            f"{stream}: {name}", starts, part(table.estimate, name), part(table.stderr, name), part(table.truth, name)
        )
        for name in names
    ]
    return sorted(found, key=size)


def _secrets(deployment: str, repeatable: bool, given: Mapping[str, bytes] | None) -> Mapping[str, bytes]:
    """The secrets of all zones: fresh ones unless others are asked for."""
    if given is None:
        return known_secrets(deployment) if repeatable else generate(NAMES)
    missing = [name for name in NAMES if name not in given]
    if missing:
        raise UsageError(f"keys: found no {', '.join(missing)}; allowed: all of {', '.join(NAMES)}")
    return given


def _teller(source: Source, progress: bool | Callable[[ReplayProgress], None]) -> Callable[[Frame], None]:
    """What takes the frames of a replay that say how far it is."""
    if progress is False:
        return lambda frame: None
    call = _line if progress is True else progress
    return lambda frame: call(ReplayProgress(frame["events"], frame["releases"], source.fraction()))


def _line(done: ReplayProgress) -> None:
    """The state on standard error, in the line that stands there."""
    part = "" if done.fraction is None else f"{done.fraction:4.0%}  "
    sys.stderr.write(f"\r{part}{done.events} events, {done.releases} releases")
    sys.stderr.flush()


class _writing:  # noqa: N801 - reads as a verb in `with _writing(...)`
    """A file that cannot be written is an error in one line."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if isinstance(error, OSError):
            raise UsageError(f"{self._path}: {error.strerror or 'cannot be written'}; allowed: a place to write")
