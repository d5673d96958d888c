# SPDX-License-Identifier: Apache-2.0
"""What every [streams.NAME] table says, whoever does the measuring: how long a period is, and where events come from.

Contract: a stream that is built makes sense by itself.  Not here: streams whose reports users randomize (stream.py),
streams that the curator sums (central.py), which kinds there are (registry.py).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Final, Self

from pydantic import model_validator

from murmurate.aggregators.measures.measure import Measure
from murmurate.config.errors import Mistake, NotAllowedError
from murmurate.config.quantities import Duration, Share, millionths
from murmurate.config.streams import ConfigTable, SourceTable
from murmurate.topics.release_parts import Model

LOCAL: Final = "local"
"""The model that holds where a file says none."""


class DeclaredStream(ConfigTable):
    """A stream of the deployment file."""

    measured: ClassVar[type[Measure]]
    """The kind of measure that this table describes. Its name is what `measure` says."""
    of_model: ClassVar[Model] = LOCAL
    """The model that this table describes. Where a measure has several, the key `model` says which one."""

    every: Annotated[int, Duration("1ms", "24d")]
    """The length of a period; each period has one release."""
    share: Annotated[float, Share()] = 1.0
    """The stream's part of what the promise has; all parts together at most 1."""
    source: SourceTable | None = None
    """Where its events come from; left out: {name}.events, told apart by their "stream"."""

    @property
    def stated_model(self) -> Model | None:
        """The model, where the file says it: releases then say it, too."""
        return self.of_model if "model" in self.model_fields_set else None

    @property
    def share_micro(self) -> int:
        """Its share in millionths."""
        return millionths(self.share)

    @abstractmethod
    def statistic(self) -> Measure:
        """What it measures, as everything else asks it."""

    @property
    def names(self) -> tuple[str, ...]:
        """The statistics of a release."""
        return self.statistic().names

    @abstractmethod
    def meaning(self) -> dict[str, Any]:
        """What it declares, as a part of what gives a stream's releases their meaning: whole numbers and texts."""

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        mistakes = tuple(self._mistakes())
        if mistakes:
            raise NotAllowedError(*mistakes)
        return self

    def _mistakes(self) -> Iterator[Mistake]:
        """Everything in which its keys contradict each other."""
        yield from ()
