# SPDX-License-Identifier: Apache-2.0
"""The formulas of exclusive subsets (ExSub): which reports weigh more, how accurate they are, and how long is best.

Contract: a report is m of d + s coordinates (s of them stubs), each with a sign.  A user has exactly s *specials*: the
entries, and stubs for those that are missing.  A report with a specials that agree with the user and b that do not is
in *cell* (a, b); all reports of a cell are equally likely, e^epsilon times as likely as others where the cell is
accepted: a >= 1 (tau = 0), or a - b >= tau, or, of sets without signs, any special (tau = None).  Floats here are
within 10^-12 of the exact values, without subtractions that cancel; Fractions are
exact.  Source: Wang et al. 2023 (SaO2), section 5, with corrections; ARCHITECTURE section 5.17.  Not here: how
reports are drawn (subset_reports.py).
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil, comb, expm1, inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from murmurate.randomizers.thresholds import MICRO, exp_floor

Floats = NDArray[np.float64]
_ALL = 1 << 12  # lengths of reports that are all compared; of more, ever finer samples
_SAMPLED = 64


class SupportTerms(NamedTuple):
    """Probabilities and variances of one user's report, for one length m or an array of them."""

    held: Floats
    """The probability that a coordinate that the user holds is in the report (with either sign)."""
    absent: Floats
    """The probability that a coordinate that the user does not hold is in it."""
    gap: Floats
    """The probability of the right sign of a held coordinate, less that of the wrong one."""
    share_gap: Floats
    """`held` less `absent`."""

    @property
    def mean_moments(self) -> tuple[Floats, Floats]:
        """The variances v0 and v1 of one user's part of a mean, at a coordinate that is not held and at one that is."""
        squared = self.gap**2
        return self.absent / squared, (self.held - squared) / squared

    @property
    def share_moments(self) -> tuple[Floats, Floats]:
        """The variances f0 and f1 of one user's part of a share of holders."""
        squared = self.share_gap**2
        with np.errstate(divide="ignore", invalid="ignore"):  # every report has all coordinates
            return self.absent * (1 - self.absent) / squared, self.held * (1 - self.held) / squared


def is_accepted(agreeing: int, opposite: int, tau: int | None) -> bool:
    """Whether reports of this cell are the likelier ones."""
    return agreeing + opposite >= 1 if tau is None else agreeing >= 1 if tau == 0 else agreeing - opposite >= tau


def specials_law(d: int, s: int, m: int) -> list[Fraction]:
    """The probabilities of 0, 1 ... s specials among m of d + s coordinates: hypergeometric, exact."""
    of, chosen, left = _falling(d + s, s), _falling(m, s), _falling(d + s - m, s)
    return [Fraction(comb(s, k) * chosen[k] * left[s - k], of[s]) for k in range(s + 1)]


@lru_cache(maxsize=1 << 12)
def acceptance(k: int, tau: int | None) -> Fraction:
    """The probability that k specials with signs drawn by coins are an accepted cell."""
    if tau is None:
        return Fraction(k >= 1)
    return Fraction(sum(comb(k, a) for a in range(k + 1) if is_accepted(a, k - a, tau)), 1 << k)


def support_terms(d: int, s: int, epsilon: float, m: int | NDArray[np.integer[Any]], tau: int | None) -> SupportTerms:
    """The probabilities that reports of length m support what users hold, in floating point."""
    of, lengths = d + s, np.atleast_1d(np.asarray(m, np.float64))
    law = _specials_floats(of, s, lengths)
    k = np.arange(s + 1.0)[:, np.newaxis]
    accepted = np.array([float(acceptance(i, tau)) for i in range(s + 1)])[:, np.newaxis]
    leaning = np.array([_leaning(i, tau) for i in range(s + 1)])[:, np.newaxis]
    total = (law * accepted).sum(axis=0)
    hits, apart = (law * accepted * k).sum(axis=0), (law * accepted * (k - s * lengths / of)).sum(axis=0)
    lift = expm1(epsilon) / (1 + expm1(epsilon) * total)
    rest = 1 - lift * total
    terms = SupportTerms(
        held=rest * lengths / of + lift * hits / s,
        absent=rest * lengths / of + lift * (lengths * total - hits) / d,
        gap=lift * (law * leaning).sum(axis=0) / s,
        share_gap=lift * apart * of / (s * d),
    )
    return SupportTerms(*(np.asarray(term[0] if np.ndim(m) == 0 else term) for term in terms))


def best_length(d: int, s: int, epsilon_micro: int, tau: int | None, most: int, over: int | None = None) -> int:
    """The m up to `most` with the smallest total error over d coordinates, or `over` ones, of which s are held.

    All m are compared up to 4 096; of more, 64 samples and then ever closer ones around the best, since the error has a
    single minimum in m.
    """
    low, high = max(1, tau or 0), most
    while True:
        dense = high - low < _ALL
        lengths = np.arange(low, high + 1) if dense else np.unique(np.geomspace(low, high, _SAMPLED).astype(np.int64))
        errors = total_error(d, s, epsilon_micro, tau, lengths, over)
        best = int(np.argmin(errors))
        if dense:
            return int(lengths[best])
        low, high = int(lengths[max(0, best - 1)]), int(lengths[min(len(lengths) - 1, best + 1)])


def best_majority(d: int, s: int, epsilon_micro: int, most: int, over: int | None = None) -> tuple[int, int]:
    """The m up to `most` and the tau >= 1 of the majority form with the smallest total error, as `best_length` has it.

    Larger majorities are tried as long as the error falls: of them, too, it has a single minimum.
    """
    best, least = (0, 0), inf
    for tau in range(1, min(s, most) + 1):
        m = best_length(d, s, epsilon_micro, tau, most, over)
        error = float(total_error(d, s, epsilon_micro, tau, m, over))
        if error >= least:
            break
        best, least = (m, tau), error
    return best


def total_error(
    d: int, s: int, epsilon_micro: int, tau: int | None, m: int | NDArray[np.integer[Any]], over: int | None = None
) -> Floats:
    """The variance of one user's part, added up over d coordinates of which s are held: of means or shares.

    over: another number of coordinates, as where some of s are rarely held and the rest of them counts as not held.
    """
    terms = support_terms(d, s, epsilon_micro / MICRO, m, tau)
    absent, held = terms.share_moments if tau is None else terms.mean_moments
    return s * held + ((d if over is None else over) - s) * absent


def published_length(d: int, s: int, epsilon_micro: int) -> int:
    """The m of Wang et al. 2023, section 5.4: ceil((d + s) / (s e^epsilon + s + 2)), about half the best one where
    epsilon is small: up to four times the error (s = 1), 12 to 54 % more (s >= 4).
    """
    return ceil((d + s) / (s * exp_floor(epsilon_micro) + s + 2))


def _falling(x: int, most: int) -> list[int]:
    """The products of 0, 1 ... `most` factors x, x - 1, ..."""
    products = [1]
    for i in range(most):
        products.append(products[-1] * max(0, x - i))
    return products


def _specials_floats(of: int, s: int, lengths: Floats) -> Floats:
    """The law of the number of specials for an array of m: float64[s + 1, len(m)]; every term is a product."""
    up, down = np.ones((s + 1, len(lengths))), np.ones((s + 1, len(lengths)))
    for i in range(s):
        up[i + 1] = up[i] * np.maximum(lengths - i, 0) / of
        down[i + 1] = down[i] * np.maximum(of - lengths - i, 0) / of
    law = np.array([float(comb(s, k)) for k in range(s + 1)])[:, np.newaxis] * up * down[::-1]
    return np.asarray(law / law.sum(axis=0))


@lru_cache(maxsize=1 << 12)
def _leaning(k: int, tau: int | None) -> float:
    """The expected number of agreeing specials less that of opposite ones, over accepted cells with k of them."""
    if tau is None:
        return float(k)
    return float(sum(comb(k, a) * (2 * a - k) for a in range(k + 1) if is_accepted(a, k - a, tau))) / float(2**k)
