"""Event monitoring: on which side of a threshold a statistic is, and how sure that is.

Contract: a function of a release's own estimate and standard error, so that it costs no privacy and every subscriber
could work it out.  Confidence is the chance, by a normal error, that the truth is on the side of the estimate: from 1/2
to 1.  It is about this one period: errors of periods that follow one another go together where a filter follows them.
Source: LDP-IDS section 7.2.3 monitors events by the estimate alone; the confidence is our own.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import erf, inf, sqrt


@dataclass(frozen=True)
class Reading:
    """Where a statistic is."""

    above: bool
    confidence: float


def reading(estimate: float, stderr: float, threshold: float) -> Reading:
    """Of an estimate with this standard error.

    >>> reading(0.25, 0.05, 0.2)
    Reading(above=True, confidence=0.8413447460685428)
    """
    gap = abs(estimate - threshold)
    errors = gap / stderr if stderr > 0 else inf if gap else 0.0
    return Reading(estimate > threshold, (1 + erf(errors / sqrt(2))) / 2)
