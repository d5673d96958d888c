# SPDX-License-Identifier: Apache-2.0
"""Releases of many streams, column by column, as they come or out of a file: what queries are answered from.

Contract: a record is read once, and only the fields that answers need are kept: 25 bytes a release and 16 a statistic
of it, and 8 for each node of a horizon.  Of several releases of one period that of the highest revision counts, and of
equal ones the last.  Where a stream has changed its measure, its unit or the length of its periods, its newest form
alone is answered from.  Records are trusted to be releases: their shape is checked as far as they are read.  Not here:
where they come from (agents/queries.py).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

from murmurate.aggregators.queries.columns import (
    NAN,
    NO_TREE,
    UNKNOWN_HORIZON,
    ReleaseColumns,
    SameNames,
    numbers_of,
    rows_of,
)
from murmurate.aggregators.queries.errors import ReleaseFormatError
from murmurate.randomizers.errors import ParameterError
from murmurate.randomizers.residue_tree import ResidueTree
from murmurate.randomizers.trees import Tree
from murmurate.topics.release import Release
from murmurate.topics.times import InstantReader


class PlantedTree(NamedTuple):
    """One tree of a central stream, as its releases describe it."""

    first_t: int
    tree: Tree
    block: int
    node: tuple[tuple[str, float], ...]
    """The standard deviation of a node's noise, by name."""
    threshold: float | None


class RecordedHorizon(NamedTuple):
    """One horizon of a stream, as its releases describe it."""

    first_t: int
    periods: int
    fanout: int
    levels: int


class StreamForm(NamedTuple):
    """What makes figures of a stream comparable over time."""

    measure: str
    unit: str | None
    every_ms: int
    central: bool


class RecordedStream:
    """All releases of one stream in one form.

    What `first` and `second` are: of a local stream `unbiased` and its standard error; of a central one whose leaves
    are periods `unbiased`, and nothing; of one whose leaves are blocks the period's estimate and its standard error,
    while sums of whole blocks have rows of their own.
    """

    def __init__(self, name: str, form: StreamForm, keep: int | None = None) -> None:
        """`keep`: the most figures that are kept, the newest ones; None for all."""
        self.name, self.form, self._keep, self._held = name, form, keep, 0
        self.range: tuple[float, float] | None = None
        self.method = ""
        self.w: int | None = None
        self.trees: list[PlantedTree] = []
        self.horizons: list[RecordedHorizon] = []
        self.begin_t, self.end_t = 1 << 62, -1
        """The oldest period, and the one after the newest."""
        self.found = False
        """Whether names are data, too."""
        self._periods: deque[SameNames] = deque()
        self._blocks: deque[SameNames] = deque()
        self._numbers: dict[PlantedTree | RecordedHorizon, int] = {}
        self._noise: Any = None
        self._newest = NO_TREE
        """Number of the tree or horizon that the last release described, as `_noise` says it."""
        self._built: tuple[ReleaseColumns, ReleaseColumns] | None = None
        self.answers: dict[Any, Any] = {}
        """What was prepared for answers, by statistic; forgotten when a release comes."""

    @property
    def names(self) -> tuple[str, ...]:
        """Every statistic that a release has."""
        return tuple(dict.fromkeys(name for rows in self._periods for name in rows.names))

    def columns(self) -> tuple[ReleaseColumns, ReleaseColumns]:
        """The releases of periods, and the sums of blocks, each by its last period."""
        if self._built is None:
            self._built = ReleaseColumns(self._periods), ReleaseColumns(self._blocks)
        return self._built

    def begin(self, record: Mapping[str, Any]) -> None:
        """Take over what a release says of the stream, and not of a period."""
        limits = record.get("range")
        self.range = None if limits is None else (float(limits[0]), float(limits[1]))
        self.method = str(record["method"]["name"])
        self.found = record.get("names") == "found"
        self.w = None if self.form.central else int(record["privacy"]["w"])

    def add(self, record: Mapping[str, Any], t: int, revision: int) -> None:
        """Take a release."""
        self._built, tree, measured = None, NO_TREE, -1
        shares: tuple[float, ...] = ()
        if self.answers:
            self.answers = {}
        first: Mapping[str, float | None] = record["unbiased"]
        second: Mapping[str, float | None] | None = None
        if not self.form.central:
            second = record.get("stderr_unbiased")
            said = record["measured_t"]
            measured = -1 if said is None else said
            if (step := record.get("horizon")) is not None:
                tree, shares = self._horizon(step), tuple(map(float, step.get("shares", ())))
            elif "horizon" in record["method"]:
                tree = UNKNOWN_HORIZON
        elif (noise := record.get("noise")) is not None:
            tree = self._tree(noise, record)
            if self.trees[tree].block > 1:
                first, second = record["estimate"], record["stderr"]
                if (block := record.get("block")) is not None:
                    total = block["total"]
                    rows_of(self._blocks, tuple(total)).add(t, revision, tree, -1, numbers_of(total), [])
        names = tuple(first)
        others = [NAN] * len(names) if second is None else numbers_of(second, names)
        rows_of(self._periods, names).add(t, revision, tree, measured, numbers_of(first), others, shares)
        if t >= self.end_t:
            self.end_t = t + 1
        if t < self.begin_t:
            self.begin_t = t
        self._held += len(names)
        if self._keep is not None and self._held > self._keep and len(self._periods) > 1:
            self._forget()

    def _forget(self) -> None:
        """Let the oldest go."""
        gone = self._periods.popleft()
        self._held -= len(gone.first)
        self.begin_t = self._periods[0].t[0]
        while self._blocks and self._blocks[0].t[-1] < self.begin_t:
            self._blocks.popleft()

    def _tree(self, noise: Mapping[str, Any], record: Mapping[str, Any]) -> int:
        """The number of the tree that a release describes."""
        if noise == self._noise:
            return self._newest
        said = record["method"]
        planted = PlantedTree(
            noise["first_t"], Tree(noise["fanout"], noise["levels"]), noise.get("block", 1),
            tuple(noise["node"].items()), said.get("threshold"),
        )  # fmt: skip
        self._noise, self._newest = noise, self._numbers.setdefault(planted, len(self.trees))
        if self._newest == len(self.trees):
            self.trees.append(planted)
        return self._newest

    def _horizon(self, step: Mapping[str, Any]) -> int:
        """The number of the horizon that a release describes."""
        found = RecordedHorizon(step["first_t"], step["periods"], step["fanout"], step["levels"])
        if found != self._noise:
            whole = ResidueTree(found.periods, found.fanout)
            if not isinstance(found.first_t, int) or not 1 <= found.levels <= whole.levels:
                raise ValueError("no horizon")
            self._noise, self._newest = found, self._numbers.setdefault(found, len(self.horizons))
            if self._newest == len(self.horizons):
                self.horizons.append(found)
        return self._newest


class ReleaseIndex:
    """Releases to ask about.

    >>> ReleaseIndex().streams
    ()
    """

    def __init__(self, *, keep: int | None = None) -> None:
        """`keep`: the most figures of a stream that are kept, the newest ones; None for all."""
        self._keep = keep
        self._forms: dict[str, dict[StreamForm, RecordedStream]] = {}
        self._last: dict[str, tuple[RecordedStream, int, int]] = {}
        self._instants = InstantReader()

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams that there are releases of."""
        return tuple(sorted(self._forms))

    def stream(self, name: str) -> RecordedStream:
        """The newest form of a stream that there are releases of."""
        return max(self._forms[name].values(), key=lambda one: one.end_t * one.form.every_ms)

    def add_line(self, line: bytes | str) -> None:
        """Take a release as it is written. ReleaseFormatError if it is none."""
        try:
            found = orjson.loads(line)
        except orjson.JSONDecodeError:
            found = None
        self.add(found)

    def add(self, record: Any) -> None:
        """Take a release that was read from JSON. ReleaseFormatError if it is none."""
        try:
            name, t, revision = record["stream"], record["t"], record["revision"]
            known = self._last.get(name)
            if known is None or t != known[1] + 1 or revision != known[2]:
                recorded = self._recorded(name, t, record)
            else:
                recorded = known[0]
            recorded.add(record, t, revision)
            self._last[name] = recorded, t, revision
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, ParameterError):
            raise ReleaseFormatError(f"found a record that is no release; allowed: {Release.tag}") from None

    def _recorded(self, name: str, t: int, record: Mapping[str, Any]) -> RecordedStream:
        """Where the releases of this form are. Only releases that do not follow the last one are looked at closely."""
        start, end = (self._instants.milliseconds(record[of]) for of in ("start", "end"))
        every_ms = end - start
        if record["schema"] != Release.tag or every_ms <= 0 or start != t * every_ms:
            raise ValueError("no release")
        form = StreamForm(record["measure"], record.get("unit"), every_ms, record.get("central") is not None)
        forms = self._forms.setdefault(str(name), {})
        if form not in forms:
            forms[form] = RecordedStream(str(name), form, self._keep)
        forms[form].begin(record)
        return forms[form]
