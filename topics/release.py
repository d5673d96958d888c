# SPDX-License-Identifier: Apache-2.0
"""The release: one JSON record a period, the product (ARCHITECTURE rule 10). Subscribers in any language read this.

Contract: no wall clock, host or version in it; estimates and errors, and only they, are rounded to six places: same
input, same bytes. What is not there was not computed, and nothing measured is no number: its name stands with null.
The class is the schema; `example` records are in the tests.
"""

from collections.abc import Mapping
from datetime import datetime
from functools import cached_property
from itertools import product
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, model_validator

from murmurate.topics.message import Freeze, Message, Positive, Stream, Whole, Word
from murmurate.topics.names import NAME_PATTERN
from murmurate.topics.promises import CentralPromise, Privacy
from murmurate.topics.release_parts import (
    MAX_FIGURES,
    Block,
    Discovery,
    HorizonStep,
    Instant,
    ListedItems,
    Mechanism,
    Method,
    Model,
    Name,
    Named,
    Noise,
    Number,
    Reading,
    Reports,
    Statistics,
    Table,
    Tables,
    Text,
    ThresholdSearch,
)
from murmurate.topics.release_rows import ReleaseRow


class Release(Message, tag="murmurate/release/2"):
    """A period's statistics with their errors and their privacy loss attached.

    Every name stands in `estimate`, `stderr` and `unbiased`, with null where nothing is known of it. That is so in two
    cases. Before the first answer `decision` is "unmeasured": all three are null throughout, and there are no
    thresholds. And a statistic about some users alone is null while nobody is known to be one of them: a mean beside
    `present`, while the share of holders was measured within two of its standard errors of none.
    """

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": ["privacy", "reports"]}, {"required": ["central"]}]}
    )

    deployment: Annotated[str, Field(pattern=NAME_PATTERN)]
    stream: Stream
    revision: Positive
    t: Whole
    start: Instant
    end: Instant
    measure: Word
    unit: Text | None = None
    range: tuple[Number, Number] | None = None
    decision: Literal["published", "approximated", "unmeasured"]
    """Whether reports of this period speak, or what is known from others; or nothing is known yet."""
    measured_t: Whole | None
    """The period whose reports speak in `unbiased`. While it is null, all of `unbiased` is null too; `estimate` may be
    known before, from reports that only told whether a publication pays.
    """
    estimate: Statistics
    """The best current estimate."""
    stderr: Statistics
    """The standard error of `estimate`: mechanism, sampling, and drift where the value is older than its period; null
    where the estimate is.
    """
    unbiased: Statistics
    """The raw estimate before any post-processing: it may be negative and need not add to 1."""
    stderr_unbiased: Statistics | None = None
    """The standard error of `unbiased` as an estimate of period `measured_t`: mechanism and sampling, without what may
    have drifted since and without what clipping may take; null where `unbiased` is. Written together with `model`.
    """
    model: Model | None = None
    """Who adds the noise. Written where the deployment's file says the model or asks for releases to be queried."""
    horizon: HorizonStep | None = None
    """Written together with `model` by methods of horizons: what the errors of their periods have in common."""
    names: Literal["found"] | None = None
    """Written where the names are data, too: the three maps have what was found in this period, which may be nothing.
    Not written where the names are declared.
    """
    tables: Annotated[tuple[Table, ...], Field(min_length=1, max_length=64)] | None = None
    """How names make tables: each table's cells follow each other, called "attribute=value | attribute=value". Not
    written where names stand for themselves.
    """
    selection: ListedItems | None = None
    """How the items were chosen that the maps have figures of, where they are few of very many."""
    discovery: Discovery | None = None
    """How the names were found, where nobody knows the list, and which of them came, moved and went."""
    thresholds: Annotated[Mapping[Name, Reading], Field(min_length=1, max_length=MAX_FIGURES), *Freeze] | None = None
    """For each monitored statistic that is known, on which side of its threshold it is. Not written where there is
    none.
    """
    reports: Reports | None = None
    """Written for all but central streams, which have no reports."""
    privacy: Privacy | None = None
    """Written for all but central streams."""
    central: CentralPromise | None = None
    """Written for central streams alone: their promise, which is another one."""
    holdout: ThresholdSearch | None = None
    """Written for central streams while their threshold is being found."""
    noise: Noise | None = None
    """Written for central streams, once their threshold is known: which noise the sums have."""
    block: Block | None = None
    """Written for central streams whose leaves are several periods, with the last period of each leaf."""
    mechanism: Mechanism
    """The mechanism's name, parameters and digest."""
    method: Method

    @property
    def result(self) -> Named | Tables:
        """What it says, by name or in tables."""
        maps = self.estimate, self.stderr, self.unbiased
        if self.tables is None:
            return Named(*maps, found=self.names is not None)
        cells = [list(zip(product(*table.values), table.names, strict=True)) for table in self.tables]
        return Tables(self.tables, *(tuple({cell: said[name] for cell, name in of} for of in cells) for said in maps))

    @cached_property
    def known(self) -> dict[str, tuple[float, float]]:
        """Estimate and standard error of every name of which something is known."""
        pairs = ((name, value, self.stderr[name]) for name, value in self.estimate.items())
        return {name: (value, error) for name, value, error in pairs if value is not None and error is not None}

    @property
    def id(self) -> str:
        """Which release it is, as its server-sent event says it: "screen/29916540/1"."""
        return f"{self.stream}/{self.t}/{self.revision}"

    @property
    def start_time(self) -> datetime:
        """When the period begins, in UTC."""
        return datetime.fromisoformat(self.start)

    @property
    def end_time(self) -> datetime:
        """When the period ends, in UTC."""
        return datetime.fromisoformat(self.end)

    def table(self) -> tuple[ReleaseRow, ...]:
        """A row for each name, for pandas, polars and whatever else takes rows."""
        start, stderr, unbiased = self.start_time, self.stderr, self.unbiased
        return tuple(
            ReleaseRow(
                self.stream, self.t, start, name, value, stderr[name], unbiased[name], self.revision, self.decision
            )
            for name, value in self.estimate.items()
        )

    @model_validator(mode="after")
    def _discovers_its_names(self) -> "Release":
        if self.discovery is not None and (self.names is None or self.selection is not None):
            raise ValueError("found a discovery of declared names; allowed: where names are found, and none are listed")
        if self.discovery is not None and not (
            self.discovery.since.keys() == self.discovery.seen.keys() == self.estimate.keys()
            and {*self.discovery.rose, *self.discovery.fell} <= self.estimate.keys()
            and self.estimate.keys().isdisjoint(self.discovery.gone)
        ):
            raise ValueError("found a discovery of other names than estimates; allowed: the same, and others as gone")
        return self

    @model_validator(mode="after")
    def _fits_together(self) -> "Release":
        if not self.estimate.keys() == self.stderr.keys() == self.unbiased.keys():
            raise ValueError("found estimate, stderr and unbiased of different names; allowed: the same names")
        if self.stderr_unbiased is not None and _known(self.stderr_unbiased) != _known(self.unbiased):
            raise ValueError("found unbiased or its stderr_unbiased without the other; allowed: both, or null for both")
        if self.stderr_unbiased is not None and self.stderr_unbiased.keys() != self.unbiased.keys():
            raise ValueError("found stderr_unbiased of other names than unbiased; allowed: the same names")
        if (self.stderr_unbiased is None) != (self.model is None):
            raise ValueError("found stderr_unbiased or model without the other; allowed: both or none")
        if self.horizon is not None and (self.model is None or not self.horizon.holds(self.t)):
            raise ValueError("found another period's horizon, or no model; allowed: its own, together with model")
        if not self.estimate and self.names is None:
            raise ValueError("found no names; allowed: at least one, unless names are found")
        cells = [name for table in self.tables or () for name in table.names]
        if self.tables is not None and sorted(cells) != sorted(self.estimate):
            raise ValueError("found names other than the cells of the tables; allowed: each of these once")
        if self.selection is not None and self.names is None:
            raise ValueError("found a selection of declared names; allowed: where names are found")
        if self.selection is not None and not {*self.selection.named, *self.selection.found} <= self.estimate.keys():
            raise ValueError("found an item in the selection without an estimate; allowed: names of estimates")
        if not (self.thresholds or {}).keys() <= self.estimate.keys():
            raise ValueError("found a threshold of a name without an estimate; allowed: names of estimates")
        if self.measured_t is not None and self.measured_t > self.t:
            raise ValueError("found measured_t after t; allowed: at most t")
        local, central = (self.privacy, self.reports), (self.central, self.holdout, self.noise, self.block)
        if None in local if self.central is None else local != (None, None):
            raise ValueError("found privacy and reports beside central, or not without; allowed: these two, or central")
        if self.central is None and any(central):
            raise ValueError("found holdout, noise or block without central; allowed: only for central streams")
        if self.holdout is not None and (self.noise is not None or self.decision != "unmeasured"):
            raise ValueError("found figures or their noise in a hold-out; allowed: neither")
        if self.reports is not None and self.reports.received != self.reports.counted + self.reports.rejected.malformed:
            raise ValueError("found received other than counted and rejected together; allowed: every report once")
        if self.range is not None and not self.range[0] < self.range[1]:
            raise ValueError("found a range that holds nothing; allowed: low below high")
        return self

    @model_validator(mode="after")
    def _says_what_is_known(self) -> "Release":
        known, own = _known(self.estimate), _known(self.unbiased)
        if known != _known(self.stderr):
            raise ValueError("found an estimate or its stderr without the other; allowed: both, or null for both")
        if self.names is not None:  # which may be none, and in a revision others than were said then
            if self.decision == "unmeasured" and self.estimate:
                raise ValueError("found names in what is unmeasured; allowed: none")
            return self
        if (self.decision == "unmeasured") != (not known):
            raise ValueError("found unmeasured with an estimate, or none without it; allowed: null for all, only then")
        if (self.measured_t is None) != (not own) or (self.decision == "published" and self.measured_t is None):
            raise ValueError("found measured_t or unbiased without the other; allowed: both, or null throughout")
        if self.decision == "unmeasured" and own:
            raise ValueError("found unbiased figures of what is unmeasured; allowed: null for all")
        if (self.thresholds or {}).keys() - known:
            raise ValueError("found a threshold of what is not known; allowed: of estimates that are no null")
        return self


def _known(table: Mapping[str, float | None]) -> set[str]:
    return {name for name, value in table.items() if value is not None}
