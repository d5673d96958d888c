"""How far the last release is from the present, and how far a new one would be: dis and err of the adaptive methods.

Contract: `dissimilarity` estimates the mean over the cells of (c_t - r)^2; `publication_error` is the same mean for a
release made from n fresh reports.  Both take raw estimates: clipping or projecting first biases dis (spec streams.md
2.1).  V is the mechanism's exact variance at frequency 1/d, which is its mean over all cells, since frequencies sum
to 1: err depends on (epsilon, n, d) and never on an estimate (erratum E2: the paper's second term lacks 1/d).

"paper" takes V for the whole error.  But n reports of n_hat users say what *they* hold: sampling adds c(1-c)/n to
each cell, 17 % of V at epsilon 1 and 161 % at 2.5.  "sampling" subtracts the total variance estimated from the counts
and adds the sampling of the fresh reports to err.  Under budget division everybody answers and "paper" is exact.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from murmurate.aggregators.methods.method import Answer, Floats
from murmurate.randomizers import Mechanism, ParameterError
from murmurate.randomizers.errors import shown
from murmurate.randomizers.mechanism import PureOracle

Rule = Literal["sampling", "paper"]
RULES: tuple[Rule, ...] = ("sampling", "paper")


def checked_rule(rule: str, mechanism: Mechanism) -> Rule:
    """The rule of this name, if this mechanism's counts tell what it needs."""
    for known in RULES:
        if rule == known == "sampling" and not isinstance(mechanism, PureOracle):
            raise ParameterError(
                f"variance: found 'sampling' with {mechanism.name}; allowed: with grr, oue; or 'paper'"
            )
        if rule == known:
            return known
    raise ParameterError(f"variance: found {shown(rule)}; allowed: {', '.join(RULES)}")


def mean_variance(mechanism: Mechanism, n: float) -> float:
    """V: the variance of an estimate from n reports, averaged over the cells. n may be an expectation."""
    return float(mechanism.variance(1, 1 / mechanism.d)) / n


def total_variance(mechanism: Mechanism, support: NDArray[np.int64], n: int) -> float:
    """Mechanism and sampling together, averaged over the cells: unbiased from the counts of n >= 2 reports.

    With pi = support / n it is the mean of pi (1 - pi) / ((n - 1) (p - q)^2).
    """
    assert isinstance(mechanism, PureOracle)  # noqa: S101 - `checked_rule` refused all others
    share = support / n
    return float((share * (1 - share)).mean() / ((n - 1) * float(mechanism.p - mechanism.q) ** 2))


def sampling_variance(frequencies: Floats, n: float, users: float) -> Floats:
    """What asking n of so many users, without replacement, adds to each cell: float64[d]."""
    f = np.clip(frequencies, 0, 1)
    return np.asarray(f * (1 - f) / n * not_asked(n, users))


def not_asked(n: float, users: float) -> float:
    """(users - n) / (users - 1): the exact factor of a sample without replacement. The spec writes 1 - n / users in
    its text, and this one in its golden values.
    """
    return (users - n) / (users - 1) if users > max(n, 1.0) else 0.0


def dissimilarity(mechanism: Mechanism, answer: Answer, release: Floats, rule: Rule) -> float | None:
    """dis: the mean squared distance of the present from a release, unbiased, so that it may be negative. None where
    the reports are too few to know their own variance.
    """
    n = answer.counted
    if n < (2 if rule == "sampling" else 1):
        return None
    noise = total_variance(mechanism, answer.support, n) if rule == "sampling" else mean_variance(mechanism, n)
    return float(((mechanism.estimate(answer.support, n) - release) ** 2).mean()) - noise


def publication_error(mechanism: Mechanism, n: float, users: float, frequencies: Floats, rule: Rule) -> float:
    """err: the mean squared error that a release from n of so many users would have. Frequencies (raw) serve the
    sampling part only.
    """
    error = mean_variance(mechanism, n)
    if rule == "sampling":
        f = np.clip(frequencies, 0, 1)
        error += max(0.0, 1 - float(f @ f)) / (len(f) * n) * not_asked(n, users)
    return error
