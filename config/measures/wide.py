"""What tables of streams share whose values take several words: which mechanisms can stand behind their views."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Final

from murmurate.aggregators.measures.measure import AUTO
from murmurate.aggregators.measures.wide import WideMeasure
from murmurate.config.errors import Mistake
from murmurate.config.kinds import seen
from murmurate.config.measures.stream import Stream
from murmurate.config.streams import OneOf
from murmurate.randomizers.registry import ORACLES

ORACLE: Final = OneOf(AUTO, *sorted(ORACLES))
"""What `mechanism` may say."""


class WideStream(Stream):
    """Sets, rows or strings, of which shares of users are told."""

    mechanism: str

    @abstractmethod
    def statistic(self) -> WideMeasure:
        """What it measures of them."""

    @property
    def initial_code(self) -> None:
        """The domain's own first value is what users say of whom no value was valid yet."""
        return

    def declared(self) -> Iterator[Mistake]:
        """What is wrong with what is declared. While anything is, there is no measure to ask more."""
        yield from ()

    def _mistakes(self) -> Iterator[Mistake]:
        own = list(self.declared())
        yield from own
        if own:
            return
        possible = self.statistic().possible
        if self.mechanism not in (AUTO, *possible):
            fitting = f"{', '.join((AUTO, *possible))}, whose reports are short enough for so many codes"
            yield Mistake("mechanism", seen(self.mechanism), fitting)
        yield from super()._mistakes()
