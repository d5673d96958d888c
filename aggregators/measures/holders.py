"""The mean of those who hold a value, told from two statistics: the share of holders, and the total of their values.

Contract: such a mean is a ratio, and known only where somebody is known to hold a value.  Not here: what a release
shows of it (mean.py), where its numbers are clipped (methods/threshold.py).
"""

from __future__ import annotations

from math import sqrt
from typing import Final

from murmurate.randomizers import Question, ValueAndPresence

Holding = ValueAndPresence
"""A mechanism that tells the share of holders and the total of their values."""
SEEN: Final = 2
"""Standard errors that the share of holders is measured above none before their mean is a number.  Below, the interval
of two standard errors that belongs to a ratio (Fieller's) has no end: no mean whatever is excluded.
"""


def holding(question: Question) -> Holding | None:
    """The mechanism, where it tells a share and a total; None where it tells a mean, since everybody has a value."""
    return question if isinstance(question, ValueAndPresence) else None


def seen(share: float, variance: float) -> bool:
    """Whether somebody is known to hold a value. variance: of the share."""
    return share > SEEN * sqrt(variance)
