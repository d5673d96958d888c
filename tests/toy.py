# SPDX-License-Identifier: Apache-2.0
"""Measures that the package does not know, as somebody else would add them: one class of a measure, one of its table,
one registration each.  Lead (plugin_package): by how much one answer leads another; Common: names that are found;
Pairs: a table.  `python tests/toy.py VERB ...` is the command line with the first.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from murmurate.agents.cli.main import main
from murmurate.aggregators.measures.frequency import Frequency
from murmurate.aggregators.measures.measure import stands
from murmurate.aggregators.measures.registry import KINDS
from murmurate.aggregators.measures.result import Filled, Floats, InTables, NamedFigures
from murmurate.aggregators.methods.method import Decision, FoundValues, TableEstimates
from murmurate.aggregators.postprocess.shaping import NORM_SUB, Shaping
from murmurate.config.measures.frequency import FrequencyStream
from murmurate.config.measures.registry import TABLES, register
from murmurate.config.measures.stream import StreamTable
from murmurate.randomizers.registry import ORACLES
from murmurate.topics.domains import Categories
from murmurate.topics.release_parts import Table

sys.path.append(str(Path(__file__).parent / "plugin_package"))
from murmurate_extras.measure import LeadStream


@dataclass(frozen=True)
class Common(Frequency):
    """Those of its values that surely somebody holds: names that are found anew in each period."""

    name = "common"
    shaped = False

    @property
    def names(self) -> tuple[str, ...]:
        """None: they are found."""
        return ()

    @property
    def most_names(self) -> int:
        """Every value, at most."""
        return len(self.domain.values)

    @property
    def true_names(self) -> tuple[str, ...]:
        """Every value."""
        return self.domain.values

    def truth(self, counts: NDArray[np.int64]) -> Floats:
        """Of these alone."""
        return super().truth(counts)[: len(self.domain.values)]

    @property
    def what(self) -> str:
        """Out of how many."""
        return f"the sure ones of {len(self.domain.values)} values"

    @property
    def serving(self) -> tuple[str, ...]:
        """The frequency oracles."""
        return tuple(sorted(ORACLES))

    def result(self, decision: Decision, shaping: Shaping = NORM_SUB) -> NamedFigures:
        """What lies three standard errors above nothing; or all that a method found itself."""
        if isinstance(decision.outcome, FoundValues):
            told = decision.outcome
            names = tuple(self.domain.value(int(code)) for code in told.values)
            return NamedFigures(names, told.estimates, told.errors, told.estimates, told.errors, found=True)
        said = stands(decision)
        values, error = len(self.domain.values), np.sqrt(said.variance)
        sure = np.flatnonzero(said.statistics[:values] > 3 * error[:values])
        if decision.measured_t is None:
            sure = sure[:0]
        names = tuple(self.domain.values[code] for code in sure.tolist())
        vector = decision.vector
        own = vector.unbiased[sure], np.sqrt(vector.measured_variance[sure])
        return NamedFigures(names, said.statistics[sure], error[sure], *own, found=True)


@dataclass(frozen=True)
class Pairs(Frequency):
    """Screens by systems, as a table: its values are called "screen/system"."""

    name = "pairs"
    shaped = False

    @property
    def table(self) -> Table:
        """Both attributes with their values."""
        halves = [value.split("/") for value in self.domain.values]
        return Table(
            of=("screen", "os"), values=tuple(tuple(dict.fromkeys(side)) for side in zip(*halves, strict=True))
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Those of its cells."""
        return self.table.names

    @property
    def serving(self) -> tuple[str, ...]:
        """The frequency oracles."""
        return tuple(sorted(ORACLES))

    def result(self, decision: Decision, shaping: Shaping = NORM_SUB) -> InTables:  # type: ignore[override]
        """A figure a cell."""
        shape = tuple(map(len, self.table.values))
        if isinstance(decision.outcome, TableEstimates):
            (estimate,), (error,) = decision.outcome.estimates, decision.outcome.errors
            return InTables((Filled(self.table, estimate, error, estimate, error),))
        said, cells = stands(decision), shape[0] * shape[1]
        told = self._named(decision, np.clip(said.statistics, 0, 1), np.sqrt(said.variance))
        figures = told.estimate, told.stderr, told.unbiased, told.stderr_unbiased
        parts = (part[:cells].reshape(shape) for part in figures)
        return InTables((Filled(self.table, *parts),))

    def truth(self, counts: NDArray[np.int64]) -> Floats:
        """Of the cells alone."""
        return super().truth(counts)[: len(self.domain.values)]


class CommonStream(FrequencyStream):
    """The table of one."""

    measured = Common
    measure: Literal["common"]  # type: ignore[assignment]

    def statistic(self) -> Common:
        """Its sure values."""
        return Common(Categories(self.values), self.says_none)

    def shaping(self) -> None:  # type: ignore[override]
        """Nothing is shaped."""

    @property
    def names(self) -> tuple[str, ...]:
        """They are found."""
        return ()


class PairsStream(FrequencyStream):
    """The table of the other."""

    measured = Pairs
    measure: Literal["pairs"]  # type: ignore[assignment]

    def statistic(self) -> Pairs:
        """Its table."""
        return Pairs(Categories(self.values), self.says_none)

    def shaping(self) -> None:  # type: ignore[override]
        """Nothing is shaped."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of its cells."""
        return self.statistic().names


@contextmanager
def registered(table: type[StreamTable] = LeadStream) -> Iterator[None]:
    """With the measure of a table known."""
    name = register(table).measured.name
    try:
        yield
    finally:
        del TABLES[name], KINDS[name]


if __name__ == "__main__":
    register(LeadStream)
    main()
