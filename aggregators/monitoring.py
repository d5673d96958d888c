# SPDX-License-Identifier: Apache-2.0
"""Event monitoring: on which side of a threshold a statistic is, and how sure that is.

Contract: a function of what releases say, so that it costs no privacy and every subscriber could work it out: of the
release's own estimate and standard error, and where a filter follows the stream of the mean of the estimates so far and
of the variance by which they moved beyond what their errors explain.  Confidence is the chance that the truth is on the
side of the estimate, from 1/2 to 1, by a normal error.  Of a filter, errors count for less where the statistic is not
known to have been farther from the threshold than its error: thresholds are set where a statistic is, an estimate that
hardly moves errs the same way for long, and which side it is on is then mostly error.  It is about this one period.
Source: LDP-IDS section 7.2.3 monitors events by the estimate alone; the confidence is our own.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import erf, hypot, inf, sqrt

CHANCE = 4.0
"""A mean of the estimates within so many standard errors of a threshold does not decide yet, since errors last."""
ENOUGH = 0.7
"""A statistic is as much known to move as not where the mean square of its distance from the threshold is so many
squared errors. One that moves by clearly more is known well enough, for its estimates lean towards rest as far as they
should.
"""


@dataclass(frozen=True)
class SideOfThreshold:
    """Where a statistic is."""

    above: bool
    confidence: float


def reading(
    estimate: float, stderr: float, threshold: float, *, course: tuple[float, float] | None = None
) -> SideOfThreshold:
    """On which side an estimate with this standard error is. course: mean of the estimates so far, and the variance by
    which they moved; None: not known.

    >>> reading(0.25, 0.05, 0.2)
    SideOfThreshold(above=True, confidence=0.8413447460685428)
    >>> reading(0.25, 0.05, 0.2, course=(0.24, 0.0025))
    SideOfThreshold(above=True, confidence=0.7936729468989691)
    """
    gap = abs(estimate - threshold)
    errors = gap / stderr if stderr > 0 else inf if gap else 0.0
    if course is not None and 0 < errors < inf:
        mean, variance = course
        far = max(0.0, abs(mean - threshold) - CHANCE * stderr)
        moved, own = variance + far * far, ENOUGH * stderr * stderr
        errors *= moved / hypot(moved, own) if moved else 0.0
    return SideOfThreshold(estimate > threshold, (1 + erf(errors / sqrt(2))) / 2)
