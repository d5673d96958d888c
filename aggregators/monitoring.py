"""Event monitoring: on which side of a threshold a statistic is, and how sure that is.

Contract: a function of what releases say, so that it costs no privacy and every subscriber could work it out: of the
release's own estimate and standard error, and of the mean and the variance of the estimates so far where a filter
follows the stream.  Confidence is the chance that the truth is on the side of the estimate, from 1/2 to 1: by a normal
error, and by a normal truth around the threshold as far from it as the stream has been.  The second matters where a
statistic moves by less than its error: thresholds are set where it is, and an estimate on either side of one is then
mostly error.  It is about this one period: errors of periods that follow one another go together.
Source: LDP-IDS section 7.2.3 monitors events by the estimate alone; the confidence is our own.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import erf, inf, sqrt

CHANCE = 3.0
"""That the mean of the estimates lies so many standard errors off a threshold says nothing yet: errors last."""


@dataclass(frozen=True)
class Reading:
    """Where a statistic is."""

    above: bool
    confidence: float


def reading(estimate: float, stderr: float, threshold: float, *, course: tuple[float, float] | None = None) -> Reading:
    """Of an estimate with this standard error. course: mean and variance of the estimates so far; None: not known.

    >>> reading(0.25, 0.05, 0.2)
    Reading(above=True, confidence=0.8413447460685428)
    >>> reading(0.25, 0.05, 0.2, course=(0.24, 0.0025))
    Reading(above=True, confidence=0.7602499389065231)
    """
    gap = abs(estimate - threshold)
    errors = gap / stderr if stderr > 0 else inf if gap else 0.0
    if course is not None and 0 < errors < inf:
        mean, variance = course
        far = max(0.0, abs(mean - threshold) - CHANCE * stderr)
        usual = variance + far * far
        errors *= sqrt(usual / (usual + stderr * stderr))
    return Reading(estimate > threshold, (1 + erf(errors / sqrt(2))) / 2)
