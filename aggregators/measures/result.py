"""What a decision says in the end: figures by name, as a release shows them.

Contract: three times as many figures as names, in the order of the names; NaN where nothing is known.  Not here: how
they come from a decision (a measure's `result`), the record (agents/stages/release.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Named:
    """Figures by name."""

    names: tuple[str, ...]
    estimate: Floats
    """The best there is, always possible,"""
    stderr: Floats
    """its error,"""
    unbiased: Floats
    """and what the period's own method says, raw."""
    course: Floats | None = None
    """Mean and variance of the estimates so far, where a filter follows the stream: float64[2, names]."""

    @property
    def known(self) -> bool:
        """Whether anything is known."""
        return not bool(np.isnan(self.estimate).all())

    def unmeasured(self, *, estimated: bool) -> Named:
        """The same before reports have spoken. estimated: whether something is known by then all the same."""
        unknown = np.full(len(self.unbiased), np.nan)
        return replace(self, unbiased=unknown) if estimated else Named(self.names, unknown, unknown, unknown)
