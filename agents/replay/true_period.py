# SPDX-License-Identifier: Apache-2.0
"""What was true of one period of one stream: a line of truth.jsonl. It is raw data and stays with the replay."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class TruePeriod:
    """The truth of one period of one stream."""

    stream: str
    t: int
    users: int
    """The number of users who are asked about this period; of a central stream, that of its events."""
    figures: NDArray[np.float64]
    """The figures of a release without any noise, in the order of the stream's names; NaN for the mean of nobody."""
    names: tuple[str, ...] | None = None
    """The names of `figures`, where they are not all of the stream's."""
    of: Literal["users", "events"] = "users"
    """The word for what `users` counts."""
    rows: NDArray[np.uint32] | None = None
    """The different values of users, where names are found and no release has said yet which: `figures` then holds how
    many users have each.
    """

    def record(self, names: tuple[str, ...]) -> dict[str, object]:
        """The period as a line of truth.jsonl. names: all of the stream's."""
        pairs = zip(names if self.names is None else self.names, self.figures.tolist(), strict=True)
        truth = {name: None if math.isnan(value) else round(value, 6) for name, value in pairs}
        return {"stream": self.stream, "t": self.t, self.of: self.users, "truth": truth}
