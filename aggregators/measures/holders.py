"""When the mean of those who hold a value can be estimated, from their share and the total of their values.

Contract: such a mean is a ratio, and is known only where the share is significantly above 0.  Not here: what a release
shows of it (mean.py), where its numbers are clipped (methods/threshold.py).
"""

from __future__ import annotations

from math import sqrt
from typing import Final

from murmurate.randomizers import Question, ValueAndPresence

Holding = ValueAndPresence
"""A mechanism that estimates the share of holders and the total of their values."""
SEEN: Final = 2
"""The number of standard errors by which the share of holders must exceed 0 before their mean is released.  Below it,
the interval of two standard errors of a ratio (Fieller's) is unbounded: no mean whatever is excluded.
"""


def holding(question: Question) -> Holding | None:
    """The mechanism, if it estimates a share and a total; None if it estimates a mean, since everybody has a value."""
    return question if isinstance(question, ValueAndPresence) else None


def seen(share: float, variance: float) -> bool:
    """Whether the share is significantly above zero, so that there are holders. variance: that of the share."""
    return share > SEEN * sqrt(variance)
