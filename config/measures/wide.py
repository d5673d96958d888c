# SPDX-License-Identifier: Apache-2.0
"""What tables of streams share whose values take several words."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

from murmurate.aggregators.measures.found import FoundMeasure
from murmurate.aggregators.measures.measure import AUTO
from murmurate.aggregators.measures.rows import RowMeasure
from murmurate.aggregators.measures.wide import WideMeasure
from murmurate.config.errors import Mistake
from murmurate.config.kinds import seen
from murmurate.config.measures.stream import StreamTable


class RowStream(StreamTable):
    """A stream whose values are rows of words."""

    mechanism: str

    @abstractmethod
    def statistic(self) -> RowMeasure | FoundMeasure:
        """What it measures."""

    @property
    def initial_code(self) -> None:
        """The domain says what users say of whom no value was valid yet."""
        return

    def _mistakes(self) -> Iterator[Mistake]:
        able = (AUTO, *self.statistic().possible)
        if self.mechanism not in able:
            yield Mistake("mechanism", seen(self.mechanism), f"{', '.join(able)}, for {self.most_names} figures")
        yield from super()._mistakes()


class WideStream(RowStream):
    """A stream whose measure tells values by views."""

    @abstractmethod
    def statistic(self) -> WideMeasure:
        """What it measures."""
